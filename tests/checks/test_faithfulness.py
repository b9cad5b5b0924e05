"""Faithfulness: each claim supported, unsupported, unverifiable or unchecked, by the words that decide."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import anyio
import pytest

from attest_otel import Attest, AttestConfig, Trajectory, VerdictPolicy
from attest_otel.checks import faithfulness
from attest_otel.checks.view import RunView
from attest_otel.findings import CheckResult, Finding
from attest_otel.judge.asking import Asker
from tests.judge.scripted import Say, ScriptedJudge, SilentJudge

DIFF = "diff --git a/x.py b/x.py\n@@ -1,2 +1,2 @@\n-a\n+b\n"


def run(answer: str | None, *outputs: str, **more: Any) -> Trajectory:
    """A run with an answer and the outputs of its calls."""
    steps = [
        {
            "thought": "I am sure it all worked",
            "tool_call": {"name": f"t{n}", "arguments_raw": '{"to": "ana"}', "output": o},
        }
        for n, o in enumerate(outputs)
    ]
    return Trajectory.model_validate({"id": "r", "final_answer": answer, "steps": steps, **more})


def checked(record: Trajectory, said: Mapping[str, Say] | Say, kind: faithfulness.AnswerKind = "factual") -> CheckResult:
    """The result, with a model that says one thing, or one thing a claim."""

    def table(_kind: str, item: Mapping[str, Any]) -> Say:
        return said[item["claim"]] if isinstance(said, Mapping) else said

    judge = ScriptedJudge(table)
    return anyio.run(faithfulness.check, RunView(record, AttestConfig()), Asker(judge, len(record.steps)), kind)


def only(result: CheckResult) -> Finding:
    """The only finding."""
    assert len(result.findings) == 1
    return result.findings[0]


@pytest.mark.parametrize(
    ("said", "verdict", "severity", "evidence", "step"),
    [
        (("supported", "seven left"), "supported", "pass", "seven left", 1),
        (("supported", "SEVEN  left"), "supported", "pass", "SEVEN  left", 1),
        (("supported", "eight left"), "unchecked", "warn", None, None),
        (("supported", ""), "unchecked", "warn", None, None),
        (("supported", '"to": "ana"'), "unverifiable", "warn", '"to": "ana"', None),
        (("unsupported", "seven left"), "unsupported", "fail", "seven left", 1),
        (("unsupported", "made up"), "unsupported", "fail", None, None),
        ("unverifiable", "unverifiable", "warn", None, None),
    ],
)
def test_one_claim(said: Say, verdict: str, severity: str, evidence: str | None, step: int | None) -> None:
    """A claim is backed only by words that stand in the evidence."""
    found = only(checked(run("There are seven.", "nothing", "There are seven left."), said))
    assert (found.verdict, found.severity, found.evidence, found.step) == (verdict, severity, evidence, step)
    assert found.subject == "There are seven."


def test_the_score_is_the_share_of_supported() -> None:
    """Of the claims that were answered; what was not answered does not count."""
    said: dict[str, Say] = {
        "One is red.": ("supported", "red"),
        "Two is blue.": ("unsupported", "not blue"),
        "Three is wet.": "unverifiable",
        "Four is old.": ("supported", "nowhere"),
    }
    result = checked(run(" ".join(said), "red, not blue"), said)
    assert result.score == pytest.approx(1 / 3)
    assert not result.passed
    assert result.summary == "4 claims: 1 supported, 1 unsupported, 1 unverifiable, 1 unchecked."


@pytest.mark.parametrize(("answer", "findings"), [(None, ["unchecked"]), ("", []), ("***", [])])
def test_nothing_to_grade_has_no_score(answer: str | None, findings: list[str]) -> None:
    """No answer on record is unchecked; an empty one claims nothing; neither scores."""
    result = checked(run(answer, "x"), "unverifiable")
    assert [f.verdict for f in result.findings] == findings
    assert result.score is None


def test_without_evidence_nothing_is_asked() -> None:
    """Where no tool was called, every claim is unverifiable, and one question is enough."""
    judge = ScriptedJudge(lambda _k, _i: ("supported", "x"))
    result = anyio.run(faithfulness.check, RunView(run("It is 7.")), Asker(judge))
    assert only(result).verdict == "unverifiable"
    assert [q.kind for q in judge.questions] == ["faithfulness.claims"]


def test_a_question_not_asked_is_unchecked_with_its_limit() -> None:
    """The finding and the result name the limit."""
    result = anyio.run(faithfulness.check, RunView(run("It is 7.", "7")), Asker(SilentJudge()))
    assert only(result).metadata == {"checked": False, "limit": "budget"}
    assert result.metadata["limit"] == "budget"
    assert "budget" in only(result).reason


@pytest.mark.parametrize(
    ("kind", "output", "picked"),
    [
        ("factual", DIFF, "factual"),
        ("plan", "x", "plan"),
        ("code", "x", "code"),
        ("auto", DIFF, "code"),
        ("auto", "a - b @@", "factual"),
    ],
)
def test_answer_kinds(kind: faithfulness.AnswerKind, output: str, picked: str) -> None:
    """`auto` reads a diff as code; the kind decides the question and is stamped on the result."""
    result = checked(run("It is good.", output), "unverifiable", kind)
    assert result.metadata["answer_kind"] == picked
    assert set(result.metadata["prompt_versions"]) == {"faithfulness.claims", f"faithfulness.{picked}"}


def test_artifacts_are_evidence_and_unread_ones_are_named() -> None:
    """Text of a tool's artifact backs a claim; a picture is listed as unread; an upload is neither."""
    record = run(
        "There are seven.",
        "see file",
        artifacts=[
            {"name": "report", "text": "seven left"},
            {"name": "photo.png", "media_type": "image/png", "data_base64": "AAAA"},
            {"name": "mine", "source": "user_upload", "text": "eight left"},
        ],
    )
    result = checked(record, ("supported", "seven left"))
    assert only(result).verdict == "supported"
    assert result.metadata["artifacts_unread"] == ["photo.png"]
    assert only(checked(record, ("supported", "eight left"))).verdict == "unchecked"


def test_the_thoughts_never_reach_the_model() -> None:
    """No question holds a word of the agent's thinking."""
    judge = ScriptedJudge(lambda _k, _i: "unverifiable")
    anyio.run(faithfulness.check, RunView(run("It is 7.", "x")), Asker(judge, 1))
    assert judge.questions
    assert not any("I am sure" in q.user + q.system for q in judge.questions)


@pytest.mark.parametrize(("on", "verdict"), [("pass", "pass"), ("review", "review"), ("block", "block")])
def test_the_policy_decides_what_an_inconclusive_check_means(on: Any, verdict: str) -> None:
    """A claim whose check failed follows on_inconclusive_faithfulness."""
    attest = Attest({}, verdict_policy=VerdictPolicy(on_inconclusive_faithfulness=on), judge=SilentJudge())
    assert attest.evaluate(run("It is 7.", "7"), checks=["faithfulness"]).verdict == verdict


@pytest.mark.parametrize(("least", "verdict"), [(None, "pass"), (0.5, "pass"), (0.6, "review")])
def test_the_policy_can_ask_for_coverage(least: float | None, verdict: str) -> None:
    """Below min_claim_coverage a run can't pass."""
    judge = ScriptedJudge(lambda _k, item: ("supported", "red") if "red" in item["claim"] else "unverifiable")
    attest = Attest({}, verdict_policy=VerdictPolicy(min_claim_coverage=least), judge=judge)
    assert attest.evaluate(run("One is red. Two is blue.", "red"), checks=["faithfulness"]).verdict == verdict
