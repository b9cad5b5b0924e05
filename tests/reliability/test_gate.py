"""The gate: `run.report(timeout)` and `areport` give an answer or a clear TimeoutError, wherever they are asked."""

from __future__ import annotations

import asyncio
import threading
import time
from collections.abc import Callable
from typing import Any

import pytest
import trio

from attest_otel.checks import run_one
from attest_otel.errors import ReportTimeoutError
from attest_otel.live import grading
from attest_otel.live.admission import FIRST_MARK
from attest_otel.record.agent_run import AgentRun, agent_run
from attest_otel.record.dispatcher import traced_dispatcher
from attest_otel.report import Report
from tests.live.helpers import WAIT, together
from tests.live.test_processor import wait_for
from tests.reliability.helpers import recorded, within


def finished(name: str = "a", output: str = "fine") -> AgentRun:
    """Return a run that has ended."""
    with agent_run(name, task="t", tools=[]) as run:
        traced_dispatcher(lambda name, arguments: output)("t", "{}")
        run.final_answer = "done"
    return run


def in_asyncio(main: Callable[[], Any]) -> Any:
    """Run something under asyncio."""
    return asyncio.run(main())


LOOPS = [in_asyncio, trio.run]


def test_many_threads_wait_for_one_report_and_get_the_same() -> None:
    """Eight threads that ask at once, and one that asks later, get the one report."""
    with recorded() as pipeline:
        run = finished()
        got: list[Report] = []
        together(*[lambda: got.append(run.report(WAIT))] * 8)
        assert pipeline.processor.drain(WAIT)
        got.append(run.report(0))
        assert len(got) == 9
        assert len({id(report) for report in got}) == 1


@pytest.mark.parametrize("run_loop", LOOPS, ids=["asyncio", "trio"])
def test_many_tasks_each_get_their_own(run_loop: Callable[[Any], Any]) -> None:
    """Under asyncio and trio, fifty agents at once each get the report of their own run, and the loop goes on."""
    got: dict[str, str | None] = {}
    ticks: list[int] = []

    async def one(number: int) -> None:
        got[f"a{number}"] = (await finished(f"a{number}").areport(WAIT)).agent
        ticks.append(number)

    async def main() -> None:
        import anyio

        async with anyio.create_task_group() as group:
            for number in range(50):
                group.start_soon(one, number)

    with recorded():
        run_loop(main)
    assert got == {f"a{number}": f"a{number}" for number in range(50)}
    assert len(ticks) == 50


@pytest.mark.parametrize("run_loop", LOOPS, ids=["asyncio", "trio"])
def test_a_report_asked_for_from_a_thread_of_a_loop(run_loop: Callable[[Any], Any]) -> None:
    """`report` in a worker thread of an event loop works as anywhere."""

    async def main() -> Report:
        import anyio.to_thread

        run = finished()
        report: Report = await anyio.to_thread.run_sync(run.report, WAIT)
        return report

    with recorded():
        assert run_loop(main).agent == "a"


@pytest.mark.parametrize("timeout", [0, 0.05])
def test_a_report_that_does_not_come_is_a_timeout_in_time(timeout: float, monkeypatch: pytest.MonkeyPatch) -> None:
    """While the checks hang, `report` raises TimeoutError after its time, and the answer can still be had later."""
    gate = threading.Event()
    monkeypatch.setattr(grading, "run_one", lambda view, name: gate.wait(WAIT) and run_one(view, name))
    with recorded() as pipeline:
        run = finished()
        began = time.monotonic()
        with pytest.raises(TimeoutError, match=f"within {timeout:g} s"):
            run.report(timeout)
        assert time.monotonic() - began < timeout + 0.1
        gate.set()
        assert run.report(WAIT).agent == "a"
        assert pipeline.processor.drain(WAIT)


@pytest.mark.parametrize("run_loop", LOOPS, ids=["asyncio", "trio"])
def test_a_waiting_task_can_be_cancelled(run_loop: Callable[[Any], Any], monkeypatch: pytest.MonkeyPatch) -> None:
    """A task cancelled while it waits ends at once; the report that comes later wakes nobody and harms nothing."""
    gate = threading.Event()
    monkeypatch.setattr(grading, "run_one", lambda view, name: gate.wait(WAIT) and run_one(view, name))

    async def main() -> AgentRun:
        import anyio

        run = finished()
        with anyio.move_on_after(0.05) as scope:
            await run.areport(WAIT)
        assert scope.cancelled_caught
        return run

    with recorded() as pipeline:
        run = run_loop(main)
        gate.set()
        assert run.report(WAIT).agent == "a"
        assert pipeline.processor.health().faults == {}


def test_during_shutdown_everybody_gets_an_answer(monkeypatch: pytest.MonkeyPatch) -> None:
    """Runs pending when the pipeline stops: each waiter gets the unchecked report or a TimeoutError, none waits on."""
    gate = threading.Event()
    monkeypatch.setattr(grading, "run_one", lambda view, name: gate.wait(WAIT) and run_one(view, name))
    with recorded() as pipeline:
        runs = [finished(f"a{number}") for number in range(5)]
        answers: list[Any] = []

        def wait(run: AgentRun) -> None:
            try:
                answers.append(run.report(WAIT).verdict)
            except ReportTimeoutError as error:
                answers.append(str(error))

        threads = [threading.Thread(target=wait, args=(run,)) for run in runs]
        for thread in threads:
            thread.start()
        pipeline.processor.shutdown(0.5)
        for thread in threads:
            thread.join(2.0)
        gate.set()
        assert len(answers) == 5
        assert all(answer == "review" or "shut down" in answer for answer in answers)


def test_after_shutdown_the_answer_is_an_error_at_once() -> None:
    """A run recorded when nobody grades any more says so, and does not wait."""
    with recorded() as pipeline:
        pipeline.processor.shutdown()
        run = finished()
        with pytest.raises(TimeoutError, match="nobody grades"):
            within(1.0, lambda: run.report(None))


def test_a_dropped_run_says_which_limit_dropped_it(monkeypatch: pytest.MonkeyPatch) -> None:
    """Where the queue is full, the waiter of the run that was left out is told at once, with the limit's name."""
    gate = threading.Event()
    monkeypatch.setattr(grading, "run_one", lambda view, name: gate.wait(WAIT) and run_one(view, name))
    with recorded({"limits": {"max_queue_runs": 3}}) as pipeline:
        first = finished("a0")
        with pytest.raises(TimeoutError, match="within 0 s"):
            first.report(0)
        runs = [first, *[finished(f"a{number}") for number in range(1, 8)]]
        with pytest.raises(TimeoutError, match=r"max_queue_runs|faster than they can be graded"):
            within(2.0, lambda: runs[-1].report(None))
        gate.set()
        assert pipeline.processor.drain(WAIT)
        health = pipeline.processor.health()
        assert health.started == health.evaluated + sum(health.dropped.values())
        assert runs[0].report(WAIT).agent == "a0"


def test_a_run_turned_away_at_its_start_says_why() -> None:
    """A run that was never taken in, since the pipeline cannot keep up, is told so at once."""
    with recorded() as pipeline:
        gate = threading.Event()
        pipeline.processor._worker.call(lambda _: wait_for(gate))
        pipeline.processor._log.extend([lambda _: None] * FIRST_MARK)
        run = finished()
        with pytest.raises(TimeoutError, match="faster than they can be graded"):
            within(2.0, lambda: run.report(None))
        gate.set()


def test_a_run_pushed_out_by_age_or_capacity_has_its_report() -> None:
    """A run graded before its end is answered when it ends: with what there was."""
    with recorded({"limits": {"max_open_runs": 1}}) as pipeline:
        with agent_run("first", task="t", tools=[]) as first:
            traced_dispatcher(lambda name, arguments: "fine")("t", "{}")
            from opentelemetry.context import Context

            pipeline.tracer.start_span("agent", context=Context(), attributes={"gen_ai.operation.name": "invoke_agent"})
        assert any("max_open_runs" in text for text in first.report(WAIT).incomplete)


def test_without_a_timeout_the_pipelines_own_deadlines_answer(monkeypatch: pytest.MonkeyPatch) -> None:
    """`report()` without a time ends when the checks' deadlines do."""

    def spin(view: Any, name: Any) -> Any:
        while True:
            pass

    monkeypatch.setattr(grading, "run_one", spin)
    with recorded({"limits": {"check_deadline_seconds": 0.02, "evaluation_deadline_seconds": 0.1}}):
        assert within(10.0, lambda: finished().report()).verdict == "review"


def test_a_worker_that_dies_is_no_endless_wait(monkeypatch: pytest.MonkeyPatch) -> None:
    """A worker that ends after the last span is started again by whoever waits."""
    with recorded() as pipeline:
        finished().report(WAIT)
        pipeline.processor._worker.call(_die)
        run = finished()
        assert within(10.0, lambda: run.report(5.0)).agent == "a"


def _die(now: float) -> None:
    raise SystemExit


def test_health_is_no_false_alarm_after_a_long_silence(monkeypatch: pytest.MonkeyPatch) -> None:
    """A run that has waited for a moment is no sign of a stuck pipeline, however long ago the last verdict was."""
    gate = threading.Event()
    with recorded() as pipeline:
        finished().report(WAIT)
        assert pipeline.processor.drain(WAIT)
        inner = pipeline.processor._pipeline
        inner._last_success = inner._began = time.monotonic() - 3_600.0
        monkeypatch.setattr(grading, "run_one", lambda view, name: gate.wait(WAIT) and run_one(view, name))
        run = finished()
        with pytest.raises(TimeoutError):
            run.report(0.1)
        health = pipeline.processor.health()
        assert (health.queue_size > 0, health.stuck) == (True, False)
        gate.set()
        assert pipeline.processor.drain(WAIT)
