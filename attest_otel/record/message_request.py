"""What the body of a Messages API request says about tool calls, without parsing it.

A request repeats the whole conversation, so it is searched once, for names that stand in JSON text as they
are: inside a string their quotes would be escaped. Source: Anthropic's Messages API, "Tool use".
"""

from __future__ import annotations

import re

MAX_REQUEST_BYTES = 64 * 1024 * 1024

_RESULT_OF = re.compile(rb'"tool_use_id"\s*:\s*"([^"\\]{1,512})"')
_FORCED = re.compile(rb'"tool_choice"\s*:\s*\{[^{}]{0,2048}?"type"\s*:\s*"tool"')


def results_given(body: bytes) -> frozenset[str]:
    """Return the ids of the calls that a request gives results for."""
    if len(body) > MAX_REQUEST_BYTES or b'"tool_use_id"' not in body:
        return frozenset()
    return frozenset(found.decode("utf-8", "replace") for found in _RESULT_OF.findall(body))


def forces_one_tool(body: bytes) -> bool:
    """Return whether a request leaves the model no other choice than one tool."""
    return len(body) <= MAX_REQUEST_BYTES and b'"tool_choice"' in body and _FORCED.search(body) is not None
