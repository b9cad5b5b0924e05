"""Cut values out of JSON text without touching them.

The text between a value's first and last character is what the provider wrote: number spelling, escapes,
duplicate keys, key order and spacing. Values are skipped by the standard library's own scanner, so that
exactly the texts an application can parse can be cut: `NaN` and lone surrogates included, which msgspec
refuses. Malformed text raises ValueError, text nested too deeply RecursionError, and one object or array
with more than `MAX_ITEMS` items TooManyItemsError: no message has so many.
"""

from __future__ import annotations

import json
import re
from collections.abc import Sized

MAX_ITEMS = 4096

Span = tuple[int, int]


class TooManyItemsError(ValueError):
    """An object or an array has more items than are looked at."""


def document_members(text: str) -> dict[str, Span]:
    """Return where each member's value of a document that is one object stands.

    Raises:
        ValueError: the text is anything else, or more.
    """
    members, end = _members(text, 0)
    if _after_space(text, end) != len(text):
        raise ValueError(f"expected nothing more at character {end}")
    return members


def object_members(text: str, start: int) -> dict[str, Span]:
    """Return where each member's value of the object at `start` stands; of duplicate keys the last.

    Raises:
        ValueError: there is no well-formed object at `start`.
    """
    return _members(text, start)[0]


def array_elements(text: str, start: int) -> list[Span]:
    """Return where each element of the array at `start` stands.

    Raises:
        ValueError: there is no well-formed array at `start`.
    """
    elements: list[Span] = []
    at = _open(text, start, "[")
    while text[at : at + 1] != "]":
        _check_count(elements)
        elements.append(_value(text, at))
        at = _next(text, elements[-1][1], "]")
    return elements


def string_at(text: str, span: Span | None) -> str | None:
    """Return the string that stands at `span`, or None where something else does."""
    if span is None or text[span[0]] != '"':
        return None
    value = json.loads(text[span[0] : span[1]])
    return value if isinstance(value, str) else None


def _members(text: str, start: int) -> tuple[dict[str, Span], int]:
    members: dict[str, Span] = {}
    at = _open(text, start, "{")
    while text[at : at + 1] != "}":
        _check_count(members)
        key, end = _SCANNER.raw_decode(text, at)
        if not isinstance(key, str):
            raise ValueError(f"expected a string as key at character {at}")  # noqa: TRY004
        value = _value(text, _expect(text, _after_space(text, end), ":"))
        members[key] = value
        at = _next(text, value[1], "}")
    return members, at + 1


def _check_count(items: Sized) -> None:
    if len(items) >= MAX_ITEMS:
        raise TooManyItemsError(f"more than {MAX_ITEMS} items in one object or array")


def _nothing(_: object) -> None:
    """Stand for a value that nobody looks at: no number is too long to skip."""


_SCANNER = json.JSONDecoder(object_pairs_hook=_nothing, parse_int=_nothing, parse_float=_nothing, parse_constant=_nothing)
_SPACE = re.compile(r"[ \t\n\r]*")


def _after_space(text: str, at: int) -> int:
    found = _SPACE.match(text, at)
    return at if found is None else found.end()


def _expect(text: str, at: int, character: str) -> int:
    if text[at : at + 1] != character:
        raise ValueError(f"expected {character} at character {at}")
    return at + 1


def _open(text: str, start: int, bracket: str) -> int:
    return _after_space(text, _expect(text, _after_space(text, start), bracket))


def _value(text: str, at: int) -> Span:
    begin = _after_space(text, at)
    return begin, _SCANNER.raw_decode(text, begin)[1]


def _next(text: str, end: int, closing: str) -> int:
    at = _after_space(text, end)
    if text[at : at + 1] == closing:
        return at
    at = _after_space(text, _expect(text, at, ","))
    if text[at : at + 1] == closing:
        raise ValueError(f"expected a value at character {at}")
    return at
