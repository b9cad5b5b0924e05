"""The versions that `make oldest` tests with are the oldest that the package says it works with."""

from __future__ import annotations

import tomllib
from pathlib import Path

ROOT = Path(__file__).parents[1]


def test_the_oldest_versions_are_those_promised() -> None:
    """Each requirement's lower bound is a pin of tests/oldest.txt, or the start of one, and nothing else is pinned."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    promised = dict(requirement.split(">=") for requirement in project["dependencies"])
    pinned = dict(line.split("==") for line in (ROOT / "tests" / "oldest.txt").read_text(encoding="utf-8").split())
    assert promised.keys() == pinned.keys()
    for name, bound in promised.items():
        parts = bound.split(".")
        assert pinned[name].split(".")[: len(parts)] == parts, name
