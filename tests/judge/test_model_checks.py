"""A model adds and settles; it never removes what a deterministic check found."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import anyio
import pytest

from attest_otel import Attest, Trajectory
from attest_otel.checks import run_deterministic, unchecked
from attest_otel.findings import CheckResult, make_finding, make_result
from attest_otel.judge.model_checks import run_model_checks
from attest_otel.judge.question import Answer, Question
from attest_otel.merging import is_suspicious, merge_results, waits_for_model, without_waiting
from tests.judge.scripted import Say, ScriptedJudge, SilentJudge

RUN = {
    "id": "r",
    "task": "Pay for order 7.",
    "system_prompt": "You pay.",
    "allowed_tools": ["pay", "look"],
    "final_answer": "I paid 7 euro. It is sunny.",
    "steps": [
        {"tool_call": {"name": "rm", "arguments_raw": "{}", "output": "ok"}},
        {"tool_call": {"name": "pay", "arguments_raw": "{}", "output": "Error: no"}},
    ],
}
FAVOURABLE: dict[str, Say] = {
    "tool_use.answer": ("acknowledged", "I paid"),
    "faithfulness.factual": ("supported", "ok"),
    "role.scope": "in_scope",
    "injection.deep": "not_followed",
    "policy.ask": "yes",
    "actions.claims": "made",
}


def favourable(kind: str, _item: Mapping[str, Any]) -> Say:
    """The kindest answer to every question."""
    return FAVOURABLE[kind]


def failing(check: str, verdict: str = "bad") -> CheckResult:
    """A result with one failure."""
    return make_result(check, [make_finding(check, "fail", verdict, "r", subject="s", step=0)], "s")


@pytest.mark.parametrize("check", ["tool_use", "injection", "policy", "actions"])
def test_a_deterministic_failure_stays(check: str) -> None:
    """Whatever a model's result leaves out, the failure is in the report (property 27)."""
    before = failing(check)
    for after in (
        make_result(check, [], "s"),
        make_result(check, [make_finding(check, "pass", "fine", "r", subject="s", step=0)], "s"),
        unchecked(check, "late"),
    ):
        merged = merge_results([before], [after])[0]
        assert before.findings[0] in merged.findings
        assert not merged.passed


def test_a_favourable_model_lifts_no_block() -> None:
    """A run blocked without a model is blocked with the kindest one."""
    run = Trajectory.model_validate(RUN)
    without = Attest({}).evaluate(run, checks=["tool_use"])
    with_model = Attest({}, judge=ScriptedJudge(favourable)).evaluate(run, checks=["tool_use", "faithfulness", "role", "actions"])
    assert without.verdict == with_model.verdict == "block"


def test_what_waited_is_settled() -> None:
    """An error nobody had read the answer for makes way for the reading."""
    report = Attest({}, judge=ScriptedJudge(favourable)).evaluate(Trajectory.model_validate(RUN), checks=["tool_use"])
    assert [f.verdict for f in report.findings()] == ["disallowed_tool", "correct"]


def test_a_first_report_is_no_stricter_than_the_last() -> None:
    """Findings that wait for the model are left out of a report that goes out before it."""
    attest = Attest({})
    view = attest.view(Trajectory.model_validate({**RUN, "allowed_tools": None}))
    results = run_deterministic(view, ["tool_use"])
    assert attest.report(view.run, results).verdict == "review"
    assert attest.report(view.run, without_waiting(results)).verdict == "pass"
    assert [waits_for_model("tool_use", f) for f in results[0].findings] == [False, True]


def test_the_same_answers_give_the_same_bytes() -> None:
    """Same run, same answers: same report, whatever the boundary."""
    run = Trajectory.model_validate(RUN)
    checks = Attest({}, judge=ScriptedJudge(favourable)).default_checks()
    reports = {Attest({}, judge=ScriptedJudge(favourable)).evaluate(run, checks=checks).to_json() for _ in range(3)}
    assert len(reports) == 1


@pytest.mark.parametrize("backend", ["asyncio", "trio"])
def test_it_runs_under_both_loops(backend: str) -> None:
    """Both asyncio and trio give the same report, from inside a loop, sync and async."""
    attest = Attest({}, judge=ScriptedJudge(favourable))
    run = Trajectory.model_validate(RUN)

    async def both() -> tuple[str, str]:
        return (await attest.aevaluate(run)).to_json(), attest.evaluate(run).to_json()

    first, second = anyio.run(both, backend=backend)
    assert first == second == attest.evaluate(run).to_json()


class Broken(ScriptedJudge):
    """A session that breaks its promise and raises."""

    async def ask(self, question: Question) -> Answer:
        """Fail."""
        raise RuntimeError("down")


class Sleeper(ScriptedJudge):
    """A session that never answers the claims."""

    async def ask(self, question: Question) -> Answer:
        """Fail."""
        if question.kind.startswith("faithfulness"):
            await anyio.sleep_forever()
        return await super().ask(question)


def test_a_broken_judge_is_a_finding() -> None:
    """What raises is unchecked, and what the rules found is still there."""
    report = Attest({}, judge=Broken(favourable)).evaluate(
        Trajectory.model_validate(RUN), checks=["tool_use", "faithfulness", "role"]
    )
    assert report.verdict == "block"
    for check in ("faithfulness", "role"):
        result = report.result(check)
        assert result is not None
        assert [(f.verdict, f.metadata["limit"]) for f in result.findings] == [("unchecked", "error")]


def test_what_is_late_is_unchecked_and_what_came_before_stays() -> None:
    """The deadline ends the questions of a check; answers that came earlier count."""
    attest = Attest({})
    view = attest.view(Trajectory.model_validate(RUN))
    results = run_deterministic(view, ["tool_use"])

    async def ask() -> list[CheckResult]:
        """Fail."""
        return await run_model_checks(
            view,
            results,
            Sleeper(favourable),
            checks=["tool_use", "faithfulness", "role"],
            deadline_seconds=0.2,
        )

    found = {result.check: result for result in anyio.run(ask)}
    assert [f.verdict for f in found["tool_use"].findings] == ["disallowed_tool", "correct"]
    assert found["faithfulness"].findings[0].metadata["limit"] == "timeout"
    assert found["role"].findings[0].metadata["limit"] == "timeout"


def test_a_suspicious_run_says_so_to_the_judge() -> None:
    """Sampling may not leave out a run that a deterministic check found something in."""
    for run, suspicious in ((RUN, True), ({"final_answer": "x"}, False)):
        judge = ScriptedJudge(favourable)
        Attest({}, judge=judge).evaluate(Trajectory.model_validate(run), checks=["tool_use", "faithfulness"])
        assert judge.suspicious == [suspicious]
    assert not is_suspicious([])


def test_every_check_names_the_limit() -> None:
    """With no budget every check that has questions is unchecked, and none passes for it."""
    attest = Attest({}, judge=SilentJudge())
    report = attest.evaluate(Trajectory.model_validate({**RUN, "allowed_tools": None}), checks=attest.default_checks())
    for check in ("tool_use", "actions", "faithfulness", "role"):
        result = report.result(check)
        assert result is not None
        assert any(f.metadata.get("limit") == "budget" for f in result.findings), check


def test_the_hash_covers_the_prompts() -> None:
    """Reports say which prompts graded them: a judge changes the hash, and a wording would."""
    run = Trajectory.model_validate(RUN)
    without = Attest({}).evaluate(run, checks=["tool_use"]).policy_hash
    hashes = {Attest({}, judge=ScriptedJudge(favourable)).evaluate(run, checks=["tool_use"]).policy_hash for _ in range(2)}
    assert len(hashes) == 1
    assert without not in hashes
