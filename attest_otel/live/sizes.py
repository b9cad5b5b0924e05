"""How big a span is in memory, and how it is cut: head, tail, length and hash of what was left out are kept."""

from __future__ import annotations

import copy
import hashlib
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from opentelemetry.sdk.trace import Event, ReadableSpan

from attest_otel.read.span import SpanEvent, SpanRecord

SPAN_BYTES = 600
ITEM_BYTES = 64
MAX_DEPTH = 32


def record_size(record: SpanRecord) -> int:
    """Return about how many bytes a record takes."""
    size = SPAN_BYTES + text_size(record.name) + text_size(record.status_message) + _size_of(record.attributes)
    return size + sum(ITEM_BYTES + _size_of(event.attributes) for event in record.events)


def cut_record(record: SpanRecord, max_value_bytes: int) -> SpanRecord:
    """Return the record with every value within `max_value_bytes`; `cut` names the attributes that were cut."""
    attributes, cut = _cut_all(record.attributes, max_value_bytes)
    events = []
    for event in record.events:
        values, names = _cut_all(event.attributes, max_value_bytes)
        events.append(SpanEvent(event.name, event.time_ns, values) if names else event)
        cut += names
    if not cut:
        return record
    return replace(record, attributes=attributes, events=tuple(events), cut=tuple(dict.fromkeys((*record.cut, *cut))))


def span_within(span: ReadableSpan, max_value_bytes: int) -> tuple[ReadableSpan, ...]:
    """Return an ended span with every value within `max_value_bytes`: itself, a copy with values cut, or nothing if it can't be measured."""
    try:
        attributes, cut = _cut_all(span.attributes or {}, max_value_bytes)
        events = [(event, *_cut_all(event.attributes or {}, max_value_bytes)) for event in span.events]
    except Exception:  # noqa: BLE001  # values of strangers
        return ()
    if not cut and not any(names for _, _, names in events):
        return (span,)
    made = copy.copy(span)
    made._attributes = attributes  # noqa: SLF001  # the constructor would lose what the SDK's limits dropped
    made._events = [Event(event.name, values, event.timestamp) for event, values, _ in events]  # noqa: SLF001
    return (made,)


def cut_text(text: str, max_bytes: int) -> str:
    """Return a text within about `max_bytes` of memory: head and tail around its length and SHA-256."""
    size = text_size(text)
    if size <= max_bytes:
        return text
    digest = hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()
    half = max(max_bytes * len(text) // size // 2 - 64, 16)
    return f"{text[:half]}…[{len(text)} characters, sha256 {digest}]…{text[-half:]}"


def text_size(text: str) -> int:
    """Return how many bytes a text takes in memory; nothing is encoded to count it."""
    return text.__sizeof__()


def value_size(value: Any, depth: int = 0) -> int:
    """Return about how many bytes a plain value takes."""
    if type(value) is str:
        return text_size(value)
    if depth < MAX_DEPTH and isinstance(value, Mapping):
        return ITEM_BYTES + sum(ITEM_BYTES + len(name) + value_size(part, depth + 1) for name, part in value.items())
    if depth < MAX_DEPTH and isinstance(value, list | tuple):
        return ITEM_BYTES + sum(value_size(part, depth + 1) for part in value)
    return ITEM_BYTES


def _size_of(attributes: Mapping[str, Any]) -> int:
    return sum(ITEM_BYTES + len(name) + value_size(value) for name, value in attributes.items())


def _cut_all(given: Mapping[str, Any], limit: int) -> tuple[dict[str, Any], list[str]]:
    kept: dict[str, Any] = {}
    cut: list[str] = []
    for name, value in given.items():
        size = value_size(value)
        if size > limit:
            cut.append(name)
        kept[name] = _cut(value, size, limit) if size > limit else value
    return kept, cut


def _cut(value: Any, size: int, limit: int) -> str:
    """Cut a text as text; a structure that is too big is named, not kept."""
    return cut_text(value, limit) if isinstance(value, str) else f"<{type(value).__name__} of {size} bytes, not kept>"
