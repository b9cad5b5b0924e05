"""Valid and useful are two bars: is a call's query a real string, and does it share a word with the task?

The rule is the lesson's, word for word: text is lower-cased, everything but letters, digits and white
space splits it, and words of three letters or more that aren't stop words count. Scripts that write no
spaces have no such words: there two characters side by side count. A query that is
missing or blank is invalid, and an invalid query is no good query. `is_valid_call` and `has_good_query`
are the batch numbers' view of a call; None where there is nothing to judge.
Source: the lesson on tool-call correctness; DESIGN 3 rule 7.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from functools import lru_cache
from itertools import pairwise
from typing import Any

from attest_otel.checks.arguments.schema import compile_schema
from attest_otel.checks.view import Call, RunView
from attest_otel.trajectory import Tool

STOP_WORDS = frozenset(
    [
        "what",
        "does",
        "the",
        "a",
        "an",
        "is",
        "are",
        "how",
        "much",
        "long",
        "for",
        "when",
        "you",
        "do",
        "did",
        "of",
        "to",
        "and",
        "that",
        "this",
        "there",
        "everything",
        "thats",
        "read",
    ]
)
MIN_WORD_CHARS = 3
_WIDE = re.compile("[\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff\u2e80-\ud7af\uf900-\ufaff]")
MAX_TEXT_CHARS = 100_000


def content_words(text: str) -> set[str]:
    """Return the words of a text that carry meaning; of a longer text than `MAX_TEXT_CHARS` its beginning counts."""
    spaced = "".join(c.lower() if c.isalnum() or c.isspace() else " " for c in text[:MAX_TEXT_CHARS])
    words = spaced.split()
    found = {word for word in words if len(word) >= MIN_WORD_CHARS and word not in STOP_WORDS}
    if not text.isascii():
        found.update(pair for word in words if _WIDE.search(word) for pair in map("".join, pairwise(word)))
    return found


def is_valid_call(view: RunView, call: Call) -> bool | None:
    """Return the lesson's argument validity: an object, valid by the tool's schema, with every required query a real string.

    None where nothing can tell: no arguments were recorded, or the tool has neither a usable schema nor
    declared query arguments.
    """
    parsed = call.parsed
    if parsed is None or call.call.arguments_fidelity == "absent":
        return None
    if parsed.problem is not None or call.arguments is None:
        return False
    tool = call.tool
    if tool is None:
        return None
    valid = compile_schema(tool.input_schema).is_valid(call.arguments)
    if valid is False or not _required_queries_hold(tool, call.arguments):
        return False
    return True if valid or tool.query_arguments else None


def has_good_query(view: RunView, call: Call) -> bool | None:
    """Return whether the call's query shares a content word with the task; False for an invalid call.

    None where the tool declares no query arguments or the call leaves them out, as it may; where the run
    has no task; and where the arguments aren't recorded.
    """
    if call.tool is None or not call.tool.query_arguments or view.run.task is None:
        return None
    valid = is_valid_call(view, call)
    if not valid:
        return valid
    arguments = call.arguments or {}
    if not any(arguments.get(name) is not None for name in call.tool.query_arguments):
        return None
    return shares_a_word(query_text(call.tool, arguments), view.run.task)


def shares_a_word(query: str, task: str) -> bool:
    """Return whether a query and the task have a content word in common."""
    return not content_words(query).isdisjoint(_task_words(task[:MAX_TEXT_CHARS]))


def query_text(tool: Tool, arguments: Mapping[str, Any]) -> str:
    """Return the texts of all declared query arguments, one a line."""
    return "\n".join(text for name in tool.query_arguments for text in _texts(arguments.get(name)))


def required_queries(tool: Tool) -> list[str]:
    """Return the query arguments a call must have: those the schema requires; all of them where there is no schema."""
    if tool.input_schema is None:
        return tool.query_arguments
    required = tool.input_schema.get("required")
    return [name for name in tool.query_arguments if isinstance(required, list) and name in required]


@lru_cache(maxsize=8)
def _task_words(task: str) -> frozenset[str]:
    return frozenset(content_words(task))


def _required_queries_hold(tool: Tool, arguments: Mapping[str, Any]) -> bool:
    return all(any(text.strip() for text in _texts(arguments.get(name))) for name in required_queries(tool))


def _texts(value: Any) -> list[str]:
    if isinstance(value, str):
        return [value]
    return [item for item in value if isinstance(item, str)] if isinstance(value, list) else []
