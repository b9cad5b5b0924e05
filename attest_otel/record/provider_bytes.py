"""Where the provider's raw text of tool inputs waits until the tool is dispatched.

The Anthropic SDK hands out tool inputs already parsed; `{"amount_cents": 4200.0}`, duplicate keys and
`1e2` exist only in the HTTP body. The HTTP clients of `anthropic_http` note that text here, the
dispatcher takes it. Providers reuse call ids, so notes of one (call id, name) queue up, first in first
out. Each run has a store of its own; one bounded fallback serves HTTP calls made where no run is visible.
"""

from __future__ import annotations

import os
import sys
import threading
import weakref
from collections import OrderedDict, deque
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from contextvars import ContextVar
from dataclasses import dataclass, replace

MAX_STORE_ENTRIES = 1024
MAX_STORE_BYTES = 8 * 1024 * 1024
MAX_CANDIDATES = 64

_Key = tuple[str, str]


@dataclass(frozen=True, slots=True)
class NotedInput:
    """The raw text of one tool input, exactly as the provider emitted it.

    `text` is None when the input was seen and not kept (over a limit). `""` is a streamed input without
    any piece, which Anthropic means as `{}`. `complete` is False when the stream ended inside the input:
    `text` is then its beginning. `ambiguous` is True when differing texts waited under the same call id
    and name and nothing told which of them this call's is.
    """

    text: str | None
    complete: bool
    ambiguous: bool = False


class ProviderBytes:
    """A bounded, thread-safe store of noted inputs; over a limit the oldest note leaves and is counted.

    Args:
        max_entries: how many notes may wait.
        max_bytes: how much memory their texts, ids and names may hold, in bytes.
    """

    def __init__(self, *, max_entries: int = MAX_STORE_ENTRIES, max_bytes: int = MAX_STORE_BYTES) -> None:
        self._max_entries = max_entries
        self._max_bytes = max_bytes
        self._notes: OrderedDict[int, _Note] = OrderedDict()
        self._queues: dict[_Key, deque[int]] = {}
        self._mixed: set[_Key] = set()
        self._next = 0
        self._bytes = 0
        self._evicted = 0
        self._uncaptured = 0
        # Re-entrant: garbage collection in here may close an abandoned response, which notes. So collections
        # are copied and changed in single steps, never iterated.
        self._lock = threading.RLock()
        _stores.add(self)

    def note(self, call_id: str, name: str, text: str | None, complete: bool) -> None:
        """Queue the raw `text` of one tool input; None says that the input was seen but not kept."""
        size = sys.getsizeof(call_id) + sys.getsizeof(name) + sys.getsizeof(text)
        if size > self._max_bytes:
            text, complete = None, False
            size = sys.getsizeof(call_id) + sys.getsizeof(name)
        note = _Note((call_id, name), NotedInput(text, complete), size)
        with self._lock:
            self._uncaptured += text is None
            self._add(note)
            while self._notes and (len(self._notes) > self._max_entries or self._bytes > self._max_bytes):
                self._forget(*self._notes.popitem(last=False))
                self._evicted += 1

    def take(self, call_id: str, name: str, matches: Callable[[str], bool] | None = None) -> NotedInput | None:
        """Remove and return the oldest note of this call id and name, or None where there is none.

        A complete note goes before an incomplete one, and older incomplete ones leave with it: they are
        attempts that were cut and made again. Where several wait, `matches(text)` picks the oldest that it
        accepts (say: parses to what the handler received); it runs without the lock, and a fault in it
        means no.
        """
        key = (call_id, name)
        for _ in range(MAX_CANDIDATES):
            with self._lock:
                seqs = list(self._queues.get(key, ()))[:MAX_CANDIDATES]
                waiting = [(seq, note.noted) for seq in seqs if (note := self._notes.get(seq)) is not None]
                mixed = key in self._mixed
            if not waiting:
                return None
            seq, noted = _choose(waiting, mixed, matches)
            if self._remove_chosen(key, seq, noted):
                return noted
        return None

    def take_by_name(self, name: str, matches: Callable[[str], bool]) -> NotedInput | None:
        """Remove and return the oldest note of this tool that `matches` accepts, whatever its call id.

        For dispatchers that are not told the id. Where no text matches and just one waits, it is that one:
        the handler got something else than the model emitted. Among several, nothing tells which: None.
        """
        with self._lock:
            notes = list(self._notes.values())
        waiting = [note for note in notes if note.key[1] == name][:MAX_CANDIDATES]
        texts = [note for note in waiting if note.noted.text is not None]
        matching = next((note for note in texts if _accepts(matches, note.noted.text or "")), None)
        if matching is None and len(waiting) == 1:
            matching = waiting[0]
        return None if matching is None else self.take(matching.key[0], name, matches)

    @property
    def evicted(self) -> int:
        """How many notes left because a limit was reached."""
        return self._evicted

    @property
    def uncaptured(self) -> int:
        """How many inputs were seen but not kept."""
        return self._uncaptured

    def __len__(self) -> int:
        return len(self._notes)

    def _add(self, note: _Note) -> None:
        seq = self._next
        self._next += 1
        self._queues.setdefault(note.key, deque()).append(seq)
        self._notes[seq] = note
        self._bytes += note.size

    def _remove(self, seq: int) -> bool:
        note = self._notes.pop(seq, None)
        if note is not None:
            self._forget(seq, note)
        return note is not None

    def _forget(self, seq: int, note: _Note) -> None:
        self._bytes -= note.size
        queue = self._queues.get(note.key)
        if queue is None or seq not in queue:
            return
        queue.remove(seq)
        if not queue:
            del self._queues[note.key]
            self._mixed.discard(note.key)

    def _remove_chosen(self, key: _Key, seq: int, noted: NotedInput) -> bool:
        with self._lock:
            if not self._remove(seq):
                return False
            if noted.complete:
                self._drop_cut_attempts(key, seq)
            if noted.ambiguous and key in self._queues:
                self._mixed.add(key)
            return True

    def _drop_cut_attempts(self, key: _Key, before: int) -> None:
        for seq in list(self._queues.get(key, ()))[:MAX_CANDIDATES]:
            note = self._notes.get(seq)
            if note is not None and seq < before and not note.noted.complete and note.noted.text is not None:
                self._remove(seq)


@dataclass(frozen=True, slots=True)
class _Note:
    key: _Key
    noted: NotedInput
    size: int


def _choose(waiting: list[tuple[int, NotedInput]], mixed: bool, matches: Callable[[str], bool] | None) -> tuple[int, NotedInput]:
    pool = [(seq, noted) for seq, noted in waiting if noted.complete or noted.text is None] or waiting
    if len(pool) == 1 and not mixed:
        return pool[0]
    if matches is not None:
        for seq, noted in pool:
            if noted.text is not None and _accepts(matches, noted.text):
                return seq, noted
    seq, noted = pool[0]
    return seq, replace(noted, ambiguous=mixed or len({noted.text for _, noted in pool}) > 1)


def _accepts(matches: Callable[[str], bool], text: str) -> bool:
    try:
        return matches(text)
    except Exception:  # noqa: BLE001 - a text that cannot be compared is not the one
        return False


def _renew_locks() -> None:
    for store in list(_stores):
        store._lock = threading.RLock()  # noqa: SLF001 - the module's own class, in a child that has one thread


_stores: weakref.WeakSet[ProviderBytes] = weakref.WeakSet()
if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_renew_locks)

fallback_store = ProviderBytes()
current_store: ContextVar[ProviderBytes | None] = ContextVar("attest_otel_provider_bytes", default=None)


@contextmanager
def use_store(store: ProviderBytes) -> Iterator[ProviderBytes]:
    """Make `store` the current one inside the block; contexts copied inside the block see it too."""
    token = current_store.set(store)
    try:
        yield store
    finally:
        with suppress(ValueError):  # entered in one context and left in another: that context's value stands
            current_store.reset(token)


def store_for_notes() -> ProviderBytes:
    """Return the current run's store, or the fallback where no run is visible."""
    store = current_store.get()
    return fallback_store if store is None else store


def note(call_id: str, name: str, text: str | None, complete: bool) -> None:
    """Queue a tool input in the current run's store, or in the fallback where no run is visible."""
    store_for_notes().note(call_id, name, text, complete)


def take(call_id: str, name: str, matches: Callable[[str], bool] | None = None) -> NotedInput | None:
    """Take the oldest note of this call id and name: the current run's first, then the fallback's."""
    store = current_store.get()
    noted = store.take(call_id, name, matches) if store is not None else None
    return noted if noted is not None else fallback_store.take(call_id, name, matches)


def take_by_name(name: str, matches: Callable[[str], bool]) -> NotedInput | None:
    """Take a note by tool name alone, see `ProviderBytes.take_by_name`: the current run's first."""
    store = current_store.get()
    noted = store.take_by_name(name, matches) if store is not None else None
    return noted if noted is not None else fallback_store.take_by_name(name, matches)
