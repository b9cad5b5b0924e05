"""Reading the answer for errors, and the choice of tools."""

from __future__ import annotations

from typing import Any

import pytest

from attest_otel import Attest, Trajectory
from attest_otel.findings import CheckResult
from attest_otel.judge.readings import MAX_READ_CALLS
from attest_otel.judge.scripted import read_items
from tests.judge.scripted import Say, ScriptedJudge, SilentJudge

ERROR = {"name": "pay", "arguments_raw": '{"cents": 1}', "output": "Error: declined"}
FINE = {"name": "look", "arguments_raw": "{}", "output": "ok"}


def run(*calls: dict[str, Any], answer: str | None = "I could not pay.", **more: Any) -> Trajectory:
    """A run of these calls."""
    return Trajectory.model_validate(
        {
            "final_answer": answer,
            "task": "Pay.",
            "steps": [{"thought": "HIDDEN", "tool_call": c} for c in calls],
            **more,
        }
    )


def read(record: Trajectory, said: Say, **asked: bool) -> tuple[CheckResult, ScriptedJudge]:
    """The result, and the judge that was asked."""
    judge = ScriptedJudge(lambda _k, _i: said)
    return Attest({}, judge=judge).tool_use(record, **(asked or {"check_answer": True})), judge


@pytest.mark.parametrize(
    ("said", "verdict", "recovery", "disposition"),
    [
        (("acknowledged", "could not pay"), "correct", "acknowledged", "pass"),
        (("acknowledged", "sorry about that"), "error_silent", "unchecked", "review"),
        ("acknowledged", "error_silent", "unchecked", "review"),
        ("silent", "error_silent", "silent", "review"),
        ("claimed_success", "error_claimed_success", "claimed_success", "block"),
    ],
)
def test_how_the_answer_treats_an_error(said: Say, verdict: str, recovery: str, disposition: str) -> None:
    """That the answer owns up counts with its own words only; silence and a claim need none."""
    found = read(run(ERROR), said)[0].findings[0]
    assert (found.verdict, found.metadata["recovery"], found.disposition) == (verdict, recovery, disposition)


def test_one_question_an_error_and_no_more_shown() -> None:
    """Each question shows the tool's name, the error and the final answer."""
    _, judge = read(run(ERROR, FINE, {**ERROR, "name": "other"}), "silent")
    assert [q.kind for q in judge.questions] == ["tool_use.answer"] * 2
    for question in judge.questions:
        assert all(set(item) == {"tool", "error", "final_answer"} for _, item in read_items(question.user))
        assert "HIDDEN" not in question.user
        assert "cents" not in question.user


@pytest.mark.parametrize(
    ("calls", "answer", "questions", "recovery"),
    [
        ([ERROR, {**ERROR, "output": "ok"}], "x", 0, "retried"),
        ([FINE], "x", 0, None),
        ([ERROR], None, 0, "unchecked"),
        ([ERROR], " ", 0, "silent"),
    ],
)
def test_nothing_is_asked_where_rules_decide(
    calls: list[dict[str, Any]], answer: str | None, questions: int, recovery: str | None
) -> None:
    """Recovered errors, absent and empty answers need no reader."""
    result, judge = read(run(*calls, answer=answer), "claimed_success")
    assert len(judge.questions) == questions
    assert result.findings[0].metadata["recovery"] == recovery


def test_a_poor_choice() -> None:
    """One question a call; a poor choice is incorrect and goes to review."""
    result, judge = read(run(FINE, FINE), "poor", appropriate=True)
    assert [(f.verdict, f.disposition, f.metadata["appropriate"]) for f in result.findings] == [
        ("incorrect", "review", False)
    ] * 2
    assert [q.kind for q in judge.questions] == ["tool_use.choice"] * 2
    assert result.score == 0.0


def test_a_fair_choice() -> None:
    """A reasonable choice is correct."""
    found = read(run(FINE), "reasonable", appropriate=True)[0].findings[0]
    assert (found.verdict, found.metadata["appropriate"]) == ("correct", True)


def test_without_a_model_it_is_unchecked(monkeypatch: pytest.MonkeyPatch) -> None:
    """No key, no judge: the answer is unread, the choice unchecked, and both say so."""
    monkeypatch.delenv("ANTHROPIC_API_KEY", raising=False)
    result = Attest({}).tool_use(run(ERROR, FINE), appropriate=True)
    assert [(f.verdict, f.metadata["limit"]) for f in result.findings] == [
        ("error_silent", "no_model"),
        ("unchecked", "no_model"),
    ]
    assert "no grading model is configured" in result.findings[0].reason


def test_a_limit_is_named() -> None:
    """A skipped question names the limit in reason and metadata."""
    found = Attest({}, judge=SilentJudge("the breaker is open", "breaker")).tool_use(run(ERROR), check_answer=True).findings[0]
    assert (found.metadata["recovery"], found.metadata["limit"]) == ("unchecked", "breaker")
    assert "the breaker is open" in found.reason


def test_reading_is_bounded() -> None:
    """A thousand errors are not a thousand questions; the rest say so."""
    result, judge = read(run(*[{**ERROR, "name": f"t{n}"} for n in range(1000)]), "silent")
    assert len(judge.questions) == MAX_READ_CALLS
    assert result.findings[-1].metadata["limit"] == "budget"
