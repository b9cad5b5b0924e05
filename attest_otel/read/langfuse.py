"""Langfuse's own SDKs: observations of a type, each with one input and one output.

A generation's input is the request, its messages or an object that holds them; its output is the model's message.
What was text in there was written again by the SDK.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from attest_otel import attributes as names
from attest_otel.read.definitions import read_definitions
from attest_otel.read.facts import ABSENT, Execution, Kind, Message, SpanFacts, arguments_from
from attest_otel.read.kinds import conversation_of, response_id_of, run_id_of
from attest_otel.read.messages import read_message, read_messages, user_texts
from attest_otel.read.outcomes import error_of, result_of
from attest_otel.read.span import SpanRecord
from attest_otel.read.values import load, load_object, text_at, whole_at

TYPE = "langfuse.observation.type"
_INPUT, _OUTPUT = "langfuse.observation.input", "langfuse.observation.output"


def read(span: SpanRecord, kind: Kind) -> SpanFacts:
    """Read one span of this convention."""
    given = span.attributes
    facts = SpanFacts(
        span,
        kind,
        agent=span.name if kind == "agent" else None,
        conversation_id=conversation_of(span),
        run_id=run_id_of(span),
        case_id=text_at(given, names.CASE_ID),
    )
    if kind == "tool":
        facts.execution = _execution(span)
    elif kind == "chat":
        _read_generation(facts, given)
    else:
        facts.task = _text(given.get(_INPUT), "user")
        facts.answer = _text(given.get(_OUTPUT), "assistant")
    return facts


def _read_generation(facts: SpanFacts, given: Mapping[str, Any]) -> None:
    request = load(given.get(_INPUT))
    listed = request.get("messages") if isinstance(request, dict) else request
    facts.inputs = read_messages(listed, "reserialized") if isinstance(listed, list) else None
    facts.tools = read_definitions(request.get("tools")) if isinstance(request, dict) else ()
    answer = load(given.get(_OUTPUT))
    if isinstance(answer, dict):
        facts.outputs = (read_message({"role": "assistant", **answer}, "reserialized"),)
    elif isinstance(given.get(_OUTPUT), str):
        facts.outputs = (Message("assistant", given[_OUTPUT]),)
    facts.system = "\n".join(m.text for m in facts.inputs or () if m.role == "system" and m.text) or None
    facts.response_id = response_id_of(facts.span)
    usage = load_object(given.get("langfuse.observation.usage_details"))
    facts.input_tokens = whole_at(usage, "input", "prompt_tokens")
    facts.output_tokens = whole_at(usage, "output", "completion_tokens")


def _execution(span: SpanRecord) -> Execution:
    given = span.attributes
    result = result_of(span, _OUTPUT)
    error_type, message = error_of(span)
    failed = error_type is None and given.get("langfuse.observation.level") == "ERROR"
    return Execution(
        name=text_at(given, names.TOOL_NAME) or span.name,
        call_id=text_at(given, names.TOOL_CALL_ID) or result.call_id,
        arguments=arguments_from(given[_INPUT], "reserialized") if _INPUT in given else ABSENT,
        output=result.output,
        is_error=result.is_error,
        error_type="_OTHER" if failed else error_type,
        error_message=message or text_at(given, "langfuse.observation.status_message"),
    )


def _text(value: Any, role: str) -> str | None:
    """Return what one side said in an agent's input or output: plain text, or the last of its messages."""
    found = load(value)
    if isinstance(found, str):
        return found or None
    listed = found.get("messages", [found]) if isinstance(found, dict) else found
    if not isinstance(listed, list):
        return value if isinstance(value, str) and value else None
    messages = [m for m in read_messages(listed) if m.role == role]
    texts = user_texts(messages) if role == "user" else [m.text for m in messages if m.text and not m.calls]
    return texts[-1] if texts else None
