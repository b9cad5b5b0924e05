"""Waiting for a run's report: from threads, asyncio and trio, with an answer or an error that says why not."""

from __future__ import annotations

import asyncio
import contextlib
import sys
import threading
from collections.abc import Callable

import anyio

from attest_otel.errors import ReportTimeoutError
from attest_otel.report import Report

MAX_WAIT_SECONDS = 86_400.0


class ReportWaiter:
    """A claim on one report. A preliminary report is the answer only when the time is up."""

    def __init__(self) -> None:
        self._event = threading.Event()
        self._report: Report | None = None
        self._reason: str | None = None
        self._wakers: list[Callable[[], object]] = []

    def answer(self, report: Report, *, final: bool) -> None:
        """Give the report; a final one ends the wait."""
        self._report = report
        if final:
            self._end()

    def refuse(self, reason: str) -> None:
        """End the wait without a report."""
        self._reason = reason
        self._end()

    def wait(self, timeout: float | None) -> Report:
        """Return the report, or raise ReportTimeoutError after `timeout` seconds."""
        self._event.wait(MAX_WAIT_SECONDS if timeout is None else max(timeout, 0.0))
        return self._result(timeout)

    async def wait_async(self, timeout: float | None) -> Report:  # noqa: ASYNC109  # seconds, as `wait` takes them
        """Do the same under asyncio or trio, without blocking the event loop."""
        done = anyio.Event()
        self._wakers.append(_waker(done.set))
        if not self._event.is_set():
            with anyio.move_on_after(MAX_WAIT_SECONDS if timeout is None else max(timeout, 0.0)):
                await done.wait()
        return self._result(timeout)

    def _result(self, timeout: float | None) -> Report:
        if self._report is not None:
            return self._report
        if self._reason is not None:
            raise ReportTimeoutError(self._reason)
        raise ReportTimeoutError(f"no report came within {MAX_WAIT_SECONDS if timeout is None else timeout:g} s")

    def _end(self) -> None:
        self._event.set()
        for wake in list(self._wakers):
            try:
                wake()
            except Exception:  # noqa: BLE001, S112  # the loop that waited may be closed
                continue


class Waiters:
    """Who waits for which run; safe from any thread, and never holds a lock while others' code runs.

    The lock is re-entrant: a collection inside it may close an abandoned run, which comes back here.
    """

    def __init__(self) -> None:
        self._lock = threading.RLock()
        self._waiting: dict[int, list[ReportWaiter]] = {}

    def add(self, root_key: int) -> ReportWaiter:
        """Return a new claim on the report of a run."""
        waiter = ReportWaiter()
        with self._lock:
            self._waiting.setdefault(root_key, []).append(waiter)
        return waiter

    def answer(self, root_key: int, report: Report, *, final: bool) -> None:
        """Give a run's report to all who wait for it."""
        with self._lock:
            waiters = self._waiting.pop(root_key, []) if final else list(self._waiting.get(root_key, ()))
        for waiter in waiters:
            waiter.answer(report, final=final)

    def move(self, key: int, root_key: int) -> None:
        """Let those who wait for a nested agent wait for the run it belongs to."""
        with self._lock:
            self._waiting.setdefault(root_key, []).extend(self._waiting.pop(key, []))

    def refuse(self, root_key: int, reason: str) -> None:
        """Tell all who wait for a run that no report will come."""
        with self._lock:
            waiters = self._waiting.pop(root_key, [])
        for waiter in waiters:
            waiter.refuse(reason)

    def refuse_all(self, reason: str) -> None:
        """Tell everybody that no report will come."""
        with self._lock:
            keys = list(self._waiting)
        for key in keys:
            self.refuse(key, reason)


def _waker(wake: Callable[[], None]) -> Callable[[], object]:
    """Return a function that calls `wake` in the running event loop, from any thread, without waiting."""
    if "trio" in sys.modules:
        import trio  # noqa: PLC0415  # only where the caller has it loaded

        with contextlib.suppress(RuntimeError):  # trio is loaded, and it is asyncio that runs here
            token = trio.lowlevel.current_trio_token()
            return lambda: token.run_sync_soon(wake)
    loop = asyncio.get_running_loop()
    return lambda: loop.call_soon_threadsafe(wake)
