"""The grading model in a live pipeline: findings in two steps, counted once, and a verdict that only gets stricter."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import anyio
import pytest

from attest_otel.judge.judges import Judges
from attest_otel.judge.question import Answer, Question
from tests.judge.scripted import Say, ScriptedJudge
from tests.live.helpers import WAIT, live

CONFIG: dict[str, Any] = {"judge": {}, "checks": ["tool_use", "faithfulness"]}
ANSWER = {"gen_ai.output.messages": '[{"role":"assistant","parts":[{"type":"text","content":"It could not be done."}]}]'}


def owns_up(kind: str, _item: Mapping[str, Any]) -> Say:
    """A truthful reading of a run that failed and said so."""
    return ("acknowledged", "could not be done") if kind == "tool_use.answer" else ("supported", "boom")


def claims_it(kind: str, _item: Mapping[str, Any]) -> Say:
    """A reading that blocks."""
    return "claimed_success" if kind == "tool_use.answer" else "unverifiable"


@pytest.fixture
def judge(monkeypatch: pytest.MonkeyPatch) -> list[ScriptedJudge]:
    """The judge that the settings' stands for; put one in."""
    judges: list[ScriptedJudge] = []
    monkeypatch.setattr(Judges, "get", lambda _self: judges[0])
    return judges


def test_what_waits_is_held_back_and_settled(judge: list[ScriptedJudge]) -> None:
    """The first report is no stricter than the last: an error nobody has read the answer for is not in it."""
    judge.append(ScriptedJudge(owns_up))
    with live(CONFIG) as pipeline:
        pipeline.run(("Error: boom",), **ANSWER)
        assert pipeline.processor.drain(WAIT)
        first, last = pipeline.reports
    assert [f.verdict for f in first.findings()] == []
    assert [(f.verdict, f.metadata.get("recovery")) for f in last.results[0].findings] == [("correct", "acknowledged")]
    assert (first.verdict, last.verdict) == ("pass", "pass")


def test_a_verdict_gets_stricter(judge: list[ScriptedJudge]) -> None:
    """What the model finds blocks the run that passed before."""
    judge.append(ScriptedJudge(claims_it))
    with live(CONFIG) as pipeline:
        pipeline.run(("Error: boom", "fine"), **ANSWER)
        assert pipeline.processor.drain(WAIT)
        first, last = pipeline.reports
    assert (first.verdict, last.verdict) == ("pass", "block")


def test_each_finding_is_counted_once(judge: list[ScriptedJudge]) -> None:
    """A check that goes out twice does not count its findings twice."""
    judge.append(ScriptedJudge(claims_it))
    with live(CONFIG) as pipeline:
        pipeline.run(("Error: boom", "fine"), **ANSWER)
        assert pipeline.processor.drain(WAIT)
        counted = {dict(labels)["attest.finding.verdict"]: n for labels, n in pipeline.metric("attest.findings").items()}
    assert counted == {"correct": 1, "error_claimed_success": 1, "unverifiable": 1}


class Down(ScriptedJudge):
    """A judge that raises, or hangs."""

    def __init__(self, *, hangs: bool) -> None:
        super().__init__(owns_up)
        self.hangs = hangs

    async def ask(self, question: Question) -> Answer:
        """Never answer."""
        if self.hangs:
            await anyio.sleep_forever()
        raise RuntimeError("down")


@pytest.mark.parametrize("hangs", [True, False])
def test_a_judge_that_is_down_is_said(judge: list[ScriptedJudge], hangs: bool) -> None:
    """What was held back comes out unchecked, and the flush did not wait for it."""
    judge.append(Down(hangs=hangs))
    with live({**CONFIG, "limits": {"evaluation_deadline_seconds": 0.5}}) as pipeline:
        pipeline.run(("Error: boom",), **ANSWER)
        assert pipeline.processor.force_flush(5_000)
        assert pipeline.processor.drain(WAIT)
        last = pipeline.reports[-1]
    found = {(f.verdict, f.metadata.get("recovery")) for f in last.findings()}
    assert found == {("error_silent", "unchecked"), ("unchecked", None)}
    assert last.verdict == "review"


def test_without_a_judge_nothing_is_held_back() -> None:
    """One report, with all there is to say."""
    with live({"checks": ["tool_use"]}) as pipeline:
        pipeline.run(("Error: boom",), **ANSWER)
        assert pipeline.processor.drain(WAIT)
        assert [report.verdict for report in pipeline.reports] == ["review"]


def test_an_agents_key_is_not_spent(monkeypatch: pytest.MonkeyPatch) -> None:
    """A key in the environment alone makes no live run ask a model."""
    monkeypatch.setenv("ANTHROPIC_API_KEY", "the-agents")
    with live({"checks": ["tool_use"]}) as pipeline:
        pipeline.run()
        assert pipeline.processor.drain(WAIT)
        assert len(pipeline.reports) == 1
