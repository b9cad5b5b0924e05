"""What it would cost to hold a value against a JSON Schema, worked out before it is done.

A small schema whose branches refer to itself, or to each other, is evaluated a number of times that
doubles with every level of the value, and each violation keeps a copy of what it is about. The library that
validates cannot be stopped and takes the process with it when memory ends, so the evaluations are
counted first: each pair of a subschema and a part of the value once, however often it would be visited.
What cannot be counted (a reference that this module can't follow) counts as too costly.
Pure; bounded by `MAX_PAIRS`.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

MAX_PAIRS = 200_000
MAX_EVALUATIONS = 10_000_000
MAX_COPIED_PARTS = 500_000
_CHARS_A_PART = 100

_HERE = ("not", "if", "then", "else")
_ALL_HERE = ("allOf", "anyOf", "oneOf")
_NAMED_HERE = ("dependentSchemas", "dependencies")
_EACH_KEY = ("additionalProperties", "unevaluatedProperties")
_EACH_ITEM = ("items", "additionalItems", "unevaluatedItems", "contains")
_BY_INDEX = ("prefixItems", "items")
_REFERENCES = ("$ref", "$dynamicRef", "$recursiveRef")
_UNEVALUATED = ("unevaluatedProperties", "unevaluatedItems")


class TooCostlyError(Exception):
    """The count passed its limit, or can't be made."""


def is_affordable(schema: Any, value: Any) -> bool:
    """Return whether telling if a value is valid takes at most `MAX_EVALUATIONS` evaluations."""
    return _within(schema, value, MAX_EVALUATIONS, copies=False)


def is_explainable(schema: Any, value: Any) -> bool:
    """Return whether all violations together hold copies of at most `MAX_COPIED_PARTS` parts of the value."""
    return _within(schema, value, MAX_COPIED_PARTS, copies=True)


def _within(schema: Any, value: Any, limit: int, *, copies: bool) -> bool:
    try:
        _Count(schema, limit, copies=copies).of(schema, value)
    except (TooCostlyError, RecursionError):
        return False
    return True


class _Count:
    """Counts for one schema; `copies` weighs each evaluation with the size of what a violation would copy."""

    def __init__(self, root: Any, limit: int, *, copies: bool) -> None:
        self._root = root
        self._limit = limit
        self._copies = copies
        self._known: dict[tuple[int, int], int] = {}
        self._sizes: dict[int, int] = {}
        self._anchors: dict[str, Any] | None = None

    def of(self, schema: Any, value: Any) -> int:
        """Return the cost of one subschema on one part of the value; what is being counted already costs nothing more."""
        if not isinstance(schema, dict):
            return 1
        key = (id(schema), id(value))
        found = self._known.get(key)
        if found is not None:
            return found
        if len(self._known) >= MAX_PAIRS:
            raise TooCostlyError
        self._known[key] = 0
        total = self._own(schema, value)
        for inner, part in _applied(schema, value):
            total += self.of(inner, part)
            if total > self._limit:
                raise TooCostlyError
        for name in _REFERENCES:
            if isinstance(schema.get(name), str):
                total += self.of(self._target(schema[name]), value)
        if any(name in schema for name in _UNEVALUATED):
            total *= 1 + (len(value) if isinstance(value, dict | list) else 0)
        if total > self._limit:
            raise TooCostlyError
        self._known[key] = total
        return total

    def _own(self, schema: dict[str, Any], value: Any) -> int:
        if not self._copies:
            return 1
        required, options = schema.get("required"), schema.get("enum")
        times = 1 + (len(required) if isinstance(required, list) and isinstance(value, dict) else 0)
        return self._size(value) * times + (len(options) if isinstance(options, list) else 0)

    def _size(self, value: Any) -> int:
        if isinstance(value, str):
            return 1 + len(value) // _CHARS_A_PART
        if not isinstance(value, dict | list | tuple):
            return 1
        found = self._sizes.get(id(value))
        if found is None:
            parts = value.values() if isinstance(value, dict) else value
            found = self._sizes[id(value)] = 1 + sum(map(self._size, parts))
        return found

    def _target(self, reference: str) -> Any:
        if self._anchors is None:
            self._anchors = _anchors_of(self._root)
        if reference in self._anchors:
            return self._anchors[reference]
        found = self._root
        for part in reference.removeprefix("#").split("/")[1:]:
            found = _step(found, part.replace("~1", "/").replace("~0", "~"))
        return found


def _step(found: Any, part: str) -> Any:
    if isinstance(found, dict) and part in found:
        return found[part]
    if isinstance(found, list) and part.isascii() and part.isdigit() and int(part[:9]) < len(found):
        return found[int(part[:9])]
    raise TooCostlyError


def _anchors_of(root: Any) -> dict[str, Any]:
    """Return what references without a path can name; a schema with an id of its own inside another can't be counted."""
    found: dict[str, Any] = {"#": root}
    waiting = [root]
    while waiting:
        item = waiting.pop()
        if isinstance(item, list):
            waiting.extend(item)
        elif isinstance(item, dict):
            waiting.extend(item.values())
            if item is not root and isinstance(item.get("$id"), str):
                raise TooCostlyError
            for name in ("$anchor", "$dynamicAnchor"):
                if isinstance(item.get(name), str):
                    found[f"#{item[name]}"] = item
    return found


def _applied(schema: dict[str, Any], value: Any) -> Iterator[tuple[Any, Any]]:
    """Yield the subschemas that a schema applies, each with the part of the value it is applied to."""
    for name in _HERE:
        if name in schema:
            yield schema[name], value
    for name in _ALL_HERE:
        if isinstance(schema.get(name), list):
            yield from ((inner, value) for inner in schema[name])
    for name in _NAMED_HERE:
        if isinstance(schema.get(name), dict):
            yield from ((inner, value) for inner in schema[name].values())
    if isinstance(value, dict):
        yield from _applied_to_keys(schema, value)
    elif isinstance(value, list | tuple):
        yield from _applied_to_items(schema, value)


def _applied_to_keys(schema: dict[str, Any], value: dict[Any, Any]) -> Iterator[tuple[Any, Any]]:
    declared, patterns = schema.get("properties"), schema.get("patternProperties")
    if isinstance(declared, dict):
        yield from ((declared[key], part) for key, part in value.items() if key in declared)
    each = [schema[name] for name in _EACH_KEY if name in schema]
    each += patterns.values() if isinstance(patterns, dict) else ()
    yield from ((inner, part) for inner in each for part in value.values())
    if "propertyNames" in schema:
        yield from ((schema["propertyNames"], key) for key in value)


def _applied_to_items(schema: dict[str, Any], value: list[Any] | tuple[Any, ...]) -> Iterator[tuple[Any, Any]]:
    each = [schema[name] for name in _EACH_ITEM if name in schema and not isinstance(schema[name], list)]
    yield from ((inner, part) for inner in each for part in value)
    for name in _BY_INDEX:
        if isinstance(schema.get(name), list):
            yield from zip(schema[name], value, strict=False)
