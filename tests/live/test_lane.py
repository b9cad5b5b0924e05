"""The lane: work in steps with deadlines, where one that spins, hangs or raises costs nothing else."""

from __future__ import annotations

import sys
import threading
import time
from collections.abc import Callable

import pytest

from attest_otel.live.faults import FaultLog
from attest_otel.live.lane import Lane, Outcome, Step, Work
from tests.live.helpers import WAIT


def watched(lane: Lane, done: threading.Event) -> None:
    """Watch a lane until something is done."""
    until = time.monotonic() + WAIT
    while not done.wait(0.01):
        lane.watch()
        assert time.monotonic() < until


def steps(outcomes: list[Outcome], done: threading.Event, *given: Step) -> Work:
    """Do some steps and keep what came of them."""
    for step in given:
        outcomes.append((yield step))
    done.set()


def spin() -> None:
    """Never end, in plain Python."""
    while True:
        pass


def test_steps_are_done_in_order() -> None:
    """Each step's value is sent back before the next one begins."""
    lane, outcomes, done = Lane("test", FaultLog()), list[Outcome](), threading.Event()
    lane.submit(steps(outcomes, done, Step("a", lambda: 1, 5), Step("b", lambda: 2, 5)))
    assert done.wait(WAIT)
    assert [outcome.value for outcome in outcomes] == [1, 2]
    lane.close()


@pytest.mark.parametrize("raised", [ValueError("secret"), SystemExit(3), KeyboardInterrupt(), RecursionError()])
def test_what_a_step_raises_is_its_outcome(raised: BaseException) -> None:
    """Whatever a step raises, the lane goes on, and the fault names the type and not the text."""

    def fail() -> None:
        raise raised

    lane, outcomes, done = Lane("test", FaultLog()), list[Outcome](), threading.Event()
    lane.submit(steps(outcomes, done, Step("a", fail, 5), Step("b", lambda: 2, 5)))
    assert done.wait(WAIT)
    assert outcomes[0].fault == f"it failed: {type(raised).__name__}"
    assert outcomes[1].value == 2
    lane.close()


def test_a_step_that_spins_is_stopped_and_starves_nobody() -> None:
    """A spinning step ends at its deadline, its thread ends too, and the rest of the work is done."""
    before = threading.active_count()
    lane, outcomes, done = Lane("test", FaultLog()), list[Outcome](), threading.Event()
    lane.submit(steps(outcomes, done, Step("spin", spin, 0.05, interrupt=True), Step("b", lambda: 2, 5)))
    watched(lane, done)
    assert outcomes[0].fault == "it took longer than 0.05 s"
    assert outcomes[1].value == 2
    lane.close()
    until = time.monotonic() + WAIT
    while threading.active_count() > before:
        assert time.monotonic() < until
        time.sleep(0.01)


def test_a_step_that_hangs_is_not_started_again() -> None:
    """While an abandoned step still hangs, it is not tried again, and other steps are."""
    release = threading.Event()
    lane, outcomes, done = Lane("test", FaultLog()), list[Outcome](), threading.Event()
    hang = Step("hang", lambda: release.wait(WAIT), 0.05)
    lane.submit(steps(outcomes, threading.Event(), hang))
    lane.submit(steps(outcomes, done, hang, Step("b", lambda: 2, 5)))
    watched(lane, done)
    assert [outcome.fault for outcome in outcomes] == ["it took longer than 0.05 s", "it is still busy with an earlier run", None]
    assert lane.stuck == ("hang",)
    release.set()
    lane.close()


def test_work_that_raises_costs_the_next_nothing() -> None:
    """Work whose own code fails is counted, and what is queued behind it is done."""

    def broken() -> Work:
        raise ValueError
        yield

    faults = FaultLog()
    lane, outcomes, done = Lane("test", faults), list[Outcome](), threading.Event()
    lane.submit(broken())
    lane.submit(steps(outcomes, done, Step("a", lambda: 1, 5)))
    assert done.wait(WAIT)
    assert faults.counts.read()["grading_failed"] == 1
    lane.close()


def test_a_dead_thread_is_started_again_and_counted() -> None:
    """When the lane's thread is gone, the watch starts another, and the queue is worked off."""
    faults = FaultLog()
    lane, outcomes, done = Lane("test", faults), list[Outcome](), threading.Event()
    lane._thread = dead = threading.Thread(target=sys.getrecursionlimit)
    dead.start()
    dead.join(WAIT)
    lane.submit(steps(outcomes, done, Step("a", lambda: 1, 5)))
    watched(lane, done)
    assert faults.counts.read()["lane_restarted"] == 1
    lane.close()


def test_the_lane_leaves_its_context_as_it_was() -> None:
    """Foreign code runs in a quiet context and the test's own is untouched."""
    from opentelemetry import trace

    from attest_otel.quiet import QUIET_TRACE

    lane, outcomes, done = Lane("test", FaultLog()), list[Outcome](), threading.Event()
    where: Callable[[], int] = lambda: trace.get_current_span().get_span_context().trace_id  # noqa: E731
    lane.submit(steps(outcomes, done, Step("a", where, 5)))
    assert done.wait(WAIT)
    assert outcomes[0].value == QUIET_TRACE
    assert where() == 0
    lane.close()
