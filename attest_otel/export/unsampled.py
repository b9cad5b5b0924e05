"""Runs that were recorded and not sampled, sent all the same when their verdict asks for it.

At 1 % sampling a blocked run is the one somebody wants to see. Its spans ended unsampled, which the
exporters' processors leave out; here copies of them that say sampled go to those processors, once
each. A run whose root was sampled goes out by itself and is left alone.
"""

from __future__ import annotations

import copy
import weakref
from collections.abc import Callable, Sequence

from opentelemetry.context import Context, create_key, get_value, set_value
from opentelemetry.sdk.trace import ReadableSpan
from opentelemetry.trace import SpanContext, TraceFlags

from attest_otel.config import Unsampled
from attest_otel.export.evaluated import Evaluated

HandOver = Callable[[Sequence[ReadableSpan]], None]

_KEEP = create_key("attest-keep")
_VERDICTS: dict[str, frozenset[str]] = {
    "none": frozenset(),
    "all": frozenset({"pass", "review", "block"}),
    "not_pass": frozenset({"review", "block"}),
    "block": frozenset({"block"}),
}


class UnsampledRuns:
    """A sink that hands the unsampled spans of the runs it keeps to the exporters' processors.

    A run that a report without the model's part already blocks is sent at once; what comes with a later
    report of the same run is added, nothing twice.
    """

    def __init__(self, mode: Unsampled, hand_over: HandOver) -> None:
        self._mode: Unsampled = mode
        self._hand_over = hand_over
        self._sent: weakref.WeakSet[ReadableSpan] = weakref.WeakSet()

    def emit(self, evaluated: Evaluated) -> None:
        """Hand over the spans of a run that is kept; a verdict that may still change for the worse waits."""
        if not is_kept(self._mode, evaluated) or not (evaluated.final or evaluated.report.verdict == "block"):
            return
        spans = [span for span in evaluated.spans if span not in self._sent and not _is_sampled(span.context)]
        self._sent.update(spans)
        self._hand_over([as_sampled(span) for span in spans])

    def force_flush(self, timeout_millis: int) -> bool:
        """Do nothing: the provider's own processors flush spans."""
        return True


def is_kept(mode: Unsampled, evaluated: Evaluated) -> bool:
    """Return whether a run that was not sampled goes out for its verdict."""
    return evaluated.root is not None and not _is_sampled(evaluated.root) and evaluated.report.verdict in _VERDICTS[mode]


def as_sampled(span: ReadableSpan) -> ReadableSpan:
    """Return a copy of an ended span whose context says that it was sampled; all else is the span's."""
    made = copy.copy(span)
    if span.context is not None:
        made._context = sampled_context(span.context)  # noqa: SLF001  # the constructor would lose what limits dropped
    return made


def sampled_context(context: SpanContext) -> SpanContext:
    """Return the context with the sampled flag set."""
    flags = TraceFlags(context.trace_flags | TraceFlags.SAMPLED)
    return SpanContext(context.trace_id, context.span_id, context.is_remote, flags, context.trace_state)


def asking_to_keep(context: Context) -> Context:
    """Return a context in which `AttestSampler` samples what starts, whatever the inner sampler says."""
    return set_value(_KEEP, value=True, context=context)


def asks_to_keep(context: Context | None) -> bool:
    """Return whether a context was made by `asking_to_keep`."""
    return context is not None and get_value(_KEEP, context) is True


def _is_sampled(context: SpanContext | None) -> bool:
    return context is not None and context.trace_flags.sampled
