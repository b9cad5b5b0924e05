"""The worker: one thread that reads what the hooks wrote down and keeps the runs.

Lazily started, once a process; a fork's child starts with nothing of its parent's. It sleeps until a
hook wakes it or a timer is due, and never runs foreign code: checks and sinks run in a lane of their
own. A worker that dies is started again by the next span. A signal handler may raise at any point of a
thread that starts one, so a worker takes its place itself, and one that finds it taken ends.
"""

from __future__ import annotations

import threading
import time
from collections import deque
from collections.abc import Callable
from queue import Empty, SimpleQueue
from typing import Any

from opentelemetry.sdk.trace import ReadableSpan

from attest_otel.live.big_values import Held
from attest_otel.live.buffer import Buffer
from attest_otel.live.faults import FaultLog
from attest_otel.live.pace import Pace
from attest_otel.live.runs import span_key

BREATH_SECONDS = 0.01
MAX_BATCH = 256
MAX_SEARCHED = 1_000

Command = Callable[[float], None]


class Ended:
    """Marks the end of a span; `cut` names the attributes that there was no room for."""

    __slots__ = ("cut", "span")

    def __init__(self, span: ReadableSpan, cut: tuple[str, ...] = ()) -> None:
        self.span = span
        self.cut = cut


class Worker:
    """Reads the log in order; `idle` is True while it sleeps and has to be woken.

    Args:
        buffer: the runs; only the worker touches it.
        on_ready: called after each batch with the time; returns seconds until it wants to be called
            again, or None.
        faults: where faults are said.
        clock: monotonic seconds.
    """

    def __init__(
        self,
        buffer: Buffer,
        on_ready: Callable[[float], float | None],
        faults: FaultLog,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self.log: deque[Any] = deque()
        self.idle = True
        self.last_round: float | None = None
        self._buffer = buffer
        self._on_ready = on_ready
        self._faults = faults
        self._clock = clock
        self._bell: SimpleQueue[None] = SimpleQueue()
        self._place = threading.Lock()
        self._thread: threading.Thread | None = None
        self._stopped = False
        self._pace = Pace()

    @property
    def alive(self) -> bool:
        """Whether the thread runs."""
        return self._thread is not None and self._thread.is_alive()

    def wake(self) -> None:
        """See that the worker reads the log; never waits for it, safe in signal handlers."""
        try:
            self.idle = False
            self._bell.put(None)
            if not self._place.locked() and not self._stopped:
                self._start()
        except BaseException:
            self.idle = True  # whoever comes next tries again
            raise

    def may_hold(self, key: int) -> bool:
        """Return whether the log can hold the start of a span that is not taken in yet; a long log isn't searched, and can."""
        return len(self.log) > MAX_SEARCHED or self.holds(key)

    def holds(self, key: int) -> bool:
        """Return whether the log holds the start of a span that is not taken in yet; searches all of it."""
        return any(_key_of(entry) == key for entry in self.log.copy())

    def call(self, command: Command) -> None:
        """Have a command run by the worker after all that is in the log."""
        self.log.append(command)
        self.wake()

    def stop(self, timeout: float) -> bool:
        """End the thread; return whether it ended in time."""
        self._stopped = True
        thread = self._thread
        self._bell.put(None)
        if thread is None or thread is threading.current_thread():
            return True
        thread.join(timeout)
        return not thread.is_alive()

    def _start(self) -> None:
        thread = threading.Thread(target=self._run, name="attest-worker", daemon=True)
        try:
            thread.start()
        except RuntimeError as error:
            if error.__context__ is None or isinstance(error.__context__, Exception):
                raise
            raise error.__context__ from None  # a signal handler raised inside the lock of `start`, which then complains
        if self._thread is None:
            self._thread = thread

    def _run(self) -> None:
        if not self._place.acquire(blocking=False):
            return
        self._thread = threading.current_thread()
        clean = False
        try:
            while not self._stopped:
                self._round()
            clean = True
        except BaseException as error:  # noqa: BLE001  # whatever ends it, the next span starts it again
            self._faults.say("worker_restarted", "the worker ended and is started again when there is work", error)
        finally:
            self._thread = None
            self.idle = not clean
            self._place.release()
        if self.log and not clean:
            self.wake()  # who wrote it saw a worker at work, and woke nobody

    def _round(self) -> None:
        self.idle = False
        self._read_log()
        now = self._clock()
        due = self._buffer.runs.tick(now)
        wait = self._on_ready(now)
        self.last_round = now
        if self.log:
            return
        until = min((t for t in (None if due is None else due - now, wait) if t is not None), default=None)
        if self._sleep(BREATH_SECONDS):  # many spans, one round; who waits for an answer rings
            return
        self.idle = True
        if not self.log:
            self._sleep(until)

    def _sleep(self, seconds: float | None) -> bool:
        """Sleep until the bell rings or the time is over, None for ever; return whether it rang."""
        try:
            self._bell.get(timeout=None if seconds is None else max(seconds, 0.0))
        except Empty:
            return False
        while not self._bell.empty():
            self._bell.get()
        return True

    def _read_log(self) -> None:
        for _ in range(MAX_BATCH):
            if not self.log:
                return
            self._pace.give_way()
            try:
                self._handle(self.log[0])
            except Exception as error:  # noqa: BLE001  # one span's fault is not another's
                self._faults.say("span_unreadable", "a span could not be taken in", error)
            finally:
                self.log.popleft()  # only then: who asks for a span finds it in the log or in the buffer

    def _handle(self, entry: Any) -> None:
        now = self._clock()
        if type(entry) is ReadableSpan:
            self._buffer.end(entry, now)
        elif isinstance(entry, ReadableSpan):
            self._buffer.start(entry, now)
        elif isinstance(entry, Ended):
            self._buffer.end(entry.span, now, entry.cut)
        elif isinstance(entry, Held):
            self._buffer.start(entry.span, now)
        elif isinstance(entry, tuple):
            self._buffer.content(*entry)
        else:
            entry(now)


def _key_of(entry: Any) -> int | None:
    span = entry.span if isinstance(entry, Held) else entry
    context = span.context if isinstance(span, ReadableSpan) else None
    return None if context is None else span_key(context)
