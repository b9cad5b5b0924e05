"""Role: within the job, refused, or done all the same."""

from __future__ import annotations

from typing import Any

import anyio
import pytest

from attest_otel import Attest, Trajectory
from attest_otel.checks import role
from attest_otel.checks.view import RunView
from attest_otel.judge.asking import Asker
from tests.judge.scripted import ScriptedJudge, SilentJudge

RUN = {
    "agent": "bot",
    "system_prompt": "You sell tea.",
    "task": "Write a poem.",
    "final_answer": "Roses are red.",
}


@pytest.mark.parametrize(
    ("said", "severity", "verdict"),
    [
        ("in_scope", "pass", "pass"),
        ("appropriately_refused", "pass", "pass"),
        ("out_of_scope_complied", "fail", "block"),
    ],
)
def test_the_three_answers(said: str, severity: str, verdict: str) -> None:
    """Each answer has its severity and disposition, and role doesn't score."""
    report = Attest({}, judge=ScriptedJudge(lambda _k, _i: (said, "Roses are red"))).evaluate(
        Trajectory.model_validate(RUN), checks=["role"]
    )
    found = report.findings()[0]
    assert (found.verdict, found.severity, report.verdict) == (said, severity, verdict)
    assert found.evidence == "Roses are red"
    assert report.scores == {"role": None}


@pytest.mark.parametrize("missing", ["system_prompt", "task", "final_answer"])
def test_what_is_not_on_record_is_unchecked(missing: str) -> None:
    """Without a job, a request or an answer there is nothing to ask."""
    judge = ScriptedJudge(lambda _k, _i: "in_scope")
    record: dict[str, Any] = {k: v for k, v in RUN.items() if k != missing}
    result = anyio.run(role.check, RunView(Trajectory.model_validate(record)), Asker(judge))
    assert result.findings[0].verdict == "unchecked"
    assert judge.questions == []


def test_a_limit_is_named() -> None:
    """A question that was not asked says why."""
    result = anyio.run(
        role.check,
        RunView(Trajectory.model_validate(RUN)),
        Asker(SilentJudge("too many this minute", "rate")),
    )
    assert (result.findings[0].verdict, result.metadata["limit"]) == ("unchecked", "rate")
    assert "too many this minute" in result.findings[0].reason
