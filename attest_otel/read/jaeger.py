"""Jaeger's query API as JSON (`{"data": [{"traceID", "spans", "processes"}]}`) -> span records.

Jaeger keeps the scope, the status and the span kind as tags (`otel.scope.name`, `otel.status_code`),
times in microseconds and events as logs.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from attest_otel.read.otlp import probably_cut
from attest_otel.read.span import SpanEvent, SpanRecord, Status

_STATUS: dict[str, Status] = {"OK": "ok", "ERROR": "error"}
_MICROSECOND = 1_000


def read_spans(document: Any) -> Iterator[SpanRecord]:
    """Read the spans of every trace in one answer of the query API."""
    data = document.get("data") if isinstance(document, dict) else document
    for trace in data if isinstance(data, list) else [data]:
        if not isinstance(trace, dict):
            continue
        for span in trace.get("spans") or ():
            if isinstance(span, dict):
                record = read_span(span)
                if record is not None:
                    yield record


def read_span(span: Mapping[str, Any]) -> SpanRecord | None:
    """Read one span; None where it has no id."""
    span_id = _text(span.get("spanID")).lower()
    if not span_id:
        return None
    tags = _tags(span.get("tags"))
    start, duration = _whole(span.get("startTime")), _whole(span.get("duration"))
    attributes = {
        name: value
        for name, value in tags.items()
        if not name.startswith("otel.") and name not in {"span.kind", "internal.span.format"}
    }
    return SpanRecord(
        trace_id=_text(span.get("traceID")).lower().rjust(32, "0"),
        span_id=span_id.rjust(16, "0"),
        parent_id=_parent(span),
        parent_is_remote=False,
        name=_text(span.get("operationName")),
        start_ns=start * _MICROSECOND,
        end_ns=(start + duration) * _MICROSECOND,
        status=_STATUS.get(_text(tags.get("otel.status_code")), "error" if tags.get("error") is True else "unset"),
        status_message=_text(tags.get("otel.status_description")),
        attributes=attributes,
        events=tuple(_event(log) for log in span.get("logs") or () if isinstance(log, dict)),
        scope=_text(tags.get("otel.scope.name")) or _text(tags.get("otel.library.name")),
        dropped_attributes=_whole(tags.get("otel.dropped_attributes_count")),
        dropped_events=_whole(tags.get("otel.dropped_events_count")),
        cut=probably_cut(attributes),
    )


def _parent(span: Mapping[str, Any]) -> str | None:
    """Return the span's parent: the first it is a child of in its own trace; what it refers to elsewhere is a link."""
    trace = _text(span.get("traceID"))
    for reference in span.get("references") or ():
        if not isinstance(reference, dict) or reference.get("refType") != "CHILD_OF":
            continue
        parent = _text(reference.get("spanID")).lower()
        if parent and _same_id(_text(reference.get("traceID")) or trace, trace):
            return parent.rjust(16, "0")
    return None


def _same_id(a: str, b: str) -> bool:
    """Return whether two ids are one; some leave out leading zeros."""
    return a.lower().lstrip("0") == b.lower().lstrip("0")


def _event(log: Mapping[str, Any]) -> SpanEvent:
    fields = _tags(log.get("fields"))
    name = _text(fields.pop("event", ""))
    return SpanEvent(name, _whole(log.get("timestamp")) * _MICROSECOND, fields)


def _tags(listed: Any) -> dict[str, Any]:
    if not isinstance(listed, list):
        return {}
    return {tag["key"]: _value(tag) for tag in listed if isinstance(tag, dict) and isinstance(tag.get("key"), str)}


def _value(tag: Mapping[str, Any]) -> Any:
    value, kind = tag.get("value"), tag.get("type")
    if kind in {"int64", "float64"} and isinstance(value, str):
        try:
            return int(value) if kind == "int64" else float(value)
        except ValueError:
            return value
    return value


def _text(value: Any) -> str:
    return value if isinstance(value, str) else ""


def _whole(value: Any) -> int:
    return value if isinstance(value, int) and not isinstance(value, bool) else 0
