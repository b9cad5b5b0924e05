"""The place of a processor among others of a provider.

A provider stops its processors in the order they were added. Behind an exporter's, ours would send its
last verdicts to a closed exporter, so it goes first. The SDK has no public way to say an order.
"""

from __future__ import annotations

from typing import Any

from opentelemetry.sdk.trace import SpanProcessor


def processors_of(provider: Any) -> tuple[SpanProcessor, ...]:
    """Return a provider's processors in their order; none where its inside is not the SDK's."""
    found = getattr(getattr(provider, "_active_span_processor", None), "_span_processors", ())
    return found if isinstance(found, tuple) else ()


def put_first(provider: Any, processor: SpanProcessor | None) -> bool:
    """Move a processor before those that were there; return whether it is first now.

    A processor that isn't among the provider's is left out of it.
    """
    found = processors_of(provider)
    if processor is None or not any(one is processor for one in found):
        return False
    if found[0] is processor:
        return True
    try:
        many = provider._active_span_processor  # noqa: SLF001
        with many._lock:  # noqa: SLF001
            others = tuple(one for one in many._span_processors if one is not processor)  # noqa: SLF001
            many._span_processors = (processor, *others)  # noqa: SLF001
    except Exception:  # noqa: BLE001  # another SDK's inside
        return False
    return True
