"""One span as this package reads it: plain values, whatever made it.

`from_sdk` copies a span of the SDK, `read.otlp` and `read.jaeger` make the same record from files, so
that a run graded live and the same run read from a file go through one builder.
"""

from __future__ import annotations

import base64
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from itertools import islice
from types import MappingProxyType
from typing import Any, Literal

from opentelemetry.sdk.trace import Event, ReadableSpan

Status = Literal["unset", "ok", "error"]

MAX_VALUE_CHARS = 16 * 1024 * 1024
MAX_ITEMS = 100_000
MAX_DEPTH = 32

_NOTHING: Mapping[str, Any] = MappingProxyType({})


@dataclass(frozen=True, slots=True)
class SpanEvent:
    """One event of a span; `time_ns` counts nanoseconds since 1970."""

    name: str
    time_ns: int = 0
    attributes: Mapping[str, Any] = field(default_factory=lambda: _NOTHING)


@dataclass(frozen=True, slots=True)
class SpanRecord:
    """One span. Ids are lower-case hex; `end_ns` is None while it is open.

    `cut` names the attributes whose text the recorder's length limit shortened; `own_content` says
    that our recorder handed the content over beside the span, whole.
    """

    trace_id: str
    span_id: str
    parent_id: str | None
    parent_is_remote: bool
    name: str
    start_ns: int
    end_ns: int | None
    status: Status = "unset"
    status_message: str = ""
    attributes: Mapping[str, Any] = field(default_factory=lambda: _NOTHING)
    events: tuple[SpanEvent, ...] = ()
    scope: str = ""
    dropped_attributes: int = 0
    dropped_events: int = 0
    sampled: bool = True
    cut: tuple[str, ...] = ()
    own_content: bool = False


def from_sdk(span: ReadableSpan, content: Mapping[str, Any] | None = None) -> SpanRecord:
    """Copy a span of the SDK; total: hostile values cost their text, nothing is raised.

    Args:
        span: an ended or still open span.
        content: full values under the names of the span's attributes, as our recorder handed them
            over; they replace what the span shows.
    """
    try:
        return _from_sdk(span, content)
    except Exception:  # noqa: BLE001  # whatever a stranger's span does, the run must still be graded
        return _bare(span)


def plain(value: Any, depth: int = 0) -> Any:
    """Return a value as plain Python data, bounded in length, size and depth; never raises."""
    kind = type(value)
    if kind is str:
        return value if len(value) <= MAX_VALUE_CHARS else value[:MAX_VALUE_CHARS]
    if kind is int or kind is float or kind is bool or value is None:
        return value
    try:
        return _plain_other(value, depth)
    except Exception:  # noqa: BLE001  # __iter__, __len__ and friends are foreign code
        return f"<{kind.__name__}>"


def _from_sdk(span: ReadableSpan, content: Mapping[str, Any] | None) -> SpanRecord:
    context, parent = span.context, span.parent
    attributes, cut = _attributes(span.attributes, _length_limit(span))
    if content:
        attributes.update((plain_key(key), plain(value)) for key, value in islice(content.items(), MAX_ITEMS))
        cut = tuple(name for name in cut if name not in content)
    status = span.status
    return SpanRecord(
        trace_id=f"{context.trace_id:032x}" if context else "",
        span_id=f"{context.span_id:016x}" if context else "",
        parent_id=f"{parent.span_id:016x}" if parent is not None else None,
        parent_is_remote=bool(parent is not None and parent.is_remote),
        name=str(plain(span.name)),
        start_ns=_whole(span.start_time) or 0,
        end_ns=_whole(span.end_time),
        status=_STATUS.get(getattr(status.status_code, "name", ""), "unset"),
        status_message=str(plain(status.description)) if status.description is not None else "",
        attributes=attributes,
        events=tuple(_event(event) for event in islice(span.events, MAX_ITEMS)),
        scope=str(plain(getattr(span.instrumentation_scope, "name", "") or "")),
        dropped_attributes=_whole(getattr(span, "dropped_attributes", 0)) or 0,
        dropped_events=_whole(getattr(span, "dropped_events", 0)) or 0,
        sampled=bool(context and context.trace_flags.sampled),
        cut=cut,
        own_content=bool(content),
    )


def plain_key(key: Any) -> str:
    """Return a mapping's key as text, bounded; never raises."""
    value = plain(key)
    return value if isinstance(value, str) else str(value)[:MAX_VALUE_CHARS]


_STATUS: dict[str, Status] = {"OK": "ok", "ERROR": "error"}


def _attributes(given: Mapping[str, Any] | None, limit: int | None) -> tuple[dict[str, Any], tuple[str, ...]]:
    found: dict[str, Any] = {}
    cut: list[str] = []
    for key, value in islice((given or {}).items(), MAX_ITEMS):
        name = plain_key(key)
        found[name] = plain(value)
        if limit is not None and _reaches(found[name], limit):
            cut.append(name)
    return found, tuple(cut)


def _reaches(value: Any, limit: int, depth: int = 0) -> bool:
    """Return whether a text in this value is exactly as long as the limit: it was cut, or may have been."""
    if isinstance(value, str):
        return len(value) >= limit
    if depth > MAX_DEPTH:
        return False
    if isinstance(value, dict):
        return any(_reaches(part, limit, depth + 1) for part in value.values())
    return isinstance(value, list) and any(_reaches(part, limit, depth + 1) for part in value)


def _length_limit(span: ReadableSpan) -> int | None:
    """Return the limit on text that the span's attributes keep to; the SDK shows it on no public name."""
    found = getattr(getattr(span, "_attributes", None), "max_value_len", None)
    return found if isinstance(found, int) and not isinstance(found, bool) and found > 0 else None


def _event(event: Event) -> SpanEvent:
    attributes, _ = _attributes(event.attributes, None)
    return SpanEvent(str(plain(event.name)), _whole(event.timestamp) or 0, attributes)


def _whole(value: Any) -> int | None:
    return value if type(value) is int else None


def _plain_other(value: Any, depth: int) -> Any:
    if isinstance(value, str):
        return str.__str__(value)[:MAX_VALUE_CHARS]
    if isinstance(value, bool | int):
        return int.__int__(value)
    if isinstance(value, float):
        return float.__float__(value)
    if isinstance(value, bytes | bytearray):
        return base64.b64encode(bytes(value[:MAX_VALUE_CHARS])).decode("ascii")
    if depth >= MAX_DEPTH:
        return f"<{type(value).__name__}>"
    if isinstance(value, Mapping):
        return {plain_key(key): plain(part, depth + 1) for key, part in islice(value.items(), MAX_ITEMS)}
    if isinstance(value, Iterable):
        return [plain(part, depth + 1) for part in islice(value, MAX_ITEMS)]
    return f"<{type(value).__name__}>"


def _bare(span: ReadableSpan) -> SpanRecord:
    """Return what little can be read of a span whose parts raise: its ids and its times."""
    context, parent = _part(span, "context"), _part(span, "parent")
    start = _whole(_part(span, "start_time"))
    return SpanRecord(
        trace_id=f"{_whole(_part(context, 'trace_id')) or 0:032x}",
        span_id=f"{_whole(_part(context, 'span_id')) or 0:016x}",
        parent_id=f"{_whole(_part(parent, 'span_id')) or 0:016x}" if parent is not None else None,
        parent_is_remote=_part(parent, "is_remote") is True,
        name="<unreadable>",
        start_ns=start or 0,
        end_ns=_whole(_part(span, "end_time")),
        dropped_attributes=1,
    )


def _part(thing: Any, name: str) -> Any:
    try:
        return getattr(thing, name, None)
    except Exception:  # noqa: BLE001  # a property of a stranger's class
        return None
