"""Read JSON that a model wrote, as it was written: bounded, strict, exact.

Numbers keep their spelling's type (an `int` stays an int, anything with a point or exponent is a
`Decimal`), duplicate keys are seen, NaN, Infinity and overflowing literals are named, lone surrogates
survive. Values compare exactly at any size, never through a float, and blind to spelling: escapes,
spacing, key order. Type is a claim of its own: 4200.0 and 4200, true and 1 are equal values of
different types. Source: tool-call assertions, claims two and three; properties 28 and 29.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from dataclasses import dataclass
from decimal import Decimal
from typing import Any, Literal

MAX_TEXT_CHARS = 8 * 1024 * 1024
MAX_DEPTH = 100
MAX_INTEGER_DIGITS = 4300

Problem = Literal["unparseable", "duplicate_keys", "non_finite"]
_LONG_DIGITS = re.compile(r"\d{%d}" % (MAX_INTEGER_DIGITS + 1))
_STRING_OR_BRACKET = re.compile(r'"(?:[^"\\]|\\.)*"|[\[\]{}]', re.DOTALL)
_FLOAT_MAX = Decimal("1.7976931348623158e308")


@dataclass(frozen=True, slots=True)
class Parsed:
    """What a text says: its value, and what is wrong with it. `problem=None` means strictly valid JSON.

    With `unparseable` there is no value (None). With `duplicate_keys` the last one wins in `value`;
    `details` names the keys or the literals.
    """

    value: Any
    problem: Problem | None = None
    reason: str = ""
    details: tuple[str, ...] = ()


def parse(text: str) -> Parsed:
    """Read one JSON text; never raises, whatever the text."""
    if len(text) > MAX_TEXT_CHARS:
        return Parsed(None, "unparseable", f"the text has {len(text)} characters; at most {MAX_TEXT_CHARS} are read")
    if _too_deep(text):
        return Parsed(None, "unparseable", f"nested deeper than {MAX_DEPTH} levels")
    if _LONG_DIGITS.search(text) and not _is_quoted(text):
        return Parsed(None, "unparseable", f"a number has more than {MAX_INTEGER_DIGITS} digits")
    duplicates: list[str] = []
    non_finite: list[str] = []
    decoder = json.JSONDecoder(
        object_pairs_hook=_pairs_hook(duplicates), parse_float=_float_hook(non_finite), parse_constant=_constant_hook(non_finite)
    )
    try:
        value = decoder.decode(text)
    except (ValueError, RecursionError) as error:
        return Parsed(None, "unparseable", f"not JSON: {error}")
    if duplicates:
        return Parsed(value, "duplicate_keys", f"the key {duplicates[0]!r} stands more than once in one object", tuple(duplicates))
    if non_finite:
        return Parsed(value, "non_finite", f"{non_finite[0]} is not a finite number", tuple(non_finite))
    return Parsed(value)


def equal(a: Any, b: Any) -> bool:
    """Return whether two JSON values are equal as values: 4200 and 4200.0 are, true and 1 are, "1" and 1 are not."""
    if isinstance(a, dict):
        return isinstance(b, dict) and a.keys() == b.keys() and all(equal(v, b[k]) for k, v in a.items())
    if isinstance(a, list | tuple):
        return isinstance(b, list | tuple) and len(a) == len(b) and all(map(equal, a, b))
    if isinstance(a, str) or a is None or isinstance(b, str) or b is None:
        return type(a) is type(b) and bool(a == b)
    if isinstance(b, dict | list | tuple):
        return False
    return _exact(a) == _exact(b)


def same_type(a: Any, b: Any) -> bool:
    """Return whether two values, equal or not, are of one JSON type all the way down (int, float and bool apart)."""
    if type_name(a) != type_name(b):
        return False
    if isinstance(a, dict):
        return all(same_type(v, b[k]) for k, v in a.items() if k in b)
    if isinstance(a, list | tuple):
        return all(map(same_type, a, b))
    return True


def type_name(value: Any) -> str:
    """Name a value's type as the seed does: int, float, bool, str, null, list or dict."""
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
    return "dict" if isinstance(value, dict) else "list"


def canonical(value: Any) -> str:
    """Return one text for all spellings of a value: the key under which equal arguments are counted.

    Equal values have equal texts: `4200`, `4200.0` and `4.2e3` share one, and so do `true` and `1`.
    """
    if isinstance(value, dict):
        inner = ",".join(f"{json.dumps(str(k))}:{canonical(value[k])}" for k in sorted(value, key=str))
        return f"{{{inner}}}"
    if isinstance(value, list | tuple):
        return f"[{','.join(map(canonical, value))}]"
    if value is None or isinstance(value, str):
        return json.dumps(value)
    return _canonical_number(_exact(value))


def spell(value: Any) -> str:
    """Write a value as JSON for a person to read, numbers as they were spelt where that is known."""
    if isinstance(value, dict):
        return "{" + ", ".join(f"{json.dumps(str(k), ensure_ascii=False)}: {spell(v)}" for k, v in value.items()) + "}"
    if isinstance(value, list | tuple):
        return "[" + ", ".join(map(spell, value)) + "]"
    if isinstance(value, Decimal):
        return str(value)
    try:
        return json.dumps(value, ensure_ascii=False)
    except (TypeError, ValueError):
        return f"<{type(value).__name__}>"


def _exact(number: Any) -> Any:
    """Give a number a form that compares without rounding: a float as the shortest decimal that names it."""
    return Decimal(repr(number)) if isinstance(number, float) else number


def _canonical_number(number: Any) -> str:
    if not isinstance(number, Decimal):
        return str(int(number)) if abs(number) < 10**MAX_INTEGER_DIGITS else hex(number)
    if not number.is_finite():
        return str(number)
    if number == 0:
        return "0"
    sign, digits, exponent = number.as_tuple()
    text = "".join(map(str, digits)).lstrip("0")
    stripped = text.rstrip("0")
    shift = int(exponent) + len(text) - len(stripped)
    minus = "-" if sign else ""
    if 0 <= shift and len(stripped) + shift <= MAX_INTEGER_DIGITS:
        return f"{minus}{stripped}{'0' * shift}"
    return f"{minus}{stripped}e{shift}"


def _too_deep(text: str) -> bool:
    if text.count("{") + text.count("[") <= MAX_DEPTH:
        return False
    depth = 0
    for match in _STRING_OR_BRACKET.finditer(text):
        token = match[0]
        if token in "[{":
            depth += 1
            if depth > MAX_DEPTH:
                return True
        elif token in "]}":
            depth -= 1
    return False


def _is_quoted(text: str) -> bool:
    """Return whether every over-long run of digits stands inside a string, where it is only text."""
    return _LONG_DIGITS.search(re.sub(r'"(?:[^"\\]|\\.)*"', '""', text)) is None


def _pairs_hook(duplicates: list[str]) -> Callable[[list[tuple[str, Any]]], dict[str, Any]]:
    def build(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
        result = dict(pairs)
        if len(result) != len(pairs):
            seen: set[str] = set()
            duplicates.extend(k for k, _ in pairs if k in seen or seen.add(k))  # type: ignore[func-returns-value]
        return result

    return build


def _float_hook(non_finite: list[str]) -> Callable[[str], Decimal]:
    def build(literal: str) -> Decimal:
        try:
            number = Decimal(literal)
        except ArithmeticError:
            non_finite.append(literal[:80])
            return Decimal("Infinity")
        if abs(number) >= _FLOAT_MAX:
            non_finite.append(literal[:80])
        return number

    return build


def _constant_hook(non_finite: list[str]) -> Callable[[str], Decimal]:
    def build(literal: str) -> Decimal:
        non_finite.append(literal)
        return Decimal(literal)

    return build
