"""The Vercel AI SDK up to v6: `ai.generateText`, `ai.generateText.doGenerate`, `ai.toolCall`.

v7 writes the GenAI conventions. `ai.response.toolCalls[].input` is the provider's text only where the
provider speaks OpenAI's protocol, in which arguments are text; all else went through JavaScript's
numbers.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from attest_otel import attributes as names
from attest_otel.read.definitions import read_definitions
from attest_otel.read.facts import ABSENT, Execution, Kind, Message, SpanFacts, arguments_from
from attest_otel.read.kinds import conversation_of, response_id_of, run_id_of
from attest_otel.read.messages import read_message, read_messages
from attest_otel.read.outcomes import error_of, result_of
from attest_otel.read.span import SpanRecord
from attest_otel.read.values import load_list, load_object, text_at, whole_at
from attest_otel.trajectory import ArgumentsFidelity

_TEXT_PROVIDERS = ("openai", "azure", "groq", "mistral", "deepseek", "xai", "openrouter", "together", "fireworks")


def read(span: SpanRecord, kind: Kind) -> SpanFacts:
    """Read one span of this convention."""
    given = span.attributes
    facts = SpanFacts(
        span,
        kind,
        agent=text_at(given, "ai.telemetry.functionId", "resource.name"),
        conversation_id=conversation_of(span),
        run_id=run_id_of(span),
        case_id=text_at(given, names.CASE_ID, "ai.telemetry.metadata.attest.case_id"),
    )
    if kind == "tool":
        facts.execution = _execution(span)
    elif kind == "chat":
        _read_chat(facts, given)
    elif kind == "agent":
        _read_prompt(facts, given)
    return facts


def _read_prompt(facts: SpanFacts, given: Mapping[str, Any]) -> None:
    prompt = load_object(given.get("ai.prompt"))
    facts.system = text_at(prompt, "system")
    facts.inputs = read_messages(prompt.get("messages")) if prompt.get("messages") else None
    asked = prompt.get("prompt")
    if isinstance(asked, str):
        facts.inputs = (Message("user", asked),)
    elif isinstance(asked, list):
        facts.inputs = read_messages(asked, "coerced")
    facts.answer = text_at(given, "ai.response.text", "ai.response.object")
    facts.input_tokens = whole_at(given, "ai.usage.inputTokens", "ai.usage.promptTokens")
    facts.output_tokens = whole_at(given, "ai.usage.outputTokens", "ai.usage.completionTokens")


def _read_chat(facts: SpanFacts, given: Mapping[str, Any]) -> None:
    if "ai.prompt.messages" in given:
        facts.inputs = read_messages(given["ai.prompt.messages"], "coerced")
    facts.system = "\n".join(m.text for m in facts.inputs or () if m.role == "system" and m.text) or None
    output = {
        "role": "assistant",
        "content": text_at(given, "ai.response.text", "ai.response.object"),
        "tool_calls": given.get("ai.response.toolCalls"),
    }
    if output["content"] is not None or output["tool_calls"] is not None:
        facts.outputs = (_through_javascript(read_message(output, _fidelity(given))),)
    facts.tools = read_definitions(load_list(given.get("ai.prompt.tools")))
    facts.response_id = response_id_of(facts.span)
    facts.input_tokens = whole_at(given, "ai.usage.inputTokens", "ai.usage.promptTokens", names.USAGE_INPUT_TOKENS)
    facts.output_tokens = whole_at(given, "ai.usage.outputTokens", "ai.usage.completionTokens", names.USAGE_OUTPUT_TOKENS)


def _through_javascript(message: Message) -> Message:
    """A value that is no text was parsed and written by JavaScript."""
    calls = [
        replace(call, arguments=replace(call.arguments, fidelity="coerced"))
        if call.arguments.fidelity == "reserialized"
        else call
        for call in message.calls
    ]
    return replace(message, calls=tuple(calls))


def _fidelity(given: Mapping[str, Any]) -> ArgumentsFidelity:
    provider = given.get("ai.model.provider")
    return "verbatim" if isinstance(provider, str) and provider.startswith(_TEXT_PROVIDERS) else "coerced"


def _execution(span: SpanRecord) -> Execution:
    given = span.attributes
    result = result_of(span, "ai.toolCall.result")
    error_type, message = error_of(span)
    arguments = arguments_from(given["ai.toolCall.args"], "coerced") if "ai.toolCall.args" in given else ABSENT
    return Execution(
        name=text_at(given, "ai.toolCall.name") or span.name,
        call_id=text_at(given, "ai.toolCall.id"),
        arguments=arguments,
        output=result.output,
        is_error=result.is_error,
        error_type=error_type,
        error_message=message,
    )
