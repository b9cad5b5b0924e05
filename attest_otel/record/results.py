"""What a tool handler returned, as the text the model is shown, and whether it says it failed.

Reads plain text, None (nothing), JSON values, Anthropic `tool_result` blocks and content lists, MCP
`CallToolResult`s and pydantic models. A result that comes later (an iterator) or has no text of its own
is absent, never empty.
Total: a hostile object costs its text, not the application.
"""

from __future__ import annotations

import json
from collections.abc import AsyncIterator, Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from attest_otel.formats.json_values import can_be_written
from attest_otel.result_fields import mcp_flag
from attest_otel.trajectory import OutputFidelity

MAX_OUTPUT_CHARS = 16 * 1024 * 1024
MAX_WRITTEN_CHARS = 4 * MAX_OUTPUT_CHARS
MAX_PARTS = 10_000
MAX_NAME_CHARS = 128


@dataclass(frozen=True, slots=True)
class Result:
    """A result's text (None: not recorded), and an explicit flag where it carried one."""

    output: str | None
    is_error: bool | None = None
    fidelity: OutputFidelity = "recorded"
    reason: str | None = None


def read_result(value: Any) -> Result:
    """Return what a handler's return value says; never raises."""
    try:
        return _bounded(_read(value))
    except Exception as error:  # noqa: BLE001  # __str__ and friends are foreign code
        return Result(None, fidelity="absent", reason=f"the result could not be read: {type(error).__name__}")


def to_text(value: Any) -> str:
    """Return a JSON value as text, objects of other kinds by their `str`.

    Raises:
        ValueError: writing it would cost more than `MAX_WRITTEN_CHARS` characters, or the value holds itself.
    """
    if isinstance(value, str):
        return value
    if not can_be_written(value, MAX_WRITTEN_CHARS):
        raise ValueError("too large to be written as JSON, or a value that holds itself")
    return json.dumps(value, ensure_ascii=False, default=_plain)


def _bounded(result: Result) -> Result:
    if result.output is None or len(result.output) <= MAX_OUTPUT_CHARS:
        return result
    reason = f"{len(result.output)} characters; the first {MAX_OUTPUT_CHARS} were kept"
    return Result(result.output[:MAX_OUTPUT_CHARS], result.is_error, "truncated", reason)


def _read(value: Any) -> Result:
    if value is None:
        return Result("")
    if isinstance(value, str):
        return Result(value)
    if isinstance(value, Iterator | AsyncIterator):
        return Result(None, fidelity="absent", reason="the result is streamed")
    if isinstance(value, bytes | bytearray):
        return Result(bytes(value[:MAX_OUTPUT_CHARS]).decode("utf-8", "replace"))
    if isinstance(value, Mapping):
        return _read_mapping(value)
    flag = getattr(value, "isError", getattr(value, "is_error", None))
    content = getattr(value, "content", None)
    if isinstance(flag, bool) and content is not None:
        return Result(_content_text(content), flag)
    if isinstance(value, list | tuple) and value and all(_is_block(part) for part in value[:MAX_PARTS]):
        return Result(_content_text(value))
    if _has_no_text(value):
        return Result(None, fidelity="absent", reason=f"a result of type {type(value).__qualname__[:MAX_NAME_CHARS]} has no text")
    return Result(to_text(value))


def _has_no_text(value: Any) -> bool:
    """Return whether an object has no text but the name of its class and an address."""
    kind, plain = type(value), vars(object)
    return kind.__str__ is plain["__str__"] and kind.__repr__ is plain["__repr__"] and not hasattr(value, "model_dump")


def _read_mapping(value: Mapping[Any, Any]) -> Result:
    if value.get("type") == "tool_result":
        flag = value.get("is_error")
        content = value.get("content")
        return Result("" if content is None else _content_text(content), flag if isinstance(flag, bool) else None)
    flag = mcp_flag(value)
    return Result(to_text(dict(value))) if flag is None else Result(_content_text(value["content"]), flag)


def _is_block(part: Any) -> bool:
    kind = part.get("type") if isinstance(part, Mapping) else getattr(part, "type", None)
    return isinstance(kind, str) and kind in {"text", "image", "audio", "resource", "resource_link", "document"}


def _content_text(content: Any) -> str:
    """Join the text of content blocks; a block of another kind stands as its JSON, or its kind where it is binary."""
    if isinstance(content, str):
        return content
    if not isinstance(content, list | tuple):
        return to_text(content)
    return "\n".join(_block_text(part) for part in content[:MAX_PARTS])


def _block_text(part: Any) -> str:
    if isinstance(part, str):
        return part
    get: Callable[[str], Any] = part.get if isinstance(part, Mapping) else lambda name: getattr(part, name, None)
    if get("type") == "text" and isinstance(get("text"), str):
        return str(get("text"))
    if get("type") in {"image", "audio"}:
        return f"[{get('type')}]"
    return to_text(part)


def _plain(value: Any) -> Any:
    dump = getattr(value, "model_dump", None)
    return dump(mode="json") if callable(dump) else str(value)
