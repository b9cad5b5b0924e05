"""Calls that LangChain could not parse: it keeps them beside the others, and its messages to the model show them no more.

Only the whole response, as OpenInference writes it down, still has their text, as the model emitted it.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

from attest_otel.read.facts import Arguments, Request
from attest_otel.read.values import MAX_PARTS, load, text_at

_NAME = "invalid_tool_calls"
_FILLED = re.compile(rf'"{_NAME}": ?\[ ?\{{')


def invalid_calls(response: Any) -> tuple[Request, ...]:
    """Return the calls of a response, as LangChain serialises it, that were asked for in text that is no JSON."""
    if not isinstance(response, str) or _FILLED.search(response) is None:
        return ()
    found = (item for message in _messages(load(response)) for item in _listed(message.get(_NAME)))
    return tuple(_request(item) for item in found if text_at(item, "name") is not None)


def _messages(response: Any) -> Iterator[dict[str, Any]]:
    generations = response.get("generations") if isinstance(response, dict) else None
    for batch in generations[:MAX_PARTS] if isinstance(generations, list) else ():
        for generation in _listed(batch):
            message = generation.get("message")
            fields = message.get("kwargs", message.get("data", message)) if isinstance(message, dict) else None
            if isinstance(fields, dict):
                yield fields


def _listed(value: Any) -> list[dict[str, Any]]:
    return [item for item in value[:MAX_PARTS] if isinstance(item, dict)] if isinstance(value, list) else []


def _request(item: dict[str, Any]) -> Request:
    text = item.get("args")
    arguments = Arguments(raw=text, fidelity="verbatim") if isinstance(text, str) else Arguments(raw="null", fidelity="verbatim")
    return Request(text_at(item, "name") or "", text_at(item, "id"), arguments)
