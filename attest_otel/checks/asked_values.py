"""Which values of a call's arguments are asked where they come from, and which are not.

Asked about: numbers above ten; dates; identifiers, addresses and names; in longer text only the
identifiers and addresses inside it. Not asked about: true, false and null; what the tool's schema declares
(enum, const, default); small numbers and counts; idempotency keys and other generated tokens; the
agent's own wording (reasons, subjects, messages) and thinking; the programs given to shell-like tools.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from attest_otel.checks.grounding import is_identifier
from attest_otel.trajectory import Tool

MAX_VALUES_PER_CALL = 1_000
MAX_IDENTIFIERS_PER_TEXT = 50
MAX_TEXT_CHARS = 20_000
MAX_DEPTH = 32
SMALL_NUMBER = 10

_GENERATED = re.compile(r"idempot|nonce|correlation|request_?id|trace_?id|client_?token|^uuid$|session_?id", re.IGNORECASE)
_THINKING = frozenset({"thought", "thoughts", "thinking", "reasoning", "rationale", "reflection", "plan"})
_NAMED = re.compile(r"name|recipient|payee|beneficiary|passenger|customer|owner|^to$|attendee|assignee|city|address|receiver", re.IGNORECASE)
_ADDRESS = re.compile(r"[\w.+-]{1,64}@[\w-]{1,63}(?:\.[\w-]{1,63}){1,5}|https?://([\w.-]{1,253})")
_WORD = re.compile(r"[\w-]{5,80}")
_TIME = re.compile(r"\d{1,2}:\d{2}|\d{4}-\d{2}-\d{2}")
_OPAQUE_CHARS = 200


@dataclass(frozen=True, slots=True)
class Asked:
    """One value to look for: its path, the value, and what of it has to be found."""

    path: str
    value: Any
    kind: str
    parts: tuple[str, ...]


def asked_values(arguments: dict[str, Any], tool: Tool | None) -> Iterator[Asked]:
    """Yield the values of a call that must come from somewhere, at most a thousand."""
    if tool is not None and (tool.repeatable or tool.retry_scope == "arguments"):
        return
    schema = tool.input_schema if tool is not None else None
    key = tool.idempotency_key if tool is not None else None
    for path, name, value, declared in _leaves(arguments, schema):
        if value is None or isinstance(value, bool) or name == key or value in declared or name in _THINKING or _GENERATED.search(name):
            continue
        asked = _asked(path, name, value)
        if asked is not None:
            yield asked


def _asked(path: str, name: str, value: Any) -> Asked | None:
    if isinstance(value, int | float):
        return Asked(path, value, "number", ()) if abs(value) > SMALL_NUMBER else None
    text = str(value).strip()
    if len(text) > _OPAQUE_CHARS or " " in text or "\n" in text:
        return _in_text(path, name, value, text)
    if _TIME.match(text):
        return Asked(path, value, "date", (text,)) if text[:4].isdigit() else None
    if "@" in text or "://" in text:
        return _addresses(path, value, text)
    if text.startswith(("/", "~", ".")) or "/" in text:
        return _identifiers(path, value, text)
    if any(c.isdigit() for c in text):
        return Asked(path, value, "identifier", (text,)) if _digits(text) else None
    if "_" in text.strip("_") or (text[:1].isupper() and _NAMED.search(name)) or (text.isupper() and text.isalpha() and len(text) > 3):  # noqa: PLR2004
        return Asked(path, value, "name", (text,)) if len(text) > 1 else None
    return None


def _digits(text: str) -> bool:
    """Whether a text with digits says more than a small number or a size."""
    return len(text) > 2 and not re.fullmatch(r"[a-z]{0,2}\d{1,2}[a-z]{0,2}", text)  # noqa: PLR2004


def _in_text(path: str, name: str, value: Any, text: str) -> Asked | None:
    words = text.split()
    if 2 <= len(words) <= 4 and _NAMED.search(name) and all(word[:1].isupper() for word in words):  # noqa: PLR2004
        return Asked(path, value, "words", (text,))
    if len(text) > _OPAQUE_CHARS and len(words) == 1:
        return None
    addresses = _addresses(path, value, text[:MAX_TEXT_CHARS])
    identifiers = _identifiers(path, value, text[:MAX_TEXT_CHARS])
    parts = (*(addresses.parts if addresses else ()), *(identifiers.parts if identifiers else ()))
    return Asked(path, value, "text", parts) if parts else None


def _addresses(path: str, value: Any, text: str) -> Asked | None:
    parts = dict.fromkeys((match[1] or match[0]).rstrip(".-") for match in _ADDRESS.finditer(text))
    return Asked(path, value, "address", tuple(parts)[:MAX_IDENTIFIERS_PER_TEXT]) if parts else None


def _identifiers(path: str, value: Any, text: str) -> Asked | None:
    """Ask for what looks like a reference: capitals or underscores with digits, or five digits in a row."""
    bare = _ADDRESS.sub(" ", text)
    parts = dict.fromkeys(word for word in _WORD.findall(bare) if _is_reference(word))
    return Asked(path, value, "text", tuple(parts)[:MAX_IDENTIFIERS_PER_TEXT]) if parts else None


def _is_reference(word: str) -> bool:
    if not is_identifier(word) or _TIME.match(word):
        return False
    digits = sum(c.isdigit() for c in word)
    return (digits >= 3 and any(c.isupper() for c in word)) or (digits >= 4 and "_" in word) or (word.isdigit() and digits >= 5)  # noqa: PLR2004


def _leaves(arguments: dict[str, Any], schema: Any) -> Iterator[tuple[str, str, Any, tuple[Any, ...]]]:
    """Yield path, argument name, value and declared values of every leaf, in order."""
    pending: list[tuple[str, str, Any, Any, int]] = [("$", "", arguments, schema, 0)]
    for _ in range(MAX_VALUES_PER_CALL):
        if not pending:
            return
        path, name, value, rule, depth = pending.pop()
        if isinstance(value, dict) and depth < MAX_DEPTH:
            rules = rule.get("properties") if isinstance(rule, dict) else None
            rules = rules if isinstance(rules, dict) else {}
            pending.extend((f"{path}.{k}", k, v, rules.get(k), depth + 1) for k, v in reversed(value.items()))
        elif isinstance(value, list) and depth < MAX_DEPTH:
            items = rule.get("items") if isinstance(rule, dict) else None
            pending.extend((f"{path}[{i}]", name, v, items, depth + 1) for i, v in reversed(list(enumerate(value))))
        elif not isinstance(value, dict | list):
            yield path, name, value, _declared(rule)


def _declared(rule: Any) -> tuple[Any, ...]:
    if not isinstance(rule, dict):
        return ()
    listed = rule.get("enum")
    values = listed if isinstance(listed, list) else []
    return (*values, *(rule[k] for k in ("const", "default") if k in rule))
