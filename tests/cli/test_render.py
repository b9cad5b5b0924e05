"""What a person reads of a report: why it blocks, of which call, what was expected, on what evidence, and what to do."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from tests.cli.commands import PASSED, run, write_runs

CASES = """\
- case_id: c
  expect_tool_calls: [{name: refund, args: {order: A-1, cents: 4200}, arg_types: {cents: int}}]
  forbid_other_side_effects: true
"""
TOOLS = [{"name": "refund", "side_effecting": True, "input_schema": {"type": "object"}},
         {"name": "mail", "side_effecting": False, "input_schema": {"type": "object"}}]  # fmt: skip


def record(raw: str, output: str = "done", **more: object) -> dict[str, object]:
    """Return the record of a run of the case."""
    calls = [{"id": "toolu_1", "name": "refund", "arguments_raw": raw, "output": "done"},
             {"id": "toolu_2", "name": "mail", "arguments_raw": "{}", "output": output}]  # fmt: skip
    steps = [{"tool_call": call} for call in calls]
    return {"id": "r", "case_id": "c", "task": "refund A-1", "steps": steps, "final_answer": "Bye.", "tools": TOOLS, **more}


@pytest.fixture
def checked(tmp_path: Path) -> Callable[..., str]:
    """Return a function that gives the table of some runs, checked against the case."""
    (tmp_path / "cases.yaml").write_text(CASES)

    def check(*records: object) -> str:
        return run("check", write_runs(tmp_path / "runs.jsonl", *records), "--cases", tmp_path / "cases.yaml").stdout

    return check


def block_of(output: str, heading: str) -> list[str]:
    """Return a finding's lines, from its heading to the next one's."""
    lines = output.splitlines()
    start = next(number for number, line in enumerate(lines) if heading in line)
    end = next(number for number in range(start + 1, len(lines)) if not lines[number].startswith(" " * 10))
    return [line.strip() for line in lines[start:end]]


def test_a_finding_says_its_call_its_claim_and_its_evidence(checked: Callable[..., str]) -> None:
    """Step, tool and call id stand in its heading; below are the reason, expected and emitted values, and the deciding text."""
    heading, reason, claim, evidence = block_of(checked(record('{"order": "A-1", "cents": 42}')), "wrong_argument")
    assert heading == "block   expectations: wrong_argument · step 0 · refund · toolu_1"
    assert reason.startswith("cents was expected to be 4200; the model emitted 42.")
    assert claim == "claim     value cents: expected 4200, emitted 42"
    assert evidence == 'evidence  {"order": "A-1", "cents": 42}'


def test_what_an_error_was_decided_on_is_shown_in_one_line(checked: Callable[..., str]) -> None:
    """Line ends in a tool's output become blanks, and long evidence ends in a mark."""
    output = checked(record('{"order": "A-1", "cents": 4200}', "Error: no\r\n\n  route\n" + "x" * 400))
    heading, _, evidence = block_of(output, "error_silent")
    assert heading.endswith("· step 1 · mail · toolu_2")
    assert evidence.startswith("evidence  Error: no route xxx")
    assert evidence.endswith("x…")
    assert len(evidence) == len("evidence  ") + 160


def test_no_secret_is_in_a_detail(checked: Callable[..., str]) -> None:
    """Evidence, ids, expected and emitted values are redacted."""
    secret = "sk-ant-api03-" + "a1B2" * 12
    output = checked(
        record(f'{{"order": "{secret}", "cents": "ana@example.com"}}', f"Error: bad key {secret} of ana@example.com", id=secret)
    )
    assert "wrong_argument" in output
    assert "evidence" in output
    assert secret not in output
    assert "ana@example.com" not in output


def test_a_wide_value_is_cut(checked: Callable[..., str]) -> None:
    """A value of a claim takes one line at most, whatever the model wrote."""
    output = checked(record(f'{{"order": "{"y" * 5_000}", "cents": 4200}}'))
    claim = next(line for line in block_of(output, "wrong_argument") if line.startswith("claim"))
    assert claim.startswith('claim     value order: expected "A-1", emitted "yyy')
    assert claim.endswith("y…")
    assert len(claim) < 140


def test_each_report_says_where_its_run_stands(checked: Callable[..., str]) -> None:
    """File and line come after the verdict, so that the record can be found."""
    output = checked(PASSED, record('{"order": "A-1", "cents": 42}'))
    found = [line.rpartition("/")[2] for line in output.splitlines() if line.startswith("verdict: ")]
    assert found == ["runs.jsonl:1", "runs.jsonl:2"]


def test_what_to_do_is_said_once_before_the_sum(checked: Callable[..., str]) -> None:
    """Findings that need the same done share an advice, the strictest first, with how often; the sum is the last line."""
    wrong = record('{"order": "A-2", "cents": 42}', "Error: no")
    output = checked(wrong, wrong, PASSED)
    told = output[output.index("What to do next") :].splitlines()
    kinds = [" ".join(line.split()) for line in told if line.startswith(("  block", "  review"))]
    assert kinds[0] == "block expectations: wrong_argument (4 times)"
    assert "review tool_use: error_silent (2 times)" in kinds[1:]
    assert len(kinds) == len(set(kinds))
    assert sum("tool_fallbacks" in line for line in told) == 1
    assert told[-3].startswith("  see     `attest-otel runs PATH`")
    assert told[-1] == "3 runs: 2 block, 0 review, 1 pass"
    assert output.count("What to do next") == 1
    assert "\n\nWhat to do next" in output
    assert "\n\n\n" not in output + checked(wrong)


def test_nothing_to_do_is_not_said(checked: Callable[..., str]) -> None:
    """A pass is one line, and the sum."""
    lines = checked(PASSED).splitlines()
    assert [line[:13] for line in lines] == ["verdict: pass", "1 run: 0 bloc"]
