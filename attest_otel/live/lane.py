"""A thread that does work in steps, each with a deadline; a step that overruns is left behind.

Work is a generator: it yields steps and is sent their outcomes. When a step overruns, its thread is
abandoned and another one goes on with the work, so a check that spins and an exporter that hangs cost
one run one answer and no other run anything. A step whose abandoned thread is still busy isn't started
again, which bounds the threads by the number of steps.
"""

from __future__ import annotations

import atexit
import ctypes
import threading
import time
import weakref
from collections.abc import Callable, Generator
from dataclasses import dataclass, field
from queue import Empty, SimpleQueue
from typing import Any

from attest_otel.live.faults import Counter, FaultLog
from attest_otel.live.pace import Pace
from attest_otel.quiet import quiet

WATCH_SECONDS = 0.1
AT_EXIT_SECONDS = 1.0


@dataclass(frozen=True, slots=True)
class Step:
    """One piece of work. `interrupt` lets an overrunning one be stopped where Python allows."""

    name: str
    action: Callable[[], Any]
    deadline_seconds: float
    interrupt: bool = False


@dataclass(frozen=True, slots=True)
class Outcome:
    """What came of a step: a value, or in words why there is none."""

    value: Any = None
    fault: str | None = None
    seconds: float = 0.0


Work = Generator[Step, Outcome, None]


class _Abandoned(BaseException):
    """Raised inside a check that overran; no check can take it for an error of its own."""


@dataclass(slots=True, eq=False)
class _Turn:
    """A step being worked on. Whoever takes the claim goes on with the work: its thread, or the watch."""

    work: Work
    step: Step
    started: float
    thread: threading.Thread
    claim: list[bool] = field(default_factory=lambda: [True])

    def take(self) -> bool:
        try:
            return self.claim.pop()
        except IndexError:
            return False


_lanes: weakref.WeakSet[Lane] = weakref.WeakSet()


class Lane:
    """Works off a queue, in order, one piece of work at a time. Between steps it lets other threads go first."""

    def __init__(self, name: str, faults: FaultLog, clock: Callable[[], float] = time.monotonic) -> None:
        self._name = name
        self._faults = faults
        self._clock = clock
        self._queue: SimpleQueue[Work | None] = SimpleQueue()
        self._submitted, self._finished = Counter(), Counter()
        self._turn: _Turn | None = None
        self._thread: threading.Thread | None = None
        self._parked: tuple[Work | None, Outcome | None] = (None, None)
        self._stuck: dict[str, threading.Thread] = {}
        self._closed = self._halted = False
        self._pace = Pace()
        _lanes.add(self)

    @property
    def pending(self) -> int:
        """How many pieces of work are not finished."""
        return max(self._submitted.value - self._finished.value, 0)

    @property
    def is_current(self) -> bool:
        """Whether the caller is the lane's own thread, so that waiting for the lane would never end."""
        return threading.current_thread() is self._thread

    @property
    def stuck(self) -> tuple[str, ...]:
        """The steps whose abandoned threads are still busy."""
        return tuple(sorted(name for name, thread in list(self._stuck.items()) if thread.is_alive()))

    def submit(self, work: Work) -> None:
        """Queue work; never blocks."""
        self._submitted.add()
        self._queue.put(work)
        if self._thread is None:
            self._go(None, None)

    def watch(self) -> float | None:
        """Leave behind a step that overran, start a dead thread again; return seconds until the next look."""
        turn = self._turn
        if turn is not None:
            left = turn.started + turn.step.deadline_seconds - self._clock()
            if left > 0:
                return min(left, WATCH_SECONDS)
            if turn.take():
                self._abandon(turn)
        elif self.pending and (self._thread is None or not self._thread.is_alive()) and not self._closed:
            self._faults.say("lane_restarted", "the thread that grades runs had ended and was started again")
            self._go(*self._parked)
        return WATCH_SECONDS if self.pending else None

    def close(self) -> None:
        """Stop when the queue is empty; what is running may end as it likes."""
        self._closed = True
        self._queue.put(None)

    def halt(self, timeout: float) -> None:
        """End the thread at the next step and wait for it, `timeout` seconds."""
        self._halted = True
        thread = self._thread
        if thread is not None and thread is not threading.current_thread():
            thread.join(timeout)

    def leave(self, timeout: float) -> None:
        """End the thread as the process exits; what may hang for ever, a sink, is not waited for."""
        self.close()
        turn = self._turn
        self.halt(timeout if turn is None or turn.step.interrupt else 0.0)

    def drop_queued(self) -> list[Work]:
        """Take what has not begun out of the queue."""
        dropped: list[Work] = []
        while True:
            try:
                work = self._queue.get_nowait()
            except Empty:
                return dropped
            if work is not None:
                self._finished.add()
                dropped.append(work)

    def _abandon(self, turn: _Turn) -> None:
        self._faults.say(
            "step_overran", f"{turn.step.name} took longer than {turn.step.deadline_seconds:g} s and was left behind"
        )
        self._stuck[turn.step.name] = turn.thread
        if turn.step.interrupt and turn.thread.ident is not None:
            ctypes.pythonapi.PyThreadState_SetAsyncExc(ctypes.c_ulong(turn.thread.ident), ctypes.py_object(_Abandoned))
        self._turn = None
        self._go(turn.work, Outcome(fault=f"it took longer than {turn.step.deadline_seconds:g} s"))

    def _go(self, work: Work | None, outcome: Outcome | None) -> None:
        """Start a thread that goes on with a piece of work; where no thread can be had, the next look tries again."""
        thread = threading.Thread(target=self._run, args=(work, outcome), name=self._name, daemon=True)
        self._thread, self._parked = thread, (None, None)
        try:
            thread.start()
        except RuntimeError as error:
            self._thread, self._parked = None, (work, outcome)
            self._faults.say("no_thread", "no thread could be started to grade runs", error)

    def _run(self, work: Work | None, outcome: Outcome | None) -> None:
        try:
            with quiet():
                if work is None or self._finish(work, outcome):
                    while (work := self._queue.get()) is not None and self._finish(work, None):
                        pass
        except _Abandoned:
            pass

    def _finish(self, work: Work, outcome: Outcome | None) -> bool:
        """Do the rest of a piece of work; return False when this thread was left behind."""
        while True:
            try:
                step = next(work) if outcome is None else work.send(outcome)
            except StopIteration:
                break
            except Exception as error:  # noqa: BLE001  # one run's fault is not another's
                self._faults.say("grading_failed", "a run could not be graded", error)
                break
            outcome = self._perform(work, step)
            if outcome is None or self._halted:
                return False
            self._pace.give_way()
        self._finished.add()
        return True

    def _perform(self, work: Work, step: Step) -> Outcome | None:
        busy = self._stuck.get(step.name)
        if busy is not None and busy.is_alive():
            return Outcome(fault="it is still busy with an earlier run")
        self._turn = turn = _Turn(work, step, self._clock(), threading.current_thread())
        started = time.perf_counter()
        try:
            outcome = Outcome(step.action(), seconds=time.perf_counter() - started)
        except _Abandoned:
            return None
        except BaseException as error:  # noqa: BLE001  # a SystemExit of foreign code is a fault like any other
            outcome = Outcome(fault=f"it failed: {type(error).__name__}", seconds=time.perf_counter() - started)
        if not turn.take():
            return None
        self._turn = None
        return outcome


def _leave_all() -> None:
    """Wait for the checks at work: a thread inside a library of C++ when the interpreter ends aborts the process."""
    ends = time.monotonic() + AT_EXIT_SECONDS
    for lane in tuple(_lanes):
        lane.leave(max(ends - time.monotonic(), 0.0))


atexit.register(_leave_all)
