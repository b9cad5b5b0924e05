"""Write any value as JSON for a person to read, bounded: arguments in findings and error messages."""

from __future__ import annotations

import json
from collections.abc import Iterator
from decimal import Decimal
from typing import Any

from attest_otel.formats.json_values import MAX_NODES, leaf_text


def spell(value: Any, max_chars: int | None = None) -> str:
    """Write a value as JSON for a person to read, numbers as they were spelt where that is known.

    `max_chars` cuts the text and says so. Lone surrogates are escaped, so the text can be encoded.
    """
    limit = 8 * MAX_NODES if max_chars is None else max_chars
    parts: list[str] = []
    length = 0
    for part in _spelt_parts(value, limit):
        parts.append(part)
        length += len(part)
        if length > limit:
            return "".join(parts)[:limit] + "…"
    return "".join(parts)


def _spelt_parts(value: Any, limit: int) -> Iterator[str]:
    stack: list[Iterator[tuple[str, Any]]] = [iter((("", value),))]
    closers = [""]
    while stack:
        prefix, item = next(stack[-1], _END)
        if prefix is None:
            stack.pop()
            yield closers.pop()
            continue
        if prefix:
            yield prefix
        if isinstance(item, dict):
            yield "{"
            stack.append(_spelt_members(item, limit))
            closers.append("}")
        elif isinstance(item, list | tuple):
            yield "["
            stack.append(((", " if i else "", child) for i, child in enumerate(item)))
            closers.append("]")
        else:
            yield _spelt_leaf(item, limit)


def _spelt_members(item: dict[Any, Any], limit: int) -> Iterator[tuple[str, Any]]:
    for i, (key, child) in enumerate(item.items()):
        yield f"{', ' if i else ''}{_spelt_leaf(key, limit)}: ", child


def _spelt_leaf(value: Any, limit: int) -> str:
    if isinstance(value, str):
        text = value[: limit + 1]
        return json.dumps(text, ensure_ascii=not _encodable(text))
    if isinstance(value, Decimal):
        return str(value)
    if value is None or isinstance(value, bool | float):
        return json.dumps(value)
    return leaf_text(value)


def _encodable(text: str) -> bool:
    try:
        text.encode()
    except UnicodeEncodeError:
        return False
    return True


_END: tuple[Any, Any] = (None, None)
