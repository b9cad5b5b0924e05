"""The tool-use check: verdicts in their order, recoveries, and what "later" means."""

from __future__ import annotations

import random
from typing import Any

import pytest

from attest_otel import Attest, CheckResult, Trajectory
from attest_otel.checks import tool_use
from attest_otel.checks.tool_use import Reading
from attest_otel.checks.view import RunView


def call(name: str, output: str | None = "ok", **fields: Any) -> dict[str, Any]:
    """Return a step with one call."""
    return {"tool_call": {"name": name, "output": output, **fields}}


def run(*steps: dict[str, Any], **fields: Any) -> Trajectory:
    """Return a run of these steps."""
    return Trajectory.model_validate({"steps": list(steps), "final_answer": "Done.", **fields})


def grade(trajectory: Trajectory, readings: dict[int, Reading] | None = None) -> CheckResult:
    """Return what the check says of a run."""
    return tool_use.check(RunView(trajectory), readings)


def test_a_retry_recovers() -> None:
    """A later call of the same tool that is no error recovers: the page's own finding, field by field."""
    result = grade(run(call("charge_card", "status 402", is_error=True), call("lookup"), call("charge_card")))
    finding = result.findings[0].model_dump(include={"severity", "verdict", "subject", "reason", "evidence", "step"})
    assert finding == {
        "severity": "pass",
        "verdict": "correct",
        "subject": "charge_card",
        "reason": "The tool returned an error; a retry at step 2 worked.",
        "evidence": None,
        "step": 0,
    }
    metadata = {"allowed": True, "recovery": "retried", "recovered_at": 2, "appropriate": None, "error_source": "is_error"}
    assert result.findings[0].metadata == metadata


@pytest.mark.parametrize(
    ("allowed", "verdicts"),
    [(None, ["correct", "correct"]), ([], ["disallowed_tool"] * 2), (["a"], ["correct", "disallowed_tool"])],
)
def test_allowed_tools(allowed: list[str] | None, verdicts: list[str]) -> None:
    """Null allows every tool, an empty list none, a list its members."""
    assert [f.verdict for f in grade(run(call("a"), call("b"), allowed_tools=allowed)).findings] == verdicts


def test_disallowed_comes_before_errors() -> None:
    """A call that is both disallowed and failed is disallowed, and still says how its error went."""
    finding = grade(run(call("a", "Error: x"), allowed_tools=[])).findings[0]
    assert (finding.verdict, finding.metadata["recovery"]) == ("disallowed_tool", "unchecked")


def test_another_tool_never_recovers() -> None:
    """A call of some other tool is no recovery unless it is declared a fallback."""
    steps = [call("charge", "Error: x"), call("charge_backup")]
    assert grade(run(*steps)).findings[0].metadata["recovery"] == "unchecked"
    declared = grade(run(*steps, tool_fallbacks={"charge": ["charge_backup"]})).findings[0]
    assert (declared.verdict, declared.metadata["recovery"], declared.metadata["recovered_at"]) == ("correct", "fallback", 1)


def test_an_earlier_success_does_not_recover() -> None:
    """Only a later call recovers."""
    assert grade(run(call("a"), call("a", "Error: x"))).findings[1].verdict == "error_silent"


def test_an_unknown_outcome_does_not_recover() -> None:
    """A later call whose result nobody recorded is no recovery."""
    findings = grade(run(call("a", "Error: x"), call("a", None))).findings
    assert [f.verdict for f in findings] == ["error_silent", "unchecked"]


LATER = [
    ("a later turn", {"turn": 1}, {"turn": 2}, True),
    ("the same turn is a parallel sibling", {"turn": 1}, {"turn": 1}, False),
    ("started after the failing call ended", {"started_at": 10, "ended_at": 20}, {"started_at": 20}, True),
    ("started while the failing call ran", {"started_at": 10, "ended_at": 20}, {"started_at": 15}, False),
    ("one turn, but after its end", {"turn": 1, "ended_at": 20}, {"turn": 1, "started_at": 30}, True),
    ("neither turns nor times: the order of the steps", {}, {}, True),
    ("a turn on one side only: the order of the steps", {"turn": 3}, {}, True),
]


@pytest.mark.parametrize(("rule", "failed", "later", "recovers"), LATER, ids=[row[0] for row in LATER])
def test_later(rule: str, failed: dict[str, Any], later: dict[str, Any], recovers: bool) -> None:
    """What counts as later, row by row."""
    finding = grade(run(call("a", "Error: x", **failed), call("a", **later))).findings[0]
    assert (finding.metadata["recovery"] == "retried") is recovers


def test_the_index_agrees_with_the_rule() -> None:
    """On random turns and times, the first later success found is the one a plain scan finds."""
    rng = random.Random(7)
    for _ in range(200):
        steps = []
        for _ in range(rng.randint(2, 12)):
            start = rng.choice([None, rng.randint(1, 9)])
            end = None if start is None else start + rng.randint(0, 3)
            fields = {"turn": rng.choice([None, 1, 2, 3]), "started_at": start, "ended_at": end}
            steps.append(call("a", rng.choice(["ok", "Error: x"]), **fields))
        trajectory = run(*steps)
        found = [f.metadata["recovered_at"] for f in grade(trajectory).findings]
        assert found == [_scan(trajectory, number) for number in range(len(steps))]


def _scan(trajectory: Trajectory, number: int) -> int | None:
    calls = [step.tool_call for step in trajectory.steps if step.tool_call is not None]
    failed = calls[number]
    if failed.output == "ok":
        return None
    for index, other in enumerate(calls):
        if other.output != "ok":
            continue
        by_turn = failed.turn is not None and other.turn is not None
        by_time = failed.ended_at is not None and other.started_at is not None
        later = (by_turn and other.turn > failed.turn) or (by_time and other.started_at >= failed.ended_at)  # type: ignore[operator]
        if later or (not by_turn and not by_time and index > number):
            return index
    return None


def test_retry_scope_arguments() -> None:
    """A shell-like tool is retried by the same arguments only, however they are spelt."""
    shell = [{"name": "sh", "retry_scope": "arguments"}]
    failed = call("sh", "x", exit_code=1, arguments_raw='{"command": "make"}')
    other = call("sh", arguments_raw='{"command": "ls"}')
    same = call("sh", arguments_raw='{ "command" : "m\\u0061ke" }')
    assert grade(run(failed, other, tools=shell)).findings[0].metadata["recovery"] == "unchecked"
    assert grade(run(failed, other, same, tools=shell)).findings[0].metadata["recovered_at"] == 2


@pytest.mark.parametrize(
    ("answer", "severity", "verdict"),
    [
        ("claimed_success", "fail", "error_claimed_success"),
        ("silent", "fail", "error_silent"),
        ("unchecked", "fail", "error_silent"),
        ("acknowledged", "pass", "correct"),
    ],
)
def test_readings_of_the_answer(answer: Any, severity: str, verdict: str) -> None:
    """What the grading model read decides an unrecovered error."""
    finding = grade(run(call("a", "Error: x")), {0: Reading(answer=answer)}).findings[0]
    assert (finding.severity, finding.verdict, finding.metadata["recovery"]) == (severity, verdict, answer)


def test_tool_choice() -> None:
    """A poor choice is incorrect; a choice that couldn't be judged is unchecked; an error comes before both."""
    steps = [call("a"), call("a"), call("a"), call("b", "Error: x")]
    readings = {
        0: Reading(appropriate=True),
        1: Reading(appropriate=False),
        2: Reading(choice_failed=True),
        3: Reading(appropriate=False),
    }
    findings = grade(run(*steps), readings).findings
    assert [f.verdict for f in findings] == ["correct", "incorrect", "unchecked", "error_silent"]
    assert [f.metadata["appropriate"] for f in findings] == [True, False, None, False]


def test_score_and_summary() -> None:
    """The score is the share of correct calls, null without calls; the summary lists the sequence and each problem."""
    result = grade(run(call("a"), call("b", "Error: x")))
    assert (result.score, result.passed) == (0.5, False)
    assert result.summary == "a → b: error_silent at step 1 (b)."
    assert (grade(run()).score, grade(run()).passed) == (None, True)


def test_steps_count_thoughts() -> None:
    """`step` is the index of the step, not of the call."""
    assert [f.step for f in grade(run({"thought": "hm"}, call("a"))).findings] == [1]


def test_evaluate_defaults() -> None:
    """`evaluate` runs faithfulness and tool_use, and policy where there are rules; without a model faithfulness is unchecked."""
    report = Attest({}).evaluate(run(call("a")))
    assert [r.check for r in report.results] == ["tool_use", "faithfulness"]
    assert (report.verdict, report.checks_passed, report.scores["faithfulness"]) == ("review", True, None)


def test_many_failing_calls_stay_cheap() -> None:
    """2,000 failing calls of one tool beside 2,000 parallel successes are graded without a quadratic scan."""
    steps = [call("a", "Error: x", turn=1) for _ in range(2000)] + [call("a", turn=1) for _ in range(2000)]
    result = grade(run(*steps))
    assert sum(f.verdict == "error_silent" for f in result.findings) == 2000


def test_many_fallbacks_stay_cheap() -> None:
    """Thousands of failing calls with thousands of fallbacks each are graded in a fraction of their product; the first that came later counts."""
    many = 20_000
    names = [f"f{i}" for i in range(many)]
    failing = [call("pay", "Error: down") for _ in range(many)]
    trajectory = run(*failing, *[call(name) for name in names], tool_fallbacks={"pay": [*reversed(names), "unused"]})
    result = grade(trajectory)
    assert result.passed
    assert {f.metadata["recovered_at"] for f in result.findings[:many]} == {many}
