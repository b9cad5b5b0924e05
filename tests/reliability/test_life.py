"""Properties 15, 19 and 23: faults are said rarely, spans are closed whatever ends them, verdicts outlive broken exporters."""

from __future__ import annotations

import asyncio
import logging
import threading
from collections.abc import Sequence
from typing import Any

import pytest
import trio
from opentelemetry.sdk.trace import ReadableSpan
from opentelemetry.sdk.trace.export import (
    BatchSpanProcessor,
    SimpleSpanProcessor,
    SpanExporter,
    SpanExportResult,
)

from attest_otel.live.faults import FaultLog
from attest_otel.record import capture_limits
from attest_otel.record.agent_run import agent_run
from attest_otel.record.dispatcher import traced_dispatcher
from tests.live.helpers import WAIT, Clock, live
from tests.reliability.helpers import drained, findings, recorded


@pytest.mark.parametrize("hook", ["on_start", "on_end", "accept_content", "report_waiter"])
def test_the_same_fault_ten_thousand_times_is_said_twice_a_minute_at_most(hook: str, caplog: pytest.LogCaptureFixture) -> None:
    """A hook that fails for every span logs once a window, and counts every time."""
    with live() as pipeline, caplog.at_level(logging.DEBUG):
        processor, log = pipeline.processor, pipeline.processor._log
        clock = Clock()
        processor._faults = FaultLog(clock)
        whole, intake = processor._pipeline, processor._intake
        processor._log = processor._pipeline = processor._intake = None  # type: ignore[assignment]
        arguments: tuple[Any, ...] = {"accept_content": (1, 1, {}), "report_waiter": (1, 1)}.get(hook, (None,))
        for number in range(10_000):
            clock.now = 100.0 + 60.0 * number / 10_000
            getattr(processor, hook)(*arguments)
        counted = processor._faults.counts.read()
        processor._log, processor._pipeline, processor._intake = log, whole, intake
    assert counted == {hook: 10_000}
    assert len([r for r in caplog.records if r.name.startswith("attest_otel")]) <= 2


def test_the_recorders_faults_are_said_once(monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture) -> None:
    """A recorder that fails at every call says so once, without what the fault's text quotes."""
    monkeypatch.setattr(capture_limits, "_said", set())

    def fail(*_: Any) -> Any:
        raise ValueError("CANARY")

    monkeypatch.setattr("attest_otel.record.tool_span.ToolCallRecorder._finish", fail)
    with recorded(), caplog.at_level(logging.DEBUG), agent_run("a", task="t"):
        dispatch = traced_dispatcher(lambda name, arguments: "fine")
        for _ in range(1_000):
            dispatch("t", "{}")
    said = [record.getMessage() for record in caplog.records if record.name == "attest_otel.record"]
    assert len(said) == 1
    assert "ValueError" in said[0]
    assert "CANARY" not in said[0]


ENDS = [KeyboardInterrupt, SystemExit, asyncio.CancelledError, GeneratorExit, BaseException]


@pytest.mark.parametrize("kind", ENDS)
@pytest.mark.parametrize("form", ["dispatcher", "by hand", "run only"])
def test_whatever_ends_a_call_closes_its_span(kind: type[BaseException], form: str) -> None:
    """Interrupts pass through unchanged, both spans end with a status, and the run is graded."""
    error = kind("stop")

    def dispatch(name: str, arguments: str) -> str:
        raise error

    with recorded() as pipeline:
        run, caught = agent_run("a", task="t", tools=[]), []
        try:
            with run:
                if form == "dispatcher":
                    traced_dispatcher(dispatch)("t", "{}")
                elif form == "by hand":
                    with run.tool_call("t", "{}"):
                        raise error
                raise error
        except BaseException as passed:
            caught.append(passed)
        assert caught == [error]
        report = run.report(WAIT)
        statuses = {span.name: span.status.status_code.name for span in pipeline.exporter.get_finished_spans()}
        assert statuses["invoke_agent a"] == "ERROR"
        assert form == "run only" or statuses["execute_tool t"] == "ERROR"
        assert len(findings(report, "tool_use")) == (0 if form == "run only" else 1)


async def _cancelled_agent(started: Any, forever: Any) -> None:
    async def dispatch(name: str, arguments: str) -> str:
        started.set()
        await forever()
        return "never"

    async with agent_run("a", task="t", tools=[]):
        await traced_dispatcher(dispatch)("t", "{}")


def _cancel_in_asyncio() -> None:
    async def main() -> None:
        started = asyncio.Event()
        task = asyncio.create_task(_cancelled_agent(started, asyncio.Event().wait))
        await started.wait()
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        assert task.cancelled()

    asyncio.run(main())


def _cancel_in_trio() -> None:
    async def main() -> None:
        started = trio.Event()
        async with trio.open_nursery() as nursery:
            nursery.start_soon(_cancelled_agent, started, trio.sleep_forever)
            await started.wait()
            nursery.cancel_scope.cancel()
        assert nursery.cancel_scope.cancelled_caught

    trio.run(main)


@pytest.mark.parametrize("cancel", [_cancel_in_asyncio, _cancel_in_trio])
def test_a_cancelled_task_closes_its_spans_and_is_cancelled(cancel: Any) -> None:
    """Cancelling an agent inside an asynchronous tool swallows nothing, and leaves nothing open."""
    with recorded() as pipeline:
        cancel()
        (report,) = drained(pipeline)
        assert len(findings(report, "tool_use")) == 1
        assert not any("open" in text for text in report.incomplete)
        assert pipeline.processor.health().open_runs == 0
        assert {span.status.status_code.name for span in pipeline.exporter.get_finished_spans() if span.name != "evaluate a"} == {
            "ERROR"
        }


class Broken(SpanExporter):
    """An exporter that raises, fails or hangs with the evaluation span."""

    def __init__(self, how: str, gate: threading.Event) -> None:
        self.how, self.gate = how, gate

    def export(self, spans: Sequence[ReadableSpan]) -> SpanExportResult:
        """Export nothing."""
        if self.how == "raises":
            raise RuntimeError
        if self.how == "hangs" and any(span.name.startswith("evaluate") for span in spans):
            self.gate.wait(WAIT)
        return SpanExportResult.FAILURE


@pytest.mark.parametrize("how", ["raises", "fails", "hangs"])
@pytest.mark.parametrize("kind", [SimpleSpanProcessor, BatchSpanProcessor])
def test_with_a_broken_exporter_the_verdict_reaches_the_metrics(how: str, kind: Any) -> None:
    """An exporter that raises, fails or hangs costs neither the metrics nor the callback their verdicts, nor the next run its own."""
    gate = threading.Event()
    with live({"limits": {"check_deadline_seconds": 0.1}}) as pipeline:
        pipeline.provider.add_span_processor(kind(Broken(how, gate)))
        for _ in range(3):
            pipeline.run()
            pipeline.processor.force_flush(2_000)
        assert len(pipeline.reports) == 3
        assert sum(pipeline.metric("attest.runs").values()) == 3
        assert pipeline.processor.health().evaluated == 3
        gate.set()
