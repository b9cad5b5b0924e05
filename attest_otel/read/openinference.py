"""OpenInference: spans of kind AGENT, CHAIN, LLM and TOOL, messages flattened into numbered attributes.

The OpenAI instrumentations pass argument text on as it is; the others write it again. An argument
that is left out where id and name are there was empty. LangChain's tool spans show a single text
argument bare, without its name: it is put back where the tool's schema has one property.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from attest_otel import attributes as names
from attest_otel.read.definitions import read_definition, read_definitions
from attest_otel.read.facts import (
    ABSENT,
    Arguments,
    Execution,
    Kind,
    Message,
    Request,
    SpanFacts,
    arguments_from,
)
from attest_otel.read.invalid_calls import invalid_calls
from attest_otel.read.kinds import conversation_of, response_id_of, run_id_of
from attest_otel.read.messages import TOOL_ROLES, read_message, read_messages
from attest_otel.read.openinference_roots import REDACTED, answer_of, task_of, transcript_of
from attest_otel.read.outcomes import error_of, result_of
from attest_otel.read.request_body import with_error_marks
from attest_otel.read.span import SpanRecord
from attest_otel.read.values import NOT_JSON, load, load_list, load_object, numbered, text_at, whole_at
from attest_otel.trajectory import ArgumentsFidelity, Tool

_VERBATIM_SCOPES = frozenset({"openinference.instrumentation.openai", "openinference.instrumentation.openai_agents"})
_CLIENT_HISTORY = "automatic_function_calling_history"


def read(span: SpanRecord, kind: Kind) -> SpanFacts:
    """Read one span of this convention."""
    given = span.attributes
    facts = SpanFacts(
        span,
        kind,
        conversation_id=conversation_of(span),
        run_id=run_id_of(span),
        case_id=text_at(given, names.CASE_ID),
    )
    facts.agent = text_at(given, "agent.name", "graph.node.id") if kind == "agent" else None
    if facts.agent is None:
        facts.agent = text_at(load_object(given.get("metadata")), "lc_agent_name")
    if facts.agent is None and kind == "agent":
        facts.agent, facts.name_is_given = span.name.removesuffix(".run"), False
    if kind == "tool":
        facts.execution = _execution(span)
        facts.tools = _tool_of_call(given)
    elif kind == "chat":
        _read_chat(facts, given)
    else:
        facts.task = task_of(given)
        facts.answer = answer_of(given)
        facts.transcript = transcript_of(given) if kind == "agent" else None
        if "crew_tasks" in given:
            _read_crew(facts, given)
    return facts


def _fidelity(scope: str) -> ArgumentsFidelity:
    return "verbatim" if scope in _VERBATIM_SCOPES else "reserialized"


def _read_chat(facts: SpanFacts, given: Mapping[str, Any]) -> None:
    fidelity = _fidelity(facts.span.scope)
    facts.inputs = with_error_marks(_messages(given, "llm.input_messages", fidelity), given.get("input.value"))
    facts.outputs = _messages(given, "llm.output_messages", fidelity)
    invalid = invalid_calls(given.get("output.value"))
    if invalid:
        facts.outputs = (*(facts.outputs or ()), Message("assistant", calls=invalid))
    systems = [m.text for m in facts.inputs or () if m.role == "system" and m.text]
    facts.system = "\n".join(systems) or None
    facts.tools = read_definitions(_schemas(given))
    facts.response_id = response_id_of(facts.span)
    facts.history = _called_by_the_client(facts)
    facts.input_tokens = whole_at(given, "llm.token_count.prompt")
    facts.output_tokens = whole_at(given, "llm.token_count.completion")


def _called_by_the_client(facts: SpanFacts) -> tuple[Message, ...]:
    """Return the turns that Google's client went through by itself before it answered, less what it was given."""
    value = facts.span.attributes.get("output.value")
    if not isinstance(value, str) or _CLIENT_HISTORY not in value:
        return ()
    history = read_messages(load_object(value).get(_CLIENT_HISTORY), "reserialized")
    return history[sum(message.role != "system" for message in facts.inputs or ()) :]


def _messages(given: Mapping[str, Any], prefix: str, fidelity: ArgumentsFidelity) -> tuple[Message, ...] | None:
    listed = numbered(given, prefix)
    if not listed:
        return None
    return tuple(
        _message(item["message"], fidelity) for item in listed if isinstance(item, dict) and isinstance(item.get("message"), dict)
    )


def _message(item: dict[str, Any], fidelity: ArgumentsFidelity) -> Message:
    """Read one message: calls stand in `tool_calls` and again among its `contents`; the first list is the whole one."""
    if item.get("role") in TOOL_ROLES or (item.get("tool_call_id") is not None and item.get("content") is not None):
        content = item.get("content", item.get("contents"))
        return read_message(
            {"role": "tool", "tool_call_id": item.get("tool_call_id"), "name": item.get("name"), "content": _plain(content)}
        )
    calls = item.get("tool_calls") or _function_call(item)
    listed = [c for c in item.get("contents") or () if isinstance(c, dict)]
    texts = [c for c in listed if not isinstance(c.get("tool_call"), dict)] if isinstance(calls, list) else listed
    content = item.get("content")
    read = read_message(
        {"role": item.get("role"), "content": content if content is not None else texts, "tool_calls": calls}, fidelity
    )
    return Message(read.role, read.text, tuple(map(_emptied, read.calls)), read.results)


def _function_call(item: dict[str, Any]) -> list[dict[str, Any]] | None:
    """Return the one call of OpenAI's protocol before there were several."""
    name = item.get("function_call_name")
    return [{"name": name, "arguments": item.get("function_call_arguments_json")}] if isinstance(name, str) else None


def _plain(content: Any) -> Any:
    """Take the parts of a tool message's content out of their wrappers."""
    if not isinstance(content, list):
        return content
    return [part.get("message_content", part) if isinstance(part, dict) else part for part in content]


def _emptied(call: Request) -> Request:
    """Text that is left out was empty or `{}`: the two mean the same."""
    if call.arguments.fidelity != "absent" and call.arguments.raw != "":
        return call
    return Request(call.name, call.call_id, Arguments(value={}, fidelity="reserialized", reason="left out where empty"))


def _read_crew(facts: SpanFacts, given: Mapping[str, Any]) -> None:
    """Read CrewAI's kickoff span: what the crew is to do, and who starts."""
    tasks = [task for task in load_list(given["crew_tasks"]) if isinstance(task, dict)]
    agents = [agent for agent in load_list(given.get("crew_agents")) if isinstance(agent, dict)]
    texts = [text for task in tasks if (text := text_at(task, "description")) is not None]
    facts.task = "\n".join(texts) or facts.task
    if agents:
        facts.agent, facts.name_is_given = text_at(agents[0], "role"), True
        facts.system = text_at(agents[0], "backstory")


def _schemas(given: Mapping[str, Any]) -> list[Any]:
    found: list[Any] = []
    for item in numbered(given, "llm.tools"):
        tool = item.get("tool") if isinstance(item, dict) else None
        if isinstance(tool, dict):
            found.append(tool.get("json_schema", tool))
    return found


def _execution(span: SpanRecord) -> Execution:
    given = span.attributes
    result = result_of(span, "output.value")
    error_type, message = error_of(span)
    return Execution(
        name=text_at(given, "tool.name") or span.name,
        call_id=text_at(given, "tool.id", "tool_call.id", names.TOOL_CALL_ID) or result.call_id,
        arguments=_arguments(span),
        output=None if result.output == REDACTED else result.output,
        is_error=result.is_error,
        error_type=error_type,
        error_message=message,
    )


def _arguments(span: SpanRecord) -> Arguments:
    value = span.attributes.get("input.value", span.attributes.get("tool.parameters_value"))
    if value is None or value == REDACTED:
        return ABSENT
    found = load(value)
    if isinstance(found, dict) and found.keys() >= {"args", "kwargs"} and isinstance(found["kwargs"], dict):
        return ABSENT if found["args"] else arguments_from(found["kwargs"], "reserialized")
    if isinstance(found, dict):
        return arguments_from(value, _fidelity(span.scope))
    return _bare(span, value if found is NOT_JSON else found)


def _bare(span: SpanRecord, value: Any) -> Arguments:
    """Put a bare value back under the name of the tool's only parameter; else it is not known whose it is."""
    schema = load_object(span.attributes.get("tool.parameters"))
    properties = schema.get("properties")
    if span.scope in _VERBATIM_SCOPES and isinstance(value, str):
        return arguments_from(value, "verbatim")
    is_python_dict = isinstance(value, str) and value.startswith("{")
    if isinstance(properties, dict) and len(properties) == 1 and not is_python_dict:
        return arguments_from({next(iter(properties)): value}, "reserialized")
    return ABSENT


def _tool_of_call(given: Mapping[str, Any]) -> tuple[Tool, ...]:
    entry = {
        "name": given.get("tool.name"),
        "description": given.get("tool.description"),
        "parameters": given.get("tool.parameters"),
    }
    tool = read_definition(entry)
    return (tool,) if tool is not None else ()
