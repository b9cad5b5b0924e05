"""How a tool span says what came back and whether it failed: the same for every convention."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from attest_otel import attributes as names
from attest_otel.read.facts import ToolResult
from attest_otel.read.messages import read_message
from attest_otel.read.result_text import bare_result
from attest_otel.read.span import SpanRecord
from attest_otel.read.values import NOT_JSON, load, text_at
from attest_otel.result_fields import mcp_flag

OTHER_ERROR = "_OTHER"
_GOOGLE_ADK = frozenset({"gcp.vertex.agent", "openinference.instrumentation.google_adk"})
_LLAMA_INDEX_FIELDS = frozenset({"tool_name", "raw_input", "raw_output"})
NO_RESULT = ToolResult(None)


def error_of(span: SpanRecord) -> tuple[str | None, str | None]:
    """Return the error a span records, and its message: `error.type`, else the exception event, else the status."""
    given = span.attributes
    exception = next((e.attributes for e in reversed(span.events) if e.name == "exception"), None)
    kind = given.get(names.ERROR_TYPE)
    if not isinstance(kind, str) or not kind:
        kind = exception.get("exception.type") if exception is not None else None
    if not isinstance(kind, str) or not kind:
        marked = given.get("gen_ai.tool.status") == "error" or given.get("gen_ai.tool.success") is False
        failed = span.status == "error" or exception is not None or marked
        kind = OTHER_ERROR if failed else None
    message = exception.get("exception.message") if exception is not None else None
    if not isinstance(message, str) or not message:
        message = span.status_message if span.status == "error" else None
    return kind, message or None


def result_of(span: SpanRecord, *attributes: str) -> ToolResult:
    """Return a result, from the first of these attributes that is there, out of the envelope it may be in."""
    value: Any = next((span.attributes[name] for name in attributes if span.attributes.get(name) is not None), None)
    if value is None:
        return NO_RESULT
    if isinstance(value, str):
        value = _spelled(value) if span.scope != names.RECORD_SCOPE else value
        found = load(value) if _may_be_wrapped(value) else NOT_JSON
        return ToolResult(value) if found is NOT_JSON else _unwrapped(found, span.scope) or ToolResult(value)
    return _unwrapped(value, span.scope) or _read({"content": value})


def _spelled(text: str) -> str:
    """Return the text that a recorder wrote as a JSON string, as the AI SDK and Traceloop's decorators write every result."""
    if text[:1] != '"' or text[-1:] != '"':
        return text
    found = load(text)
    return found if isinstance(found, str) else text


def _may_be_wrapped(text: str) -> bool:
    marks = ('"type"', '"is_error"', '"isError"', '"result"', '[{"text"', '"raw_output"', '"response"')
    return text[:1] in "[{" and any(mark in text for mark in marks)


def _unwrapped(value: Any, scope: str) -> ToolResult | None:
    """Take a result out of a protocol's or a framework's envelope; None where there is none."""
    if isinstance(value, list):
        return _read({"content": value}) if _is_content(value, scope) else None
    if not isinstance(value, dict):
        return None
    message = _langchain_message(value) or _llama_index_output(value)
    if message is not None:
        return message
    if ".mcp" in scope and "result" in value and value.keys() <= {"result", "is_error"}:
        return _read({"content": value["result"], "is_error": value.get("is_error")})
    if mcp_flag(value) is not None and isinstance(value["content"], list):
        return _read({"content": value})
    if scope in _GOOGLE_ADK:
        inner = bare_result(value["response"] if value.keys() >= {"name", "response"} else value)
        return None if inner is value else _read({"response": inner})
    return None


def _is_content(parts: list[Any], scope: str) -> bool:
    """Return whether a list is content parts and not a tool's own list; Strands' parts have no type."""
    untyped = scope.startswith("strands")
    return bool(parts) and all(
        isinstance(part, dict)
        and isinstance(part.get("text"), str)
        and (part.get("type") == "text" or (untyped and part.keys() == {"text"}))
        for part in parts
    )


def _langchain_message(value: Mapping[str, Any]) -> ToolResult | None:
    """Read LangChain's ToolMessage, as its two serialisers write it."""
    outer = value.get("output")
    inner = outer if isinstance(outer, dict) and outer.get("lc") == 1 else value
    data = inner.get("data") if inner.get("type") == "tool" else inner.get("kwargs") if inner.get("lc") == 1 else None
    if not isinstance(data, dict) or "tool_call_id" not in data or "content" not in data:
        return None
    found = _read({"content": data["content"], "status": data.get("status")})
    return ToolResult(found.output, text_at(data, "tool_call_id"), text_at(data, "name"), found.is_error)


def _llama_index_output(value: Mapping[str, Any]) -> ToolResult | None:
    """Read LlamaIndex' ToolOutput; its `is_error` is true where the tool raised, and false says nothing of what it returned."""
    if not value.keys() >= _LLAMA_INDEX_FIELDS:
        return None
    blocks = value.get("blocks")
    found = _read({"content": blocks if isinstance(blocks, list) else value.get("content")})
    return ToolResult(found.output, None, text_at(value, "tool_name"), True if value.get("is_error") is True else None)


def _read(part: Mapping[str, Any]) -> ToolResult:
    message = read_message({"role": "tool", "content": [{"type": "tool_result", **part}]})
    return message.results[0] if message.results else NO_RESULT
