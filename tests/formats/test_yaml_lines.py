"""Errors in people's YAML name the line."""

from __future__ import annotations

from pathlib import Path

import pytest

from attest_otel.cases import load_cases
from attest_otel.config import AttestConfig
from attest_otel.errors import ConfigError
from attest_otel.formats.yaml_lines import YamlLines

SETTINGS = """\
agents:
  shop:
    allowed_tools: [a]
    alowed: [b]
    rules:
      - {id: one, severity: fail, at_most: {a: 1}}
      - id: two
        severity: block
        at_most: {a: 1}
limits:
  grace_seconds: -1
"""

CASES = """\
- case_id: good
  should_call: [a]
- case_id: bad
  expect_tool_calls:
    - name: a
      arg: {x: 1}
"""


def test_a_wrong_setting_is_found_by_its_line(tmp_path: Path) -> None:
    """Every wrong field of attest.yaml is named with file, line and path."""
    path = tmp_path / "attest.yaml"
    path.write_text(SETTINGS)
    with pytest.raises(ConfigError) as refused:
        AttestConfig.load(path)
    said = str(refused.value)
    assert f"{path}:4: agents.shop.alowed: unknown field" in said
    assert f"{path}:8: agents.shop.rules[1].severity: " in said
    assert f"{path}:11: limits.grace_seconds: " in said


@pytest.mark.parametrize(("text", "line"), [(CASES, 6), ("cases:\n" + CASES, 7), ("\n\n" + CASES, 8)])
def test_a_wrong_case_is_found_by_its_line(tmp_path: Path, text: str, line: int) -> None:
    """So is every wrong field of a cases file, wherever its list stands."""
    path = tmp_path / "cases.yaml"
    path.write_text(text)
    with pytest.raises(ConfigError) as refused:
        load_cases(path)
    assert f"{path}:{line}: case 'bad': expect_tool_calls[0].arg: unknown field" in str(refused.value)


@pytest.mark.parametrize(
    ("location", "line"),
    [
        ((), ""),
        (("nothing",), ""),
        (("agents",), ":1"),
        (("agents", "shop", "missing"), ":2"),
        (("agents", "shop", "rules", "a branch", 1, "id"), ":7"),
        (("agents", "shop", "rules", 9), ":5"),
    ],
)
def test_what_is_not_there_has_the_line_of_what_holds_it(tmp_path: Path, location: tuple[int | str, ...], line: str) -> None:
    """A missing field is placed where it belongs; names that pydantic gives to a union's branches are passed over."""
    path = tmp_path / "attest.yaml"
    path.write_text(SETTINGS)
    assert YamlLines(path).place(location) == f"{path}{line}"


def test_a_file_that_has_gone_is_still_named(tmp_path: Path) -> None:
    """An error about a file that changed under it is about the field, not about the file."""
    gone = tmp_path / "gone.yaml"
    assert YamlLines(gone).place(("a",)) == str(gone)
    gone.write_text("{a")
    assert YamlLines(gone).place(("a",)) == str(gone)
