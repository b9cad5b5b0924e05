"""What a response says: one answer on the menu, or why not."""

from __future__ import annotations

import json
from typing import Any

import pytest

from attest_otel.judge.menu import off_menu_reason, read_message
from tests.judge.offline import SCHEMA, YES


def body(*blocks: Any, stop: Any = "end_turn", **fields: Any) -> bytes:
    """The body of a message with this content."""
    message = {
        "type": "message",
        "id": "msg_1",
        "model": "m",
        "content": list(blocks),
        "stop_reason": stop,
        "usage": {"input_tokens": 3, "output_tokens": 2},
    }
    return json.dumps({**message, **fields}).encode()


def text(value: str) -> dict[str, str]:
    """A block of text."""
    return {"type": "text", "text": value}


def test_a_good_answer() -> None:
    """Its text, and what it cost; thoughts before it are no answer."""
    read = read_message(body({"type": "thinking", "thinking": "hm", "signature": "s"}, text(YES)), SCHEMA)
    assert (read.text, read.reason, read.broken) == (YES, "", False)
    assert (read.model, read.response_id, read.input_tokens, read.output_tokens) == ("m", "msg_1", 3, 2)


@pytest.mark.parametrize(
    ("blocks", "stop", "why"),
    [
        ([], "end_turn", "gave no answer"),
        ([{"type": "thinking", "thinking": YES}], "end_turn", "gave no answer"),
        ([text(YES), text(YES)], "end_turn", "gave 2 answers in place of one"),
        (
            [text(YES), {"type": "tool_use", "id": "t", "name": "n", "input": {}}],
            "end_turn",
            "gave 2 answers",
        ),
        (
            [{"type": "tool_use", "id": "t", "name": "n", "input": {"answer": "yes"}}],
            "end_turn",
            "something else",
        ),
        ([{"type": "text", "text": 7}], "end_turn", "something else"),
        (["yes"], "end_turn", "something else"),
        ([text(YES)], "max_tokens", "cut at its limit"),
        ([text(YES)], "model_context_window_exceeded", "larger than the grading model can read"),
        ([text(YES)], "refusal", "refused"),
        ([text(YES)], "tool_use", "without ending"),
        ([text(YES)], None, "without ending"),
        ([text(YES)], ["end_turn"], "without ending"),
        ([text('{"answer": "maybe"}')], "end_turn", "off the menu"),
        ([text('{"answer": "yes", "more": 1}')], "end_turn", "off the menu"),
        ([text("{}")], "end_turn", "off the menu"),
        ([text('{"answer": ["yes"]}')], "end_turn", "off the menu"),
        ([text('{"answer": "no", "answer": "yes"}')], "end_turn", "no strict JSON"),
        ([text('{"answer": NaN}')], "end_turn", "no strict JSON"),
        ([text(f"{YES}{YES}")], "end_turn", "no strict JSON"),
        ([text(f"```json\n{YES}\n```")], "end_turn", "no strict JSON"),
        ([text('{"answer": "ye')], "end_turn", "no strict JSON"),
        ([text("yes")], "end_turn", "no strict JSON"),
        ([text('"yes"')], "end_turn", "no JSON object"),
        ([text("[" * 100_000)], "end_turn", "no strict JSON"),
    ],
)
def test_no_answer(blocks: list[Any], stop: Any, why: str) -> None:
    """Off the menu, missing, double or cut: no answer, and the reason says which."""
    read = read_message(body(*blocks, stop=stop), SCHEMA)
    assert read.text is None
    assert not read.broken
    assert why in read.reason


@pytest.mark.parametrize(
    "raw",
    [
        b"",
        b"<html>",
        b"{",
        b"\xff\xfe",
        b"[]",
        b"null",
        b"{}",
        body(text(YES))[:-9],
        body(type="error"),
        body(content={}),
        b'{"type":"message","type":"message"}',
        b"[" * 10**6,
    ],
)
def test_a_broken_body(raw: bytes) -> None:
    """What is no message of the API is broken on its way, not an answer."""
    read = read_message(raw, SCHEMA)
    assert read.broken
    assert read.text is None


@pytest.mark.parametrize(
    ("usage", "expected"),
    [
        (None, (0, 0)),
        ("free", (0, 0)),
        ({"input_tokens": -5, "output_tokens": True}, (0, 0)),
        ({"input_tokens": "9", "output_tokens": 1.5}, (0, 0)),
        (
            {
                "input_tokens": 1,
                "cache_read_input_tokens": 2,
                "cache_creation_input_tokens": 4,
                "output_tokens": 8,
            },
            (7, 8),
        ),
        ({"input_tokens": 10**30, "output_tokens": 1}, (100_000_000, 1)),
    ],
)
def test_usage_is_what_a_stranger_says(usage: Any, expected: tuple[int, int]) -> None:
    """Whole numbers above zero count, cached input too, up to a bound."""
    read = read_message(body(text(YES), usage=usage), SCHEMA)
    assert read.text == YES
    assert (read.input_tokens, read.output_tokens) == expected


def test_nothing_of_the_model_is_in_a_reason() -> None:
    """Reasons are sentences of ours: a stranger's words could be anything."""
    said = [text('{"answer": "CANARY"}'), text("CANARY"), text('{"CANARY": 1, "CANARY": 1}')]
    assert all("CANARY" not in read_message(body(one), SCHEMA).reason for one in said)
    assert "CANARY" not in read_message(body(text(YES), stop="CANARY"), SCHEMA).reason


def test_a_schema_that_is_none() -> None:
    """A question whose schema can't be used has no good answer."""
    assert off_menu_reason(YES, {"type": "nonsense"}) == "the question's own schema can't be used"
