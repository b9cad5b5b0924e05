"""Values a stranger's span carries, read as JSON where they are: bounded, never raising."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any, Final

MAX_JSON_CHARS = 16 * 1024 * 1024
MAX_DEPTH = 64
MAX_PARTS = 100_000


class _NotJson:
    """The one value that says: this text is not JSON, or is more than will be read."""


NOT_JSON: Final = _NotJson()


def load(value: Any) -> Any:
    """Return what JSON text holds; a value that is no text stands as it is. NOT_JSON where it cannot be read."""
    if not isinstance(value, str):
        return value
    if len(value) > MAX_JSON_CHARS:
        return NOT_JSON
    try:
        found = json.loads(value)
    except (ValueError, RecursionError):
        return NOT_JSON
    if value.count("{") + value.count("[") > MAX_DEPTH and is_deeper_than(found, MAX_DEPTH):
        return NOT_JSON
    return found


def load_object(value: Any) -> dict[str, Any]:
    """Return an object that is there as JSON text or as it is; else an empty one."""
    found = load(value)
    return found if isinstance(found, dict) else {}


def load_list(value: Any) -> list[Any]:
    """Return a list that is there as JSON text or as it is, an object as its only entry; else an empty one."""
    found = load(value)
    if isinstance(found, dict):
        return [found]
    return found[:MAX_PARTS] if isinstance(found, list) else []


def is_deeper_than(value: Any, limit: int) -> bool:
    """Return whether lists and objects are nested deeper than `limit`; without recursion."""
    layer = [value]
    for _ in range(limit):
        nested: list[Any] = []
        for part in layer:
            if isinstance(part, dict):
                nested.extend(part.values())
            elif isinstance(part, list):
                nested.extend(part)
        if not nested:
            return False
        layer = nested
    return any(isinstance(part, dict | list) for part in layer)


def text_of(value: Any) -> str | None:
    """Return a value as the text a person or a model was shown: text as it is, else its JSON; None stays None."""
    if value is None or isinstance(value, str):
        return value
    try:
        return json.dumps(value, ensure_ascii=False)
    except (TypeError, ValueError, RecursionError):
        return None


def text_at(attributes: Mapping[str, Any], *names: str) -> str | None:
    """Return the first of these attributes that holds text with something in it."""
    for name in names:
        found = attributes.get(name)
        if isinstance(found, str) and found:
            return found
    return None


def whole_at(attributes: Mapping[str, Any], *names: str) -> int | None:
    """Return the first of these attributes that holds a whole number that is not negative."""
    for name in names:
        found = attributes.get(name)
        if isinstance(found, int) and not isinstance(found, bool) and found >= 0:
            return found
    return None


def numbered(attributes: Mapping[str, Any], prefix: str) -> list[Any]:
    """Return the list that flattened attributes spell: `prefix.0.a.b`, `prefix.1…` as nested objects and lists."""
    tree: dict[str, Any] = {}
    start = f"{prefix}."
    for name, value in attributes.items():
        if name.startswith(start):
            _insert(tree, name[len(start) :].split(".", MAX_DEPTH), value)
    listed = _lists(tree)
    return listed if isinstance(listed, list) else []


def _insert(tree: dict[str, Any], path: list[str], value: Any) -> None:
    for step in path[:-1]:
        below = tree.setdefault(step, {})
        if not isinstance(below, dict):
            return
        tree = below
    tree.setdefault(path[-1], value)


def _lists(tree: Any) -> Any:
    if not isinstance(tree, dict):
        return tree
    inner = {name: _lists(value) for name, value in tree.items()}
    if inner and all(name.isascii() and name.isdigit() and len(name) < 9 for name in inner):  # noqa: PLR2004
        return [inner[name] for name in sorted(inner, key=int)]
    return inner
