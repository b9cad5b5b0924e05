"""What the whole request says beyond its flattened messages: which results the model was told are errors.

OpenInference flattens a conversation without Anthropic's `is_error` and Bedrock's `status`; the request
itself, which it writes down beside it, has them.
"""

from __future__ import annotations

import re
from collections import defaultdict, deque
from dataclasses import replace
from typing import Any

from attest_otel.read.facts import Message, ToolResult
from attest_otel.read.messages import read_messages
from attest_otel.read.values import load

_MARKED = re.compile(r'"is_error": ?true|"status": ?"error"')


def with_error_marks(inputs: tuple[Message, ...] | None, request: Any) -> tuple[Message, ...] | None:
    """Return the messages with the results marked as errors that the request marks; ids that repeat are told by order."""
    if not inputs or not isinstance(request, str) or _MARKED.search(request) is None:
        return inputs
    body = load(request)
    marks: dict[str, deque[bool | None]] = defaultdict(deque)
    for message in read_messages(body.get("messages") if isinstance(body, dict) else body):
        for result in message.results:
            marks[result.call_id or ""].append(result.is_error)
    return tuple(replace(message, results=tuple(_marked(result, marks) for result in message.results)) for message in inputs)


def _marked(result: ToolResult, marks: dict[str, deque[bool | None]]) -> ToolResult:
    own = marks.get(result.call_id or "")
    is_error = own.popleft() if own else None
    return result if is_error is None or result.is_error is not None else replace(result, is_error=is_error)
