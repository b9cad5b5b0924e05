"""Is a call's result an error? The order of evidence, and which piece spoke.

First that speaks wins: explicit `is_error`; the recorded status (`error_type`); the exit code; the
fields of a JSON object result; the text rule of the seed (empty, starts with error, exception or
traceback, contains `error:` or `exception:`), plus a Python traceback header anywhere. An explicit
"no" ends the search, an `isError: false` among other fields too. The `isError` of an MCP result is a
recorded status; that of any other object is one of its fields. `error_detection: text` leaves out the
middle three. An output that nobody recorded is no outcome at all. Source: the tool-use
page, and DESIGN 3 rules 1 and 4.
"""

from __future__ import annotations

import json
from typing import Any, Literal, NamedTuple

import re2

from attest_otel.result_fields import field_error, mcp_flag
from attest_otel.trajectory import Tool, ToolCall

ErrorSource = Literal["is_error", "status", "exit_code", "fields", "text", "returns_nothing"]

MAX_FIELDS_CHARS = 4 * 1024 * 1024
_SIGNS = re2.compile(
    rb'(?i)error|exception|traceback|"(?:ok|success|http_status)"|"status(?:_?code)?"\s*:\s*(?:[45]|"[^a-dg-z])|\\u00[2-7]'
)
"""What a text must hold for a field or a word to speak of an error; an escape may spell any of it. Nearly all hold nothing."""
_BEFORE_JSON = "\ufeff \t\r\n\v\f\u00a0"
_TEXT_STARTS = ("error", "exception", "traceback")
_TRACEBACK_HEADER = "traceback (most recent call last)"


class Outcome(NamedTuple):
    """Whether a call is an error (None: nobody can tell), which evidence said so, and in which words."""

    is_error: bool | None
    source: ErrorSource | None
    reason: str


_SAID = {said: Outcome(said, "is_error", f"is_error is {str(said).lower()}") for said in (True, False)}
_FINE = Outcome(False, "text", "the output does not look like an error")
_RETURNS_NOTHING = Outcome(False, "returns_nothing", "the tool returns nothing")
_EMPTY = Outcome(True, "text", "the output is empty")
_STARTS = Outcome(True, "text", "the output starts like an error")
_CONTAINS = {mark: Outcome(True, "text", f"the output contains {mark!r}") for mark in ("error:", "exception:", _TRACEBACK_HEADER)}


def decide_outcome(call: ToolCall, tool: Tool | None, *, text_only: bool = False) -> Outcome:
    """Decide whether a call's result is an error; never raises."""
    if call.is_error is not None:
        return _SAID[call.is_error]
    output = None if call.output_fidelity == "ambiguous" else call.output
    has_signs = output is not None and _SIGNS.search(output.encode("utf-8", "surrogatepass")) is not None
    structured = None if text_only else _from_structure(call, tool, output if has_signs else None)
    if structured is not None:
        return structured
    if output is None:
        why = "several results could be this call's" if call.output_fidelity == "ambiguous" else "no result was recorded"
        return Outcome(None, None, why)
    if not output.strip():
        return _RETURNS_NOTHING if tool is not None and tool.returns_nothing else _EMPTY
    return _FINE if not has_signs and output.isascii() else _from_text(output)


def _from_structure(call: ToolCall, tool: Tool | None, output: str | None) -> Outcome | None:
    if call.error_type:
        return Outcome(True, "status", f"the recorded status is an error ({call.error_type})")
    result = None if output is None else _as_object(output)
    flag = None if result is None else mcp_flag(result)
    if flag is not None:
        return Outcome(flag, "status", f"isError is {str(flag).lower()}")
    if call.exit_code is not None:
        good = tool.ok_exit_codes if tool is not None else [0]
        return Outcome(call.exit_code not in good, "exit_code", f"exit code {call.exit_code}")
    return None if result is None else _from_fields(result)


def _from_fields(result: dict[str, Any]) -> Outcome | None:
    if result.get("isError") is False:
        return Outcome(False, "fields", "isError is false")
    reason = field_error(result)
    return None if reason is None else Outcome(True, "fields", reason)


def _as_object(output: str) -> dict[str, Any] | None:
    if not output.startswith("{"):
        output = output.lstrip(_BEFORE_JSON)
        if not output.startswith("{"):
            return None
    if len(output) > MAX_FIELDS_CHARS:
        return None
    try:
        value = json.loads(output)
    except (ValueError, RecursionError):
        return None
    return value if isinstance(value, dict) else None


def _from_text(output: str) -> Outcome:
    text = output.strip().casefold()
    if text.startswith(_TEXT_STARTS):
        return _STARTS
    for mark, outcome in _CONTAINS.items():
        if mark in text:
            return outcome
    return _FINE
