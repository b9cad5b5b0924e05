"""What a span is - an agent's run, a model call, a tool call or none of them - by any convention's own mark."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

from attest_otel import attributes as names
from attest_otel.read.facts import Kind
from attest_otel.read.span import SpanRecord

NEVER_GRADED = frozenset({names.EVALUATION_SCOPE, names.JUDGE_SCOPE})
_CONTENT = frozenset({
    names.INPUT_MESSAGES, names.OUTPUT_MESSAGES, names.SYSTEM_INSTRUCTIONS, "input.value", "output.value",
    "ai.prompt.messages", "ai.prompt", "ai.response.text", "ai.response.toolCalls",
    "gen_ai.prompt.0.role", "gen_ai.completion.0.role", "traceloop.entity.input", "traceloop.entity.output",
    "langfuse.observation.input", "langfuse.observation.output",
    "gen_ai.prompt", "gen_ai.completion", "gen_ai.request.messages", "gen_ai.response.text", "gen_ai.response.tool_calls",
})  # fmt: skip

_OPERATIONS: dict[str, Kind] = {
    "invoke_agent": "agent", "invoke_workflow": "agent",
    "chat": "chat", "text_completion": "chat", "generate_content": "chat", "message": "chat", "completion": "chat",
    "execute_tool": "tool",
    "agent.run": "agent", "workflow.run": "agent", "tool.execute": "tool", "tool_selection": "chat",
}  # fmt: skip
_OPENINFERENCE: dict[str, Kind] = {"AGENT": "agent", "LLM": "chat", "TOOL": "tool"}
_TRACELOOP: dict[str, Kind] = {"workflow": "agent", "agent": "agent", "tool": "tool"}
_LANGFUSE: dict[str, Kind] = {"agent": "agent", "generation": "chat", "tool": "tool"}
_VERCEL_AGENTS = frozenset({"ai.generateText", "ai.streamText", "ai.generateObject", "ai.streamObject"})
_PLAIN_OPERATIONS = frozenset({"create_agent", "embeddings", "execute_task", "execute_event_loop_cycle"})
_CHAT_EVENTS = frozenset({"gen_ai.choice", "gen_ai.user.message"})


def kind_of(span: SpanRecord) -> Kind:
    """Return what a span is; cheap: it reads a few attributes and parses nothing."""
    return "other" if span.scope in NEVER_GRADED and is_ours(span) else _kind_by_marks(span)


def is_ours(span: SpanRecord) -> bool:
    """Return whether a span has the whole shape of an evaluation, or of a request to the grading model.

    A file has nothing else to tell them by, and whoever writes one may take our scopes' names. So this
    holds only for what hides nothing: no part of a run's work, or a model call at the top of a trace
    without a word of content. Whoever leaves such a span out must still see what lies below it.
    """
    if span.scope not in NEVER_GRADED:
        return False
    kind = _kind_by_marks(span)
    if span.scope == names.EVALUATION_SCOPE:
        return kind == "other"
    return kind == "chat" and span.parent_id is None and not _shows_content(span)


def _shows_content(span: SpanRecord) -> bool:
    """Return whether a model call shows anything of what was said."""
    return any(name in _CONTENT for name in span.attributes) or any(event.name.startswith("gen_ai.") for event in span.events)


def _kind_by_marks(span: SpanRecord) -> Kind:
    given = span.attributes
    if "mcp.method.name" in given:
        return "tool" if given["mcp.method.name"] == "tools/call" else "other"
    for name, words in (
        (names.OPERATION_NAME, _OPERATIONS),
        ("openinference.span.kind", _OPENINFERENCE),
        ("traceloop.span.kind", _TRACELOOP),
        ("langfuse.observation.type", _LANGFUSE),
    ):
        value = given.get(name)
        if isinstance(value, str):
            found = words.get(value)
            if found is not None:
                return "other" if name == "openinference.span.kind" and _is_only_a_step(span, value) else found
            if value in _PLAIN_OPERATIONS:
                return "other"
    return _by_other_marks(span, given)


def conversation_of(span: SpanRecord) -> str | None:
    """Return the id of the conversation a span says it belongs to."""
    for name in _CONVERSATIONS:
        found = span.attributes.get(name)
        if isinstance(found, str) and found:
            return found
    return None


def run_id_of(span: SpanRecord) -> str | None:
    """Return the explicit id of the run a span says it belongs to."""
    found = span.attributes.get(names.RUN_ID)
    return found if isinstance(found, str) and found else None


def response_id_of(span: SpanRecord) -> str | None:
    """Return the provider's id of the response a model call got."""
    for name in (names.RESPONSE_ID, "ai.response.id", "llm.response.id"):
        found = span.attributes.get(name)
        if isinstance(found, str) and found:
            return found
    output = span.attributes.get("output.value")
    match = _RESPONSE_ID.search(output) if isinstance(output, str) and kind_of(span) == "chat" else None
    return match[1] if match else None


_RESPONSE_ID = re.compile(r'"id": ?"((?:msg|resp|chatcmpl)[-_][^"\\]{1,200})"')
_CONVERSATIONS = (
    names.CONVERSATION_ID,
    "session.id",
    "ai.telemetry.metadata.sessionId",
    "ai.telemetry.metadata.session_id",
    "ai.telemetry.metadata.conversationId",
    "ai.telemetry.metadata.chatId",
    "traceloop.association.properties.session_id",
    "traceloop.association.properties.conversation_id",
    "traceloop.association.properties.thread_id",
)


def _is_only_a_step(span: SpanRecord, kind: str) -> bool:
    """Return whether a span was marked by its name alone.

    LlamaIndex calls a private method beside the model call a model call, and LangChain's callback a node of a
    graph that is called `agent` an agent: each turn of it would be a run, and the tools would be nobody's.
    """
    if kind == "LLM":
        return span.scope.endswith("llama_index") and span.name.rpartition(".")[2].startswith("_")
    return kind == "AGENT" and span.scope.endswith(".langchain") and '"langgraph_node"' in str(span.attributes.get("metadata"))


def _by_other_marks(span: SpanRecord, given: Mapping[str, Any]) -> Kind:
    operation = given.get("ai.operationId")
    if isinstance(operation, str):
        if operation in _VERCEL_AGENTS:
            return "agent"
        if operation == "ai.toolCall":
            return "tool"
        return "chat" if operation.endswith((".doGenerate", ".doStream")) else "other"
    if "crew_tasks" in given:
        return "agent"
    if "openinference.span.kind" in given or "traceloop.span.kind" in given or "langfuse.observation.type" in given:
        return "other"
    if names.TOOL_NAME in given and names.OPERATION_NAME not in given:
        return "tool"
    if any(
        name in given for name in ("llm.request.type", "gen_ai.prompt.0.role", "gen_ai.completion.0.role", names.OUTPUT_MESSAGES)
    ):
        return "chat"
    return "chat" if any(event.name in _CHAT_EVENTS for event in span.events) else "other"
