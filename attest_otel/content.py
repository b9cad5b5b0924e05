"""Where raw content passes from the recorder to whoever grades it, beside the span.

A span shows what `capture` allows and what the SDK's limits leave; checks must see everything. So the
recorder offers the full values, under the names of the span's attributes, to every receiver
subscribed here. Receivers are held weakly, called without a lock, and may not raise. The recorder
knows no processor; a processor that wants content, or answers for a run's report, subscribes.
"""

from __future__ import annotations

import os
import threading
import time
import weakref
from collections.abc import Mapping
from contextlib import suppress
from typing import Any, Protocol

from opentelemetry.trace import SpanContext

from attest_otel.errors import ReportTimeoutError
from attest_otel.report import Report


class Waiter(Protocol):
    """A claim on the report of one run."""

    def wait(self, timeout: float | None) -> Report:
        """Return the report, or raise ReportTimeoutError after `timeout` seconds."""

    async def wait_async(self, timeout: float | None) -> Report:  # noqa: ASYNC109  # seconds, as `wait` takes them
        """Do the same under asyncio or trio, without blocking the event loop."""


class Receiver(Protocol):
    """What a processor offers the recorder."""

    def accept_content(self, trace_id: int, span_id: int, attributes: Mapping[str, Any]) -> None:
        """Keep the full values of a span that has not ended yet; never raises, never blocks."""

    def report_waiter(self, trace_id: int, span_id: int) -> Waiter | None:
        """Return a waiter for the run whose root span this is, or None when the run is not ours."""


_lock = threading.Lock()
_receivers: tuple[weakref.ref[Receiver], ...] = ()


def subscribe(receiver: Receiver) -> None:
    """Let a receiver have the content of all spans recorded from here on; held weakly, once."""
    global _receivers  # noqa: PLW0603  # replaced whole, so that readers need no lock
    with _lock:
        alive = tuple(ref for ref in _receivers if ref() not in (None, receiver))
        _receivers = (*alive, weakref.ref(receiver))


def unsubscribe(receiver: Receiver) -> None:
    """Stop giving a receiver content."""
    global _receivers  # noqa: PLW0603
    with _lock:
        _receivers = tuple(ref for ref in _receivers if ref() not in (None, receiver))


def wanted() -> bool:
    """Return whether anybody wants content."""
    return bool(_receivers)


def offer(context: SpanContext, attributes: Mapping[str, Any]) -> None:
    """Hand the full values of a span's attributes to every receiver."""
    for ref in _receivers:
        receiver = ref()
        if receiver is not None:
            with suppress(Exception):  # one receiver's fault is not another's
                receiver.accept_content(context.trace_id, context.span_id, attributes)


def waiter_for(context: SpanContext) -> Waiter | None:
    """Return a waiter for the report of the run with this root span, or None when nobody grades it."""
    found: list[Waiter] = []
    for ref in _receivers:
        receiver = ref()
        if receiver is None:
            continue
        with suppress(Exception):  # one receiver's fault is not another's
            waiter = receiver.report_waiter(context.trace_id, context.span_id)
            if waiter is not None:
                found.append(waiter)
    if not found:
        return None
    return found[0] if len(found) == 1 else _FirstOf(found)


class _FirstOf:
    """The report of whichever receiver has it, where several may: busy ones can't tell yet whose run it is."""

    def __init__(self, waiters: list[Waiter]) -> None:
        self._waiters = waiters

    def wait(self, timeout: float | None) -> Report:
        ends = None if timeout is None else time.monotonic() + timeout
        for waiter in self._waiters[:-1]:
            with suppress(ReportTimeoutError):
                return waiter.wait(_left(ends))
        return self._waiters[-1].wait(_left(ends))

    async def wait_async(self, timeout: float | None) -> Report:  # noqa: ASYNC109
        ends = None if timeout is None else time.monotonic() + timeout
        for waiter in self._waiters[:-1]:
            with suppress(ReportTimeoutError):
                return await waiter.wait_async(_left(ends))
        return await self._waiters[-1].wait_async(_left(ends))


def _left(ends: float | None) -> float | None:
    return None if ends is None else max(ends - time.monotonic(), 0.0)


def _reset_after_fork() -> None:
    global _lock  # noqa: PLW0603  # the parent's lock may have been held at the fork
    _lock = threading.Lock()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_reset_after_fork)
