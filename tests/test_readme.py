"""The README says what is true: its code compiles, its YAML loads, its commands run, its tables are the code's."""

from __future__ import annotations

import ast
import re
import shlex
import subprocess
from pathlib import Path

import pytest
import yaml

import attest_otel
from attest_otel.attributes import VERDICT
from attest_otel.cases import load_cases
from attest_otel.checks import ORDER
from attest_otel.cli import COMMANDS
from attest_otel.config import AttestConfig
from tests.cli.commands import COMMAND, process
from tests.generate_tables import README, TABLES, with_tables

ROOT = README.parent
TEXT = README.read_text(encoding="utf-8")
CODE = re.findall(r"```(\w+)\n(.*?)```", TEXT, re.DOTALL)
INDENTED = re.findall(r"^    (attest-otel .+)$", TEXT, re.MULTILINE)
COMMAND_LINES = [line.split("  #")[0].strip() for line in INDENTED]


def blocks(language: str) -> list[str]:
    """Return the README's code in one language."""
    return [code for named, code in CODE if named == language]


def test_python_compiles_and_names_what_exists() -> None:
    """The README's Python compiles, and every name it takes from the package is a public one."""
    assert blocks("python")
    for code in blocks("python"):
        for node in ast.walk(ast.parse(code)):
            if isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name) and node.value.id == "attest_otel":
                assert node.attr in attest_otel.__all__
    for name in re.findall(r"attest_otel\.(\w+)\(", TEXT):
        assert name in attest_otel.__all__


def test_settings_and_cases_load(tmp_path: Path) -> None:
    """The README's attest.yaml loads as it stands, with the cases file that it names."""
    loaded = {type(yaml.safe_load(code)): code for code in blocks("yaml")}
    (tmp_path / "cases.yaml").write_text(loaded[list], encoding="utf-8")
    (tmp_path / "attest.yaml").write_text(loaded[dict], encoding="utf-8")
    cases = load_cases(tmp_path / "cases.yaml")
    config = AttestConfig.load(tmp_path / "attest.yaml")
    assert config.agents["refund-agent"].cases == cases


@pytest.mark.parametrize("line", COMMAND_LINES)
def test_every_command_line_parses(line: str) -> None:
    """Every command that is shown exists, and so does each of its options."""
    words = shlex.split(line)
    assert words[1] in COMMANDS
    shown = process(words[1], "--help").stdout.decode()
    assert all(word in shown for word in words if word.startswith("--"))


@pytest.mark.parametrize("line", [line for line in COMMAND_LINES if "examples/" in line or " stats " in line])
def test_command_lines_on_the_examples_run(line: str) -> None:
    """The commands that are shown on the project's own files run as they stand."""
    done = subprocess.run([COMMAND, *shlex.split(line)[1:]], cwd=ROOT, capture_output=True, timeout=50, check=False)
    assert done.returncode in (0, 1)
    assert done.stdout
    assert done.stderr == b""


def test_make_targets_exist() -> None:
    """Every `make` command that is shown is a target of the Makefile."""
    targets = set(re.findall(r"^(\w+):", (ROOT / "Makefile").read_text(encoding="utf-8"), re.MULTILINE))
    assert set(re.findall(r"`?make (\w+)", TEXT)) <= targets


def test_paths_exist() -> None:
    """Every file of the project that is named is there."""
    assert all((ROOT / path).exists() for path in re.findall(r"examples/[\w/.]+\w", TEXT))


def test_every_check_is_described() -> None:
    """The table of checks names every check."""
    rows = "\n".join(line for line in TEXT.splitlines() if line.startswith("| `"))
    assert all(f"`{name}`" in rows for name in ORDER)


def test_tables_are_those_of_the_code() -> None:
    """Attributes, metrics and limits are the code's (`make docs` writes them)."""
    assert all(f"<!-- table: {name} -->" in TEXT for name in TABLES)
    assert with_tables(TEXT) == TEXT


def test_what_to_search_for_is_what_goes_out() -> None:
    """The tag to search for, and the counter to watch, are those that the code writes."""
    assert f"`{VERDICT}=block`" in TEXT
    assert 'attest_runs_total{attest_verdict="block"}' in TEXT
