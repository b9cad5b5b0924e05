"""Traceloop's OpenLLMetry up to 0.47, and its MCP spans: `gen_ai.prompt.N`, `gen_ai.completion.N`, `traceloop.*`.

From 0.62 it writes the GenAI conventions, which `read.genai` reads. The OpenAI instrumentation passes
argument text on as it is; the Anthropic one writes it again, but keeps a broken stream's text.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from attest_otel import attributes as names
from attest_otel.read.definitions import read_definitions
from attest_otel.read.facts import ABSENT, Arguments, Execution, Kind, Message, SpanFacts, arguments_from
from attest_otel.read.kinds import conversation_of, response_id_of, run_id_of
from attest_otel.read.messages import read_message
from attest_otel.read.outcomes import error_of, result_of
from attest_otel.read.span import SpanRecord
from attest_otel.read.values import load, load_object, numbered, text_at, whole_at
from attest_otel.trajectory import ArgumentsFidelity, Tool

_VERBATIM_SCOPES = ("opentelemetry.instrumentation.openai",)


def read(span: SpanRecord, kind: Kind) -> SpanFacts:
    """Read one span of this convention."""
    given = span.attributes
    facts = SpanFacts(
        span,
        kind,
        agent=text_at(given, names.AGENT_NAME, "traceloop.entity.name", "traceloop.workflow.name") if kind == "agent" else None,
        name_is_given=names.AGENT_NAME in given or given.get("traceloop.span.kind") == "agent",
        conversation_id=conversation_of(span),
        run_id=run_id_of(span),
        case_id=text_at(given, names.CASE_ID),
    )
    if kind == "tool":
        facts.execution = _execution(span)
    elif kind == "chat":
        _read_chat(facts, given)
    elif span.name == "tools/list.mcp":
        facts.tools = _listed_tools(given)
    return facts


def _read_chat(facts: SpanFacts, given: Mapping[str, Any]) -> None:
    fidelity: ArgumentsFidelity = "verbatim" if facts.span.scope.startswith(_VERBATIM_SCOPES) else "reserialized"
    facts.inputs = _messages(given, "gen_ai.prompt", "user", fidelity) or _messages(given, "llm.prompts", "user", fidelity)
    facts.outputs = _messages(given, "gen_ai.completion", "assistant", fidelity) or _messages(
        given, "llm.completions", "assistant", fidelity
    )
    systems = [m.text for m in facts.inputs or () if m.role == "system" and m.text]
    facts.system = "\n".join(systems) or None
    facts.tools = read_definitions(numbered(given, "llm.request.functions"))
    facts.response_id = response_id_of(facts.span)
    facts.input_tokens = whole_at(given, names.USAGE_INPUT_TOKENS, "gen_ai.usage.prompt_tokens")
    facts.output_tokens = whole_at(given, names.USAGE_OUTPUT_TOKENS, "gen_ai.usage.completion_tokens")


def _messages(given: Mapping[str, Any], prefix: str, role: str, fidelity: ArgumentsFidelity) -> tuple[Message, ...] | None:
    listed = [item for item in numbered(given, prefix) if isinstance(item, dict)]
    return tuple(read_message({"role": role, **_opened(item)}, fidelity) for item in listed) if listed else None


def _opened(item: dict[str, Any]) -> dict[str, Any]:
    """Open content that is the JSON of a list of blocks."""
    content = item.get("content")
    if isinstance(content, str) and content[:1] == "[" and '"type"' in content:
        blocks = load(content)
        if isinstance(blocks, list) and all(isinstance(block, dict) and "type" in block for block in blocks):
            return {**item, "content": blocks}
    return item


def _execution(span: SpanRecord) -> Execution:
    given = span.attributes
    result = result_of(span, names.TOOL_CALL_RESULT, "traceloop.entity.output")
    error_type, message = error_of(span)
    name, arguments = _arguments(span)
    return Execution(
        name=name or text_at(given, "traceloop.entity.name") or span.name.removesuffix(".tool"),
        call_id=text_at(given, names.TOOL_CALL_ID),
        arguments=arguments,
        output=result.output,
        is_error=result.is_error,
        error_type=error_type,
        error_message=message,
        mcp=".mcp" in span.scope,
    )


def _arguments(span: SpanRecord) -> tuple[str | None, Arguments]:
    value = span.attributes.get(names.TOOL_CALL_ARGUMENTS, span.attributes.get("traceloop.entity.input"))
    if value is None:
        return None, ABSENT
    found = load(value)
    if isinstance(found, dict) and found.keys() == {"tool_name", "arguments"}:
        return text_at(found, "tool_name"), arguments_from(found["arguments"], "reserialized")
    if isinstance(found, dict) and found.keys() >= {"input_str", "inputs"}:
        return None, arguments_from(found["inputs"], "reserialized")
    return None, arguments_from(value, "reserialized")


def _listed_tools(given: Mapping[str, Any]) -> tuple[Tool, ...]:
    return read_definitions(load_object(given.get("traceloop.entity.output")).get("tools") or [])
