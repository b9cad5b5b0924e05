"""What the CEL library says of an expression that it refuses, in words for the person who wrote it.

The library speaks of tokens of its grammar; a person wants to know at which column what was expected,
and which names there are. Only the first of its complaints is told: the others follow from it.
"""

from __future__ import annotations

import re
from collections.abc import Mapping

from attest_otel.suggestions import did_you_mean, listing, shown

MAX_ERROR_CHARS = 300

FUNCTIONS = (
    "size", "has", "exists", "all", "exists_one", "filter", "map", "contains", "startsWith", "endsWith", "matches",
    "int", "uint", "double", "string", "bool", "bytes", "type", "dyn", "duration", "timestamp",
)  # fmt: skip
"""The functions and macros a rule may use."""

_PLACE = re.compile(r"(?:<input>:)?(\d+):(\d+): (.*)", re.DOTALL)
_SYNTAX = re.compile(r"Syntax error: (extraneous|mismatched) input '(.*)' expecting (.*)", re.DOTALL)
_MISSING = re.compile(r"Syntax error: missing (.+) at '(.*)'", re.DOTALL)
_UNREADABLE = re.compile(r"Syntax error: token recognition error at: '(.*)'", re.DOTALL)
_NO_WAY = re.compile(r"Syntax error: no viable alternative at input '(.*)'", re.DOTALL)
_NO_FIELD = re.compile(r"undefined field '(.*)' not found in struct '(?:attest\.)?(\w+)'", re.DOTALL)
_NO_NAME = re.compile(r"undeclared reference to '(.*)' \(in container ''\)", re.DOTALL)
_NO_OVERLOAD = re.compile(r"found no matching overload for '(.*)' applied to '(.*)'", re.DOTALL)
_OTHER_LANGUAGES = {
    "and": "&&", "or": "||", "not": "!", "is": "==", "contains": ".contains('...')", "matches": ".matches('...')",
    "True": "true", "False": "false", "None": "null", "nil": "null", "undefined": "null", "len": "size", "length": "size",
    "any": "exists",
}  # fmt: skip
_QUOTES = "\u201c\u201d\u2018\u2019\u00ab\u00bb\u201e`"
_END = "<EOF>"


def explain(error: str, source: str, fields: Mapping[str, Mapping[str, str]], *, about_call: bool) -> str:
    """Return `column 4: ...` for what the library said of a source; `fields` are those of each kind of value."""
    first = error.removeprefix("INVALID_ARGUMENT: ").split("\n", 1)[0].removeprefix("ERROR: ")
    place = _PLACE.match(first.removesuffix(" [INVALID_ARGUMENT]"))
    if place is None:
        return short(first.removeprefix("CANCELLED: ").removesuffix(" [CANCELLED]"))
    line, column, said = int(place[1]), int(place[2]), place[3]
    lines = source.split("\n")
    before, here = (lines[line - 1][: column - 1], lines[line - 1][column - 1 :]) if line <= len(lines) else ("", "")
    told = _syntax(said, before) or _name(said, here, fields, about_call=about_call) or said
    return f"{f'line {line}, ' if line != 1 else ''}column {column}: {short(told)}"


def short(text: str) -> str:
    """Return the text, cut where it is longer than an error should be."""
    return text if len(text) <= MAX_ERROR_CHARS else f"{text[:MAX_ERROR_CHARS]}…"


def _syntax(said: str, before: str) -> str | None:
    """Say what was expected, and what another language writes here."""
    if (found := _SYNTAX.match(said)) is not None:
        return f"Syntax error: expected {_expected(found[3])}, {_got(found[2])}{_other_language(found[2], before)}"
    if (found := _MISSING.match(said)) is not None:
        return f"Syntax error: expected {found[1]}, {_got(found[2])}"
    if (found := _UNREADABLE.match(said)) is not None:
        return f"Syntax error: {_unreadable(found[1].strip())}"
    found = _NO_WAY.match(said)
    return None if found is None else f"Syntax error: nothing can be made of {shown(found[1])}"


def _expected(tokens: str) -> str:
    if tokens == _END:
        return "an operator (such as && or ==) or the end"
    if "IDENTIFIER" in tokens:
        return "a value (a name, a text, a number, a list)"
    return " or ".join(re.findall(r"'[^']*'", tokens)) or "something else"


def _got(token: str) -> str:
    return "but the expression ends" if token == _END else f"got {shown(token)}"


def _other_language(token: str, before: str) -> str:
    last = re.search(r"\w+(?=\W*\Z)", before)
    word = next((word for word in (token, last[0] if last else "") if word in _OTHER_LANGUAGES), None)
    return "" if word is None else f" (in CEL, {word} is {_OTHER_LANGUAGES[word]})"


def _unreadable(token: str) -> str:
    if token[:1] == "=":
        return "= is no operator: write == to compare"
    if token[:1] in ("&", "|"):
        return f"{token[0]} is no operator: write {token[0] * 2}"
    if token[:1] in ("'", '"'):
        return "the text that begins here is not closed, or holds an escape that CEL does not know"
    if token[:1] and token[0] in _QUOTES:
        return f"{token[0]} is no quotation mark here: write ' or \""
    return f"{shown(token)} means nothing in CEL"


def _name(said: str, here: str, fields: Mapping[str, Mapping[str, str]], *, about_call: bool) -> str | None:
    """Say which names there are where one is unknown, and of what an operator cannot take what it takes."""
    if (found := _NO_FIELD.match(said)) is not None:
        there = fields.get(found[2], {})
        return f"undefined field {shown(found[1])}{_or_else(found[1], there, f'fields of {found[2].lower()}')}"
    if (found := _NO_OVERLOAD.match(said)) is not None:
        return f"found no matching overload for {_operator(found[1])} applied to {found[2].replace('attest.', '')}"
    found = _NO_NAME.match(said)
    if found is None:
        return None
    name = found[1]
    if here.startswith("("):
        if name in FUNCTIONS:
            return f"{name} does not take these arguments"
        return f"undeclared reference to {shown(name)}{_or_else(name, FUNCTIONS, 'known functions')}"
    if not about_call and name.partition(".")[0] == "call":
        return (
            f"undeclared reference to {shown(name)} (a rule without `tool` is about the run: name a tool to ask about its calls)"
        )
    names = ("run", "call") if about_call else ("run",)
    return f"undeclared reference to {shown(name)}{_or_else(name.partition('.')[0], names, 'known variables')}"


def _or_else(name: str, known: Mapping[str, str] | tuple[str, ...], what: str) -> str:
    """Return the likest name there is, else what another language's word is here, and all there are."""
    if name in _OTHER_LANGUAGES:
        return f" (in CEL, {name} is {_OTHER_LANGUAGES[name]})"
    hint = did_you_mean(name, known)
    return f"{hint}{f' {what.capitalize()}' if hint else f'; {what}'}: {listing(known)}"


def _operator(name: str) -> str:
    return "in" if name == "@in" else "[...]" if name == "_[_]" else name.strip("_").replace("_", " ")
