"""Properties 24 to 27: anything missing is said and never a pass; reports are the same bytes; a model lifts nothing."""

from __future__ import annotations

import random
from collections.abc import Callable
from typing import Any

import pytest
from opentelemetry import trace
from opentelemetry.context import Context
from opentelemetry.sdk.trace import SpanLimits, TracerProvider
from opentelemetry.sdk.trace.sampling import ALWAYS_ON, Decision, Sampler, SamplingResult

from attest_otel.checks import run_one
from attest_otel.findings import CheckResult, make_finding, make_result
from attest_otel.live import grading
from attest_otel.record import settings
from attest_otel.record.agent_run import agent_run
from attest_otel.record.dispatcher import traced_dispatcher
from attest_otel.report import Report
from attest_otel.trajectory import Trajectory
from tests.live.helpers import AGENT, WAIT, Live, live, tool
from tests.reliability.helpers import drained, findings, program, recorded, verdicts

ANSWER = '[{"role": "assistant", "parts": [{"type": "text", "content": "done"}]}]'
WHOLE = {
    **AGENT,
    "gen_ai.output.messages": ANSWER,
    "gen_ai.input.messages": '[{"role": "user", "parts": [{"type": "text", "content": "go"}]}]',
}


class DropTools(Sampler):
    """Drops tool spans and samples all else."""

    def should_sample(
        self, parent_context: Any, trace_id: int, name: str, kind: Any = None, attributes: Any = None, *rest: Any, **more: Any
    ) -> SamplingResult:
        """Drop spans named after tools."""
        decision = Decision.DROP if name.startswith("execute_tool") else Decision.RECORD_AND_SAMPLE
        return SamplingResult(decision, attributes)

    def get_description(self) -> str:
        """Return the name."""
        return "DropTools"


def _run(provider: TracerProvider, *, output: str = "fine", outputs: int = 1, extra: dict[str, Any] | None = None) -> None:
    tracer = provider.get_tracer("x")
    with tracer.start_as_current_span("agent", context=Context(), attributes=WHOLE):
        for _ in range(outputs):
            with tracer.start_as_current_span("execute_tool lookup", attributes={**tool("lookup", output), **(extra or {})}):
                pass


def _provider(pipeline: Live, **options: Any) -> TracerProvider:
    provider = TracerProvider(shutdown_on_exit=False, **options)
    provider.add_span_processor(pipeline.processor)
    return provider


def _dropped_attributes(pipeline: Live) -> None:
    _run(_provider(pipeline, span_limits=SpanLimits(max_span_attributes=5)), extra={f"x{n}": n for n in range(10)})


def _dropped_events(pipeline: Live) -> None:
    tracer = _provider(pipeline, span_limits=SpanLimits(max_events=2)).get_tracer("x")
    with tracer.start_as_current_span("agent", context=Context(), attributes=AGENT) as root:
        for number in range(5):
            root.add_event(f"e{number}")
        with tracer.start_as_current_span("execute_tool lookup", attributes=tool("lookup")):
            pass


def _cut_by_the_sdk(pipeline: Live) -> None:
    _run(_provider(pipeline, span_limits=SpanLimits(max_span_attribute_length=300)), output="x" * 400)


def _cut_by_us(pipeline: Live) -> None:
    _run(pipeline.provider, output="x" * 20_000)


def _too_big_a_run(pipeline: Live) -> None:
    _run(pipeline.provider, output="x" * 9_000, outputs=9)


def _too_many_spans(pipeline: Live) -> None:
    _run(pipeline.provider, outputs=25)


def _evicted(pipeline: Live) -> None:
    tracer = pipeline.tracer
    first = tracer.start_span("agent", context=Context(), attributes=WHOLE)
    tracer.start_span("execute_tool lookup", context=trace.set_span_in_context(first), attributes=tool("lookup")).end()
    for _ in range(3):
        tracer.start_span("agent", context=Context(), attributes=AGENT)


def _still_open(pipeline: Live) -> None:
    tracer = pipeline.tracer
    root = tracer.start_span("agent", context=Context(), attributes=WHOLE)
    tracer.start_span("execute_tool lookup", context=trace.set_span_in_context(root), attributes=tool("lookup"))
    root.end()


LOSSES: list[tuple[Callable[[Live], None], str]] = [
    (_dropped_attributes, "attributes of span"),
    (_dropped_events, "events of span"),
    (_cut_by_the_sdk, ""),
    (_cut_by_us, "max_value_bytes"),
    (_too_big_a_run, "max_run_bytes"),
    (_too_many_spans, "max_spans_per_run"),
    (_evicted, "max_open_runs"),
    (_still_open, "still open"),
]
LIMITS = {"max_open_runs": 3, "max_spans_per_run": 20, "max_value_bytes": 10_000, "max_run_bytes": 60_000, "grace_seconds": 0.05}
KNOWN = {"agents": {"a": {"tools": [{"name": "lookup", "side_effecting": False}]}}}


def test_a_whole_run_passes() -> None:
    """With nothing missing, the run that the tests below take parts of passes: what they see is the loss."""
    with live({"limits": LIMITS, **KNOWN}) as pipeline:
        _run(pipeline.provider)
        (report,) = drained(pipeline)
        assert (report.verdict, report.incomplete) == ("pass", [])
        assert verdicts(report, "coverage") == ["complete"]


@pytest.mark.parametrize(("lose", "said"), LOSSES, ids=[lose.__name__[1:] for lose, _ in LOSSES])
def test_what_is_missing_is_said_and_never_a_pass(lose: Callable[[Live], None], said: str) -> None:
    """Dropped attributes and events, cut values, evicted and left out spans: the report says which, and does not pass."""
    with live({"limits": LIMITS, **KNOWN}) as pipeline:
        lose(pipeline)
        assert pipeline.processor.drain(WAIT)
        pipeline.processor.shutdown()
        report = pipeline.reports[0]
        assert report.verdict != "pass"
        assert any(said in text for text in [*report.incomplete, *[f.reason for f in report.findings()]])
        assert verdicts(report, "coverage") != ["complete"]


@pytest.mark.parametrize("by_hand", [True, False])
def test_tool_spans_that_the_sampler_drops_are_said(by_hand: bool) -> None:
    """Our recorder knows of calls whose spans were dropped while their run's was not."""
    with recorded(KNOWN) as pipeline:
        settings.configure(settings.RecorderSettings(_provider(pipeline, sampler=DropTools()), "full"))
        with agent_run("a", task="t", tools=[]) as run:
            if by_hand:
                run.tool_call("lookup", "{}").end()
            else:
                traced_dispatcher(lambda name, arguments: "fine")("lookup", "{}")
            run.final_answer = "done"
        report = run.report(WAIT)
        assert report.verdict == "review"
        assert any("1 tool calls were not recorded" in text for text in report.incomplete)


def test_tool_spans_that_are_dropped_below_foreign_agents_are_said() -> None:
    """Where model calls show what was asked for, a call without a span is requested and not run."""
    asked = '[{"role": "assistant", "parts": [{"type": "tool_call", "id": "c1", "name": "lookup", "arguments": {}}]}]'
    with live(KNOWN) as pipeline:
        tracer = _provider(pipeline, sampler=DropTools()).get_tracer("x")
        chat = {"gen_ai.operation.name": "chat", "gen_ai.input.messages": WHOLE["gen_ai.input.messages"]}
        with tracer.start_as_current_span("agent", context=Context(), attributes=WHOLE):
            with tracer.start_as_current_span("chat", attributes={**chat, "gen_ai.output.messages": asked}):
                pass
            with tracer.start_as_current_span("execute_tool lookup", attributes=tool("lookup")):
                pass
        (report,) = drained(pipeline)
        assert report.verdict == "review"
        assert "requested_not_run" in verdicts(report, "coverage")


CHECKS = ["tool_use", "arguments", "repetition", "actions", "provenance", "injection", "coverage"]


@pytest.mark.parametrize("check", CHECKS)
@pytest.mark.parametrize("how", ["raises", "hangs", "exits"])
def test_a_check_that_fails_is_a_finding_that_says_so(check: str, how: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """A check that raises, exits or runs past its time is `unchecked`, the verdict is review, and the others are graded."""

    def broken(view: Any, name: Any) -> CheckResult | None:
        if name == check:
            if how == "hangs":
                while True:
                    pass
            raise SystemExit if how == "exits" else RuntimeError
        return run_one(view, name)

    monkeypatch.setattr(grading, "run_one", broken)
    with live({"limits": {"check_deadline_seconds": 0.05}, "checks": CHECKS, **KNOWN}) as pipeline:
        _run(pipeline.provider)
        (report,) = drained(pipeline)
        assert verdicts(report, check) == ["unchecked"]
        assert report.verdict == "review"
        others = set(CHECKS) - {check}
        assert not any(verdicts(report, other) == ["unchecked"] for other in others)
        assert {"tool_use", "arguments", "coverage"} - {check} <= {result.check for result in report.results}


def test_a_run_has_a_deadline_and_what_was_not_begun_says_so(monkeypatch: pytest.MonkeyPatch) -> None:
    """When the checks together take too long, the rest is unchecked and the next run is graded."""
    slow: list[str] = ["first"]

    def crawl(view: Any, name: Any) -> CheckResult | None:
        while slow:
            pass
        return run_one(view, name)

    monkeypatch.setattr(grading, "run_one", crawl)
    limits = {"check_deadline_seconds": 0.2, "evaluation_deadline_seconds": 0.1}
    with live({"limits": limits, "checks": CHECKS, **KNOWN}) as pipeline:
        _run(pipeline.provider)
        assert pipeline.processor.drain(WAIT)
        slow.clear()
        _run(pipeline.provider)
        first, second = drained(pipeline)
        assert {verdict for check in CHECKS for verdict in verdicts(first, check)} == {"unchecked"}
        said = {check: findings(first, check)[0].reason for check in CHECKS}
        assert sum("took longer" in reason for reason in said.values()) == 1
        assert sum("not begun" in reason for reason in said.values()) == len(CHECKS) - 1
        assert second.verdict == "pass"


SAME = """
    import json, random, sys
    from attest_otel.grader import Attest
    from attest_otel.read.build import build_trajectory
    from attest_otel.read.runs import split_runs
    from attest_otel.read.span import SpanRecord

    def span(number, parent, attributes):
        return SpanRecord("1" * 32, f"{number:016x}", parent, False, f"s{number}", 1000 * number, 1000 * number + 500, attributes=attributes)

    agent = {"gen_ai.operation.name": "invoke_agent", "gen_ai.agent.name": "a"}
    records = [span(1, None, agent)]
    for n in range(2, 40):
        tool = {"gen_ai.operation.name": "execute_tool", "gen_ai.tool.name": f"t{n % 7}", "gen_ai.tool.call.arguments": json.dumps({"n": n % 3, "é": [n]}),
                "gen_ai.tool.call.result": "Error: no" if n % 5 == 0 else f"fine {n}", "gen_ai.conversation.id": "c"}
        records.append(span(n, f"{max(1, n // 3):016x}", tool))
    random.Random(int(sys.argv[1])).shuffle(records)
    attest = Attest({"agents": {"*": {"rules": [{"id": "x", "severity": "warn", "at_most": {"t1": 1, "t2": 1}}]}}})
    for run in split_runs(records):
        print(attest.evaluate(build_trajectory(run.root, run.spans), checks=attest.deterministic_checks()).model_dump_json())
"""


def test_the_same_run_gives_the_same_bytes() -> None:
    """Shuffled spans and any PYTHONHASHSEED: one report, byte for byte."""
    said = {program(SAME, str(seed), PYTHONHASHSEED=str(seed * 7919)).stdout for seed in range(4)}
    assert len(said) == 1
    assert '"verdict":"' in said.pop()


def test_the_order_of_arrival_changes_no_byte_of_a_live_report() -> None:
    """Live, the same spans started and ended in other orders give the same report."""
    from opentelemetry.trace import SpanContext, TraceFlags

    from tests.reliability.helpers import Started, pass_through

    def one(number: int, parent: int | None, attributes: dict[str, Any]) -> Started:
        above = None if parent is None else SpanContext(3, parent, is_remote=False)
        ids = SpanContext(3, number, is_remote=False, trace_flags=TraceFlags(1))
        return Started(
            f"s{number}", context=ids, parent=above, attributes=attributes, start_time=number * 1000, end_time=number * 1000 + 500
        )

    spans = [one(n, 1, tool(f"t{n % 3}", "Error: no" if n == 4 else "fine")) for n in range(2, 12)]
    root = one(1, None, WHOLE)
    found: set[str] = set()
    for seed in range(4):
        order, starts = list(spans), list(spans)
        random.Random(seed).shuffle(order)
        random.Random(-seed - 1).shuffle(starts)
        with live(KNOWN) as pipeline:
            pass_through(pipeline, [root, *starts], [*order, root])
            (report,) = drained(pipeline)
            found.add(report.model_dump_json())
    assert len(found) == 1


@pytest.mark.parametrize("severity", ["pass", "warn", "fail"])
def test_a_model_never_lifts_a_block(severity: Any) -> None:
    """Whatever the model says of any check, a deterministic block stays, and its findings with it."""

    async def model(run: Trajectory, report: Report) -> list[CheckResult]:
        kind = {"pass": "correct", "warn": "unchecked", "fail": "incorrect"}[severity]
        checks = ["tool_use", "arguments", "faithfulness", "actions"]
        return [make_result(check, [make_finding(check, severity, kind, "the model says so")], "", score=1.0) for check in checks]

    with live({"agents": {"a": {"allowed_tools": []}}}, model_checks=model) as pipeline:
        _run(pipeline.provider)
        drained(pipeline)
        first, last = pipeline.reports[0], pipeline.reports[-1]
        assert [report.verdict for report in (first, last)] == ["block", "block"]
        assert {finding.id for finding in first.findings() if finding.disposition == "block"} <= {
            finding.id for finding in last.findings()
        }
        assert "disallowed_tool" in verdicts(last, "tool_use")


def test_the_helper_sampler_samples_all_else() -> None:
    """The sampler of these tests drops tools alone."""
    assert DropTools().should_sample(None, 1, "agent").decision is ALWAYS_ON.should_sample(None, 1, "agent").decision
