"""What an OpenInference span above the model calls was asked and answered: its input and output as a whole.

Each framework writes its own state there: a list of messages, a task, Google's event, CrewAI's output of a
task, or plain text.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

from attest_otel.read.facts import Message
from attest_otel.read.messages import read_message, read_messages
from attest_otel.read.values import NOT_JSON, load, load_object, text_at

REDACTED = "__REDACTED__"
_PYTHON_OBJECT = re.compile(r"[A-Z][A-Za-z0-9_]*\([a-z_][a-z0-9_]*=")


def task_of(given: Mapping[str, Any]) -> str | None:
    """Return what a root was asked: its input's last user message, `task` or the like, or plain text."""
    value = given.get("input.value")
    found = load(value)
    if isinstance(found, dict):
        messages = found.get("messages")
        if isinstance(messages, list):
            texts = [
                m.text for item in messages if isinstance(item, dict) and (m := read_message(item)).role == "user" and m.text
            ]
            return texts[-1] if texts else None
        content = found.get("new_message")
        if isinstance(content, dict):
            return read_message(content).text
        return text_at(found, "task", "input", "question", "query", "prompt")
    return value if found is NOT_JSON and isinstance(value, str) and value != REDACTED else None


def transcript_of(given: Mapping[str, Any]) -> tuple[Message, ...] | None:
    """Return the conversation that CrewAI keeps with what an agent made of its task."""
    value = given.get("output.value")
    if not isinstance(value, str) or '"messages"' not in value or '"raw"' not in value:
        return None
    listed = load_object(value).get("messages")
    return read_messages(listed, "reserialized") if isinstance(listed, list) else None


def answer_of(given: Mapping[str, Any]) -> str | None:
    """Return what a root answered: its output's last assistant message, or plain text."""
    value = given.get("output.value")
    found = load(value)
    if isinstance(found, dict):
        messages = found.get("messages")
        if isinstance(messages, list) and messages and isinstance(messages[-1], dict):
            last = read_message(messages[-1])
            return last.text if last.role == "assistant" and not last.calls else None
        content = found.get("content")
        return read_message(content).text if isinstance(content, dict) else text_at(found, "output", "answer", "result", "raw")
    if found is not NOT_JSON or not isinstance(value, str) or _PYTHON_OBJECT.match(value) is not None:
        return None
    return value if value not in {"", REDACTED} else None
