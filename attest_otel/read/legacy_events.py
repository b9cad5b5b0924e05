"""Content in events instead of attributes: older GenAI conventions, and Strands.

`gen_ai.system.message`, `gen_ai.user.message`, `gen_ai.assistant.message`, `gen_ai.tool.message` and
`gen_ai.choice`, one event a message; or `gen_ai.client.inference.operation.details`, whose attributes
are the conventions' own. They come as span events, or as log records that `read.otlp` hangs onto
their span. The older SDK instrumentations pass the provider's argument text on as it is.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from attest_otel import attributes as names
from attest_otel.read.facts import ToolResult
from attest_otel.read.messages import read_message, read_messages
from attest_otel.read.span import SpanEvent, SpanRecord
from attest_otel.read.values import load

DETAILS = "gen_ai.client.inference.operation.details"
CHOICE = "gen_ai.choice"
_ROLES = {
    "gen_ai.system.message": "system",
    "gen_ai.user.message": "user",
    "gen_ai.assistant.message": "assistant",
    "gen_ai.tool.message": "tool",
}
_DETAIL_NAMES = (names.INPUT_MESSAGES, names.OUTPUT_MESSAGES, names.SYSTEM_INSTRUCTIONS, names.TOOL_DEFINITIONS)


def content_of(span: SpanRecord) -> dict[str, Any]:
    """Return what a span's events say, under the names of the attributes that would have said it."""
    found: dict[str, Any] = {}
    inputs: list[dict[str, Any]] = []
    outputs: list[dict[str, Any]] = []
    for event in span.events:
        if event.name == DETAILS:
            found.update((name, event.attributes[name]) for name in _DETAIL_NAMES if name in event.attributes)
        elif event.name == CHOICE:
            outputs.append(_choice(event))
        elif event.name in _ROLES:
            inputs.append({"role": _ROLES[event.name], **_body(event)})
    if inputs:
        found.setdefault(names.INPUT_MESSAGES, inputs)
    if outputs:
        found.setdefault(names.OUTPUT_MESSAGES, outputs)
    return found


def tool_result_of(span: SpanRecord) -> ToolResult:
    """Return the result that a tool span's events carry."""
    for event in reversed(span.events):
        if event.name == DETAILS and names.OUTPUT_MESSAGES in event.attributes:
            messages = read_messages(event.attributes[names.OUTPUT_MESSAGES])
        elif event.name == CHOICE:
            messages = (read_message({"role": "tool", "content": _choice(event).get("content")}),)
        else:
            continue
        for message in messages:
            for result in message.results:
                return result
    return ToolResult(None)


def _choice(event: SpanEvent) -> dict[str, Any]:
    body = _body(event)
    message = load(body.get("message"))
    if isinstance(message, dict):
        return {"role": "assistant", **message}
    content = message if isinstance(message, list | str) else body.get("content")
    return {"role": "assistant", "content": content, **({"tool_calls": body["tool_calls"]} if "tool_calls" in body else {})}


def _body(event: SpanEvent) -> dict[str, Any]:
    """Return an event's content: a log record's body, or a span event's attributes, whose lists are JSON text."""
    body = event.attributes.get("body")
    given: Mapping[str, Any] = body if isinstance(body, Mapping) else event.attributes
    found = {key: value for key, value in given.items() if key in {"content", "role", "tool_calls", "message", "id", "name"}}
    content = found.get("content")
    if isinstance(content, str) and content[:1] == "[":
        listed = load(content)
        if isinstance(listed, list):
            found["content"] = listed
    return found
