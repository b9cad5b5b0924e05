"""Waiting for a report: from threads, asyncio and trio, always an answer or an error that says why."""

from __future__ import annotations

import asyncio
import threading
from collections import deque
from collections.abc import Awaitable, Callable
from typing import Any, Self

import pytest
import trio
from opentelemetry import trace
from opentelemetry.context import Context
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.trace import SpanContext

from attest_otel import content
from attest_otel.checks import run_one
from attest_otel.config import AttestConfig
from attest_otel.errors import ReportTimeoutError
from attest_otel.live import grading, worker
from attest_otel.live.buffer import Buffer
from attest_otel.live.faults import FaultLog
from attest_otel.live.waiting import ReportWaiter
from attest_otel.report import Report
from tests.live.helpers import AGENT, WAIT, Live, live, tool


def claim(pipeline: Live, span: trace.Span | trace.SpanContext) -> ReportWaiter:
    """Return a waiter for a run that is held."""
    ids = span if isinstance(span, trace.SpanContext) else span.get_span_context()
    waiter = pipeline.processor.report_waiter(ids.trace_id, ids.span_id)
    assert waiter is not None
    return waiter


def in_asyncio(main: Callable[[], Awaitable[Any]]) -> Any:
    """Run something under asyncio."""

    async def run() -> Any:
        return await main()

    return asyncio.run(run())


def test_a_report_is_waited_for_from_before_and_after() -> None:
    """A claim made inside the run and one made after its verdict both get the report."""
    with live() as pipeline:
        with pipeline.tracer.start_as_current_span("agent", attributes=AGENT) as root:
            early = claim(pipeline, root)
        first = early.wait(WAIT)
        assert pipeline.processor.drain(WAIT)
        assert claim(pipeline, root).wait(WAIT) is first


def test_the_recorders_registry_finds_the_right_processor() -> None:
    """With two processors, the one that holds the run answers; a span nobody holds has no waiter."""
    with live() as one, live() as other:
        root = other.run()
        found = content.waiter_for(root)
        assert found is not None
        assert found.wait(WAIT).run_id is not None
        stranger = TracerProvider(shutdown_on_exit=False).get_tracer("x").start_span("agent")
        assert content.waiter_for(stranger.get_span_context()) is None
        assert one.reports == []


def test_a_busy_processor_that_holds_nothing_does_not_stand_in_the_way(monkeypatch: pytest.MonkeyPatch) -> None:
    """Where much waits to be taken in, a claim is settled by the worker; the processor that holds the run still answers it."""
    monkeypatch.setattr(worker, "MAX_SEARCHED", -1)
    with live() as one, live() as other:
        root = other.run()
        for found in (content.waiter_for(root), content.waiter_for(root)):
            assert found is not None
            assert found.wait(WAIT).run_id is not None
        found = content.waiter_for(root)
        assert found is not None
        report = in_asyncio(lambda: found.wait_async(WAIT))
        assert report.run_id is not None
        nobodys = content.waiter_for(SpanContext(1, 2, is_remote=False))
        assert nobodys is not None
        with pytest.raises(ReportTimeoutError, match="not held"):
            nobodys.wait(WAIT)
        assert one.reports == []


def test_a_claim_costs_no_search_of_a_long_log() -> None:
    """With a hundred thousand entries waiting, a claim looks at none of them."""

    class Unsearchable(deque[Any]):
        def copy(self) -> Self:
            raise AssertionError

    busy = worker.Worker(Buffer(AttestConfig()), lambda _now: None, FaultLog())
    busy.log = Unsearchable()
    busy.log.extend([None] * 100_000)
    assert busy.may_hold(7)
    busy.log = deque()
    assert not busy.may_hold(7)


def test_a_nested_agent_waits_for_the_whole_run() -> None:
    """Who asks for a sub-agent's report gets that of the run it belongs to."""
    with live() as pipeline:
        with pipeline.tracer.start_as_current_span("agent", attributes=AGENT):
            with pipeline.tracer.start_as_current_span("nested", attributes=AGENT) as nested:
                waiter = claim(pipeline, nested)
            with pytest.raises(ReportTimeoutError, match=r"within 0\.01 s"):
                waiter.wait(0.01)
        assert waiter.wait(WAIT).agent == "a"


@pytest.mark.parametrize("run_loop", [in_asyncio, trio.run], ids=["asyncio", "trio"])
def test_event_loops_wait_without_being_blocked(run_loop: Callable[[Any], Any], monkeypatch: pytest.MonkeyPatch) -> None:
    """While a report is awaited the loop goes on; the report wakes it."""
    go = threading.Event()
    real = run_one
    monkeypatch.setattr(grading, "run_one", lambda view, name: go.wait(WAIT) and real(view, name))

    async def main() -> Report:
        waiter = claim(pipeline, pipeline.run())
        with pytest.raises(ReportTimeoutError):
            await waiter.wait_async(0.01)
        go.set()
        return await waiter.wait_async(WAIT)

    with live() as pipeline:
        assert run_loop(main).agent == "a"


@pytest.mark.parametrize("run_loop", [in_asyncio, trio.run], ids=["asyncio", "trio"])
def test_a_report_that_is_there_is_returned_at_once(run_loop: Callable[[Any], Any]) -> None:
    """No time is needed for an answer that is known."""

    async def main() -> Report:
        return await claim(pipeline, root).wait_async(WAIT)

    with live() as pipeline:
        root = pipeline.run()
        assert pipeline.processor.drain(WAIT)
        assert run_loop(main).agent == "a"


def test_shutdown_answers_everybody() -> None:
    """Who waits for an open run when the pipeline stops gets the report of what there was, or an error."""
    pipeline = Live()
    root = pipeline.tracer.start_span("agent", context=Context(), attributes=AGENT)
    pipeline.tracer.start_span("execute_tool t", context=trace.set_span_in_context(root), attributes=tool()).end()
    waiter = claim(pipeline, root)
    pipeline.close()
    assert any("shut down" in text for text in waiter.wait(0).incomplete)
    ids = root.get_span_context()
    assert pipeline.processor.report_waiter(ids.trace_id, ids.span_id) is None


def test_a_preliminary_report_is_the_answer_when_time_is_up() -> None:
    """While a model reads, a report that doesn't block is held back until the time is up; one that blocks is not."""
    waiter, report = ReportWaiter(), Report()
    waiter.answer(report, final=False)
    assert waiter.wait(0.01) is report
    refused = ReportWaiter()
    refused.refuse("because")
    with pytest.raises(ReportTimeoutError, match="because"):
        refused.wait(None)
