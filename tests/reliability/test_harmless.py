"""Properties 2 to 7: the agent's thread never waits, nothing of the application's changes, importing is cheap."""

from __future__ import annotations

import json
import logging
import random
import signal
import sys
import threading
import time
import warnings
from collections.abc import Sequence
from typing import Any

import pytest
from opentelemetry import baggage, context, trace
from opentelemetry.context import Context
from opentelemetry.sdk.trace import ReadableSpan
from opentelemetry.sdk.trace.export import SimpleSpanProcessor, SpanExporter, SpanExportResult

from attest_otel.checks import run_one
from attest_otel.errors import ConfigError
from attest_otel.live import grading
from attest_otel.live.install import install
from attest_otel.live.processor import AttestSpanProcessor
from attest_otel.live.waiting import Waiters
from attest_otel.record.agent_run import agent_run
from attest_otel.record.dispatcher import traced_dispatcher
from attest_otel.report import Report
from attest_otel.trajectory import Trajectory
from tests.live.helpers import AGENT, WAIT, Live, live, tool
from tests.reliability.helpers import drained, program, recorded, within, work


@pytest.mark.parametrize("stalled", ["worker", "checks", "sink", "judge"])
def test_on_end_never_waits(stalled: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """20,000 spans pass the hooks, the slowest but 20 under a millisecond, while a part of the pipeline stands still."""
    gate = threading.Event()

    def stand(*_: Any) -> None:
        gate.wait(WAIT)

    async def judge(run: Trajectory, report: Report) -> list[Any]:
        import anyio

        await anyio.sleep(WAIT)
        return []

    given: dict[str, dict[str, Any]] = {"sink": {"on_report": stand}, "judge": {"model_checks": judge}}
    options = given.get(stalled, {})
    if stalled == "checks":
        monkeypatch.setattr(grading, "run_one", lambda view, name: stand() or run_one(view, name))  # type: ignore[func-returns-value]
    with live({"limits": {"shutdown_seconds": 1.0, "check_deadline_seconds": 60.0}}, **options) as pipeline:
        if stalled == "worker":
            pipeline.processor._worker.call(stand)
        took: list[int] = []
        for number in range(40):
            root = pipeline.tracer.start_span("agent", context=Context(), attributes=AGENT)
            below = trace.set_span_in_context(root, Context())
            spans = [pipeline.tracer.start_span("t", context=below, attributes=tool(f"t{number}")) for _ in range(99)]
            for span in (*spans, root):
                ended = ReadableSpan("t", context=span.get_span_context(), parent=span.parent, attributes=span.attributes)  # type: ignore[attr-defined]
                for _ in range(5):
                    began = time.thread_time_ns()
                    pipeline.processor.on_end(ended)
                    took.append(time.thread_time_ns() - began)
        gate.set()
        assert len(took) == 20_000
        assert sorted(took)[-20] < 1_000_000


class Restless(SpanExporter):
    """An exporter that, while it exports, makes spans and logs and asks the processor for everything it has."""

    def __init__(self) -> None:
        self.pipeline: Live | None = None
        self.depth = 0
        self.seen: list[str] = []

    def export(self, spans: Sequence[ReadableSpan]) -> SpanExportResult:
        """Come back into the processor."""
        self.seen += [span.name for span in spans]
        if self.pipeline is None or self.depth:
            return SpanExportResult.SUCCESS
        self.depth += 1
        with self.pipeline.tracer.start_as_current_span("inside", attributes=AGENT) as span:
            logging.getLogger("attest_otel").warning("inside")
            processor, ids = self.pipeline.processor, span.get_span_context()
            processor.health()
            processor.report_waiter(ids.trace_id, ids.span_id)
            processor.accept_content(ids.trace_id, ids.span_id, {"a": "b"})
        self.depth -= 1
        return SpanExportResult.SUCCESS


def test_no_lock_is_held_while_foreign_code_runs() -> None:
    """Exporters, callbacks and log handlers that come back into every part of the processor finish within two seconds."""
    exporter = Restless()

    def on_report(report: Report) -> None:
        pipeline.run(name="inside")
        pipeline.processor.health()
        assert pipeline.processor.force_flush(30_000) is False  # at once: what it would wait for is itself
        with agent_run("inside", task="t"):
            pass

    with live(on_report=on_report) as pipeline:
        exporter.pipeline = pipeline
        pipeline.provider.add_span_processor(SimpleSpanProcessor(exporter))
        within(2.0, lambda: [pipeline.run() for _ in range(5)])
        within(2.0, lambda: drained(pipeline))
    assert exporter.seen.count("evaluate a") >= 5


def test_a_collection_inside_a_lock_may_close_an_abandoned_run() -> None:
    """Whoever holds the waiters' lock can be interrupted by a collected run that asks for a waiter itself."""

    def interrupted() -> None:
        waiters = Waiters()
        with waiters._lock:
            waiters.add(1)
            waiters.refuse_all("over")

    within(2.0, interrupted)


def test_shutdown_inside_shutdown_does_not_hang() -> None:
    """A signal handler that shuts down while the application shuts down returns."""

    def nested() -> None:
        pipeline = Live()
        with pipeline.processor._closing:
            pipeline.processor.shutdown(0.5)
        pipeline.close()

    within(2.0, nested)


def test_what_a_judge_records_is_not_judged() -> None:
    """Agent spans and runs made while the grading model works, in its loop and its threads' contexts, start no verdict."""

    async def judge(run: Trajectory, report: Report) -> list[Any]:
        import anyio.to_thread

        with pipeline.tracer.start_as_current_span("POST", attributes=AGENT):
            pass
        await anyio.to_thread.run_sync(work)
        return []

    with recorded(model_checks=judge) as pipeline:
        pipeline.run()
        for _ in range(3):
            drained(pipeline)
        assert {report.run_id for report in pipeline.reports} == {pipeline.reports[0].run_id}
        assert pipeline.processor.health().started == 1


BAD: list[tuple[Any, str]] = [
    ({"limits": {"grace_seconds": "soon"}}, "limits.grace_seconds"),
    ({"agents": {"a": {"rules": [{"id": "x", "severity": "fail", "require": "run.nothing("}]}}}, "agents.a.rules"),
    ({"unknown": 1}, "unknown"),
    ({"redaction": {"patterns": ["(?=x)"]}}, "redaction.patterns"),
    ("/nonexistent/attest.yaml", "/nonexistent/attest.yaml"),
]


@pytest.mark.parametrize(("config", "where"), BAD)
def test_bad_configuration_fails_at_start_and_names_its_path(config: Any, where: str) -> None:
    """A setting that cannot be used is an error of the constructor, with the path of what is wrong, and starts nothing."""
    threads = threading.active_count()
    with pytest.raises(ConfigError) as caught:
        AttestSpanProcessor(config)
    assert where in str(caught.value).replace("[0]", "").replace("/0", "")
    assert threading.active_count() == threads


def test_a_fault_of_the_configuration_at_work_is_logged_once(caplog: pytest.LogCaptureFixture) -> None:
    """A redaction hook that raises for every run is said once, and every run is graded all the same."""

    def broken(text: str) -> str:
        raise RuntimeError

    from attest_otel.config import AttestConfig, RedactionConfig

    config = AttestConfig(redaction=RedactionConfig(hook=broken), capture="redacted")
    with recorded() as pipeline, caplog.at_level(logging.WARNING):
        pipeline.processor.shutdown()
        other = AttestSpanProcessor(config, tracer_provider=pipeline.provider, meter_provider=pipeline.meters)
        pipeline.provider.add_span_processor(other)
        for _ in range(20):
            work()
        assert other.drain(WAIT)
        assert other.health().evaluated == 20
        other.shutdown()
    said = [record.getMessage() for record in caplog.records]
    assert len(said) == len(set(said))


def test_the_applications_surroundings_are_as_they_were(monkeypatch: pytest.MonkeyPatch) -> None:
    """Context, current span, baggage, signal handlers, warning filters, random state and log handlers are equal before and after."""
    monkeypatch.setenv("OTEL_METRICS_EXEMPLAR_FILTER", "always_off")  # the SDK draws lots for exemplars
    token = context.attach(baggage.set_baggage("mine", "1"))

    def surroundings() -> Any:
        return (
            context.get_current(),
            trace.get_current_span(),
            dict(baggage.get_all()),
            [signal.getsignal(number) for number in (signal.SIGINT, signal.SIGTERM)],
            list(warnings.filters),
            random.getstate(),
            list(logging.getLogger().handlers),
            (sys.excepthook, threading.excepthook, sys.getrecursionlimit(), sys.getswitchinterval()),
        )

    try:
        with recorded() as pipeline:
            work()  # the SDK adds warning filters of its own for every new tracer
            before = surroundings()
            work(calls=3)
            with pytest.raises(ValueError, match="mine"):
                work(dispatch=_raise)
            assert surroundings() == before
            drained(pipeline)
        assert surroundings() == before
    finally:
        context.detach(token)


def _raise(name: str, arguments: str) -> str:
    raise ValueError("mine")


IMPORT = """
    import json, sys, threading, time
    import opentelemetry.sdk.trace, opentelemetry.sdk.metrics, opentelemetry.sdk._logs
    opened = []
    sys.addaudithook(lambda event, _: opened.append(event) if event.startswith(("socket.", "subprocess.", "os.fork")) else None)
    import logging, random, signal, warnings
    def around():
        return [repr(list(warnings.filters)), repr(random.getstate()), repr(signal.getsignal(signal.SIGINT)), repr(logging.getLogger().handlers)]
    before = around()
    began = time.process_time()
    import attest_otel
    took = time.process_time() - began
    print(json.dumps({
        "seconds": took, "threads": threading.active_count(), "opened": opened, "modules": sorted(sys.modules),
        "same": before == around(), "fds": len(__import__("os").listdir("/proc/self/fd")) if sys.platform == "linux" else 0,
    }))
"""


def test_importing_is_cheap_and_starts_nothing() -> None:
    """`import attest_otel` makes no thread and no socket, loads neither anthropic nor CEL, and costs under 250 ms above the SDK."""
    found = []
    for _ in range(3):
        ended = program(IMPORT)
        assert ended.returncode == 0, ended.stderr
        found.append(json.loads(ended.stdout))
    assert found[0]["threads"] == 1
    assert found[0]["opened"] == []
    assert found[0]["same"]
    heavy = {"anthropic", "httpx2", "httpx", "cel_expr_python", "rich", "click", "grpc", "trio"}
    assert heavy & set(found[0]["modules"]) == set()
    assert min(one["seconds"] for one in found) < 0.25


def test_registering_twice_counts_once() -> None:
    """install() twice, and the same processor added twice by hand: each run has one report and one evaluation span."""
    with live() as pipeline:
        assert install(pipeline.provider, config={}) is pipeline.processor
        pipeline.provider.add_span_processor(pipeline.processor)
        pipeline.run()
        (report,) = drained(pipeline)
        assert report.incomplete == [] or all("not_recorded" in text for text in report.incomplete)
        assert [span.name for span in pipeline.exporter.get_finished_spans()].count("evaluate a") == 1


EXITS = """
    import sys
    from opentelemetry.sdk.metrics import MeterProvider
    from opentelemetry.sdk.trace import TracerProvider
    from opentelemetry.sdk.trace.export import BatchSpanProcessor, SpanExporter, SpanExportResult
    from attest_otel.live.install import install
    from attest_otel.live.processor import AttestSpanProcessor

    class Printer(SpanExporter):
        closed = False

        def export(self, spans):
            for span in spans:
                print("lost" if self.closed else span.name, flush=True)
            return SpanExportResult.SUCCESS

        def shutdown(self):
            self.closed = True

    order, way, end = sys.argv[1:]
    provider, meters = TracerProvider(), MeterProvider(shutdown_on_exit=False)

    def ours():
        if way == "hand":
            provider.add_span_processor(AttestSpanProcessor({}, tracer_provider=provider, meter_provider=meters))
        else:
            install(provider, config={}, meter_provider=meters)

    for step in (ours, lambda: provider.add_span_processor(BatchSpanProcessor(Printer())))[:: 1 if order == "ours" else -1]:
        step()
    agent = {"gen_ai.operation.name": "invoke_agent", "gen_ai.agent.name": "a"}
    tracer = provider.get_tracer("x")
    for _ in range(20):
        with tracer.start_as_current_span("agent", attributes=agent):
            with tracer.start_as_current_span("t", attributes={"gen_ai.operation.name": "execute_tool", "gen_ai.tool.name": "t"}):
                pass
    open_one = tracer.start_span("agent", attributes=agent)
    tracer.start_span("t", context=__import__("opentelemetry.trace").trace.set_span_in_context(open_one)).end()
    if end == "shutdown":
        provider.shutdown()
    elif end == "raise":
        raise ValueError
    elif end == "exit":
        sys.exit(7)
"""


@pytest.mark.parametrize("end", ["end", "exit", "raise", "shutdown"])
@pytest.mark.parametrize("way", ["install", "hand"])
@pytest.mark.parametrize("order", ["ours", "exporter"])
def test_nothing_is_lost_at_exit(order: str, way: str, end: str) -> None:
    """Whichever processor came first and however the process ends, all spans and verdicts are exported, and its code is its own."""
    ended = program(EXITS, order, way, end)
    assert ended.returncode == {"exit": 7, "raise": 1}.get(end, 0)
    said = ended.stdout.split("\n")
    assert [said.count(name) for name in ("agent", "evaluate a", "lost")] == [20, 21, 0]


def test_a_processor_takes_its_place_at_the_first_span() -> None:
    """Added by hand behind an exporter's, ours is before it as soon as a span starts: no shutdown can come in between."""
    with live() as pipeline:
        pipeline.processor.shutdown()
        late = AttestSpanProcessor({}, tracer_provider=pipeline.provider, meter_provider=pipeline.meters)
        pipeline.provider.add_span_processor(late)
        pipeline.tracer.start_span("x")
        assert pipeline.provider._active_span_processor._span_processors[0] is late


def test_the_dispatcher_is_as_it_was() -> None:
    """A wrapped dispatcher keeps its name, doc and signature, and calls through when nobody listens."""

    def dispatch(name: str, arguments: str, *, call_id: str = "1") -> str:
        """Do it."""
        return f"{name}{arguments}{call_id}"

    traced = traced_dispatcher(dispatch)
    assert (traced.__name__, traced.__doc__) == ("dispatch", "Do it.")
    assert traced("a", "b", call_id="c") == "abc"
