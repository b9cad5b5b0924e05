"""What the hooks write down when writing it down is not enough: runs are turned away, or values are measured.

While the worker keeps up, a hook appends its span to the log and is done. Here is the rest: what there is
no room for is left out and said, and of big values on their way to the worker no more is held than the
limits allow. On the agent's threads; nothing here waits.
"""

from __future__ import annotations

import weakref
from collections.abc import Mapping
from functools import partial
from typing import TYPE_CHECKING, Any

from opentelemetry.sdk.trace import ReadableSpan

from attest_otel.live.admission import SECOND_MARK, Admission
from attest_otel.live.big_values import Held
from attest_otel.live.faults import FaultLog
from attest_otel.live.runs import span_key
from attest_otel.live.worker import Ended

if TYPE_CHECKING:
    from attest_otel.live.pipeline import Pipeline

MANY_BIG_VALUES = "big values come faster than they can be cut: the runs that hold them are incomplete"
OVERLOAD = "spans come faster than they can be graded: whole runs are left out and counted"


class Intake:
    """The way into one pipeline's log. Thread-safe."""

    def __init__(self, pipeline: Pipeline, faults: FaultLog) -> None:
        self.admission = Admission(self._lost)
        self._worker = pipeline.worker
        self._log = pipeline.worker.log
        self._buffer = pipeline.buffer
        self._big = pipeline.big
        self._faults = faults
        self._held: weakref.WeakValueDictionary[int, Held] = weakref.WeakValueDictionary()
        pipeline.buffer.on_big = partial(self.admission.measure, on=True)
        pipeline.on_full = self.admission.fill
        pipeline.on_small = partial(self.admission.measure, on=False)

    def start(self, span: ReadableSpan) -> None:
        """Write down that a span started, if there is room for its run."""
        if self.admission.closed:
            return
        self._wake()
        if not self.admission.start(span, self._log):
            self._faults.say("overload", OVERLOAD)
        elif self.admission.measuring and span.context is not None:
            self._held[span_key(span.context)] = held = Held(span)
            self._log.append(held)
        else:
            self._log.append(span)

    def end(self, span: ReadableSpan) -> None:
        """Write down that a span ended, if its run was not turned away."""
        if not self.admission.end(span):
            return
        if self.admission.measuring:
            self._end_measured(span)
        else:
            self._log.append(span if type(span) is ReadableSpan else Ended(span))
        self._wake()

    def content(self, key: int, attributes: Mapping[str, Any]) -> None:
        """Keep the full values of a span that has not ended yet."""
        if len(self._log) >= SECOND_MARK:
            return
        size = self._big.size_in(attributes)
        cut: tuple[str, ...] = ()
        if size and not self._big.take(size):
            size, (attributes, cut) = 0, self._big.without_in(attributes)
            self._faults.say("big_values", MANY_BIG_VALUES)
        self._log.append((key, attributes, cut))
        if size:
            self._log.append(self._big.release)

    def _end_measured(self, span: ReadableSpan) -> None:
        size = self._big.size_of(span)
        held = self._held.pop(span_key(span.context), None) if span.context is not None else None
        if not size or self._big.take(size):
            self._log.append(Ended(span))
            if size:
                self._log.append(self._big.release)
            return
        span, cut = self._big.without(span)
        self._log.append(Ended(span, cut))
        if held is not None:
            held.span = span
        self._faults.say("big_values", MANY_BIG_VALUES)

    def _wake(self) -> None:
        if self._worker.idle:
            self._worker.wake()

    def _lost(self, trace_id: int) -> None:
        self._log.append(partial(self._buffer.lost, trace_id))
