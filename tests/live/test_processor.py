"""The processor under the real SDK: reports come, deadlines hold, and nothing reaches the application."""

from __future__ import annotations

import gc
import logging
import threading
import time
import weakref
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest
from opentelemetry import context, trace
from opentelemetry.context import Context
from opentelemetry.sdk.metrics import MeterProvider
from opentelemetry.sdk.trace import ReadableSpan, TracerProvider
from opentelemetry.sdk.trace.sampling import ALWAYS_OFF

from attest_otel import content as content_module
from attest_otel.checks import run_one
from attest_otel.errors import ReportTimeoutError
from attest_otel.findings import CheckResult
from attest_otel.live import grading
from attest_otel.live.admission import FIRST_MARK
from attest_otel.live.processor import AttestSpanProcessor
from attest_otel.live.sampler import AttestSampler
from attest_otel.report import Report
from attest_otel.trajectory import Trajectory
from tests.live.helpers import AGENT, WAIT, Live, live, missing, together, tool


def test_a_run_goes_in_and_its_report_comes_out() -> None:
    """A run is graded, its evaluation span is its root's child, and the metrics count it."""
    with live() as pipeline:
        root = pipeline.run(("fine", "Error: boom"))
        assert pipeline.processor.force_flush(20_000)
        (report,) = pipeline.reports
        assert report.agent == "a"
        assert report.result("tool_use") is not None
        spans = pipeline.exporter.get_finished_spans()
        (evaluation,) = [span for span in spans if span.name == "evaluate a"]
        assert evaluation.parent is not None
        assert evaluation.parent.span_id == root.span_id
        runs = pipeline.metric("attest.processor.runs")
        assert runs[("attest.state", "started"),] == runs[("attest.state", "evaluated"),] == 1


def test_our_own_spans_make_no_verdicts() -> None:
    """One run is one verdict, however often the pipeline is flushed; the evaluation's own span is no run."""
    with live() as pipeline:
        pipeline.run()
        for _ in range(3):
            assert pipeline.processor.drain(WAIT)
        assert len(pipeline.reports) == 1
        assert pipeline.processor.health().started == 1


def test_a_callback_that_runs_an_agent_is_not_judged() -> None:
    """Agent spans made inside on_report start no further verdicts."""
    calls: list[Report] = []

    def again(report: Report) -> None:
        calls.append(report)
        with pipeline.tracer.start_as_current_span("inner", attributes=AGENT):
            pass

    with live(on_report=again) as pipeline:
        pipeline.run()
        for _ in range(3):
            assert pipeline.processor.drain(WAIT)
        assert len(calls) == 1


@pytest.mark.parametrize("seam", ["rebuild", "run_one", "callback", "report"])
def test_a_fault_at_a_seam_stays_inside(seam: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """With any part of the pipeline failing, the agent goes on, the next run is graded, and the fault is said."""

    def fail(*_: Any, **__: Any) -> Any:
        raise RuntimeError("inside")

    options: dict[str, Any] = {"on_report": fail} if seam == "callback" else {}
    with live(**options) as pipeline:
        if seam == "rebuild":
            monkeypatch.setattr(pipeline.processor._pipeline._grader, "_build", fail)
        elif seam == "run_one":
            monkeypatch.setattr(grading, "run_one", fail)
        elif seam == "report":
            monkeypatch.setattr(pipeline.processor._pipeline._grader._attest, "report", fail)
        pipeline.run()
        pipeline.run()
        assert pipeline.processor.force_flush(20_000)
        assert pipeline.processor.health().evaluated == 2
        for report in pipeline.reports:
            assert report.verdict != "pass"


class Hostile(dict[str, Any]):
    """Content whose every method raises."""

    def __iter__(self) -> Any:
        raise RuntimeError

    def __len__(self) -> int:
        raise RuntimeError

    def items(self) -> Any:
        """Raise."""
        raise RuntimeError

    def __str__(self) -> str:
        raise RuntimeError


class HostileText(str):
    """A text that cannot be measured or shown."""

    __slots__ = ()

    def __len__(self) -> int:
        raise RuntimeError

    def __str__(self) -> str:
        raise RuntimeError

    def __eq__(self, other: object) -> bool:
        raise RuntimeError

    __hash__ = str.__hash__


@pytest.mark.parametrize(
    "content", [Hostile(), {"gen_ai.tool.call.result": HostileText("x")}, {"a": Hostile()}, {"b": [Hostile()]}]
)
def test_hostile_content_costs_only_itself(content: dict[str, Any]) -> None:
    """Values whose methods raise reach no hook, and the run is still graded."""
    with live() as pipeline:
        start = pipeline.tracer.start_as_current_span
        with start("agent", attributes=AGENT), start("execute_tool t", attributes=tool()) as span:
            ids = span.get_span_context()
            pipeline.processor.accept_content(ids.trace_id, ids.span_id, content)
        assert pipeline.processor.force_flush(20_000)
        assert len(pipeline.reports) == 1


def test_hooks_survive_anything() -> None:
    """Hooks given things that are no spans raise nothing."""
    with live() as pipeline:
        for thing in (None, 1, object(), ReadableSpan("no context")):
            pipeline.processor.on_start(thing)  # type: ignore[arg-type]
            pipeline.processor.on_end(thing)  # type: ignore[arg-type]
        pipeline.run()
        assert pipeline.processor.force_flush(20_000)
        assert len(pipeline.reports) == 1


def test_the_applications_own_exception_is_unchanged(monkeypatch: pytest.MonkeyPatch) -> None:
    """An exception in the agent's code comes out as it was, even when the hooks fail."""
    with live() as pipeline:
        monkeypatch.setattr(pipeline.processor, "_log", None)
        raised = ValueError("mine")
        with pytest.raises(ValueError, match="mine") as caught, pipeline.tracer.start_as_current_span("agent", attributes=AGENT):
            raise raised
        assert caught.value is raised
        assert pipeline.processor.health().faults["on_end"] == 1
        monkeypatch.undo()


def test_many_threads_many_runs() -> None:
    """Runs made at once in many threads are all graded, each with its own calls."""
    with live() as pipeline:

        def work() -> None:
            for _ in range(10):
                pipeline.run(("fine",) * 3)

        together(*[work] * 8)
        assert pipeline.processor.drain(WAIT)
        assert len(pipeline.reports) == 80
        health = pipeline.processor.health()
        assert (health.started, health.evaluated, health.open_runs) == (80, 80, 0)
        assert not any(missing(report) for report in pipeline.reports)


def test_the_ends_of_one_run_from_many_threads() -> None:
    """Tool spans of one run that start and end in a pool are all in its one report."""
    with live() as pipeline:
        with pipeline.tracer.start_as_current_span("agent", attributes=AGENT):
            here = context.get_current()

            def call(number: int) -> None:
                pipeline.tracer.start_span(f"execute_tool t{number}", context=here, attributes=tool(f"t{number}")).end()

            with ThreadPoolExecutor(8) as pool:
                list(pool.map(call, range(64)))
        assert pipeline.processor.drain(WAIT)
        (report,) = pipeline.reports
        found = report.result("tool_use")
        assert found is not None
        assert len(found.findings) == 64


def test_force_flush_keeps_its_deadline_with_a_stuck_sink() -> None:
    """A sink that hangs makes force_flush say False in time, and the metrics have the verdict all the same."""
    release = threading.Event()
    with live(on_report=lambda _: release.wait(WAIT)) as pipeline:
        pipeline.run()
        began = time.monotonic()
        assert pipeline.processor.force_flush(300) is False
        assert time.monotonic() - began < 0.4
        assert sum(pipeline.metric("attest.runs").values()) == 1
        release.set()
        assert pipeline.processor.force_flush(20_000) is True


def test_shutdown_grades_open_runs_and_is_idempotent() -> None:
    """Open runs are graded as incomplete; further shutdowns, from many threads, and later spans do nothing."""
    pipeline = Live()
    root = pipeline.tracer.start_span("agent", context=Context(), attributes=AGENT)
    with trace.use_span(root):
        pipeline.tracer.start_span("execute_tool t", attributes=tool()).end()
    together(*[pipeline.processor.shutdown] * 4)
    (report,) = pipeline.reports
    assert any("shut down" in text for text in report.incomplete)
    assert report.verdict == "review"
    root.end()
    pipeline.run()
    assert pipeline.processor.force_flush(100) is True
    assert len(pipeline.reports) == 1
    assert pipeline.processor.health().worker_alive is False
    pipeline.close()


def test_shutdown_ends_in_time_and_reports_the_rest_unchecked(monkeypatch: pytest.MonkeyPatch) -> None:
    """With a check that hangs, shutdown returns in its time; what was pending is counted and unchecked."""
    release = threading.Event()
    monkeypatch.setattr(grading, "run_one", lambda *_: release.wait(WAIT))
    pipeline = Live()
    for _ in range(3):
        pipeline.run()
    began = time.monotonic()
    pipeline.processor.shutdown(timeout=0.5)
    assert time.monotonic() - began < 0.8
    release.set()
    assert len(pipeline.reports) == 3
    assert {report.verdict for report in pipeline.reports} == {"review"}
    assert pipeline.processor.health().dropped["shutdown"] == 3
    assert pipeline.processor.health().evaluated == 0
    pipeline.close()


def test_a_spinning_check_is_unchecked_and_the_rest_is_graded(monkeypatch: pytest.MonkeyPatch) -> None:
    """A check past its deadline is a finding that says so; the run's other checks and other runs are graded."""
    real = run_one

    def slow(view: Any, name: Any) -> CheckResult | None:
        while name == "arguments":
            pass
        return real(view, name)

    monkeypatch.setattr(grading, "run_one", slow)
    with live({"limits": {"check_deadline_seconds": 0.1}}) as pipeline:
        pipeline.run()
        assert pipeline.processor.drain(WAIT)
        (report,) = pipeline.reports
        found, other = report.result("arguments"), report.result("tool_use")
        assert found is not None
        assert other is not None
        assert found.findings[0].verdict == "unchecked"
        assert "took longer" in found.findings[0].reason
        assert other.findings[0].verdict == "correct"


def test_a_full_queue_drops_runs_and_says_so(monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture) -> None:
    """Beyond max_queue_runs whole runs are dropped, counted exactly, and logged once; sent = evaluated + dropped."""
    release = threading.Event()
    real = run_one
    monkeypatch.setattr(grading, "run_one", lambda view, name: release.wait(WAIT) and real(view, name))
    with live({"limits": {"max_queue_runs": 2}}) as pipeline, caplog.at_level(logging.WARNING, logger="attest_otel"):
        for _ in range(6):
            pipeline.run()
        waiters = [pipeline.processor.report_waiter(*_ids(pipeline.run())) for _ in range(2)]
        last = waiters[-1]
        assert last is not None
        with pytest.raises(ReportTimeoutError, match="max_queue_runs"):
            last.wait(WAIT)
        release.set()
        assert pipeline.processor.drain(WAIT)
        health = pipeline.processor.health()
        assert health.dropped["queue_full"] > 0
        assert health.started == 8 == health.evaluated + sum(health.dropped.values())
        assert len([r for r in caplog.records if "max_queue_runs" in r.getMessage()]) == 1


def test_a_dead_worker_is_started_again(monkeypatch: pytest.MonkeyPatch) -> None:
    """When the worker ends, the next span starts it again, and that is counted."""
    with live() as pipeline:
        pipeline.run()
        assert pipeline.processor.drain(WAIT)
        worker = pipeline.processor._worker
        died = threading.Event()

        def die(_now: float) -> None:
            monkeypatch.setattr(pipeline.processor._pipeline.buffer.runs, "tick", tick)
            died.set()
            raise SystemExit

        tick = pipeline.processor._pipeline.buffer.runs.tick
        monkeypatch.setattr(pipeline.processor._pipeline.buffer.runs, "tick", die)
        pipeline.run()
        assert died.wait(WAIT)
        until = time.monotonic() + WAIT
        while worker.alive:
            assert time.monotonic() < until
            time.sleep(0.001)
        pipeline.run()
        assert pipeline.processor.drain(WAIT)
        assert len(pipeline.reports) == 3
        assert pipeline.processor.health().faults["worker_restarted"] == 1


def test_overload_turns_whole_runs_away_and_counts_them(monkeypatch: pytest.MonkeyPatch) -> None:
    """When the worker can't keep up, runs are turned away whole: sent = evaluated + dropped, to the run."""
    with live() as pipeline:
        gate = threading.Event()
        pipeline.processor._worker.call(lambda _: wait_for(gate))
        sent = FIRST_MARK // 4 + 500
        for _ in range(sent):
            pipeline.run(("fine",))
        gate.set()
        assert pipeline.processor.drain(WAIT * 2)
        health = pipeline.processor.health()
        assert health.dropped["overload"] > 0
        assert health.started == sent == health.evaluated + sum(health.dropped.values())
        assert not any(missing(report) for report in pipeline.reports)


def test_hooks_never_wait_for_a_stalled_worker() -> None:
    """With the worker stalled, 20,000 spans start and end without one hook taking a millisecond, but for the rarest."""
    with live() as pipeline:
        gate = threading.Event()
        pipeline.processor._worker.call(lambda _: wait_for(gate))
        span = pipeline.tracer.start_span("execute_tool t", context=Context(), attributes=tool())
        ended = ReadableSpan("execute_tool t", context=span.get_span_context(), attributes=tool())
        took: list[int] = []
        for _ in range(20_000):
            began = time.thread_time_ns()
            pipeline.processor.on_start(span)  # type: ignore[arg-type]
            pipeline.processor.on_end(ended)
            took.append(time.thread_time_ns() - began)
        gate.set()
        assert sorted(took)[int(len(took) * 0.999)] < 1_000_000


def test_processors_come_and_go_without_a_trace() -> None:
    """After 200 processors were made and closed, no thread, receiver or exit handler of theirs is left."""
    meters = MeterProvider(shutdown_on_exit=False)
    provider = TracerProvider(shutdown_on_exit=False)
    threads, receivers = threading.active_count(), len(content_module._receivers)
    left: list[weakref.ref[AttestSpanProcessor]] = []
    for _ in range(200):
        processor = AttestSpanProcessor({}, tracer_provider=provider, meter_provider=meters)
        left.append(weakref.ref(processor))
        processor.shutdown()
        del processor
    gc.collect()
    assert threading.active_count() == threads
    assert len(content_module._receivers) <= receivers
    assert [ref for ref in left if ref() is not None] == []


def test_unsampled_runs_are_judged_with_the_sampler() -> None:
    """Under AttestSampler a run that is never exported is graded."""
    with live(sampler=AttestSampler(ALWAYS_OFF)) as pipeline:
        pipeline.run()
        assert pipeline.processor.drain(WAIT)
        assert len(pipeline.reports) == 1
        assert pipeline.exporter.get_finished_spans() == ()


def test_a_model_adds_to_the_report_and_lifts_nothing() -> None:
    """The deterministic report goes out first, without what waits for the model; the model's follows, and is no milder."""
    asked: list[str] = []

    async def model(run: Trajectory, report: Report) -> list[CheckResult]:
        asked.append(report.verdict)
        return [CheckResult(check="faithfulness", passed=True, score=1.0), CheckResult(check="tool_use", passed=True, score=1.0)]

    with live({"checks": ["tool_use"]}, model_checks=model) as pipeline:
        pipeline.run(("Error: boom",))
        assert pipeline.processor.drain(WAIT)
        first, second = pipeline.reports
        assert asked == [first.verdict]
        assert first.verdict == "pass"
        assert second.verdict == "review"
        assert second.result("faithfulness") is not None


def test_a_model_that_fails_or_sleeps_is_unchecked() -> None:
    """A judge that raises or passes its deadline leaves unchecked findings, and the run is not held up."""
    import anyio

    async def model(run: Trajectory, report: Report) -> list[CheckResult]:
        if len(pipeline.reports) > 1:
            await anyio.sleep(600)
        raise RuntimeError

    with live({"limits": {"evaluation_deadline_seconds": 0.2}}, model_checks=model) as pipeline:
        for _ in range(2):
            pipeline.run()
            assert pipeline.processor.drain(WAIT)
        for report in pipeline.reports[1::2]:
            found = report.result("faithfulness")
            assert found is not None
            assert found.findings[0].verdict == "unchecked"


def wait_for(gate: threading.Event) -> None:
    """Wait until a test lets go."""
    gate.wait(WAIT)


def _ids(span: trace.SpanContext) -> tuple[int, int]:
    return span.trace_id, span.span_id
