"""Big values on their way to the worker: bounded in bytes, so that a burst of them can't fill the memory.

Hooks don't measure spans. Only once the worker has met a big value do they, for a while: what is big is
counted until the worker has cut it, and what there is no room for is named and not kept.
"""

from __future__ import annotations

import copy
from collections import deque
from collections.abc import Mapping
from typing import Any

from opentelemetry.sdk.trace import Event, ReadableSpan

SHARE_OF_LIMIT = 4
MEASURE_SECONDS = 60.0


class Held:
    """A span that started while spans are measured: what it holds can be let go of while it waits."""

    __slots__ = ("__weakref__", "span")

    def __init__(self, span: ReadableSpan) -> None:
        self.span = span


class BigValues:
    """The sizes of what waits, oldest first; every change is one step under the interpreter's lock.

    Args:
        max_value_bytes: what the worker cuts a value to; a quarter of it is big.
        max_bytes: how much may wait.
    """

    def __init__(self, max_value_bytes: int, max_bytes: int) -> None:
        self._big = max_value_bytes // SHARE_OF_LIMIT
        self._max_bytes = max_bytes
        self._sizes: deque[int] = deque()

    def size_of(self, span: ReadableSpan) -> int:
        """Return the size of a span's big texts, 0 where it has none; nothing of it is called but its properties."""
        size = self.size_in(span.attributes or {})
        return size + sum(self.size_in(event.attributes or {}) for event in span.events)

    def size_in(self, attributes: Mapping[str, Any]) -> int:
        """Return the size of the big texts among some values."""
        return sum(len(value) for value in attributes.values() if type(value) is str and len(value) > self._big)

    def without(self, span: ReadableSpan) -> tuple[ReadableSpan, tuple[str, ...]]:
        """Return a copy of a span that names its big texts instead of holding them, and the names of the attributes."""
        light = copy.copy(span)
        attributes, cut = self.without_in(span.attributes or {})
        light._attributes = attributes  # noqa: SLF001  # the constructor would lose what the SDK's limits dropped
        light._events = [  # noqa: SLF001
            Event(event.name, self.without_in(event.attributes or {})[0], event.timestamp) for event in span.events
        ]
        return light, cut

    def without_in(self, attributes: Mapping[str, Any]) -> tuple[dict[str, Any], tuple[str, ...]]:
        """Do the same for a mapping of values."""
        big = {name: value for name, value in attributes.items() if type(value) is str and len(value) > self._big}
        return {**attributes, **{name: f"<{len(value)} characters, not kept>" for name, value in big.items()}}, tuple(big)

    def take(self, size: int) -> bool:
        """Count what goes into the log; return False where there is no room for it."""
        if self._sizes and sum(self._sizes.copy()) + size > self._max_bytes:
            return False
        self._sizes.append(size)
        return True

    def release(self, _now: float) -> None:
        """The worker has cut the oldest: a command for its log."""
        if self._sizes:
            self._sizes.popleft()
