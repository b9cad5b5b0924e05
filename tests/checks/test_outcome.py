"""Is it an error? Each row of the order of evidence."""

from __future__ import annotations

from typing import Any

import pytest

from attest_otel import Tool, ToolCall
from attest_otel.checks.outcome import decide_outcome

ROWS: list[tuple[str, dict[str, Any], bool | None, str | None]] = [
    ("an explicit flag wins over everything", {"is_error": False, "exit_code": 1, "output": "Error: x"}, False, "is_error"),
    ("an explicit flag makes an error of plain text", {"is_error": True, "output": "status 402"}, True, "is_error"),
    ("a recorded status comes before the exit code", {"error_type": "timeout", "exit_code": 0, "output": "ok"}, True, "status"),
    ("an exit code not among the good ones", {"exit_code": 127, "output": "not found"}, True, "exit_code"),
    ("a good exit code ends the search", {"exit_code": 0, "output": "error: 0 of them"}, False, "exit_code"),
    ("isError true", {"output": '{"isError": true, "content": []}'}, True, "status"),
    ("isError false ends the search", {"output": '{"isError": false, "text": "error: none"}'}, False, "fields"),
    (
        "an MCP result's false ends it as a status",
        {"output": '{"isError": false, "content": [{"text": "error: x"}]}'},
        False,
        "status",
    ),
    (
        "an MCP result's flag comes before the exit code",
        {"output": '{"isError": true, "content": []}', "exit_code": 0},
        True,
        "status",
    ),
    (
        "isError false ends the search before the fields",
        {"output": '{"isError": false, "error": "card declined", "ok": false, "status": 402}'},
        False,
        "fields",
    ),
    ("a non-empty error field", {"output": '{"error": "card_declined"}'}, True, "fields"),
    ("an empty error field says nothing", {"output": '{"error": null, "errors": []}'}, False, "text"),
    ("errors in a list", {"output": '{"errors": [{"message": "x"}]}'}, True, "fields"),
    ("ok false", {"output": '{"ok": false}'}, True, "fields"),
    ("success false", {"output": '{"success": false}'}, True, "fields"),
    ("status failed, in any case", {"output": '{"status": "FAILED"}'}, True, "fields"),
    ("a 4xx status", {"output": '{"status": 404}'}, True, "fields"),
    ("a 5xx status as text", {"output": '{"statusCode": "503"}'}, True, "fields"),
    ("status_code", {"output": '{"status_code": 500}'}, True, "fields"),
    ("status code as a float", {"output": '{"status_code": 404.0}'}, True, "fields"),
    ("status with its phrase", {"output": '{"status": "404 Not Found"}'}, True, "fields"),
    ("status that begins with a number", {"output": '{"status": "404-B shipped"}'}, False, "text"),
    ("status that counts", {"output": '{"status": "500 2"}'}, False, "text"),
    ("http_status", {"output": '{"http_status": 422}'}, True, "fields"),
    ("a 2xx status", {"output": '{"status": 200}'}, False, "text"),
    ("true is not a status", {"output": '{"status": true}'}, False, "text"),
    ("fields below the top don't count", {"output": '{"data": {"error": "x"}}'}, False, "text"),
    ("a list is not an object result", {"output": '[{"error": "x"}]'}, False, "text"),
    ("empty output", {"output": ""}, True, "text"),
    ("blank output", {"output": " \n"}, True, "text"),
    ("starts with error, in any case", {"output": "  ERROR something"}, True, "text"),
    ("starts with exception", {"output": "Exception in thread"}, True, "text"),
    ("starts with traceback", {"output": "Traceback"}, True, "text"),
    ("contains error:", {"output": "shellcheck: no error: ok"}, True, "text"),
    ("contains exception:", {"output": "an exception: x"}, True, "text"),
    ("a traceback header anywhere", {"output": "log\nTraceback (most recent call last):\n  x"}, True, "text"),
    ("mentions an error without a colon", {"output": "no errors found"}, False, "text"),
    ("a field's name may be escaped", {"output": '{"\\u0065rror": "card declined"}'}, True, "fields"),
    ("a byte-order mark before the object hides nothing", {"output": '\ufeff {"error": "card declined"}'}, True, "fields"),
    ("so may a flag's", {"output": '{"isErr\\u006fr": true}'}, True, "fields"),
    ("and a status", {"output": '{"st\\u0061tus": "f\\u0061iled"}'}, True, "fields"),
    ("an escaped letter of another alphabet says nothing", {"output": '{"name": "Ren\\u00e9"}'}, False, "text"),
    ("an empty list is a result", {"output": "[]"}, False, "text"),
    ("nothing recorded is no outcome", {}, None, None),
    ("an ambiguous output is no outcome", {"output": "x", "recorded": {"output": "ambiguous"}}, None, None),
]


@pytest.mark.parametrize(("rule", "fields", "is_error", "source"), ROWS, ids=[row[0] for row in ROWS])
def test_order_of_evidence(rule: str, fields: dict[str, Any], is_error: bool | None, source: str | None) -> None:
    """The first evidence that speaks decides, and the outcome says which it was."""
    outcome = decide_outcome(ToolCall.model_validate({"name": "t", **fields}), None)
    assert (outcome.is_error, outcome.source) == (is_error, source)


@pytest.mark.parametrize(
    "fields", [{"error_type": "x", "output": "ok"}, {"exit_code": 1, "output": "ok"}, {"output": '{"error": "x"}'}]
)
def test_text_mode_leaves_out_the_middle_three(fields: dict[str, Any]) -> None:
    """`error_detection: text` asks only the flag and the text."""
    assert decide_outcome(ToolCall.model_validate({"name": "t", **fields}), None, text_only=True).is_error is False


def test_empty_output_of_a_tool_that_returns_nothing() -> None:
    """A tool that returns nothing is no error when it does."""
    outcome = decide_outcome(ToolCall(name="t", output=""), Tool(name="t", returns_nothing=True))
    assert (outcome.is_error, outcome.source) == (False, "returns_nothing")


def test_declared_exit_codes() -> None:
    """A tool says which exit codes are good: grep without a match exits 1."""
    call = ToolCall(name="grep", output="", exit_code=1)
    assert decide_outcome(call, Tool(name="grep", ok_exit_codes=[0, 1])).is_error is False
    assert decide_outcome(call, Tool(name="grep")).is_error is True
