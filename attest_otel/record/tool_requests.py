"""What a dispatcher was asked to do: the tool's name, its arguments, and the call's id.

Understood are `dispatch(name, arguments, ...)` with text or a dict, by position or keyword, and
`dispatch(block)` with a provider's tool-use block: Anthropic's `tool_use`, OpenAI's chat and Responses
function calls, as objects or mappings.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from attest_otel import strict_json
from attest_otel.record.provider_bytes import NotedInput, take, take_by_name
from attest_otel.trajectory import Recorded

MAX_NAME_CHARS = 1024


@dataclass(frozen=True, slots=True)
class ToolRequest:
    """One call as the dispatcher got it, with the provider's text where it is known.

    `received` is None where the dispatcher got that text itself.
    """

    name: str
    received: Any
    arguments_raw: str | None = None
    arguments: Any = None
    call_id: str | None = None
    recorded: Recorded | None = None


class RequestReader:
    """Reads the arguments of one dispatcher's calls."""

    def __init__(self, dispatch: Callable[..., Any]) -> None:
        self._parameters = _parameter_names(dispatch)

    def read(self, args: tuple[Any, ...], kwargs: Mapping[str, Any]) -> ToolRequest:
        """Return what the call asks for; a call in no known form has the name `unknown` and nothing recorded."""
        values = list(args) + [kwargs[name] for name in self._parameters[len(args) :] if name in kwargs]
        if values and isinstance(values[0], str):
            arguments = values[1] if len(values) > 1 else None
            return _named(values[0][:MAX_NAME_CHARS], arguments, _call_id(kwargs))
        if values:
            found = _from_block(values[0])
            if found is not None:
                return found
        return ToolRequest(
            "unknown", None, recorded=Recorded(arguments="absent", reason="the dispatcher was called in an unknown form")
        )


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


def _from_block(block: Any) -> ToolRequest | None:
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


def _checked(name: Any, arguments: Any, call_id: Any) -> ToolRequest | None:
    if not isinstance(name, str):
        return None
    return _named(name[:MAX_NAME_CHARS], arguments, call_id if isinstance(call_id, str) else None)


def _named(name: str, arguments: Any, call_id: str | None) -> ToolRequest:
    if isinstance(arguments, str):
        return ToolRequest(name, None, arguments_raw=arguments, call_id=call_id)
    noted = _noted(name, arguments, call_id)
    if noted is None:
        mark = Recorded(arguments="reserialized" if arguments is not None else "absent")
        return ToolRequest(name, arguments, arguments=arguments, call_id=call_id, recorded=mark)
    if noted.text is None or noted.ambiguous:
        why = "several texts waited under one call id" if noted.ambiguous else "the provider's text was over a limit"
        mark = Recorded(arguments="reserialized", reason=why)
        return ToolRequest(name, arguments, arguments=arguments, call_id=call_id, recorded=mark)
    cut = None if noted.complete else Recorded(arguments="verbatim", reason="the provider's stream ended inside the arguments")
    return ToolRequest(name, arguments, arguments_raw=noted.text, call_id=call_id, recorded=cut)


def _noted(name: str, arguments: Any, call_id: str | None) -> NotedInput | None:
    def matches(text: str) -> bool:
        value = {} if text.strip() in ("", "null") else strict_json.parse(text).value
        return strict_json.equal(value, arguments)

    return take(call_id, name, matches) if call_id is not None else take_by_name(name, matches)
