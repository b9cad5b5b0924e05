"""What the fields of an object result say about failure: any object's, and MCP's CallToolResult.

Shared by the recorder, the readers and the check, so that they agree on which `isError` is a protocol's
word and which is only a field that a tool returned. Source: DESIGN 3 rule 1.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

_FAILED_WORDS = frozenset({"error", "failed", "failure"})
MAX_STATUS_CHARS = 80
_STATUS_FIELDS = ("status", "status_code", "statusCode", "http_status")


def field_error(result: Mapping[Any, Any]) -> str | None:
    """Return in words which field says that the call failed, or None; fields below the top don't count."""
    for name in ("error", "errors"):
        if result.get(name):
            return f"the result has a non-empty {name!r}"
    for name in ("ok", "success"):
        if result.get(name) is False:
            return f"{name} is false"
    if result.get("isError") is True:
        return "isError is true"
    for name in _STATUS_FIELDS:
        if _is_failed_status(result.get(name), words=name == "status"):
            return f"{name} is {result[name]}"
    return None


def mcp_flag(result: Mapping[Any, Any]) -> bool | None:
    """Return the flag of an MCP result; None for an object that is none.

    A result has a `content`, a list where nothing failed, and no field of its own that says error.
    """
    flag = result.get("isError")
    if flag is True:
        return True if "content" in result else None
    is_result = flag is False and isinstance(result.get("content"), list | tuple)
    return False if is_result and field_error(result) is None else None


def _is_failed_status(value: Any, *, words: bool) -> bool:
    """Whether a status is one of failure: a word for it, or a 4xx or 5xx as a number, as text, or with its phrase (`404 Not Found`)."""
    if isinstance(value, str):
        if words and value.strip().casefold() in _FAILED_WORDS:
            return True
        code, space, phrase = value.strip()[:MAX_STATUS_CHARS].partition(" ")
        is_code = len(code) == 3 and code.isascii() and code.isdigit() and code[0] in "45"  # noqa: PLR2004
        return is_code and (not space or phrase[:1].isalpha())
    is_number = isinstance(value, int | float) and not isinstance(value, bool)
    return is_number and 400 <= value <= 599 and value == int(value)  # noqa: PLR2004
