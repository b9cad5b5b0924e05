"""How a tool span says what came back and whether it failed: the same for every convention."""

from __future__ import annotations

from typing import Any

from attest_otel import attributes as names
from attest_otel.read.messages import read_message
from attest_otel.read.span import SpanRecord
from attest_otel.read.values import load

OTHER_ERROR = "_OTHER"


def error_of(span: SpanRecord) -> tuple[str | None, str | None]:
    """Return the error a span records, and its message: `error.type`, else the exception event, else the status."""
    given = span.attributes
    exception = next((e.attributes for e in reversed(span.events) if e.name == "exception"), None)
    kind = given.get(names.ERROR_TYPE)
    if not isinstance(kind, str) or not kind:
        kind = exception.get("exception.type") if exception is not None else None
    if not isinstance(kind, str) or not kind:
        failed = span.status == "error" or exception is not None or given.get("gen_ai.tool.status") == "error"
        kind = OTHER_ERROR if failed else None
    message = exception.get("exception.message") if exception is not None else None
    if not isinstance(message, str) or not message:
        message = span.status_message if span.status == "error" else None
    return kind, message or None


def result_of(span: SpanRecord, *attributes: str) -> tuple[str | None, bool | None]:
    """Return a result's text and an explicit error flag, from the first of these attributes that is there."""
    value: Any = next((span.attributes[name] for name in attributes if span.attributes.get(name) is not None), None)
    if value is None:
        return None, None
    found = value
    if isinstance(value, str):
        if not _may_be_wrapped(value):
            return value, None
        found = load(value)
        if not _is_wrapped(found):
            return value, None
    if isinstance(found, dict) and isinstance(found.get("is_error"), bool) and found.keys() == {"result", "is_error"}:
        message = read_message({"role": "tool", "content": found["result"]})
        return message.results[0].output, found["is_error"]
    message = read_message({"role": "tool", "content": [{"type": "tool_result", "content": found}]})
    result = message.results[0]
    return result.output, result.is_error


def _may_be_wrapped(text: str) -> bool:
    return text[:1] in "[{" and ('"type"' in text or '"is_error"' in text or '"isError"' in text)


def _is_wrapped(value: Any) -> bool:
    """Return whether a result is a protocol's envelope around text: content parts, or a result with a flag."""
    if isinstance(value, list):
        return bool(value) and all(isinstance(p, dict) and p.get("type") == "text" and isinstance(p.get("text"), str) for p in value)
    if not isinstance(value, dict):
        return False
    return value.keys() == {"result", "is_error"} or (isinstance(value.get("isError"), bool) and isinstance(value.get("content"), list))
