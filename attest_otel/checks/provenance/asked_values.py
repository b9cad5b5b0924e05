"""Which values of a call's arguments are asked where they come from, and which are not.

Asked about: numbers above ten; dates; identifiers, addresses and names; in longer text only the
identifiers and addresses inside it. Not asked about: true, false and null; what the tool's schema declares
(enum, const, default); small numbers and counts; idempotency keys and other generated tokens; the
agent's own wording (reasons, subjects, messages) and thinking; how a tool is to work (limits, pages, time-outs); names
it gives to files; the programs given to shell-like tools.
"""

# ruff: noqa: SIM905  # a list of words
from __future__ import annotations

import math
import re
from decimal import Decimal
from functools import lru_cache
from typing import Any, NamedTuple

from attest_otel.checks.provenance.grounding import has_digit, is_identifier
from attest_otel.trajectory import Tool

MAX_VALUES_PER_CALL = 1_000
MAX_IDENTIFIERS_PER_TEXT = 50
MAX_TEXT_CHARS = 20_000
MAX_DEPTH = 32
MAX_NAME_CHARS = 64
MAX_CODE_CHARS = 3
SMALL_NUMBER = 10

_GENERATED = re.compile(r"idempot|nonce|correlation|request_?id|trace_?id|client_?token|^uuid$|session_?id", re.IGNORECASE)
_THINKING = frozenset({"thought", "thoughts", "thinking", "reasoning", "rationale", "reflection", "plan"})
_TECHNICAL = frozenset(
    "limit offset page page_size per_page max_results top_k timeout timeout_seconds timeout_ms retries max_retries".split()
)
_FILE_NAME = re.compile(r"[\w. -]{1,120}\.[A-Za-z][A-Za-z0-9]{1,4}")
_NAME_PART = re.compile(r"[A-Za-z0-9]+")
_NAMED = re.compile(
    r"name|recipient|payee|beneficiary|passenger|customer|owner|^to$|attendee|assignee|city|address|receiver", re.IGNORECASE
)
_ADDRESS = re.compile(r"[\w.+-]{1,64}@[\w-]{1,63}(?:\.[\w-]{1,63}){1,5}|https?://([\w.-]{1,253})")
_WORD = re.compile(r"[\w-]{5,80}")
_TIME = re.compile(r"\d{1,2}:\d{2}|\d{4}-\d{2}-\d{2}")
_SIZE = re.compile(r"[a-z]{0,2}\d{1,2}[a-z]{0,2}")
_SIZE_CHARS = 6
_OPAQUE_CHARS = 200


class Asked(NamedTuple):
    """One value to look for: its path, the value, and what of it has to be found."""

    path: str
    value: Any
    kind: str
    parts: tuple[str, ...]


def asked_values(arguments: dict[str, Any], tool: Tool | None) -> list[Asked]:
    """Return the values of a call that must come from somewhere, in order; of its first thousand values."""
    if tool is None:
        return _Asking(None).collect(arguments, "$", "", None, 0)
    if tool.repeatable or tool.retry_scope == "arguments":
        return []
    return _Asking(tool.idempotency_key).collect(arguments, "$", "", tool.input_schema, 0)


class _Asking:
    """Walks the arguments of one call."""

    __slots__ = ("_found", "_key", "_left")

    def __init__(self, idempotency_key: str | None) -> None:
        self._key = idempotency_key
        self._left = MAX_VALUES_PER_CALL
        self._found: list[Asked] = []

    def collect(self, value: Any, path: str, name: str, rule: Any, depth: int) -> list[Asked]:
        """Look at a value, or at all that an object or list holds, beside what the schema says there."""
        if self._left <= 0 or depth > MAX_DEPTH:
            return self._found
        if isinstance(value, dict):
            rules = _members(rule, "properties")
            for key, child in value.items():
                self.collect(child, f"{path}.{key}", key, rules.get(key), depth + 1)
        elif isinstance(value, list):
            items = _members(rule, "items")
            for number, child in enumerate(value):
                self.collect(child, f"{path}[{number}]", name, items, depth + 1)
        else:
            self._left -= 1
            self._look_at(value, path, name, rule)
        return self._found

    def _look_at(self, value: Any, path: str, name: str, rule: Any) -> None:
        if value is None or isinstance(value, bool) or name == self._key or _needs_no_source(name) or _is_declared(value, rule):
            return
        asked = _asked(path, name, value)
        if asked is not None:
            self._found.append(asked)


def _members(rule: Any, keyword: str) -> dict[str, Any]:
    found = rule.get(keyword) if isinstance(rule, dict) else None
    return found if isinstance(found, dict) else {}


def _needs_no_source(name: str) -> bool:
    return _is_own_wording(name) if len(name) <= MAX_NAME_CHARS else _GENERATED.search(name) is not None


@lru_cache(maxsize=1024)
def _is_own_wording(name: str) -> bool:
    return name in _THINKING or name in _TECHNICAL or _GENERATED.search(name) is not None


def _asked(path: str, name: str, value: Any) -> Asked | None:
    if not isinstance(value, str) and isinstance(value, int | float | Decimal):
        is_held = isinstance(value, int) or math.isfinite(value)
        return Asked(path, value, "number", ()) if is_held and not -SMALL_NUMBER <= value <= SMALL_NUMBER else None
    text = str(value).strip()
    if len(text) > _OPAQUE_CHARS or " " in text or "\n" in text:
        return _in_text(path, name, value, text)
    if _TIME.match(text):
        return Asked(path, value, "date", (text,)) if text[:4].isdigit() else None
    if "@" in text or "://" in text:
        return _addresses(path, value, text)
    if text.startswith(("/", "~", ".")) or "/" in text:
        return _identifiers(path, value, text)
    if has_digit(text):
        if _FILE_NAME.fullmatch(text):
            parts = tuple(dict.fromkeys(word for word in _NAME_PART.findall(text) if is_identifier(word)))
            return Asked(path, value, "text", parts) if parts else None
        return Asked(path, value, "identifier", (text,)) if _digits(text) else None
    if (
        "_" in text.strip("_")
        or (text[:1].isupper() and _NAMED.search(name))
        or (text.isupper() and text.isalpha() and len(text) > MAX_CODE_CHARS)
    ):
        return Asked(path, value, "name", (text,)) if len(text) > 1 else None
    return None


def _digits(text: str) -> bool:
    """Whether a text with digits says more than a small number or a size."""
    return len(text) > _SIZE_CHARS or (len(text) > 2 and _SIZE.fullmatch(text) is None)  # noqa: PLR2004


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


def _is_declared(value: Any, rule: Any) -> bool:
    if not isinstance(rule, dict):
        return False
    listed = rule.get("enum")
    return (
        (isinstance(listed, list) and value in listed)
        or ("const" in rule and value == rule["const"])
        or ("default" in rule and value == rule["default"])
    )
