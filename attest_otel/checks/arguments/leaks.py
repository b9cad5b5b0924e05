"""Texts that stand in an argument by mistake: tool-call markup, placeholder words, blanks.

Markup counts only when it belongs to a tool-call protocol. Special tokens leak wherever they stand. An
element leaks when its tag has no partner; a whole one leaks too if only tool calls have such elements
(`tool_call`, `function_calls`), unless the argument holds a document. Placeholders are whole values, never parts of one.
Source: DESIGN 3 rule 7.
"""

from __future__ import annotations

import re

MAX_SCANNED_CHARS = 1_000_000
MAX_PLACEHOLDER_CHARS = 80

_TAG = re.compile(
    r"<(/?)(?:[a-z]{1,20}:)?(parameter|invoke|function|function_calls?|tool_calls?|tool_use|tool_response|arg_key|arg_value)(?=[\s=>/])([^<>]{0,200})>"
)
_SPECIAL = re.compile(
    r"<[|\uff5c](?:/?tool|im_start|im_end|im_sep|python_tag|eom_id|eot_id|start_header_id|end_header_id|channel|call|recipient|assistant|fim_|endoftext)"
    r"[^<>|\uff5c\n]{0,60}[|\uff5c]>"
    r"|\[/?TOOL_(?:CALLS?|REQUEST|RESULTS?|END)\]|\[END_TOOL_REQUEST\]|```tool_(?:code|calls?|use)\b"
)
_ORDINARY = frozenset({"parameter", "invoke", "function"})
_HOLDS_A_DOCUMENT = re.compile(r"content|file_text|body|code|patch|diff|source|new_|old_|html|xml|markdown|script|command|input")
_WORDS = frozenset(
    {"null", "undefined", "string", "todo", "tbd", "fixme", "placeholder", "[object object]", "...", "…", "##", "lorem ipsum"}
)
_TYPE_WORDS = frozenset({"string", "null", "undefined"})
_SLOT_STARTS = ("your", "insert", "enter", "replace")
_SHOUTED = re.compile(r"(?:YOUR|INSERT|ENTER|REPLACE)(?:[_-][A-Z0-9]+)+|[A-Z0-9]+(?:[_-][A-Z0-9]+)*[_-]HERE")
_YOUR = re.compile(
    r"your(?:_[a-z0-9]+)+|your(?:-[a-z0-9]+)*-(?:key|token|id|secret|password|email|url|project|domain|username)|(?:insert|enter|replace)_(?:your|the)(?:_[a-z0-9]+)+"
)
_ENCLOSED = re.compile(
    r"<([a-z][a-z0-9 _.-]{0,60})>|\{\{ ?([a-z][a-z0-9 _.-]{0,60}) ?\}\}|\[((?:your|insert|enter)[ _-][a-z0-9 _-]{1,60})\]"
)
_SLOT_NAMES = frozenset(
    [
        "id",
        "name",
        "email",
        "value",
        "token",
        "key",
        "url",
        "path",
        "date",
        "number",
        "amount",
        "address",
        "phone",
        "username",
        "password",
        "user",
        "query",
        "text",
        "city",
    ]
)
_EMPTY_MEANS_SOMETHING = re.compile(
    r"new_|replac|content|file_text|(?:^|_)(?:value|separator|delimiter|sep|prefix|suffix|default|stdin|new)(?:$|_)"
)
_WORD = re.compile(r"[A-Z]?[a-z0-9]+|[A-Z]+")


def may_be_out_of_place(text: str) -> bool:
    """Return whether a text has to be read for markup, placeholders and blanks; False is sure, whatever its key."""
    if "<" in text or "[" in text or "`" in text:
        return True
    if len(text) > MAX_PLACEHOLDER_CHARS:
        return text.isspace()
    word = text.strip().lower()
    return word in _WORDS or not word or word[0] == "{" or word.startswith(_SLOT_STARTS) or word.endswith("here")


def leaked_markup(text: str, key: str) -> str | None:
    """Return the first piece of tool-call markup that leaked into a text under this key, or None."""
    if "<" not in text and "[" not in text and "```tool_" not in text:
        return None
    text = text[:MAX_SCANNED_CHARS]
    special = _SPECIAL.search(text) if "<|" in text or "<\uff5c" in text or "TOOL_" in text or "```tool_" in text else None
    if special is not None:
        return special[0]
    return _leaked_tag(text, _HOLDS_A_DOCUMENT.search(key.lower()) is not None) if "<" in text else None


def _leaked_tag(text: str, is_document: bool) -> str | None:
    open_tags: list[tuple[str, str]] = []
    for match in _TAG.finditer(text):
        closing, name, attributes = match[1], match[2], match[3]
        if not is_document and name not in _ORDINARY:
            return match[0]
        if attributes.endswith("/"):
            continue
        if not closing:
            open_tags.append((name, match[0]))
        elif open_tags and open_tags[-1][0] == name:
            open_tags.pop()
        else:
            return open_tags[0][1] if open_tags else match[0]
    return open_tags[0][1] if open_tags else None


def is_placeholder(text: str, key: str) -> bool:
    """Return whether a text, under the key it stands for, is a word that only holds the place of a value."""
    if not text or len(text) > MAX_PLACEHOLDER_CHARS:
        return False
    word = text.strip().lower()
    if word in _WORDS:
        return not (word in _TYPE_WORDS and "type" in key.lower())
    if word[:1] in "<{[":
        return _is_slot(word, key)
    if not word.startswith(_SLOT_STARTS) and not word.endswith("here"):
        return False
    return _SHOUTED.fullmatch(text.strip()) is not None or _YOUR.fullmatch(word) is not None


def _is_slot(word: str, key: str) -> bool:
    match = _ENCLOSED.fullmatch(word)
    if match is None:
        return False
    name = match[1]
    if name is None:
        return True
    words = [part for part in re.split(r"[ _.-]+", name) if part]
    if len(words) > 1 or name in _SLOT_NAMES:
        return True
    return name in {part.lower() for part in _WORD.findall(key)}


def blank_is_a_value(key: str) -> bool:
    """Return whether leaving a text of this name empty says something: a replacement, a file's content, a separator."""
    return _EMPTY_MEANS_SOMETHING.search(key.lower()) is not None
