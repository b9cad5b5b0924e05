"""The processors of a provider that export spans, and how ended spans are handed to them again.

The SDK has no public way to export a span that was not sampled. What exports is told by what it is:
the SDK's two processors and whatever is made of them, and a processor that shows its `span_exporter`;
a processor that holds others is looked into. Processors that only watch spans saw these already.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any

from opentelemetry.sdk.trace import ReadableSpan, SpanProcessor
from opentelemetry.sdk.trace.export import BatchSpanProcessor, SimpleSpanProcessor

from attest_otel.live.order import processors_of

MAX_DEPTH = 8
SPANS_BETWEEN_FLUSHES = 512
FLUSH_MILLIS = 2_000


class HandOver:
    """Hands ended spans to a provider's exporting processors; for one thread at a time.

    A batch processor's queue holds 2,048 spans by default and drops what comes beyond: after each batch
    of that many spans it is flushed first.

    Args:
        provider: returns the provider, which may be set after the processor was made.
    """

    def __init__(self, provider: Callable[[], Any]) -> None:
        self._provider = provider
        self._handed = 0

    def __call__(self, spans: Sequence[ReadableSpan]) -> None:
        """Hand the spans over, in their order."""
        targets = list(exporting(processors_of(self._provider())))
        for span in spans:
            for target in targets:
                target.on_end(span)
            self._handed += 1
            if self._handed >= SPANS_BETWEEN_FLUSHES:
                self._handed = 0
                for target in targets:
                    target.force_flush(FLUSH_MILLIS)


def exporting(processors: Sequence[SpanProcessor], depth: int = 0) -> Iterator[SpanProcessor]:
    """Yield the processors that export, outermost first: a wrapper stands for what it wraps."""
    for one in processors:
        inner = getattr(one, "_span_processors", None)
        if isinstance(inner, tuple) and depth < MAX_DEPTH:
            yield from exporting(inner, depth + 1)
        elif _exports(one, depth):
            yield one


def _exports(processor: object, depth: int) -> bool:
    if isinstance(processor, BatchSpanProcessor | SimpleSpanProcessor) or hasattr(processor, "span_exporter"):
        return True
    wrapped = getattr(processor, "processor", None)
    return wrapped is not None and depth < MAX_DEPTH and _exports(wrapped, depth + 1)
