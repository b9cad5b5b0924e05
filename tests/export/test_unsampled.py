"""Runs that were recorded and not sampled: kept whole when their verdict asks for it, once, and nothing else."""

from __future__ import annotations

from typing import Any

import pytest
from opentelemetry.context import Context
from opentelemetry.sdk.trace import ReadableSpan, SpanProcessor, SynchronousMultiSpanProcessor
from opentelemetry.sdk.trace.export import BatchSpanProcessor, SimpleSpanProcessor
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter
from opentelemetry.sdk.trace.sampling import ALWAYS_OFF, ALWAYS_ON, ParentBased, Sampler, TraceIdRatioBased

from attest_otel.findings import CheckResult
from attest_otel.live.exporting import exporting
from attest_otel.live.sampler import AttestSampler
from attest_otel.report import Report
from attest_otel.trajectory import Trajectory
from tests.live.helpers import AGENT, WAIT, Live, live, tool

ALLOWED = {"agents": {"a": {"allowed_tools": ["t0", "t1"]}}}
RUNS = 200
BLOCKED = frozenset({17, 90, 181})


class Watching(SpanProcessor):
    """Counts what it sees and exports nothing."""

    def __init__(self) -> None:
        self.ended = 0

    def on_end(self, span: ReadableSpan) -> None:
        """Count."""
        self.ended += 1


class Wrapping(SpanProcessor):
    """Holds another processor, as wrappers of other libraries do."""

    def __init__(self, processor: SpanProcessor) -> None:
        self.processor = processor


def settings(mode: str) -> dict[str, Any]:
    """Return settings that keep unsampled runs by a mode."""
    return {**ALLOWED, "export": mode}


def many(pipeline: Live) -> tuple[set[int], set[int]]:
    """Make the runs; return the traces of the blocked ones and of those that were sampled."""
    blocked, sampled = set(), set()
    for number in range(RUNS):
        with pipeline.tracer.start_as_current_span("agent", context=Context(), attributes=AGENT) as root:
            for name in ("t0", "forbidden" if number in BLOCKED else "t1"):
                with pipeline.tracer.start_as_current_span(f"execute_tool {name}", attributes=tool(name)) as span:
                    span.add_event("note", {"k": "v"})
        ids = root.get_span_context()
        if number in BLOCKED:
            blocked.add(ids.trace_id)
        if ids.trace_flags.sampled:
            sampled.add(ids.trace_id)
    return blocked, sampled


@pytest.mark.parametrize("inner", [TraceIdRatioBased(0.01), ParentBased(TraceIdRatioBased(0.01))])
@pytest.mark.parametrize("batched", [False, True])
def test_blocked_runs_are_whole_at_one_percent(inner: Sampler, batched: bool) -> None:
    """Of 200 runs at 1 %, the 3 blocked ones are in the exporter with their evaluation, and else only the sampled ones."""
    with live(settings("block"), sampler=AttestSampler(inner)) as pipeline:
        if batched:
            pipeline.exporter = InMemorySpanExporter()
            pipeline.provider.add_span_processor(BatchSpanProcessor(pipeline.exporter))
        blocked, sampled = many(pipeline)
        assert pipeline.processor.drain(WAIT)
        assert pipeline.provider.force_flush()
        spans = pipeline.exporter.get_finished_spans()
        by_trace: dict[int, list[str]] = {}
        for span in spans:
            assert span.context is not None
            assert span.context.trace_flags.sampled
            by_trace.setdefault(span.context.trace_id, []).append(span.name)
        assert set(by_trace) == blocked | sampled
        for trace_id in blocked:
            assert sorted(by_trace[trace_id]) == ["agent", "evaluate a", "execute_tool forbidden", "execute_tool t0"]
        assert len({(s.context.trace_id, s.context.span_id) for s in spans if s.context}) == len(spans)
        health = pipeline.processor.health()
        assert (health.started, health.evaluated, health.unsampled) == (RUNS, RUNS, RUNS - len(sampled))
        states = {dict(labels)["attest.state"]: value for labels, value in pipeline.metric("attest.processor.runs").items()}
        assert (states["started"], states["evaluated"], states["unsampled"]) == (RUNS, RUNS, RUNS - len(sampled))


@pytest.mark.parametrize(("mode", "kept"), [("none", 0), ("block", 1), ("not_pass", 2), ("all", 3)])
def test_each_mode_keeps_what_it_says(mode: str, kept: int) -> None:
    """A passing, a reviewed and a blocked run: each mode keeps those of its verdicts."""
    with live(settings(mode), sampler=AttestSampler(ALWAYS_OFF)) as pipeline:
        answer = '[{"role":"assistant","parts":[{"type":"text","content":"Done, all is fine."}]}]'
        task = '[{"role":"user","parts":[{"type":"text","content":"look it up"}]}]'
        more = {"gen_ai.output.messages": answer, "gen_ai.input.messages": task, "gen_ai.tool.definitions": DEFINED}
        pipeline.run(("fine",), **more)
        pipeline.run(("Error: boom",), **more)
        with pipeline.tracer.start_as_current_span("agent", context=Context(), attributes={**AGENT, **more}):
            pipeline.tracer.start_span("execute_tool forbidden", attributes=tool("forbidden")).end()
        assert pipeline.processor.drain(WAIT)
        assert [r.verdict for r in pipeline.reports] == ["pass", "review", "block"]
        assert [s.name for s in pipeline.exporter.get_finished_spans()].count("agent") == kept


DEFINED = '[{"type":"function","name":"t0","parameters":{"type":"object"}}]'


def test_a_sampled_run_is_left_alone() -> None:
    """A run that goes out by itself is not sent again."""
    with live(settings("all"), sampler=AttestSampler(ALWAYS_ON)) as pipeline:
        pipeline.run()
        assert pipeline.processor.drain(WAIT)
        assert sorted(s.name for s in pipeline.exporter.get_finished_spans()) == ["agent", "evaluate a", "execute_tool t0"]


def test_a_kept_span_is_the_span() -> None:
    """What is sent differs from what was recorded in the sampled flag alone, counts of what was dropped included."""
    with live(settings("all"), sampler=AttestSampler(ALWAYS_OFF)) as pipeline:
        seen: list[ReadableSpan] = []

        class Seeing(SpanProcessor):
            def on_end(self, span: ReadableSpan) -> None:
                seen.append(span)

        pipeline.provider.add_span_processor(Seeing())
        with pipeline.tracer.start_as_current_span("agent", context=Context()) as span:
            span.set_attributes({f"k{number}": number for number in range(130)})
            span.set_attributes(AGENT)
            span.add_event("e", {"a": 1})
        assert pipeline.processor.drain(WAIT)
        sent = next(s for s in pipeline.exporter.get_finished_spans() if s.name == "agent")
        was = next(s for s in seen if s.name == "agent")
        assert sent.context is not None
        assert was.context is not None
        assert not was.context.trace_flags.sampled
        assert sent.context.trace_flags.sampled
        assert (sent.context.trace_id, sent.context.span_id) == (was.context.trace_id, was.context.span_id)
        assert sent.dropped_attributes == was.dropped_attributes > 0
        for name in (
            "attributes",
            "events",
            "links",
            "status",
            "start_time",
            "end_time",
            "resource",
            "instrumentation_scope",
            "kind",
            "parent",
        ):
            assert getattr(sent, name) == getattr(was, name), name


def test_late_spans_of_a_kept_run_are_added_once() -> None:
    """A span that ends after the verdict is sent with the revision, the others not again."""
    with live({**settings("all"), "limits": {"grace_seconds": 0.05}}, sampler=AttestSampler(ALWAYS_OFF)) as pipeline:
        with pipeline.tracer.start_as_current_span("agent", context=Context(), attributes=AGENT):
            late = pipeline.tracer.start_span("execute_tool t0", attributes=tool("t0"))
        waiter = pipeline.processor.report_waiter(late.get_span_context().trace_id, late.parent.span_id)  # type: ignore[attr-defined]
        assert waiter is not None
        waiter.wait(WAIT)
        late.end()
        assert pipeline.processor.drain(WAIT)
        found = [s.name for s in pipeline.exporter.get_finished_spans()]
        assert found.count("agent") == 1
        assert found.count("execute_tool t0") == 1
        assert found.count("evaluate a") == 2


def test_a_block_is_sent_while_a_model_still_reads() -> None:
    """A run that is blocked without the model goes out at once, and its spans once; its evaluation follows."""

    async def model(run: Trajectory, report: Report) -> list[CheckResult]:
        sent.extend(s.name for s in pipeline.exporter.get_finished_spans())
        return []

    sent: list[str] = []
    with live(settings("block"), sampler=AttestSampler(ALWAYS_OFF), model_checks=model) as pipeline:
        with pipeline.tracer.start_as_current_span("agent", context=Context(), attributes=AGENT):
            pipeline.tracer.start_span("execute_tool forbidden", attributes=tool("forbidden")).end()
        assert pipeline.processor.drain(WAIT)
        assert sorted(sent) == ["agent", "execute_tool forbidden"]
        assert sorted(s.name for s in pipeline.exporter.get_finished_spans()) == ["agent", "evaluate a", "execute_tool forbidden"]


def test_only_what_exports_gets_them() -> None:
    """Processors that only watch saw the spans already; wrappers and groups are looked into."""
    watching, simple, batch = Watching(), SimpleSpanProcessor(InMemorySpanExporter()), BatchSpanProcessor(InMemorySpanExporter())
    group, wrapped = SynchronousMultiSpanProcessor(), Wrapping(simple)  # type: ignore[no-untyped-call]
    group.add_span_processor(batch)
    group.add_span_processor(watching)
    assert list(exporting((watching, wrapped, group, Wrapping(watching)))) == [wrapped, batch]
    batch.shutdown()  # type: ignore[no-untyped-call]


def test_a_big_run_overflows_no_queue() -> None:
    """A kept run of more spans than a batch processor's queue holds arrives whole."""
    exporter = InMemorySpanExporter()
    with live(settings("all"), sampler=AttestSampler(ALWAYS_OFF)) as pipeline:
        pipeline.provider.add_span_processor(BatchSpanProcessor(exporter))
        pipeline.run(("fine",) * 5_000)
        assert pipeline.processor.drain(WAIT)
        assert pipeline.provider.force_flush()
        assert len(exporter.get_finished_spans()) == 5_002


def test_values_of_a_kept_span_stay_within_the_limit() -> None:
    """What is held for a verdict is bounded: a value bigger than max_value_bytes is cut in what is sent too."""
    with live({**settings("all"), "limits": {"max_value_bytes": 1_000}}, sampler=AttestSampler(ALWAYS_OFF)) as pipeline:
        pipeline.run(("x" * 100_000,))
        assert pipeline.processor.drain(WAIT)
        sent = next(s for s in pipeline.exporter.get_finished_spans() if s.name.startswith("execute"))
        result = (sent.attributes or {})["gen_ai.tool.call.result"]
        assert isinstance(result, str)
        assert len(result) < 1_200
        assert "100000 characters" in result
