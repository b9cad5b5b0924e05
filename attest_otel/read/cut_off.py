"""Why a model stopped, where that means that it was cut off: what it was writing then is less than it meant.

A client that parses arguments as they come makes `{}` of text that breaks off, and a call without any
arguments looks the same. Only the reason for the stop tells the two apart.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Any

from attest_otel import attributes as names
from attest_otel.read.span import SpanRecord
from attest_otel.read.values import load_list

_REASONS = frozenset(
    {"length", "max_tokens", "max_output_tokens", "model_length", "model_context_window_exceeded"}
    | {"malformed_function_call", "content_filter", "content-filter", "refusal"}
)
_LISTS = ("gen_ai.response.finish_reasons", "gen_ai.response.stop_reasons")
_SINGLE = (
    "gen_ai.response.finish_reason",
    "gen_ai.completion.0.finish_reason",
    "llm.finish_reason",
    "ai.response.finishReason",
    "anthropic.message.stop_reason",
)
_IN_MESSAGES = re.compile(r'"(?:finish|stop)_reason": ?"([^"\\]{1,40})"')


def cut_off_by(span: SpanRecord) -> str | None:
    """Return the reason for which a model was cut off; None where it came to its own end, or nothing says why it stopped."""
    return next((reason for reason in map(_word, _reasons(span.attributes)) if reason in _REASONS), None)


def _reasons(given: Mapping[str, Any]) -> Iterator[str]:
    for name in _SINGLE:
        if isinstance(given.get(name), str):
            yield given[name]
    listed = [found for name in _LISTS for found in load_list(given.get(name)) if isinstance(found, str)]
    yield from listed
    messages = given.get(names.OUTPUT_MESSAGES)
    if not listed and isinstance(messages, str):
        yield from _IN_MESSAGES.findall(messages)


def _word(reason: str) -> str:
    """Return a reason as its bare word: enumerations of Python write their own name before it."""
    return reason.rpartition(".")[2].casefold()
