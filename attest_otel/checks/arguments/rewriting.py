"""What the dispatcher did to the arguments between the model and the handler: raw value against received value.

Key order and spelling are never rewriting. What is, has a kind and a severity:

- `value` (fail): another value stands there, or text that isn't an arguments object was made into one.
- `type` (warn): the same value in another type: 4200.0 and 4200, true and 1, "4200" and 4200, "x" and ["x"].
- `encoding` (warn): JSON text was decoded once more, or a literal was rounded to the nearest double.
- `keys`: warn when the handler got what leaving the key out means (the schema's default, a null for an
  optional key, a null left out), a key the schema doesn't declare (run-time context), or a declared key under
  another name; fail when an emitted key was dropped or renamed, or a declared one was filled in.

Source: tool-call assertions ("your dispatcher is rewriting the model's intent"); DESIGN 3, table and rule 5.
"""

from __future__ import annotations

import html
from collections.abc import Iterator
from dataclasses import dataclass
from decimal import Decimal
from enum import Enum
from itertools import islice
from typing import Any, Literal

from attest_otel.checks.arguments.declared import declared_at, is_declared, is_required
from attest_otel.checks.arguments.schema import ABSENT, Path
from attest_otel.findings import Severity
from attest_otel.formats import strict_json

Kind = Literal["value", "type", "encoding", "keys"]
_PLAIN = frozenset({str, int, bool, type(None)})
_LITERALS = {"true": True, "false": False, "null": None}


@dataclass(frozen=True, slots=True)
class Rewrite:
    """One difference between what the model emitted and what the handler got."""

    kind: Kind
    severity: Severity
    path: Path
    emitted: Any
    received: Any
    reason: str


def is_plainly_same(emitted: Any, received: Any) -> bool:
    """Return whether two flat objects of plain values are surely the same: the quick answer for nearly every call."""
    if type(emitted) is not dict or type(received) is not dict or len(emitted) != len(received):
        return False
    for key, after in received.items():
        before = emitted.get(key, ABSENT)
        if type(after) not in _PLAIN or type(before) is not type(after) or before != after:
            return False
    return True


def find_rewrites(emitted: Any, received: Any, schema: Any, limit: int) -> list[Rewrite]:
    """Return the first `limit` differences, in the order of the emitted keys; [] for equal values of equal types."""
    if strict_json.equal(emitted, received) and strict_json.same_type(emitted, received):
        return []
    if isinstance(received, str) and _decodes_to(received, emitted):
        return []
    if not isinstance(emitted, dict):
        return [_remade(emitted, received)]
    return list(islice(_compare(emitted, received, schema, ()), limit))


def repaired(raw: str, received: Any) -> Rewrite | None:
    """Return the rewriting of a text that isn't JSON; None where the handler got the text as it was."""
    if received == raw:
        return None
    return Rewrite(
        "value", "fail", (), raw, received, "the text isn't JSON, and the handler got arguments: they were made up by a repair"
    )


def _remade(emitted: Any, received: Any) -> Rewrite:
    if isinstance(emitted, str) and _decodes_to(emitted, received):
        return Rewrite(
            "encoding", "warn", (), emitted, received, "the model emitted JSON text in a string, and it was decoded a second time"
        )
    return Rewrite("value", "fail", (), emitted, received, "the model emitted no object, and the handler got one made from it")


def _compare(emitted: Any, received: Any, schema: Any, path: Path) -> Iterator[Rewrite]:
    if isinstance(emitted, dict) and isinstance(received, dict):
        yield from _compare_objects(emitted, received, schema, path)
    elif isinstance(emitted, list | tuple) and isinstance(received, list | tuple) and len(emitted) == len(received):
        for index, (before, after) in enumerate(zip(emitted, received, strict=True)):
            yield from _compare(before, after, schema, (*path, index))
    else:
        change = _leaf_change(emitted, received)
        if change is not None:
            kind, reason = change
            yield Rewrite(kind, "fail" if kind == "value" else "warn", path, emitted, received, reason)


def _compare_objects(emitted: dict[Any, Any], received: dict[Any, Any], schema: Any, path: Path) -> Iterator[Rewrite]:
    added = {key: received[key] for key in received if key not in emitted}
    for key, before in emitted.items():
        here = (*path, key)
        if key in received:
            yield from _compare(before, received[key], schema, here)
            continue
        renamed = next((k for k, v in added.items() if strict_json.equal(before, v) and before is not None), None)
        if renamed is not None:
            yield _renamed(here, renamed, before, added.pop(renamed), is_declared(schema, here))
        elif before is None and not is_required(schema, here):
            yield Rewrite("keys", "warn", here, before, ABSENT, "an explicit null of an optional key was left out")
        else:
            yield Rewrite("keys", "fail", here, before, ABSENT, "the key was dropped: the handler never got it")
    for key, after in added.items():
        yield _added((*path, key), after, schema)


def _renamed(path: Path, name: Any, before: Any, after: Any, declared: bool) -> Rewrite:
    reason = f"the handler got the value under the key {strict_json.spell(name, 80)}"
    if declared:
        return Rewrite("keys", "warn", path, before, after, f"{reason}, another name for a declared key")
    return Rewrite("keys", "fail", path, before, after, f"{reason}: a key the schema doesn't declare was repaired")


def _added(path: Path, after: Any, schema: Any) -> Rewrite:
    if not is_declared(schema, path):
        return Rewrite("keys", "warn", path, ABSENT, after, "the dispatcher added a key that the schema doesn't declare")
    defaults = [part["default"] for part in declared_at(schema, path) if "default" in part]
    if any(strict_json.equal(default, after) for default in defaults):
        return Rewrite("keys", "warn", path, ABSENT, after, "the schema's default was filled in")
    if after is None and not is_required(schema, path):
        return Rewrite("keys", "warn", path, ABSENT, after, "a null was filled in for an optional key")
    return Rewrite("keys", "fail", path, ABSENT, after, "the dispatcher filled in a value that the model didn't emit")


def _leaf_change(emitted: Any, received: Any) -> tuple[Kind, str] | None:
    if strict_json.equal(emitted, received):
        if strict_json.same_type(emitted, received):
            return None
        return "type", f"the same value as {_type_of(emitted)} became {_type_of(received)}"
    if isinstance(received, Enum):
        return _leaf_change(emitted, received.value)
    if _is_rounded(emitted, received):
        return "encoding", "the number was rounded to the nearest double"
    if isinstance(emitted, str):
        return _text_change(emitted, received)
    if isinstance(received, str) and not isinstance(emitted, dict | list) and _spells(received, emitted):
        return "type", f"{_type_of(emitted)} became text that spells it"
    if _is_wrapped(emitted, received):
        return "type", "the value was put into a list or taken out of one"
    return "value", "another value"


def _text_change(emitted: str, received: Any) -> tuple[Kind, str]:
    if isinstance(received, str):
        return "value", _how_text_changed(emitted, received)
    if isinstance(received, dict | list | tuple):
        if _is_wrapped(emitted, received):
            return "type", "the value was put into a list"
        if _decodes_to(emitted, received):
            return "encoding", "JSON text in a string was decoded"
        return "value", "another value"
    if received is None or isinstance(received, bool | int | float | Decimal):
        return (
            ("type", f"text that spells a value became {_type_of(received)}")
            if _spells(emitted, received)
            else ("value", "another value")
        )
    return ("type", f"text became {_type_of(received)}") if _is_text_of(emitted, received) else ("value", "another value")


def _how_text_changed(emitted: str, received: str) -> str:
    if html.unescape(emitted) == received:
        return "HTML entities were decoded"
    if html.escape(emitted) == received or html.escape(emitted, quote=False) == received:
        return "characters were escaped as HTML entities"
    if emitted.strip() == received.strip():
        return "white space at an end was added or removed"
    if received and emitted.startswith(received):
        return "the text was cut"
    return "another text"


def _spells(text: str, value: Any) -> bool:
    """Return whether a text is the JSON or Python spelling of a scalar."""
    word = text.strip().lower()
    if word in _LITERALS or word == "none":
        return _LITERALS.get(word) is value
    if isinstance(value, bool) or value is None:
        return False
    parsed = strict_json.parse(word.removeprefix("+"))
    return (
        parsed.problem is None
        and strict_json.type_name(parsed.value) in ("int", "float")
        and strict_json.equal(parsed.value, value)
    )


def _decodes_to(text: str, value: Any) -> bool:
    if not isinstance(value, dict | list | tuple):
        return False
    for _ in range(3):
        parsed = strict_json.parse(text)
        if parsed.problem is not None:
            return False
        if strict_json.equal(parsed.value, value):
            return True
        if not isinstance(parsed.value, str):
            return False
        text = parsed.value
    return False


def _is_rounded(emitted: Any, received: Any) -> bool:
    if not isinstance(emitted, Decimal) or not isinstance(received, float):
        return False
    return float(emitted) == received or (emitted.is_nan() and received != received)  # noqa: PLR0124  # NaN


def _is_wrapped(emitted: Any, received: Any) -> bool:
    if isinstance(received, list | tuple) and not isinstance(emitted, list | tuple):
        return len(received) == 1 and strict_json.equal(received[0], emitted)
    if isinstance(emitted, list | tuple) and not isinstance(received, list | tuple):
        return len(emitted) == 1 and strict_json.equal(emitted[0], received)
    return False


def _is_text_of(text: str, value: Any) -> bool:
    """Return whether a handler's object (a date, a path, an id) is written as this text; its methods are foreign code."""
    try:
        return text == str(value) or (hasattr(value, "isoformat") and text == value.isoformat())
    except Exception:  # noqa: BLE001
        return False


def _type_of(value: Any) -> str:
    return strict_json.type_name(value)
