"""Read JSON that a model wrote, as it was written: bounded, strict, exact.

Numbers keep their spelling's type (an `int` stays an int, anything with a point or exponent is a
`Decimal`), duplicate keys are seen, NaN, Infinity and overflowing literals are named, lone surrogates
survive. Values compare exactly at any size, never through a float, and blind to spelling: escapes,
spacing, key order (`json_values` and `json_spelling` do this; their functions are offered here too). Type is a
claim of its own: 4200.0 and 4200, true and 1 are equal values of different types.
Source: tool-call assertions, claims two and three; properties 28 and 29.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from decimal import Decimal
from typing import Any, Literal, NamedTuple

from attest_otel.formats.json_spelling import spell
from attest_otel.formats.json_values import canonical, equal, same_type, type_name

__all__ = ["MAX_DEPTH", "MAX_INTEGER_DIGITS", "MAX_TEXT_CHARS", "Parsed", "Problem", "canonical", "equal", "parse", "same_type", "spell", "type_name"]  # fmt: skip

MAX_TEXT_CHARS = 8 * 1024 * 1024
MAX_DEPTH = 100
MAX_INTEGER_DIGITS = 4300
MAX_DETAILS = 20
MAX_DETAIL_CHARS = 80

Problem = Literal["unparseable", "duplicate_keys", "non_finite"]
_STRING_OR_BRACKET = re.compile(r'"(?:[^"\\]++|\\.)*+(?:"|\\?\Z)|[\[\]{}]', re.DOTALL)
_FLOAT_OVERFLOW = Decimal(2**1024 - 2**970)


class Parsed(NamedTuple):
    """What a text says: its value, and what is wrong with it. `problem=None` means strictly valid JSON.

    With `unparseable` there is no value (None); `over_limit` says that it was a bound of this reader that
    stopped it. With `duplicate_keys` the last one wins in `value`. `details` names the keys or the literals.
    """

    value: Any
    problem: Problem | None = None
    reason: str = ""
    details: tuple[str, ...] = ()
    over_limit: bool = False


class _Irregular(Exception):  # noqa: N818  # a signal to read again with care, not an error
    """A duplicate key or a number that isn't finite: the text needs the slower reading that names it."""


class _OverLimitError(ValueError):
    """A number that this reader refuses to hold."""


def parse(text: str) -> Parsed:
    """Read one JSON text; never raises, whatever the text."""
    if len(text) > MAX_TEXT_CHARS:
        return _over_limit(f"the text has {len(text)} characters; at most {MAX_TEXT_CHARS} are read")
    if _too_deep(text):
        return _over_limit(f"nested deeper than {MAX_DEPTH} levels")
    try:
        return Parsed(_REGULAR.decode(text) if len(text) <= MAX_INTEGER_DIGITS else _REGULAR_LONG.decode(text))
    except _Irregular:
        return _parse_irregular(text)
    except _OverLimitError as error:
        return _over_limit(str(error))
    except (ValueError, RecursionError) as error:
        return Parsed(None, "unparseable", f"not JSON: {error}")


def _over_limit(reason: str) -> Parsed:
    return Parsed(None, "unparseable", reason, over_limit=True)


def _parse_irregular(text: str) -> Parsed:
    duplicates: list[str] = []
    non_finite: list[str] = []
    decoder = json.JSONDecoder(
        object_pairs_hook=_collect_duplicates(duplicates),
        parse_int=_integer,
        parse_float=_collect_non_finite(non_finite),
        parse_constant=_collect_constant(non_finite),
    )
    try:
        value = decoder.decode(text)
    except _OverLimitError as error:
        return _over_limit(str(error))
    except (ValueError, RecursionError) as error:
        return Parsed(None, "unparseable", f"not JSON: {error}")
    if duplicates:
        return Parsed(
            value, "duplicate_keys", f"the key {spell(duplicates[0])} stands more than once in one object", tuple(duplicates)
        )
    return Parsed(value, "non_finite", f"{non_finite[0]} is not a finite number", tuple(non_finite))


def _too_deep(text: str) -> bool:
    if len(text) <= MAX_DEPTH or text.count("{") + text.count("[") <= MAX_DEPTH:
        return False
    depth = 0
    for match in _STRING_OR_BRACKET.finditer(text):
        piece = match[0]
        if piece in "[{":
            depth += 1
            if depth > MAX_DEPTH:
                return True
        elif piece in "]}":
            depth -= 1
    return False


def _regular_pairs(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    result = dict(pairs)
    if len(result) != len(pairs):
        raise _Irregular
    return result


def _regular_float(literal: str) -> Decimal:
    number = _decimal(literal)
    if number is None or number.copy_abs() >= _FLOAT_OVERFLOW:
        raise _Irregular
    return number


def _regular_constant(literal: str) -> Decimal:
    raise _Irregular(literal)


def _integer(literal: str) -> int:
    if len(literal) > MAX_INTEGER_DIGITS:
        raise _OverLimitError(f"a number has more than {MAX_INTEGER_DIGITS} digits")
    return int(literal)


def _decimal(literal: str) -> Decimal | None:
    """Return a literal's exact value; None when it is so large that no exponent can be held."""
    if len(literal) > MAX_INTEGER_DIGITS:
        raise _OverLimitError(f"a number has more than {MAX_INTEGER_DIGITS} digits")
    try:
        number = Decimal(literal)
    except ArithmeticError:
        number = Decimal("NaN")
    if number.is_finite():
        return number
    mantissa, _, exponent = literal.lower().partition("e")
    if not mantissa.strip("-0."):
        return Decimal(0)
    if exponent.startswith("-"):
        raise _OverLimitError(f"the exponent of {literal[:MAX_DETAIL_CHARS]} is too small to be held")
    return None


def _collect_duplicates(found: list[str]) -> Callable[[list[tuple[str, Any]]], dict[str, Any]]:
    def build(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
        result = dict(pairs)
        if len(result) != len(pairs):
            seen: set[str] = set()
            for key, _ in pairs:
                if key in seen and len(found) < MAX_DETAILS:
                    found.append(key[:MAX_DETAIL_CHARS])
                seen.add(key)
        return result

    return build


def _collect_non_finite(found: list[str]) -> Callable[[str], Decimal]:
    def build(literal: str) -> Decimal:
        number = _decimal(literal)
        if number is None:
            number = Decimal("-Infinity" if literal.startswith("-") else "Infinity")
        if number.copy_abs() >= _FLOAT_OVERFLOW and len(found) < MAX_DETAILS:
            found.append(literal[:MAX_DETAIL_CHARS])
        return number

    return build


def _collect_constant(found: list[str]) -> Callable[[str], Decimal]:
    def build(literal: str) -> Decimal:
        if len(found) < MAX_DETAILS:
            found.append(literal)
        return Decimal(literal)

    return build


_REGULAR = json.JSONDecoder(object_pairs_hook=_regular_pairs, parse_float=_regular_float, parse_constant=_regular_constant)
_REGULAR_LONG = json.JSONDecoder(
    object_pairs_hook=_regular_pairs, parse_int=_integer, parse_float=_regular_float, parse_constant=_regular_constant
)
