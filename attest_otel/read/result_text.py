"""The text of a tool's result, out of the parts and envelopes that protocols and recorders put it into."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from attest_otel.read.values import load, text_of
from attest_otel.result_fields import mcp_flag


def result_text(value: Any) -> tuple[str | None, bool | None]:
    """Return a result's text and, where its shape says so, whether it is an error."""
    if isinstance(value, str) and value[:2] == "[{":
        value = _opened(value)
    if value is None or isinstance(value, str):
        return value, None
    if isinstance(value, Mapping):
        kind = value.get("type")
        if isinstance(kind, str) and "value" in value and kind in {"text", "json", "error-text", "error-json", "content"}:
            return text_of(value["value"]), True if kind.startswith("error") else None
        if set(value) == {"text"} and isinstance(value["text"], str):
            return value["text"], None
        flag = mcp_flag(value)
        if flag is not None and isinstance(value["content"], list):
            return result_text(value["content"])[0], flag
    texts = [_part_text(part) for part in value] if isinstance(value, list) else []
    return ("\n".join(map(str, texts)) if texts and None not in texts else text_of(value)), None


def error_flag(part: Mapping[str, Any], otherwise: bool | None) -> bool | None:
    """Return whether a result's own fields say that it is an error, else what its text's shape said."""
    for name in ("is_error", "isError"):
        if isinstance(part.get(name), bool):
            return bool(part[name])
    return True if part.get("status") == "error" else otherwise


def bare_result(value: Any) -> Any:
    """Take text out of the object that Google's clients put it into, because a response must be one."""
    if isinstance(value, Mapping) and value.keys() == {"result"} and isinstance(value["result"], str):
        return value["result"]
    return value


def _opened(text: str) -> Any:
    """Return content parts that were written as JSON text once more; a list of the tool's own stays text."""
    listed = load(text) if '"type"' in text or '"json"' in text else None
    if not isinstance(listed, list) or not all(isinstance(part, dict) for part in listed):
        return text
    return listed if all(part.get("type") == "text" or part.keys() == {"json"} for part in listed) else text


def _part_text(part: Any) -> str | None:
    """Return the text of a part of a result, JSON of Bedrock's as its text; None for anything that is no text."""
    if not isinstance(part, Mapping):
        return None
    if part.keys() == {"json"}:
        return text_of(part["json"])
    text = part.get("text", part.get("content"))
    return text if part.get("type", "text") == "text" and isinstance(text, str) else None
