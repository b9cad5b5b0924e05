"""OTLP as JSON -> span records; walked by hand, because ids are hex there and the protobuf reader wants base64.

Reads a request, a list of `resourceSpans`, numbers as text or as numbers, both spellings of field
names. Log records of a request (`resourceLogs`) become events of the span they name: some
instrumentations keep the content there. What has the wrong type is left out, never raised.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any

from attest_otel.read.span import MAX_DEPTH, SpanEvent, SpanRecord, Status
from attest_otel.read.values import NOT_JSON, load

_STATUS: dict[Any, Status] = {1: "ok", 2: "error", "STATUS_CODE_OK": "ok", "STATUS_CODE_ERROR": "error", "1": "ok", "2": "error"}
_HAS_REMOTE, _IS_REMOTE = 0x100, 0x200
_USUAL_LIMITS = frozenset(
    {
        128,
        255,
        256,
        512,
        1000,
        1024,
        2000,
        2048,
        4000,
        4095,
        4096,
        8000,
        8191,
        8192,
        10_000,
        12_000,
        16_384,
        32_768,
        65_535,
        65_536,
    }
)


def read_spans(request: Any) -> Iterator[SpanRecord]:
    """Read the spans of one request, or of a list of `resourceSpans` entries."""
    for resource in _entries(request, "resourceSpans", "resource_spans"):
        for scoped in _entries(resource, "scopeSpans", "scope_spans", "instrumentationLibrarySpans"):
            scope = _scope_name(scoped)
            for span in _entries(scoped, "spans"):
                record = read_span(span, scope)
                if record is not None:
                    yield record


def read_span(span: Mapping[str, Any], scope: str = "") -> SpanRecord | None:
    """Read one span; None where it has no id."""
    trace_id, span_id = _hex(_get(span, "traceId", "trace_id")), _hex(_get(span, "spanId", "span_id"))
    if not span_id:
        return None
    parent_id = _hex(_get(span, "parentSpanId", "parent_span_id"))
    attributes = read_attributes(span.get("attributes"))
    status = span.get("status")
    status = status if isinstance(status, Mapping) else {}
    flags = _whole(span.get("flags")) or 0
    return SpanRecord(
        trace_id=trace_id,
        span_id=span_id,
        parent_id=parent_id or None,
        parent_is_remote=bool(parent_id) and flags & (_HAS_REMOTE | _IS_REMOTE) == _HAS_REMOTE | _IS_REMOTE,
        name=_text(span.get("name")),
        start_ns=_whole(_get(span, "startTimeUnixNano", "start_time_unix_nano")) or 0,
        end_ns=_whole(_get(span, "endTimeUnixNano", "end_time_unix_nano")) or None,
        status=_STATUS.get(_hashable(status.get("code")), "unset"),
        status_message=_text(status.get("message")),
        attributes=attributes,
        events=tuple(_event(event) for event in _entries(span, "events")),
        scope=scope,
        dropped_attributes=_whole(_get(span, "droppedAttributesCount", "dropped_attributes_count")) or 0,
        dropped_events=_whole(_get(span, "droppedEventsCount", "dropped_events_count")) or 0,
        cut=probably_cut(attributes),
    )


def read_logs(request: Any) -> dict[tuple[str, str], list[SpanEvent]]:
    """Read a request's log records that name a span, as events, by trace and span id."""
    found: dict[tuple[str, str], list[SpanEvent]] = defaultdict(list)
    for resource in _entries(request, "resourceLogs", "resource_logs"):
        for scoped in _entries(resource, "scopeLogs", "scope_logs"):
            for record in _entries(scoped, "logRecords", "log_records"):
                span_id = _hex(_get(record, "spanId", "span_id"))
                if span_id:
                    found[_hex(_get(record, "traceId", "trace_id")), span_id].append(_log_event(record))
    return dict(found)


def with_events(spans: Iterable[SpanRecord], events: Mapping[tuple[str, str], Sequence[SpanEvent]]) -> list[SpanRecord]:
    """Hang events onto the spans they belong to."""
    return [
        replace(span, events=(*span.events, *more)) if (more := events.get((span.trace_id, span.span_id))) else span
        for span in spans
    ]


def spans_of_events(events: Mapping[tuple[str, str], Sequence[SpanEvent]]) -> list[SpanRecord]:
    """Make a span of each group of log records whose span is not on record, under one root a trace."""
    made: list[SpanRecord] = []
    for (trace_id, span_id), group in sorted(events.items()):
        start = min(event.time_ns for event in group)
        end = max(event.time_ns for event in group)
        root = "0" * 15 + "1"
        made.append(SpanRecord(trace_id, span_id, root, False, "log records", start, end, events=tuple(group)))
    for trace_id in sorted({span.trace_id for span in made}):
        times = [span.start_ns for span in made if span.trace_id == trace_id]
        made.append(SpanRecord(trace_id, "0" * 15 + "1", None, False, "log records of a trace", min(times), max(times)))
    return made


def read_attributes(listed: Any) -> dict[str, Any]:
    """Read a list of key and value pairs."""
    if not isinstance(listed, list):
        return {}
    found: dict[str, Any] = {}
    for pair in listed:
        if isinstance(pair, dict):
            key = pair.get("key")
            if isinstance(key, str):
                found[key] = read_value(pair.get("value"))
    return found


def read_value(value: Any, depth: int = 0) -> Any:
    """Read one AnyValue."""
    if not isinstance(value, dict) or depth > MAX_DEPTH:
        return None
    for kind, inner in value.items():
        if kind in {"stringValue", "string_value"}:
            return inner if isinstance(inner, str) else None
        if kind in _SCALARS:
            return _SCALARS[kind](inner)
        if kind in {"arrayValue", "array_value"}:
            return [read_value(part, depth + 1) for part in _entries(inner, "values")]
        if kind in {"kvlistValue", "kvlist_value"}:
            pairs = [pair for pair in _entries(inner, "values") if isinstance(pair.get("key"), str)]
            return {pair["key"]: read_value(pair.get("value"), depth + 1) for pair in pairs}
    return None


def probably_cut(attributes: Mapping[str, Any]) -> tuple[str, ...]:
    """Name the attributes that a usual length limit seems to have cut: broken JSON of just that length."""
    return tuple(
        name
        for name, value in attributes.items()
        if isinstance(value, str) and len(value) in _USUAL_LIMITS and value[:1] in "{[" and load(value) is NOT_JSON
    )


def _log_event(record: Mapping[str, Any]) -> SpanEvent:
    attributes = read_attributes(record.get("attributes"))
    name = _text(_get(record, "eventName", "event_name")) or _text(attributes.get("event.name"))
    body = read_value(record.get("body"))
    if body is not None:
        attributes["body"] = body
    time = _whole(_get(record, "timeUnixNano", "time_unix_nano")) or _whole(_get(record, "observedTimeUnixNano")) or 0
    return SpanEvent(name, time, attributes)


def _event(event: Mapping[str, Any]) -> SpanEvent:
    time = _whole(_get(event, "timeUnixNano", "time_unix_nano")) or 0
    return SpanEvent(_text(event.get("name")), time, read_attributes(event.get("attributes")))


def _scope_name(scoped: Mapping[str, Any]) -> str:
    scope = _get(scoped, "scope", "instrumentationLibrary")
    return _text(scope.get("name")) if isinstance(scope, Mapping) else ""


def _entries(holder: Any, *names: str) -> list[dict[str, Any]]:
    """Return the objects of a list that may be the holder itself or one of its fields."""
    found = (
        holder
        if isinstance(holder, list)
        else next((holder[n] for n in names if n in holder), None)
        if isinstance(holder, dict)
        else None
    )
    return [part for part in found if isinstance(part, dict)] if isinstance(found, list) else []


def _get(holder: Mapping[str, Any], *names: str) -> Any:
    for name in names:
        if name in holder:
            return holder[name]
    return None


def _hex(value: Any) -> str:
    if not isinstance(value, str):
        return ""
    return "" if not value.strip("0") else value.lower()


def _text(value: Any) -> str:
    return value if isinstance(value, str) else ""


def _whole(value: Any) -> int | None:
    if isinstance(value, bool):
        return None
    if isinstance(value, int):
        return value
    if isinstance(value, str) and len(value) < 40 and value.strip().lstrip("-").isdecimal():  # noqa: PLR2004
        return int(value)
    if isinstance(value, float) and value.is_integer():
        return int(value)
    return None


def _number(value: Any) -> float | None:
    try:
        return float(value)
    except (TypeError, ValueError, OverflowError):
        return None


def _hashable(value: Any) -> Any:
    return value if isinstance(value, int | str) else None


_SCALARS: dict[str, Any] = {
    "intValue": _whole,
    "int_value": _whole,
    "doubleValue": _number,
    "double_value": _number,
    "boolValue": lambda value: value if isinstance(value, bool) else None,
    "bool_value": lambda value: value if isinstance(value, bool) else None,
    "bytesValue": lambda value: value if isinstance(value, str) else None,
    "bytes_value": lambda value: value if isinstance(value, str) else None,
}
