"""Compare and count JSON values exactly: never through a float, blind to spelling, whatever the nesting.

`equal` and `canonical` agree: two values are equal if and only if their canonical texts are the same.
Values come from parsed text or from a handler, so anything may be among them: floats, tuples, keys that
are no strings, objects JSON has no word for, cycles. Nothing recurses and every walk has a budget.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from decimal import Decimal
from typing import Any

MAX_NODES = 4_000_000
_PLAIN_BITS = 996
_PLAIN_INTEGER = 10**18
_PLAIN_DEPTH = 8
_PLAIN_DIGITS = 300
_PLAIN = json.JSONEncoder(sort_keys=True, separators=(",", ":"))
_CHARS_A_PART = 256
_EXACT_FLOAT = 2.0**53
_TOO_MANY = "<too many values to compare>"


def equal(a: Any, b: Any) -> bool:  # noqa: C901  # one walk, one case a kind of value
    """Return whether two JSON values are equal as values: 4200 and 4200.0 are, true and 1 are, "1" and 1 are not.

    Reflexive (NaN equals NaN, -0.0 equals 0) and symmetric. Values of more than `MAX_NODES` parts are
    equal only to themselves.
    """
    pairs = [(a, b)]
    budget = MAX_NODES
    while pairs:
        a, b = pairs.pop()
        if a is b:
            continue
        budget -= 1
        if budget < 0:
            return False
        if isinstance(a, dict):
            if not isinstance(b, dict) or len(a) != len(b):
                return False
            if a.keys() != b.keys():
                a, b = _by_key_text(a), _by_key_text(b)
                if a.keys() != b.keys():
                    return False
            pairs.extend((value, b[key]) for key, value in a.items())
        elif isinstance(a, list | tuple):
            if not isinstance(b, list | tuple) or len(a) != len(b):
                return False
            pairs.extend(zip(a, b, strict=True))
        elif isinstance(b, dict | list | tuple) or not _equal_leaves(a, b):
            return False
    return True


def same_type(a: Any, b: Any) -> bool:
    """Return whether two values, equal or not, are of one JSON type all the way down (int, float and bool apart)."""
    pairs = [(a, b)]
    budget = MAX_NODES
    while pairs and budget:
        a, b = pairs.pop()
        budget -= 1
        if a is b:
            continue
        if type_name(a) != type_name(b):
            return False
        if isinstance(a, dict):
            pairs.extend((value, b[key]) for key, value in a.items() if key in b)
        elif isinstance(a, list | tuple):
            pairs.extend(zip(a, b, strict=False))
    return not pairs


def type_name(value: Any) -> str:
    """Name a value's type as the seed does: int, float, bool, str, null, list or dict; else the Python type's name."""
    if value is None:
        return "null"
    if isinstance(value, bool):
        return "bool"
    if isinstance(value, int):
        return "int"
    if isinstance(value, float | Decimal):
        return "float"
    if isinstance(value, str):
        return "str"
    if isinstance(value, dict):
        return "dict"
    return "list" if isinstance(value, list | tuple) else type(value).__name__


def canonical(value: Any) -> str:
    """Return one text for all spellings of a value: the key under which equal arguments are counted.

    Equal values have equal texts: `4200`, `4200.0` and `4.2e3` share one, and so do `true` and `1`.
    """
    if type(value) is dict and _is_plain(value, _PLAIN_DEPTH):
        return _PLAIN.encode(value)
    parts: list[str] = []
    for part in _canonical_parts(value):
        parts.append(part)
        if len(parts) > 2 * MAX_NODES:
            parts.append(_TOO_MANY)
            break
    return "".join(parts)


def has_at_most_nodes(value: Any, limit: int) -> bool:
    """Return whether a value has at most `limit` parts, itself included; False for a cycle."""
    stack = [value]
    while stack:
        item = stack.pop()
        limit -= 1
        if limit < 0 or (isinstance(item, dict | list | tuple) and len(item) > limit):
            return False
        if isinstance(item, dict):
            stack.extend(item.values())
        elif isinstance(item, list | tuple):
            stack.extend(item)
    return True


def can_be_written(value: Any, limit: int) -> bool:
    """Return whether writing a value as JSON costs at most about as much as a text of `limit` characters.

    Each part counts as `_CHARS_A_PART` beside its own characters, one that is shared each time it stands
    somewhere: a list of forty lists can be more text than there is memory. False for a cycle.
    """
    stack = [value]
    while stack:
        item = stack.pop()
        limit -= _CHARS_A_PART + (len(item) if isinstance(item, str) else 0)
        if limit < 0 or (isinstance(item, dict | list | tuple) and _CHARS_A_PART * len(item) > limit):
            return False
        if isinstance(item, dict):
            limit -= sum(len(key) for key in item if isinstance(key, str))
            stack.extend(item.values())
        elif isinstance(item, list | tuple):
            stack.extend(item)
    return True


def is_deeper_than(value: Any, limit: int) -> bool:
    """Return whether a value is nested deeper than `limit` levels of objects and lists; True for a cycle."""
    level = [value]
    budget = MAX_NODES
    for _ in range(limit + 1):
        level = [child for item in level for child in _children(item)]
        budget -= len(level)
        if not level or budget < 0:
            return budget < 0
    return any(isinstance(item, dict | list | tuple) for item in level)


def _children(item: Any) -> Any:
    if isinstance(item, dict):
        return item.values()
    return item if isinstance(item, list | tuple) else ()


def _is_plain(value: Any, depth: int) -> bool:
    """Return whether the standard library writes a value as `_canonical_parts` would: names as keys; texts, ordinary integers and nulls."""
    kind = type(value)
    if kind is str or value is None:
        return True
    if kind is int:
        return bool(abs(value) < _PLAIN_INTEGER)
    if depth == 0:
        return False
    if kind is dict:
        return all(type(k) is str and k.isascii() and k.isidentifier() and _is_plain(v, depth - 1) for k, v in value.items())
    return kind is list and all(_is_plain(v, depth - 1) for v in value)


def _canonical_parts(value: Any) -> Iterator[str]:
    stack: list[Any] = [value]
    while stack:
        item = stack.pop()
        if isinstance(item, _Text):
            yield item
        elif isinstance(item, dict):
            members = sorted(_by_key_text(item).items(), key=lambda member: member[0])
            stack.append(_CLOSE_DICT)
            for number, (key, child) in enumerate(reversed(members)):
                stack += (child, _Text(f"{key}:" if number == len(members) - 1 else f",{key}:"))
            yield "{"
        elif isinstance(item, list | tuple):
            stack.append(_CLOSE_LIST)
            for number in range(len(item) - 1, -1, -1):
                stack.append(item[number])
                if number:
                    stack.append(_COMMA)
            yield "["
        else:
            yield leaf_text(item)


def _equal_leaves(a: Any, b: Any) -> bool:
    if isinstance(a, str) and isinstance(b, str):
        return str.__eq__(a, b) or (not (a.isascii() or b.isascii()) and leaf_text(a) == leaf_text(b))
    if type(a) is int and type(b) is int:
        return a == b
    return leaf_text(a) == leaf_text(b)


def _by_key_text(item: dict[Any, Any]) -> dict[str, Any]:
    return {leaf_text(key): child for key, child in item.items()}


def leaf_text(value: Any) -> str:
    """Return the canonical text of a value that holds no others; ASCII, and different for different values."""
    if value is None:
        return "null"
    if isinstance(value, str):
        return json.dumps(str.__str__(value))
    if isinstance(value, int | float | Decimal):
        return _number_text(value)
    return _foreign_text(value)


def _number_text(number: float | Decimal) -> str:
    """Return the exact decimal text of a number; a float stands for the shortest decimal that names it."""
    if isinstance(number, int):
        number = int(number)
        if number.bit_length() <= _PLAIN_BITS:
            return str(number)
        return _decimal_text(Decimal(number))
    if isinstance(number, float):
        if number.is_integer() and abs(number) < _EXACT_FLOAT:
            return str(int(number))
        number = Decimal(float.__repr__(number))
    return _decimal_text(number)


def _decimal_text(number: Decimal) -> str:
    if not number.is_finite():
        return "NaN" if number.is_nan() else str(number)
    if not number:
        return "0"
    sign, digits, exponent = number.as_tuple()
    text = "".join(map(str, digits)).lstrip("0")
    stripped = text.rstrip("0")
    shift = int(exponent) + len(text) - len(stripped)
    minus = "-" if sign else ""
    if shift >= 0 and len(stripped) + shift <= _PLAIN_DIGITS:
        return f"{minus}{stripped}{'0' * shift}"
    return f"{minus}{stripped}e{shift}"


def _foreign_text(value: Any) -> str:
    """Name a value JSON has no word for; its `__repr__` is foreign code and may do anything but stop us."""
    try:
        if isinstance(value, set | frozenset):
            return f"<{type(value).__name__} {json.dumps(sorted(map(repr, value)))}>"
        return f"<{type(value).__name__} {json.dumps(repr(value))}>"
    except Exception:  # noqa: BLE001
        return f"<{type(value).__name__}>"


class _Text(str):
    """A piece of finished text among the values still to be written."""

    __slots__ = ()


_COMMA = _Text(",")
_CLOSE_DICT = _Text("}")
_CLOSE_LIST = _Text("]")
