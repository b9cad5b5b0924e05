"""Cases files: strict, with errors that name the file, the case and the field."""

from __future__ import annotations

from pathlib import Path

import pytest

from attest_otel.cases import Case, load_cases
from attest_otel.errors import ConfigError

GOOD = """
- case_id: one
  input: "refund it"
  expect_tool_calls:
    - name: issue_refund
      args: {order_id: ORD-1, amount_cents: 4200}
      arg_types: {amount_cents: int}
  forbid_other_side_effects: true
  ordered: true
  count: succeeded
  should_call: [issue_refund]
"""


def test_every_field_is_read(tmp_path: Path) -> None:
    """All fields of a case come out as written."""
    (case,) = load_cases(_file(tmp_path, GOOD))
    assert case.expect_tool_calls is not None
    assert case.expect_tool_calls[0].args == {"order_id": "ORD-1", "amount_cents": 4200}
    assert case.expect_tool_calls[0].arg_types == {"amount_cents": "int"}
    assert (case.ordered, case.count, case.should_call) == (True, "succeeded", ["issue_refund"])


def test_a_mapping_with_cases_is_the_same(tmp_path: Path) -> None:
    """The list may stand under `cases`."""
    nested = "cases:\n" + "".join(f"  {line}\n" for line in GOOD.splitlines() if line)
    assert load_cases(_file(tmp_path, nested)) == load_cases(_file(tmp_path, GOOD))


@pytest.mark.parametrize(
    ("text", "said"),
    [
        pytest.param("", "expected a list of cases", id="empty file"),
        pytest.param("case_id: a\nshould_call: []", "expected a list of cases", id="no list"),
        pytest.param("cases: []\nmore: 1", "expected a list of cases", id="mapping with more"),
        pytest.param("- 5", "cases[0]: ", id="no mapping"),
        pytest.param("- should_call: []", "cases[0]: case_id: missing", id="no case_id"),
        pytest.param("- {case_id: '', should_call: []}", "cases[0]: case_id", id="blank case_id"),
        pytest.param("- {case_id: a, should_cal: []}", "case 'a': should_cal: unknown field", id="unknown field"),
        pytest.param(
            "- {case_id: a, should_call: []}\n- {case_id: a, should_call: []}", "case 'a' stands twice", id="duplicate id"
        ),
        pytest.param("- {case_id: a, case_id: b, should_call: []}", "the key 'case_id' stands twice", id="duplicate key"),
        pytest.param("- {case_id: no, should_call: []}", "put it in quotes", id="no as case_id"),
        pytest.param("- {case_id: a, expect_tool_calls: [{name: no}]}", "expect_tool_calls[0].name", id="no as tool"),
        pytest.param("- {case_id: a, expect_tool_calls: [{name: no}]}", "put it in quotes", id="no as tool, hint"),
        pytest.param("- {case_id: a, should_call: [on]}", "should_call[0]", id="on as tool"),
        pytest.param(
            "- {case_id: a, expect_tool_calls: [{name: t, args: {no: 1}}]}", "put it in quotes", id="no as argument name"
        ),
        pytest.param(
            "- {case_id: a, expect_tool_calls: [{name: t, args: {country: NO}}]}",
            "c.yaml:1: YAML reads the plain NO",
            id="no as value",
        ),
        pytest.param("- {case_id: a, expect_tool_calls: [{name: t, args: {zip: 010}}]}", "the plain 010", id="octal value"),
        pytest.param(
            "- {case_id: a, expect_tool_calls: [{name: t, args: {at: 12:30}}]}", "the plain 12:30", id="sexagesimal value"
        ),
        pytest.param(
            "- {case_id: a, expect_tool_calls: [{name: t, args: {d: [2024-05-27]}}]}",
            "args: d[0]: 2024-05-27 (date)",
            id="date value",
        ),
        pytest.param("- {case_id: a, expect_tool_calls: [{name: t, args: {x: .inf}}]}", "no JSON value", id="infinite value"),
        pytest.param(
            "- {case_id: a, expect_tool_calls: [{name: t, args: {x: {1: 2}}}]}", "x.1: 1 (int)", id="number as inner key"
        ),
        pytest.param(
            "- {case_id: a, expect_tool_calls: [{name: t, args: &a {x: *a}}]}", "nested deeper", id="an alias to its own parent"
        ),
        pytest.param(
            "- {case_id: a, expect_tool_calls: [{name: t, arg_types: {x: integer}}]}", "arg_types.x", id="unknown type word"
        ),
        pytest.param("- {case_id: a, count: most, should_call: []}", "count", id="unknown count"),
        pytest.param("- {case_id: a, ordered: 1, should_call: []}", "ordered", id="number as flag"),
        pytest.param("- {case_id: a}", "case 'a': vacuous", id="expects nothing"),
        pytest.param("- {case_id: a, expect_tool_calls: []}", "case 'a': vacuous", id="expects an empty list"),
        pytest.param(
            "- {case_id: a, expect_tool_calls: [{name: t, args: {x: 1}, arg_types: {x: str}}]}",
            "no call can meet both",
            id="type contradicts value",
        ),
        pytest.param(
            "- {case_id: a, expect_tool_calls: [{name: t, args: {x: 1.5}, arg_types: {x: int}}]}",
            "no call can meet both",
            id="fraction as int",
        ),
        pytest.param("- [", "not valid YAML", id="no YAML"),
    ],
)
def test_what_is_refused(tmp_path: Path, text: str, said: str) -> None:
    """A file that can't mean what its author meant is refused, with file and place."""
    path = _file(tmp_path, text)
    with pytest.raises(ConfigError) as caught:
        load_cases(path)
    assert said in str(caught.value)
    assert str(path) in str(caught.value)


@pytest.mark.parametrize(
    "text",
    [
        pytest.param("- {case_id: a, expect_tool_calls: [], forbid_other_side_effects: true}", id="nothing happens"),
        pytest.param("- {case_id: a, forbid_other_side_effects: true}", id="forbids only"),
        pytest.param("- {case_id: a, should_call: []}", id="no call was needed"),
        pytest.param("- {case_id: a, expect_tool_calls: [{name: t}]}", id="a tool without arguments"),
        pytest.param("- {case_id: a, expect_tool_calls: [{name: t, arg_types: {x: str}}]}", id="a type only"),
        pytest.param(
            "- {case_id: a, expect_tool_calls: [{name: t, args: {x: 4200}, arg_types: {x: float}}]}",
            id="the value of an int as a float",
        ),
        pytest.param(
            "- {case_id: a, expect_tool_calls: [{name: t, args: {x: 'no', y: false, z: 0, w: -7, n: 08, t: 09:30}}]}",
            id="quoted words, plain numbers",
        ),
        pytest.param("[]", id="no cases yet"),
    ],
)
def test_what_is_accepted(tmp_path: Path, text: str) -> None:
    """What asserts something, or says plainly that nothing must happen, is accepted."""
    load_cases(_file(tmp_path, text))


def test_all_wrong_cases_are_named_at_once(tmp_path: Path) -> None:
    """One error names every case that is wrong."""
    path = _file(tmp_path, "- {case_id: a}\n- {case_id: b, should_call: []}\n- {case_id: c, count: x, should_call: []}")
    with pytest.raises(ConfigError) as caught:
        load_cases(path)
    assert "case 'a'" in str(caught.value)
    assert "case 'c'" in str(caught.value)
    assert "case 'b'" not in str(caught.value)


def test_a_vacuous_case_cannot_be_made_in_code() -> None:
    """The guard holds for cases that come from no file, too."""
    with pytest.raises(ValueError, match="vacuous"):
        Case(case_id="a")


def _file(folder: Path, text: str) -> Path:
    path = folder / "c.yaml"
    path.write_text(text, encoding="utf-8")
    return path
