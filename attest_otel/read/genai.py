"""The GenAI semantic conventions: spans of operations `invoke_agent`, `chat`, `execute_tool`.

Also what shares their attributes and adds its own: our recorder, pydantic-ai, Microsoft Agent
Framework, Google ADK, Strands, the Anthropic SDK's own spans, Traceloop from 0.62, the AI SDK from v7.
How near a tool span's arguments are to the provider's text depends on the instrumentation, so it is
told by scope; a tool span nobody knows counts as re-serialised, because its text proves nothing.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import lru_cache
from typing import Any

from pydantic import ValidationError

from attest_otel import attributes as names
from attest_otel.read import legacy_events, other_names
from attest_otel.read.definitions import read_definition, read_definitions
from attest_otel.read.facts import ABSENT, Arguments, Execution, Kind, Message, SpanFacts, arguments_from
from attest_otel.read.kinds import conversation_of, response_id_of, run_id_of
from attest_otel.read.messages import read_messages, text_of_content
from attest_otel.read.outcomes import error_of, result_of
from attest_otel.read.records import make
from attest_otel.read.span import SpanRecord
from attest_otel.read.values import NOT_JSON, load, load_list, load_object, text_at, whole_at
from attest_otel.trajectory import ArgumentsFidelity, Artifact, Recorded, Tool

_TOOL_FIDELITY: dict[str, ArgumentsFidelity] = {
    names.RECORD_SCOPE: "verbatim",
    "opentelemetry.instrumentation.openai_agents": "verbatim",
    "agent_framework": "coerced",
    "gen_ai": "coerced",
}
_JAVASCRIPT_SCOPE = "gen_ai"
_ADK_PLACEHOLDER = "<not specified>"
_RESULTS = (
    "anthropic.tool_result.content",
    "traceloop.entity.output",
    "gcp.vertex.agent.tool_response",
    "tool_response",
    "gen_ai.tool.output",
)
_ARGUMENTS = (
    names.TOOL_CALL_ARGUMENTS,
    "traceloop.entity.input",
    "gcp.vertex.agent.tool_call_args",
    "tool_arguments",
    "gen_ai.tool.input",
)
_PYTHON_WRAPPER = frozenset({"input_str", "inputs"})


def read(span: SpanRecord, kind: Kind) -> SpanFacts:
    """Read one span of these conventions."""
    given = span.attributes
    facts = SpanFacts(
        span,
        kind,
        agent=text_at(given, names.AGENT_NAME, "gen_ai.workflow.name" if kind == "agent" else names.AGENT_NAME),
        name_is_given=isinstance(given.get(names.AGENT_NAME), str),
        conversation_id=conversation_of(span),
        run_id=run_id_of(span),
        case_id=text_at(given, names.CASE_ID),
    )
    if kind == "tool":
        facts.execution = _execution(span)
        declared = _own_tools(given) if span.scope == names.RECORD_SCOPE else ()
        facts.tools = declared or _tool_of_call(given)
        facts.declares_tools = bool(declared)
    elif kind in {"agent", "chat"}:
        _read_conversation(facts)
    return facts


def text_fidelity(scope: str) -> ArgumentsFidelity:
    """Return what arguments given as text inside messages are: the convention wants objects, so text was passed on."""
    return "coerced" if scope == _JAVASCRIPT_SCOPE else "verbatim"


def _read_conversation(facts: SpanFacts) -> None:
    span, given = facts.span, facts.span.attributes
    content: Mapping[str, Any] = given
    if names.INPUT_MESSAGES not in given and names.OUTPUT_MESSAGES not in given:
        content = {**other_names.content_of(given), **legacy_events.content_of(span), **_adk_content(given), **given}
    fidelity = text_fidelity(span.scope)
    facts.inputs = _messages(content.get(names.INPUT_MESSAGES), fidelity)
    facts.outputs = _messages(content.get(names.OUTPUT_MESSAGES), fidelity)
    facts.transcript = _messages(content.get("pydantic_ai.all_messages", content.get("all_messages_events")), fidelity)
    facts.transcript_start = _start_of_run(given, facts.transcript or ())
    facts.system = text_of_content(content.get(names.SYSTEM_INSTRUCTIONS)) or _system_of(facts.inputs or facts.transcript)
    facts.answer = text_of_content(given.get("final_result"))
    facts.tools = read_definitions(content.get(names.TOOL_DEFINITIONS)) or _names_of_tools(given)
    facts.response_id = response_id_of(span)
    facts.input_tokens = whole_at(given, names.USAGE_INPUT_TOKENS, "gen_ai.usage.prompt_tokens")
    facts.output_tokens = whole_at(given, names.USAGE_OUTPUT_TOKENS, "gen_ai.usage.completion_tokens")
    if facts.kind == "agent":
        _read_own(facts, given)


def _start_of_run(given: Mapping[str, Any], transcript: tuple[Message, ...]) -> int:
    """Return where a run begins in pydantic-ai's messages: it says when earlier runs stand before, in its older form never."""
    if "all_messages_events" not in given and not whole_at(given, "pydantic_ai.new_message_index"):
        return 0
    asked = [place for place, message in enumerate(transcript) if message.role == "user" and message.text]
    return asked[-1] if asked else 0


def _adk_content(given: Mapping[str, Any]) -> dict[str, Any]:
    """Return what Google ADK keeps in attributes of its own, under the conventions' names."""
    request = load_object(given.get("gcp.vertex.agent.llm_request"))
    if not request:
        return {}
    config = load_object(request.get("config"))
    response = load_object(given.get("gcp.vertex.agent.llm_response"))
    found = {names.INPUT_MESSAGES: request.get("contents"), names.SYSTEM_INSTRUCTIONS: config.get("system_instruction")}
    if isinstance(response.get("content"), dict):
        found[names.OUTPUT_MESSAGES] = [response["content"]]
    if names.TOOL_DEFINITIONS not in given and isinstance(config.get("tools"), list):
        found[names.TOOL_DEFINITIONS] = config["tools"]
    return {name: value for name, value in found.items() if value is not None}


def _messages(value: Any, fidelity: ArgumentsFidelity) -> tuple[Message, ...] | None:
    if value is None:
        return None
    found = load(value)
    return None if found is NOT_JSON else read_messages(found, fidelity)


def _system_of(messages: tuple[Message, ...] | None) -> str | None:
    texts = [m.text for m in messages or () if m.role == "system" and m.text]
    return "\n".join(texts) or None


def _names_of_tools(given: Mapping[str, Any]) -> tuple[Tool, ...]:
    """Strands names an agent's tools and no more."""
    listed = load_list(given.get("gen_ai.agent.tools"))
    return tuple(make(Tool, {"name": name}) for name in listed if isinstance(name, str))


def _read_own(facts: SpanFacts, given: Mapping[str, Any]) -> None:
    """Read what our recorder adds to an agent span; anything else there is left alone."""
    facts.tools = _own_tools(given) or facts.tools
    allowed = load(given.get(names.ALLOWED_TOOLS))
    if isinstance(allowed, list):
        facts.allowed_tools = [name for name in allowed if isinstance(name, str)]
    for tool, others in load_object(given.get(names.TOOL_FALLBACKS)).items():
        if isinstance(others, list):
            facts.tool_fallbacks[tool] = [name for name in others if isinstance(name, str)]
    facts.artifacts = _artifacts(given.get(names.ARTIFACTS))


def _own_tools(given: Mapping[str, Any]) -> tuple[Tool, ...]:
    text = given.get(names.TOOLS)
    return _read_own_tools(text) if isinstance(text, str) else ()


@lru_cache(maxsize=64)
def _read_own_tools(text: str) -> tuple[Tool, ...]:
    """Every run of an agent, and every call outside of one, repeats the same registration."""
    return tuple(tool for entry in load_list(text) if (tool := _model(Tool, entry)) is not None)


def _execution(span: SpanRecord) -> Execution:
    given = span.attributes
    own = span.scope == names.RECORD_SCOPE
    result = result_of(span, names.TOOL_CALL_RESULT, *_RESULTS)
    if result.output is None and span.events:
        result = legacy_events.tool_result_of(span)
    explicit = given.get(names.IS_ERROR)
    error_type, message = error_of(span)
    recorded = _model(Recorded, load(given.get(names.RECORDED)))
    arguments = _arguments(span, recorded)
    return Execution(
        name=text_at(given, names.TOOL_NAME) or span.name.removeprefix("execute_tool ").removesuffix(".tool"),
        call_id=_call_id(given) or result.call_id,
        arguments=arguments,
        received=load(given[names.ARGUMENTS_RECEIVED]) if names.ARGUMENTS_RECEIVED in given else None,
        output=result.output,
        is_error=explicit if isinstance(explicit, bool) else result.is_error,
        error_type=error_type,
        error_message=message,
        exit_code=_exit_code(given.get(names.EXIT_CODE)),
        turn=whole_at(given, names.TURN),
        artifacts=_artifacts(given.get(names.CALL_ARTIFACTS)),
        recorded=recorded,
        own=own,
    )


def _arguments(span: SpanRecord, recorded: Recorded | None) -> Arguments:
    given = span.attributes
    name = next((n for n in _ARGUMENTS if n in given), None)
    if name is None:
        return ABSENT
    value = given[name]
    fidelity = _TOOL_FIDELITY.get(span.scope, "reserialized")
    if recorded is not None and recorded.arguments is not None:
        fidelity = recorded.arguments
    if fidelity != "verbatim" and isinstance(value, str) and '"input_str"' in value:
        wrapper = load(value)
        if isinstance(wrapper, dict) and wrapper.keys() >= _PYTHON_WRAPPER:
            return arguments_from(wrapper["inputs"], "reserialized")
    if isinstance(value, str) and '"INVALID_JSON"' in value:
        return ABSENT
    return arguments_from(value, fidelity)


def _call_id(given: Mapping[str, Any]) -> str | None:
    """Return the id of the call; LangChain's callback, as Traceloop writes it down, carries it among its arguments."""
    found = text_at(given, names.TOOL_CALL_ID)
    if found is not None:
        return None if found == _ADK_PLACEHOLDER else found
    value = given.get(names.TOOL_CALL_ARGUMENTS)
    if not isinstance(value, str) or '"tool_call_id"' not in value or '"input_str"' not in value:
        return None
    kwargs = load_object(value).get("kwargs")
    return text_at(kwargs, "tool_call_id") if isinstance(kwargs, dict) else None


def _exit_code(value: Any) -> int | None:
    return value if isinstance(value, int) and not isinstance(value, bool) else None


def _tool_of_call(given: Mapping[str, Any]) -> tuple[Tool, ...]:
    """Return what a tool span says of its tool beside the call: a description, with Strands a schema."""
    if "gen_ai.tool.description" not in given and "gen_ai.tool.json_schema" not in given:
        return ()
    entry = {
        "name": given.get(names.TOOL_NAME),
        "description": given.get("gen_ai.tool.description"),
        "parameters": given.get("gen_ai.tool.json_schema"),
    }
    tool = read_definition(entry)
    return (tool,) if tool is not None else ()


def _artifacts(value: Any) -> tuple[Artifact, ...]:
    return tuple(found for entry in load_list(value) if (found := _model(Artifact, entry)) is not None)


def _model(model: Any, entry: Any) -> Any:
    if not isinstance(entry, dict):
        return None
    try:
        return model.model_validate(entry)
    except (ValidationError, RecursionError):
        return None
