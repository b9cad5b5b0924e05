"""The notes of one response: which of them count as asked for is known only when the response has ended.

A response that was cut, by the connection, by the application or by a limit of the model's, asks for
nothing: applications throw it away and ask again. What was dispatched of it all the same was taken.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable

from attest_otel.record.provider_bytes import MAX_STORE_ENTRIES, ProviderBytes

_CUT_REASONS = frozenset({"max_tokens", "model_context_window_exceeded", "refusal"})


class ResponseNotes:
    """Takes the notes of one response down in a store.

    Args:
        store: the run's store.
        forced: whether the request left the model no other choice than one tool; asked only where it matters.
    """

    def __init__(self, store: ProviderBytes, forced: Callable[[], bool] | None = None) -> None:
        self._store = store
        self._forced = forced
        self._numbers: deque[int] = deque(maxlen=MAX_STORE_ENTRIES)

    def note(self, call_id: str, name: str, text: str | None, complete: bool) -> None:
        """Note one input, see `ProviderBytes.note`."""
        self._numbers.append(self._store.note(call_id, name, text, complete))

    def settle(self, stop_reason: str | None) -> None:
        """Say that the response has come to its own end, and why the model stopped."""
        if self._numbers and stop_reason not in _CUT_REASONS:
            self._store.settle(self._numbers, forced=self._forced is not None and self._forced())
        self._numbers.clear()
