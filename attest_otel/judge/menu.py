"""What a Messages API response says: exactly one answer that fits the question's schema, or why it is none.

An answer off the menu, missing, double or cut is no answer. A body that is no message at all is broken
on its way, which is another thing: that may be asked again. Nothing that the model or the server wrote
gets into a reason. Source: property 36; Messages API, "Create a message".
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from attest_otel.checks.arguments.schema import compile_schema
from attest_otel.formats import strict_json

MAX_NAME_CHARS = 200
MAX_TOKENS_BELIEVED = 100_000_000
THOUGHTS = ("thinking", "redacted_thinking")
_CUT = {
    "max_tokens": "the grading model's answer was cut at its limit of tokens",
    "model_context_window_exceeded": "the question is larger than the grading model can read",
    "refusal": "the grading model refused to answer",
}


@dataclass(frozen=True, slots=True)
class Message:
    """One response. `text` is the answer's JSON, None where there is none and `reason` says why.

    `broken` says that the body was no message: nothing is known about what the model would have said.
    """

    text: str | None = None
    reason: str = ""
    broken: bool = False
    model: str | None = None
    response_id: str | None = None
    input_tokens: int = 0
    output_tokens: int = 0


def read_message(body: bytes, schema: Mapping[str, Any]) -> Message:
    """Read a response's body; never raises, whatever the bytes."""
    try:
        message = strict_json.parse(body.decode("utf-8"))
    except UnicodeDecodeError:
        return _broken()
    data = message.value
    if (
        message.problem is not None
        or not isinstance(data, dict)
        or data.get("type") != "message"
        or not isinstance(data.get("content"), list)
    ):
        return _broken()
    text, reason = _answer(data, schema)
    usage = data.get("usage")
    count = usage if isinstance(usage, dict) else {}
    return Message(
        text,
        reason,
        model=_name(data.get("model")),
        response_id=_name(data.get("id")),
        input_tokens=sum(
            _count(count.get(name)) for name in ("input_tokens", "cache_creation_input_tokens", "cache_read_input_tokens")
        ),
        output_tokens=_count(count.get("output_tokens")),
    )


def off_menu_reason(text: str, schema: Mapping[str, Any]) -> str | None:
    """Return why a text is no answer that the schema allows; None where it is one."""
    parsed = strict_json.parse(text)
    if parsed.problem is not None:
        return "the grading model's answer is no strict JSON"
    if not isinstance(parsed.value, dict):
        return "the grading model's answer is no JSON object"
    compiled = compile_schema(schema)
    if compiled.problem:
        return "the question's own schema can't be used"
    if not compiled.is_valid(json.loads(text)):
        return "the grading model's answer is off the menu"
    return None


def _answer(data: Mapping[str, Any], schema: Mapping[str, Any]) -> tuple[str | None, str]:
    stop = data.get("stop_reason")
    if stop != "end_turn":
        why = _CUT.get(stop) if isinstance(stop, str) else None
        return None, why or "the grading model stopped without ending its answer"
    blocks = [block for block in data["content"] if not (isinstance(block, dict) and block.get("type") in THOUGHTS)]
    if len(blocks) != 1:
        return (
            None,
            "the grading model gave no answer" if not blocks else f"the grading model gave {len(blocks)} answers in place of one",
        )
    block = blocks[0]
    text = block.get("text") if isinstance(block, dict) and block.get("type") == "text" else None
    if not isinstance(text, str):
        return None, "the grading model gave something else in place of an answer"
    reason = off_menu_reason(text, schema)
    return (text, "") if reason is None else (None, reason)


def _broken() -> Message:
    return Message(
        reason="the grading model's response could not be read: it is no message of the Messages API",
        broken=True,
    )


def _name(value: Any) -> str | None:
    return value[:MAX_NAME_CHARS] if isinstance(value, str) else None


def _count(value: Any) -> int:
    return min(value, MAX_TOKENS_BELIEVED) if isinstance(value, int) and not isinstance(value, bool) and value > 0 else 0
