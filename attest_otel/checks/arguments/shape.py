"""The quick answer for nearly every call: arguments that are surely fine, without asking each question apart.

A shape is what a simple schema declares (keys of objects, items of lists), worked out once per schema.
Arguments that keep to it hold no undeclared key, no float, no text that has to be read for its quality.
"No" says nothing: such a call is read with care.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple, Optional

from attest_otel.checks.arguments.leaks import may_be_out_of_place

MAX_DEPTH = 16
_PLAIN = frozenset({int, bool, type(None)})
_COMBINING = frozenset({
    "allOf", "anyOf", "oneOf", "if", "then", "else", "not", "dependentSchemas", "prefixItems", "additionalItems", "$ref", "$dynamicRef", "$recursiveRef",
})  # fmt: skip


class Shape(NamedTuple):
    """The keys a schema declares, each with its own shape, and that of a list's items; None where it can't be told."""

    keys: Mapping[str, Optional[Shape]]  # noqa: UP045  # evaluated by NamedTuple
    items: Optional[Shape]  # noqa: UP045


def shape_of(schema: Any, depth: int = 0) -> Shape | None:
    """Return the shape of a schema that only declares; None for one that combines, refers or nests deeper than `MAX_DEPTH`."""
    if not isinstance(schema, dict) or depth > MAX_DEPTH or not _COMBINING.isdisjoint(schema):
        return None
    properties = schema.get("properties")
    declared = properties if isinstance(properties, dict) else {}
    keys = {key: shape_of(child, depth + 1) for key, child in declared.items() if "<" not in key}
    return Shape(keys, shape_of(schema.get("items"), depth + 1))


def is_surely_fine(value: Any, shape: Shape | None) -> bool:
    """Return whether a value keeps to its shape and holds only whole numbers, literals and texts in their place."""
    kind = type(value)
    if kind is str:
        return not may_be_out_of_place(value)
    if kind in _PLAIN:
        return True
    if shape is None:
        return False
    if kind is dict:
        keys = shape.keys
        return all(key in keys and is_surely_fine(child, keys[key]) for key, child in value.items())
    items = shape.items
    return kind is list and all(is_surely_fine(child, items) for child in value)


def is_flat_and_fine(arguments: dict[Any, Any]) -> bool:
    """Return whether an object, of which no schema says anything, holds only such values and no markup among its keys."""
    return all(type(key) is str and "<" not in key and is_surely_fine(child, None) for key, child in arguments.items())
