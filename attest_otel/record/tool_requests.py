"""What a dispatcher was asked to do: the tool's name, its arguments, and the call's id.

Understood are `dispatch(name, arguments, ...)` with text or a dict, by position or keyword, and
`dispatch(block)` with a provider's tool-use block: Anthropic's `tool_use`, OpenAI's chat and Responses
function calls, as objects or mappings.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

from attest_otel.formats import strict_json
from attest_otel.record.noted_inputs import NotedInput
from attest_otel.trajectory import Recorded

MAX_NAME_CHARS = 1024


@dataclass(frozen=True, slots=True)
class AskedCall:
    """One call as the dispatcher was asked for it; `arguments` is text, a value, or None where there are none."""

    name: str
    arguments: Any = field(default=None, repr=False)
    call_id: str | None = None
    problem: str | None = None

    def matches(self, text: str) -> bool:
        """Return whether these arguments are what a raw text says."""
        if isinstance(self.arguments, str):
            return text == self.arguments or strict_json.equal(_value(text), _value(self.arguments))
        return strict_json.equal(_value(text), {} if self.arguments is None else self.arguments)


@dataclass(frozen=True, slots=True)
class ToolRequest:
    """One call to be recorded, with the provider's text where it is known.

    `received` is None where the dispatcher got that text itself.
    """

    name: str
    received: Any = field(repr=False)
    arguments_raw: str | None = field(default=None, repr=False)
    arguments: Any = field(default=None, repr=False)
    call_id: str | None = None
    recorded: Recorded | None = None


def complete(asked: AskedCall, noted: NotedInput | None) -> ToolRequest:
    """Return a call with the provider's text: what was noted, else text that the dispatcher got."""
    name, arguments, call_id = asked.name, asked.arguments, asked.call_id
    if asked.problem is not None:
        return ToolRequest(name, None, recorded=Recorded(arguments="absent", reason=asked.problem))
    if isinstance(arguments, str):
        return _of_text(asked, arguments, noted)
    if noted is None:
        mark = Recorded(arguments="reserialized" if arguments is not None else "absent")
        return ToolRequest(name, arguments, arguments=arguments, call_id=call_id, recorded=mark)
    if noted.text is None or noted.ambiguous:
        why = "several texts waited under one call id" if noted.ambiguous else "the provider's text was over a limit"
        mark = Recorded(arguments="reserialized", reason=why)
        return ToolRequest(name, arguments, arguments=arguments, call_id=call_id, recorded=mark)
    cut = None if noted.complete else Recorded(arguments="verbatim", reason="the provider's stream ended inside the arguments")
    return ToolRequest(name, arguments, arguments_raw=noted.text, call_id=call_id, recorded=cut)


class RequestReader:
    """Reads the arguments of one dispatcher's calls."""

    def __init__(self, dispatch: Callable[..., Any]) -> None:
        self._parameters = _parameter_names(dispatch)

    def read(self, args: tuple[Any, ...], kwargs: Mapping[str, Any]) -> AskedCall:
        """Return what the call asks for; a call in no known form has the name `unknown` and a problem."""
        values = list(args) + [kwargs[name] for name in self._parameters[len(args) :] if name in kwargs]
        if values and isinstance(values[0], str):
            arguments = values[1] if len(values) > 1 else None
            return AskedCall(values[0][:MAX_NAME_CHARS], arguments, _call_id(kwargs))
        if values:
            found = _from_block(values[0])
            if found is not None:
                return found
        return AskedCall("unknown", problem="the dispatcher was called in an unknown form")


def _parameter_names(dispatch: Callable[..., Any]) -> list[str]:
    try:
        return list(inspect.signature(dispatch).parameters)
    except (TypeError, ValueError):
        return ["name", "arguments"]


def _call_id(kwargs: Mapping[str, Any]) -> str | None:
    for name in ("call_id", "tool_call_id", "tool_use_id", "id"):
        if isinstance(kwargs.get(name), str):
            return str(kwargs[name])
    return None


def _from_block(block: Any) -> AskedCall | None:
    get = _getter(block)
    function = get("function")
    if function is not None:
        inner = _getter(function)
        return _checked(inner("name"), inner("arguments"), get("id"))
    if get("type") == "function_call":
        return _checked(get("name"), get("arguments"), get("call_id"))
    return _checked(get("name"), get("input") if get("input") is not None else get("arguments"), get("id"))


def _getter(block: Any) -> Callable[[str], Any]:
    return block.get if isinstance(block, Mapping) else lambda name: getattr(block, name, None)


def _checked(name: Any, arguments: Any, call_id: Any) -> AskedCall | None:
    if not isinstance(name, str):
        return None
    return AskedCall(name[:MAX_NAME_CHARS], arguments, call_id if isinstance(call_id, str) else None)


def _of_text(asked: AskedCall, text: str, noted: NotedInput | None) -> ToolRequest:
    """Prefer the provider's text to one that the application wrote anew, which is then what the handler got."""
    raw = noted.text if noted is not None and noted.complete and not noted.ambiguous else None
    given = strict_json.parse(text) if raw is not None and raw != text else None
    if raw is None or given is None or given.problem == "unparseable":
        return ToolRequest(asked.name, None, arguments_raw=text, call_id=asked.call_id)
    return ToolRequest(asked.name, given.value, arguments_raw=raw, call_id=asked.call_id)


def _value(text: str) -> Any:
    """Return what a raw text says; blank text is an empty object.

    Raises:
        ValueError: it says nothing, so it equals nothing.
    """
    parsed = strict_json.parse("{}" if text.strip() in ("", "null") else text)
    if parsed.problem == "unparseable":
        raise ValueError(parsed.reason)
    return parsed.value
