"""Messages between an agent and its model, whatever shape they are written in.

One tolerant reader for the GenAI conventions' parts, OpenAI's `tool_calls`, Anthropic's and Bedrock's
content blocks, Gemini's function parts and the Vercel AI SDK's content: they differ in names only.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from attest_otel.read.facts import ABSENT, Arguments, Message, Request, ToolResult, arguments_from
from attest_otel.read.result_text import bare_result, error_flag, result_text
from attest_otel.read.values import MAX_PARTS, load, load_list
from attest_otel.trajectory import ArgumentsFidelity

_CALL_TYPES = frozenset({"tool_call", "tool-call", "tool_use", "function_call", "toolUse", "server_tool_use"})
_RESULT_TYPES = frozenset({"tool_call_response", "tool-result", "tool_result", "function_call_output", "toolResult"})
_TEXT_TYPES = frozenset({"text", "input_text", "output_text", "message", None})
TOOL_ROLES = frozenset({"tool", "function", "tool-response", "ipython"})
_ROLES = {"human": "user", "ai": "assistant", "model": "assistant", "developer": "system"}


def read_messages(value: Any, text_fidelity: ArgumentsFidelity = "verbatim") -> tuple[Message, ...]:
    """Read a list of messages, as JSON text or as values.

    Args:
        value: the attribute's value.
        text_fidelity: what arguments given as text are, in this source.
    """
    return tuple(read_message(item, text_fidelity) for item in load_list(value) if isinstance(item, Mapping))


def read_message(item: Mapping[str, Any], text_fidelity: ArgumentsFidelity = "verbatim") -> Message:
    """Read one message."""
    found = _Parts(text_fidelity)
    role = _role(item)
    content = next((item[k] for k in ("parts", "contents", "content", "text") if item.get(k) is not None), None)
    if item.get("type") in _CALL_TYPES | _RESULT_TYPES:
        found.add_part(item)
    elif role in TOOL_ROLES and not _has_result_part(content):
        _add_tool_message(found, item, content)
    else:
        found.add(content)
    _add_listed_calls(found, _listed(item.get("tool_calls")) or _listed(item.get("function_call")))
    return found.message(role)


def _add_listed_calls(found: _Parts, listed: list[Any]) -> None:
    """Add calls that stand in a list of their own; where the content shows the same ones, the list stands for both."""
    shown = len(found.calls)
    for call in listed:
        found.add_call(_inner(call, "tool_call"))
    if shown and len(found.calls) >= 2 * shown:
        del found.calls[:shown]
    elif shown:
        del found.calls[shown:]


def text_of_content(value: Any) -> str | None:
    """Return the text of instructions or of content: plain text, parts, or JSON text of either."""
    if isinstance(value, str):
        if value[:1] not in "[{":
            return value
        listed = load(value)
        if not isinstance(listed, list | dict):
            return value
        value = listed
    found = _Parts("verbatim")
    found.add(value)
    return "\n".join(found.texts) if found.texts else None


def user_texts(messages: Iterable[Message]) -> list[str]:
    """Return what the user said, in order."""
    return [m.text for m in messages if m.role == "user" and m.text]


def _role(item: Mapping[str, Any]) -> str:
    role = item.get("role")
    if not isinstance(role, str):
        kind = item.get("type")
        role = "assistant" if kind in _CALL_TYPES else "tool" if kind in _RESULT_TYPES else "user"
    return _ROLES.get(role, role)


def _has_result_part(content: Any) -> bool:
    return isinstance(content, list) and any(
        isinstance(part, Mapping) and (part.get("type") in _RESULT_TYPES | _CALL_TYPES or _is_nested_result(part))
        for part in content
    )


def _is_nested_result(part: Mapping[str, Any]) -> bool:
    return any(isinstance(part.get(name), Mapping) for name in ("toolResult", "function_response"))


def _tool_message(item: Mapping[str, Any], content: Any) -> ToolResult:
    output, is_error = result_text(item.get("result", content) if content is None else content)
    call_id = _first_text(item, "tool_call_id", "id", "toolCallId", "call_id")
    return ToolResult(output, call_id, _first_text(item, "name"), error_flag(item, is_error))


def _add_tool_message(found: _Parts, item: Mapping[str, Any], content: Any) -> None:
    """Add a tool's message: one result, or those that were written as the JSON text of their parts."""
    result = _tool_message(item, content)
    parts = load(result.output) if (result.output or "").startswith("[{") and '"tool-result"' in str(result.output) else None
    if isinstance(parts, list) and all(isinstance(part, dict) and part.get("type") in _RESULT_TYPES for part in parts):
        found.add(parts)
    else:
        found.results.append(result)


def _listed(value: Any) -> list[Any]:
    return [part for part in load_list(value) if isinstance(part, Mapping)]


def _inner(part: Mapping[str, Any], name: str) -> Mapping[str, Any]:
    inner = part.get(name)
    return inner if isinstance(inner, Mapping) else part


def _first_text(part: Mapping[str, Any], *names: str) -> str | None:
    for name in names:
        found = part.get(name)
        if isinstance(found, str) and found:
            return found
    return None


class _Parts:
    """What the parts of one message hold, in order."""

    def __init__(self, text_fidelity: ArgumentsFidelity) -> None:
        self.text_fidelity = text_fidelity
        self.texts: list[str] = []
        self.calls: list[Request] = []
        self.results: list[ToolResult] = []

    def message(self, role: str) -> Message:
        texts = [t for t in self.texts if not _repeats_a_call(t)] if self.calls else self.texts
        return Message(role, "\n".join(texts) if texts else None, tuple(self.calls), tuple(self.results))

    def add(self, content: Any) -> None:
        if isinstance(content, str):
            self.texts.append(content)
        elif isinstance(content, Mapping):
            self.add_part(content)
        elif isinstance(content, list):
            for part in content[:MAX_PARTS]:
                if isinstance(part, str):
                    self.texts.append(part)
                elif isinstance(part, Mapping):
                    self.add_part(part)

    def add_part(self, part: Mapping[str, Any]) -> None:
        part = _inner(part, "message_content")
        kind = part.get("type")
        if kind in _RESULT_TYPES:
            self._add_result(part)
        elif kind in _CALL_TYPES:
            self.add_call(_inner(part, "tool_call"))
        elif kind in _TEXT_TYPES and not self._add_nested(part):
            self._add_text(part)

    def add_call(self, part: Mapping[str, Any]) -> None:
        function = _inner(part, "function")
        name = _first_text(function, "name", "toolName") or _first_text(part, "name", "toolName")
        if name is None:
            return
        call_id = _first_text(part, "call_id", "toolCallId", "toolUseId", "id", "tool_call_id")
        self.calls.append(Request(name, call_id, self._arguments(function if function is not part else part)))

    def _arguments(self, part: Mapping[str, Any]) -> Arguments:
        for name in ("arguments", "input", "args", "parameters"):
            if name in part:
                return arguments_from(part[name], self.text_fidelity)
        return ABSENT

    def _add_nested(self, part: Mapping[str, Any]) -> bool:
        """Read Bedrock's and Gemini's parts, whose kind is the name of the object inside."""
        for name in ("toolUse", "function_call", "functionCall", "tool_call"):
            if isinstance(part.get(name), Mapping):
                self.add_call(part[name])
                return True
        for name in ("toolResult", "function_response", "functionResponse"):
            if isinstance(part.get(name), Mapping):
                self._add_result({**part[name], "response": bare_result(part[name].get("response"))})
                return True
        return False

    def _add_result(self, part: Mapping[str, Any]) -> None:
        name = next((k for k in ("response", "result", "content", "output") if part.get(k) is not None), None)
        output, is_error = ("", None) if name == "content" and part[name] == [] else result_text(part[name] if name else None)
        call_id = _first_text(part, "id", "tool_use_id", "toolCallId", "toolUseId", "call_id", "tool_call_id")
        self.results.append(ToolResult(output, call_id, _first_text(part, "name", "toolName"), error_flag(part, is_error)))

    def _add_text(self, part: Mapping[str, Any]) -> None:
        text = part.get("content", part.get("text"))
        if isinstance(text, str):
            self.texts.append(text)
        elif isinstance(text, list | Mapping):
            self.texts.extend(filter(None, [text_of_content(text)]))


def _repeats_a_call(text: str) -> bool:
    """Return whether a text part is only the JSON of a tool call that is also there as a call."""
    if not text.startswith("{") or '"tool_use"' not in text:
        return False
    value = load(text)
    return isinstance(value, dict) and value.get("type") == "tool_use"
