"""What real pipelines did to traces, case by case: `data/pipeline.yaml`, each as a test with its id, under the real SDK."""

from __future__ import annotations

import asyncio
import json
import logging
import os
import re
import sys
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest
import yaml
from opentelemetry import context, trace
from opentelemetry.context import Context
from opentelemetry.sdk._logs import LoggerProvider
from opentelemetry.sdk._logs.export import InMemoryLogRecordExporter, SimpleLogRecordProcessor
from opentelemetry.sdk.trace import SpanLimits, TracerProvider
from opentelemetry.trace import StatusCode

from attest_otel.checks import run_one
from attest_otel.live import grading
from attest_otel.live.runs import State
from attest_otel.record.agent_run import agent_run
from attest_otel.record.dispatcher import bind_context, traced_dispatcher
from attest_otel.trajectory import Tool
from tests.live.helpers import AGENT, WAIT, Bench, Live, live, missing, tool
from tests.live.test_fork import in_child
from tests.reliability.helpers import drained, findings, program, recorded, trajectories, verdicts

CASES = yaml.safe_load((Path(__file__).parents[1] / "data" / "pipeline.yaml").read_text(encoding="utf-8"))
AGENT_TOOLS = {"tools": [{"name": "issue_refund", "side_effecting": True}, {"name": "lookup", "side_effecting": False}]}
REFUNDS = {"agents": {"*": AGENT_TOOLS}}


@pytest.mark.parametrize("case", CASES, ids=[case["id"] for case in CASES])
def test_every_case_has_a_test(case: dict[str, Any]) -> None:
    """A case added to the data without a test fails here."""
    names = [name.lower() for name in globals() if name.startswith("test_")]
    assert any(name.startswith(f"test_{case['id'].lower()}_") for name in names)


def test_d02_findings_go_out_though_the_span_has_ended() -> None:
    """A finding 300 ms after the end is a log event with the run's ids and a span below its root; the root is untouched."""
    logs = InMemoryLogRecordExporter()  # type: ignore[no-untyped-call]
    loggers = LoggerProvider(shutdown_on_exit=False)
    loggers.add_log_record_processor(SimpleLogRecordProcessor(logs))
    with live({"export": {"log_events": True}}, logger_provider=loggers) as pipeline:
        root = pipeline.run(("Error: boom",))
        drained(pipeline)
        spans = {span.name: span for span in pipeline.exporter.get_finished_spans()}
    loggers.shutdown()
    records = [found.log_record for found in logs.get_finished_logs()]
    assert {record.event_name for record in records} == {"gen_ai.evaluation.result"}
    assert {(record.trace_id, record.span_id) for record in records} == {(root.trace_id, root.span_id)}
    evaluation = spans["evaluate a"]
    assert evaluation.parent is not None
    assert (evaluation.parent.trace_id, evaluation.parent.span_id) == (root.trace_id, root.span_id)
    assert {event.name for event in evaluation.events} == {"gen_ai.evaluation.result"}
    assert spans["agent"].events == ()
    assert "_on_ending" not in vars(type(pipeline.processor))


def _pooled(pipeline: Live, conversation: str | None) -> None:
    """Run an agent whose two tools run in a pool that inherits no context."""
    named = {} if conversation is None else {"gen_ai.conversation.id": conversation}

    def call(number: int) -> None:
        with pipeline.tracer.start_as_current_span(f"execute_tool t{number}", attributes=tool(f"t{number}", **named)):
            pass

    with (
        pipeline.tracer.start_as_current_span("agent", context=Context(), attributes={**AGENT, **named}),
        ThreadPoolExecutor(2) as pool,
    ):
        list(pool.map(call, range(2)))


def test_d04_pooled_tool_calls_join_their_run_by_conversation() -> None:
    """Parentless tool spans that name their conversation are in the one run's one report."""
    with live({"limits": {"grace_seconds": 0.2}}) as pipeline:
        _pooled(pipeline, "c1")
        (report,) = drained(pipeline)
        assert len(findings(report, "tool_use")) == 2


def test_d04_pooled_tool_calls_of_nobody_are_orphans() -> None:
    """Without a name to join by, each is reported as an orphan and never as a run with an answer to check."""
    with live() as pipeline:
        _pooled(pipeline, None)
        run, *orphans = sorted(drained(pipeline), key=lambda report: report.agent is None)
        assert run.agent == "a"
        assert len(orphans) == 2
        for report in orphans:
            assert report.verdict == "review"
            assert "orphan_result" in verdicts(report, "coverage")
            assert findings(report, "actions") == []


def test_d04_bound_executors_keep_the_run() -> None:
    """`bind_context` carries the run into a pool: one trace, one run."""
    with recorded() as pipeline:
        with agent_run("a", task="t") as run, ThreadPoolExecutor(2) as pool:
            dispatch = bind_context(traced_dispatcher(lambda name, arguments: "fine"))
            assert list(pool.map(dispatch, ["t0", "t1"], ["{}", "{}"])) == ["fine", "fine"]
        assert len(findings(run.report(WAIT), "tool_use")) == 2
        assert len(drained(pipeline)) == 1


def test_d06_a_context_left_attached_does_not_join_two_runs() -> None:
    """A run that starts below a dead span of an evaluated run, in its trace, is a run of its own with its own report."""
    with live() as pipeline:
        with pipeline.tracer.start_as_current_span("agent", context=Context(), attributes=AGENT):
            leaked = context.get_current()
        assert len(drained(pipeline)) == 1
        start = pipeline.tracer.start_as_current_span
        named = {**AGENT, "gen_ai.agent.name": "b"}
        with start("agent", context=leaked, attributes=named) as second, start("execute_tool t", attributes=tool()):
            pass
        assert second.get_span_context().trace_id == trace.get_current_span(leaked).get_span_context().trace_id
        first, again = drained(pipeline)
        assert (first.agent, again.agent, again.revision) == ("a", "b", 0)
        assert len(findings(again, "tool_use")) == 1
        assert pipeline.processor.health().late_spans == 0


class Stream:
    """A stream of a client's library: an iterator whose text is not its content."""

    def __init__(self) -> None:
        self._parts = iter("ab")

    def __iter__(self) -> Stream:
        return self

    def __next__(self) -> str:
        return next(self._parts)

    def __repr__(self) -> str:
        return "Stream(open)"


@pytest.mark.parametrize("stream", [Stream, lambda: iter("ab"), lambda: (part for part in "ab")])
def test_d08_a_stream_that_ended_before_its_content_is_not_empty(stream: Any) -> None:
    """A tool span without a result is unchecked, not an empty output; so is our own of a stream."""
    with recorded() as pipeline:
        runs = trajectories(pipeline)
        start = pipeline.tracer.start_as_current_span
        with start("agent", attributes=AGENT), start("execute_tool t", attributes=tool(output=None)):
            pass
        with agent_run("a", task="t"):
            assert list(traced_dispatcher(lambda name, arguments: stream())("t", "{}")) == ["a", "b"]
        for report in drained(pipeline):
            assert report.verdict == "review"
            assert verdicts(report, "tool_use") == ["unchecked"]
            assert "result_missing" in verdicts(report, "coverage")
        assert [run.steps[0].tool_call.output for run in runs if run.steps[0].tool_call] == [None, None]


@pytest.mark.parametrize("by", ["limits", "environment"])
def test_d10_a_value_cut_by_the_recorders_limit_is_not_the_models_fault(by: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Arguments of exactly the limit's length are truncated and unchecked, never unparseable."""
    if by == "environment":
        monkeypatch.setenv("OTEL_SPAN_ATTRIBUTE_VALUE_LENGTH_LIMIT", "1024")
    long = json.dumps({"note": "x" * 1500})
    with live() as pipeline:
        provider = TracerProvider(
            span_limits=SpanLimits(max_span_attribute_length=1024) if by == "limits" else None, shutdown_on_exit=False
        )
        provider.add_span_processor(pipeline.processor)
        start = provider.get_tracer("x").start_as_current_span
        with start("agent", attributes=AGENT), start("execute_tool t", attributes=tool(**{"gen_ai.tool.call.arguments": long})):
            pass
        (report,) = drained(pipeline)
        assert report.verdict == "review"
        assert "unparseable" not in verdicts(report, "arguments")
        assert "truncated" in verdicts(report, "coverage")


def test_d10_our_own_recorder_keeps_what_the_limit_cuts() -> None:
    """What our recorder hands over beside the span is whole, whatever the span shows."""
    long = json.dumps({"note": "x" * 1500})
    with recorded() as pipeline:
        runs = trajectories(pipeline)
        pipeline.provider._span_limits = SpanLimits(max_span_attribute_length=1024)
        with agent_run("a", task="t", tools=[Tool(name="t", side_effecting=False)]) as run:
            traced_dispatcher(lambda name, arguments: "fine")("t", long)
        report = run.report(WAIT)
        assert "truncated" not in verdicts(report, "coverage")
        call = runs[0].steps[0].tool_call
        assert call is not None
        assert call.arguments_raw == long


def test_d12_arguments_as_a_mapping_double_dumped_or_missing() -> None:
    """A mapping proves no text, a text dumped twice is one text, missing arguments are unchecked: none is the model's fault."""
    forms: list[Any] = [{"a": 1}, json.dumps('{"a": 1}'), None]
    with live() as pipeline:
        runs = trajectories(pipeline)
        with pipeline.tracer.start_as_current_span("agent", attributes=AGENT):
            for form in forms:
                given = {k: v for k, v in tool("lookup", **{"gen_ai.tool.call.arguments": form}).items() if v is not None}
                with pipeline.tracer.start_as_current_span("execute_tool lookup", attributes=given):
                    pass
        (report,) = drained(pipeline)
        calls = [step.tool_call for step in runs[0].steps if step.tool_call]
        assert [(call.arguments, call.arguments_fidelity) for call in calls[:2]] == [({"a": 1}, "reserialized")] * 2
        assert calls[2].arguments_fidelity == "absent"
        assert report.verdict == "review"
        assert "not_recorded" in verdicts(report, "coverage")
        assert not {"unparseable", "not_object"} & set(verdicts(report, "arguments"))


@pytest.mark.parametrize("raw", ['{"a": 1}', '"{\\"a\\": 1}"', "{broken", ""])
def test_d12_our_own_recorder_passes_text_through(raw: str) -> None:
    """A text is recorded as it is, and never dumped again."""
    with recorded() as pipeline:
        runs = trajectories(pipeline)
        with agent_run("a", task="t"):
            traced_dispatcher(lambda name, arguments: "fine")("t", raw)
        drained(pipeline)
        call = runs[0].steps[0].tool_call
        assert call is not None
        assert call.arguments_raw == raw


def test_d14_several_runs_in_one_trace_and_a_sub_agent() -> None:
    """Two refunds in two runs of one trace are no duplicate; the sub-agent's call is counted once, with its path."""
    refund = tool("issue_refund", **{"gen_ai.tool.call.arguments": '{"order": 1}'})
    with live(REFUNDS) as pipeline:
        runs = trajectories(pipeline)
        start = pipeline.tracer.start_as_current_span
        with start("POST /batch", context=Context()):
            with start("agent", attributes=AGENT), start("execute_tool issue_refund", attributes=refund):
                pass
            sub = {**AGENT, "gen_ai.agent.name": "sub"}
            with (
                start("agent", attributes=AGENT),
                start("agent", attributes=sub),
                start("execute_tool issue_refund", attributes=refund),
            ):
                pass
        reports = drained(pipeline)
        assert len(reports) == 2
        assert len({report.run_id for report in reports}) == 2
        assert [verdicts(report, "repetition") for report in reports] == [["distinct"], ["distinct"]]
        assert [len(run.steps) for run in runs] == [1, 1]
        assert [run.steps[0].agent for run in runs] == [None, ["sub"]]


def test_d14_two_refunds_in_one_run_are_still_a_duplicate() -> None:
    """The same two calls below one agent are what the check looks for."""
    refund = tool("issue_refund", **{"gen_ai.tool.call.arguments": '{"order": 1}'})
    with live(REFUNDS) as pipeline:
        with pipeline.tracer.start_as_current_span("agent", attributes=AGENT):
            for _ in range(2):
                with pipeline.tracer.start_as_current_span("execute_tool issue_refund", attributes=refund):
                    pass
        (report,) = drained(pipeline)
        assert report.verdict == "block"


@pytest.mark.skipif(not hasattr(os, "fork"), reason="this system has no fork")
@pytest.mark.filterwarnings("ignore:.*multi-threaded.*fork:DeprecationWarning")
def test_d16_children_of_a_preloaded_server_grade_their_own_runs() -> None:
    """Made in the master and used there, the processor works in each of four forked workers, with none of the master's runs."""
    with live() as pipeline:
        pipeline.run()
        drained(pipeline)
        open_one = pipeline.tracer.start_span("agent", context=Context(), attributes=AGENT)

        def worker() -> None:
            pipeline.reports.clear()
            pipeline.run()
            pipeline.run()
            assert len(drained(pipeline)) == 2
            assert pipeline.processor.health().open_runs == 0
            pipeline.provider.shutdown()

        assert [in_child(worker) for _ in range(4)] == [0] * 4
        open_one.end()
        assert len(drained(pipeline)) == 2


def test_d18_shutdown_with_a_hanging_judge_keeps_its_time() -> None:
    """With a judge that never answers, shutdown returns within its time and the run is unchecked, not lost."""

    async def model(run: Any, report: Any) -> Any:
        await asyncio.Event().wait()

    pipeline = Live({"limits": {"shutdown_seconds": 1.0}}, model_checks=model)
    pipeline.run()
    began = time.monotonic()
    assert pipeline.processor.force_flush(10_000) is True
    pipeline.provider.shutdown()
    assert time.monotonic() - began < 1.5
    final = pipeline.reports[-1]
    assert final.verdict == "review"
    assert verdicts(final, "faithfulness") == ["unchecked"]
    pipeline.close()


def test_d18_force_flush_honours_its_deadline(monkeypatch: pytest.MonkeyPatch) -> None:
    """A flush that cannot be done in time says False, in time."""
    release = threading.Event()
    monkeypatch.setattr(grading, "run_one", lambda *_: release.wait(WAIT))
    with live() as pipeline:
        pipeline.run()
        began = time.monotonic()
        assert pipeline.processor.force_flush(100) is False
        assert time.monotonic() - began < 0.2
        release.set()


@pytest.mark.skipif(sys.platform == "win32", reason="signals")
def test_d18_a_process_told_to_end_ends() -> None:
    """SIGTERM while the judge hangs: the process ends within its seconds, with its own code, and the verdict is out."""
    ended = program(
        """
        import os, signal, sys
        from opentelemetry import trace
        from opentelemetry.sdk.metrics import MeterProvider
        from opentelemetry.sdk.trace import TracerProvider
        from attest_otel.live.processor import AttestSpanProcessor
        import asyncio

        async def model(run, report):
            await asyncio.Event().wait()

        provider = TracerProvider()
        processor = AttestSpanProcessor(
            {"limits": {"shutdown_seconds": 1.0}}, tracer_provider=provider, meter_provider=MeterProvider(shutdown_on_exit=False),
            model_checks=model, on_report=lambda report: print(report.verdict, flush=True))
        provider.add_span_processor(processor)
        signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))
        with provider.get_tracer("x").start_as_current_span("agent", attributes={"gen_ai.operation.name": "invoke_agent"}):
            pass
        assert processor.force_flush(10_000)
        os.kill(os.getpid(), signal.SIGTERM)
        signal.pause()
        """
    )
    assert ended.returncode == 143, ended.stderr
    assert ended.stdout.split()[-1] == "review"


def test_d20_a_big_run_ends_without_stalling_the_event_loop(monkeypatch: pytest.MonkeyPatch) -> None:
    """The end of a run of 200 calls and 2 MB costs the loop's thread next to nothing, with checks that take long."""
    monkeypatch.setattr(grading, "run_one", lambda view, name: time.sleep(0.05) or run_one(view, name))  # type: ignore[func-returns-value]
    took: list[float] = []

    async def agent() -> None:
        with pipeline.tracer.start_as_current_span("agent", attributes=AGENT) as root:
            for number in range(200):
                with pipeline.tracer.start_as_current_span(f"execute_tool t{number}", attributes=tool(output="x" * 10_000)):
                    await asyncio.sleep(0)
            began = time.thread_time()
            root.end()
            took.append(time.thread_time() - began)

    with live() as pipeline:
        asyncio.run(agent())
        drained(pipeline)
    assert took[0] < 0.01
    assert threading.current_thread().name not in {"attest-worker", "attest-checks"}


def test_d22_invented_tool_names_add_one_series() -> None:
    """5,000 names that models invent become one label, and nothing that names a run, a user or a call is one."""
    with live({"agents": {"*": AGENT_TOOLS}, "limits": {"max_findings": 10_000}}) as pipeline:
        for start in range(0, 5_000, 500):
            with pipeline.tracer.start_as_current_span("agent", context=Context(), attributes=AGENT):
                for number in range(start, start + 500):
                    with pipeline.tracer.start_as_current_span("execute_tool", attributes=tool(f"made_up_{number}")):
                        pass
        pipeline.run()
        begin = pipeline.tracer.start_as_current_span
        with begin("agent", attributes=AGENT), begin("execute_tool", attributes=tool("lookup")):
            pass
        drained(pipeline)
        labels = {
            dict(point).get("gen_ai.tool.name")
            for name in ("attest.tool.calls", "attest.findings")
            for point in pipeline.metric(name)
        }
        names = {
            name
            for metric in ("attest.tool.calls", "attest.findings", "attest.runs")
            for point in pipeline.metric(metric)
            for name, _ in point
        }
    assert labels - {None} == {"_other", "lookup"}
    assert names <= {
        "attest.check", "attest.finding.verdict", "attest.severity", "attest.disposition", "gen_ai.agent.name",
        "gen_ai.tool.name", "attest.outcome", "attest.verdict",
    }  # fmt: skip


def test_d24_evidence_is_redacted_before_any_pipe() -> None:
    """A key in arguments and output is on no evaluation span, log record or metric, though checks read it raw."""
    secret = "sk-ant-api03-" + "Zx9" * 30
    logs = InMemoryLogRecordExporter()  # type: ignore[no-untyped-call]
    loggers = LoggerProvider(shutdown_on_exit=False)
    loggers.add_log_record_processor(SimpleLogRecordProcessor(logs))
    with live({"export": {"log_events": True}}, logger_provider=loggers) as pipeline:
        broken = tool(output=f"Error: bad key {secret}", **{"gen_ai.tool.call.arguments": f'{{"key": "{secret}"'})
        with (
            pipeline.tracer.start_as_current_span("agent", attributes=AGENT),
            pipeline.tracer.start_as_current_span("t", attributes=broken),
        ):
            pass
        (report,) = drained(pipeline)
        evaluation = next(span for span in pipeline.exporter.get_finished_spans() if span.name == "evaluate a")
        data = pipeline.reader.get_metrics_data()
    loggers.shutdown()
    assert report.verdict == "block"
    assert secret not in evaluation.to_json()
    assert secret not in "".join(found.to_json() for found in logs.get_finished_logs())
    assert data is not None
    assert secret not in data.to_json()


def test_d26_a_process_that_dies_with_open_spans_shows_what_happened() -> None:
    """At shutdown the open run is graded incomplete with the refund that ended; ends after it do nothing."""
    pipeline = Live(REFUNDS)
    runs = trajectories(pipeline)
    root = pipeline.tracer.start_span("agent", context=Context(), attributes=AGENT)
    below = trace.set_span_in_context(root)
    pipeline.tracer.start_span("execute_tool issue_refund", context=below, attributes=tool("issue_refund")).end()
    hanging = pipeline.tracer.start_span("execute_tool lookup", context=below, attributes=tool("lookup", None))
    threads = threading.active_count()
    pipeline.provider.shutdown()
    (report,) = pipeline.reports
    assert report.verdict == "review"
    assert any("shut down" in text for text in missing(report))
    assert "issue_refund" in [step.tool_call.name for step in runs[0].steps if step.tool_call]
    assert runs[0].ended_at is None
    hanging.end()
    root.end()
    assert len(pipeline.reports) == 1
    assert threading.active_count() <= threads
    pipeline.close()


@pytest.mark.parametrize("fed_back", [True, False])
def test_d28_the_span_knows_that_the_tool_failed(fed_back: bool) -> None:
    """Status, exception event and text agree: an error, with the message the model saw, or else the exception's."""
    answer = [{"role": "user", "parts": [{"type": "text", "content": "go"}]}]
    call = [{"role": "assistant", "parts": [{"type": "tool_call", "id": "c1", "name": "lookup", "arguments": {}}]}]
    response = [{"role": "tool", "parts": [{"type": "tool_call_response", "id": "c1", "response": "read timed out"}]}]
    with live() as pipeline:
        runs = trajectories(pipeline)
        start = pipeline.tracer.start_as_current_span
        with start("agent", attributes=AGENT):
            chat = {"gen_ai.operation.name": "chat", "gen_ai.input.messages": json.dumps(answer)}
            with start("chat", attributes={**chat, "gen_ai.output.messages": json.dumps(call)}):
                pass
            with (
                pytest.raises(TimeoutError),
                start("execute_tool", attributes=tool(output=None, **{"gen_ai.tool.call.id": "c1"})),
            ):
                raise TimeoutError("socket said no")
            if fed_back:
                said = json.dumps([{"role": "assistant", "parts": [{"type": "text", "content": "it failed"}]}])
                with start(
                    "chat",
                    attributes={
                        **chat,
                        "gen_ai.input.messages": json.dumps(answer + call + response),
                        "gen_ai.output.messages": said,
                    },
                ):
                    pass
        (report,) = drained(pipeline)
        recorded_call = runs[0].steps[-1].tool_call or runs[0].steps[0].tool_call
        assert recorded_call is not None
        assert recorded_call.output == ("read timed out" if fed_back else "socket said no")
        found = findings(report, "tool_use")
        assert len(found) == 1
        assert found[0].verdict.startswith("error_")
        assert found[0].metadata["error_source"] != "text"


def test_e02_a_span_in_each_state_of_a_run_is_handled() -> None:
    """A start and an end in every state: what comes too late is counted, nothing is kept, nothing is raised."""
    bench = Bench(grace_seconds=1.0)
    reached: list[State] = []

    def late_child(root: trace.Span) -> None:
        bench.tool(root).end()
        open_child = bench.tool(root, "open")
        open_child.end()

    for state in State:
        root = bench.agent()
        run = next(
            run for run in bench.buffer.runs.open.values() if run.root_key & 0xFFFFFFFFFFFFFFFF == root.get_span_context().span_id
        )
        held = bench.tool(root, "held") if state is State.ROOT_ENDED else None
        if state is not State.OPEN:
            root.end()
        if state in (State.EVALUATED, State.EVICTED):
            for job in bench.buffer.runs.take_ready():
                bench.buffer.runs.done(job.run, state)
        reached.append(run.state)
        late_child(root)
        root.end()
        if held is not None:
            held.end()
        bench.pass_time(10.0)
        bench.jobs()
    assert reached == list(State)
    bench.buffer.runs.decide_all("shutdown", 1e9)
    bench.jobs()
    assert bench.buffer.runs.open == {}
    assert bench.buffer.counts.read()["late"] > 0


def test_e04_two_timers() -> None:
    """At once when nothing is open, after the grace when something is, and at the cap while the root is open."""
    bench = Bench(grace_seconds=2.0, max_run_seconds=900.0, max_decided_runs=3)
    root = bench.agent()
    bench.tool(root).end()
    root.end()
    assert len(bench.jobs()) == 1
    root = bench.agent()
    child = bench.tool(root)
    root.end()
    bench.pass_time(1.9)
    assert bench.jobs() == []
    bench.pass_time(0.2)
    assert len(bench.jobs()) == 1
    child.end()
    root = bench.agent()
    bench.pass_time(899.0)
    assert [job.run.root_key & 0xFFFFFFFFFFFFFFFF for job in bench.jobs()] != [root.get_span_context().span_id]
    bench.pass_time(2.0)
    assert len(bench.jobs()) == 1
    for _ in range(20):
        bench.agent().end()
        bench.jobs()
    assert len(bench.buffer.runs.memory._runs) <= 3


def test_e06_what_we_emit_may_call_us_back() -> None:
    """With a full queue, sinks and log handlers that make spans and runs stop nothing, and are judged by nobody."""

    class Loud(logging.Handler):
        def emit(self, record: logging.LogRecord) -> None:
            with pipeline.tracer.start_as_current_span("log"):
                pipeline.processor.health()

    def again(report: Any) -> None:
        seen.append(report)
        pipeline.run(name="inner")
        logging.getLogger("attest_otel").warning("inside")

    seen: list[Any] = []
    handler = Loud()
    logging.getLogger("attest_otel").addHandler(handler)
    try:
        with live({"limits": {"max_queue_runs": 1}}, on_report=again) as pipeline:
            for _ in range(50):
                pipeline.run()
            assert pipeline.processor.drain(WAIT)
            health = pipeline.processor.health()
            assert health.evaluated + sum(health.dropped.values()) == health.started
            assert len(seen) == health.evaluated
    finally:
        logging.getLogger("attest_otel").removeHandler(handler)


def test_e08_one_run_can_be_bigger_than_a_thousand() -> None:
    """A run of 300 outputs of 1 MB stays within its bytes, and says which evidence is not whole."""
    limits = {"max_value_bytes": 100_000, "max_run_bytes": 2_000_000}
    with live({"limits": limits}) as pipeline:
        runs = trajectories(pipeline)
        highest = 0
        with pipeline.tracer.start_as_current_span("agent", attributes=AGENT):
            for number in range(300):
                with pipeline.tracer.start_as_current_span("t", attributes=tool(f"t{number}", "x" * 1_000_000)):
                    pass
                highest = max(highest, pipeline.processor.health().bytes)
        (report,) = drained(pipeline)
        assert highest < 2_600_000
        assert report.verdict == "review"
        assert "truncated" in verdicts(report, "coverage")
        first = runs[0].steps[0].tool_call
        assert first is not None
        assert re.fullmatch(r"x+…\[1000000 characters, sha256 [0-9a-f]{64}\]…x+", first.output or "")


def test_e10_we_observe_and_forward_nothing() -> None:
    """Others see every start and end once and at once, and no ended span is written to."""
    seen: list[tuple[str, str, bool]] = []

    class Other(trace.NoOpTracerProvider):
        def on_start(self, span: Any, parent_context: Any = None) -> None:
            seen.append(("start", span.name, span.end_time is None))

        def on_end(self, span: Any) -> None:
            seen.append(("end", span.name, span.end_time is not None))

        def _on_ending(self, span: Any) -> None:
            pass

        def shutdown(self) -> None:
            pass

    with live() as pipeline:
        pipeline.provider.add_span_processor(Other())  # type: ignore[arg-type]
        pipeline.run()
        assert seen == [
            ("start", "agent", True),
            ("start", "execute_tool t0", True),
            ("end", "execute_tool t0", True),
            ("end", "agent", True),
        ]
        drained(pipeline)
        assert [name for _, name, _ in seen[4:]] == ["evaluate a"] * 2
        assert [s.status.status_code for s in pipeline.exporter.get_finished_spans() if s.name == "agent"] == [StatusCode.UNSET]
