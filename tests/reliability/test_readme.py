"""The table of properties names tests that exist."""

from __future__ import annotations

import re
from pathlib import Path

TESTS = Path(__file__).parents[1]
README = (TESTS / "reliability" / "README.md").read_text(encoding="utf-8")


def test_every_test_the_table_names_exists() -> None:
    """A test that is renamed or taken away is missed here; `::name` alone is in the file named last before it."""
    file, missing = "", []
    for path, name in re.findall(r"`([\w/]+\.py)?(?:::(test_\w+))?`", README):
        file = path or file
        source = TESTS / file
        if not source.is_file() or (name and f"def {name}(" not in source.read_text(encoding="utf-8")):
            missing.append(f"{file}::{name}")
    assert missing == []


def test_every_property_is_in_the_table() -> None:
    """The properties have numbers from 1 on; each is in a row, alone or in a range."""
    rows = [re.findall(r"\d+", cell) for cell in re.findall(r"^\| ([\d-]+) \|", README, re.MULTILINE)]
    found = {number for row in rows for number in range(int(row[0]), int(row[-1]) + 1)}
    assert found >= set(range(1, 47))
