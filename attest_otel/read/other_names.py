"""What a conversation is called where it is not called by the conventions' names: Sentry, Mastra, and conventions long gone.

Sentry writes `gen_ai.request.messages` and `gen_ai.response.text` beside `gen_ai.response.tool_calls`; Mastra's
exporter and others write the whole request and response as `gen_ai.prompt` and `gen_ai.completion`.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from attest_otel import attributes as names
from attest_otel.read.values import NOT_JSON, load

_INPUTS = ("gen_ai.request.messages", "gen_ai.prompt")
_TOOLS = "gen_ai.request.available_tools"


def content_of(given: Mapping[str, Any]) -> dict[str, Any]:
    """Return a model call's messages and tools under the conventions' names, as far as other names hold them."""
    found: dict[str, Any] = {}
    inputs = next((listed for name in _INPUTS if (listed := _listed(given.get(name))) is not None), None)
    outputs = _answer(given)
    if inputs is not None:
        found[names.INPUT_MESSAGES] = inputs
    if outputs is not None:
        found[names.OUTPUT_MESSAGES] = [outputs]
    if _TOOLS in given:
        found[names.TOOL_DEFINITIONS] = given[_TOOLS]
    return found


def _listed(value: Any) -> list[Any] | None:
    """Return messages that stand alone, or in a request as its `messages`."""
    found = load(value)
    listed = found.get("messages") if isinstance(found, dict) else found
    return listed if isinstance(listed, list) and all(isinstance(item, dict) for item in listed) else None


def _answer(given: Mapping[str, Any]) -> dict[str, Any] | None:
    """Return what the model said: text and calls beside each other, or a response as a whole."""
    text, calls = given.get("gen_ai.response.text"), given.get("gen_ai.response.tool_calls")
    if text is not None or calls is not None:
        listed = load(text) if isinstance(text, str) and text[:1] == "[" else None
        content = listed if isinstance(listed, list) else text
        return {"role": "assistant", "content": content, "tool_calls": calls}
    whole = given.get("gen_ai.completion")
    found = load(whole)
    if isinstance(found, dict):
        called = next((found[name] for name in ("tool_calls", "toolCalls") if isinstance(found.get(name), list)), None)
        said = next((found[name] for name in ("text", "content") if isinstance(found.get(name), str)), None)
        return {"role": "assistant", "content": said, "tool_calls": called} if called is not None or said is not None else None
    return {"role": "assistant", "content": whole} if found is NOT_JSON and isinstance(whole, str) and whole else None
