"""Answers that were given before, by content, wording and model; the least recently used leave first. Thread-safe."""

from __future__ import annotations

import json
import threading
from collections import OrderedDict
from typing import Any

MAX_ANSWERS = 4_096
MAX_CHARS = 16_000_000

Key = tuple[str, str, str]


class AnswerCache:
    """Keeps good answers, as text: each caller gets a value of its own."""

    def __init__(self, *, max_answers: int = MAX_ANSWERS, max_chars: int = MAX_CHARS) -> None:
        self._max_answers = max_answers
        self._max_chars = max_chars
        self._texts: OrderedDict[Key, str] = OrderedDict()
        self._chars = 0
        self._lock = threading.Lock()

    def get(self, key: Key) -> dict[str, Any] | None:
        """Return the answer to a question (its key, its wording's version, the model)."""
        with self._lock:
            text = self._texts.get(key)
            if text is None:
                return None
            self._texts.move_to_end(key)
        value: dict[str, Any] = json.loads(text)
        return value

    def put(self, key: Key, text: str) -> None:
        """Keep an answer's JSON text."""
        with self._lock:
            self._chars += len(text) - len(self._texts.get(key, ""))
            self._texts[key] = text
            self._texts.move_to_end(key)
            while len(self._texts) > self._max_answers or self._chars > self._max_chars:
                _, dropped = self._texts.popitem(last=False)
                self._chars -= len(dropped)

    def after_fork(self) -> None:
        """Free the lock in a forked child."""
        self._lock = threading.Lock()
