"""Where the provider's raw text of tool inputs waits until the tool is dispatched.

The Anthropic SDK hands out tool inputs already parsed; `{"amount_cents": 4200.0}`, duplicate keys and
`1e2` exist only in the HTTP body. The HTTP clients of `anthropic_http` note that text here, the
dispatcher takes it. Providers reuse call ids, so notes of one (call id, name) queue up, first in first
out. Each run has a store of its own, see `note_stores`; what nothing took is `left` at its end.
"""

from __future__ import annotations

import os
import sys
import threading
import weakref
from collections import OrderedDict, deque
from collections.abc import Callable, Collection, Iterable
from dataclasses import replace

from attest_otel.record.noted_inputs import Key, Note, NotedInput, accepts, choose
from attest_otel.tool_names import akin

MAX_STORE_ENTRIES = 1024
MAX_STORE_BYTES = 8 * 1024 * 1024
MAX_CANDIDATES = 64
MAX_KNOWN_CALLS = 4096
MAX_KNOWN_CHARS = 512
MAX_NAMES_OF_AN_ID = 16

_NO_NAMES: frozenset[str] = frozenset()


class ProviderBytes:
    """A bounded, thread-safe store of noted inputs; over a limit the oldest note leaves and is counted.

    Args:
        max_entries: how many notes may wait.
        max_bytes: how much memory their texts, ids and names may hold, in bytes.
        above: the store of the enclosing run.

    Attributes:
        on_first_note: called once, without the lock, when the first note comes; None for nobody.
    """

    def __init__(
        self,
        *,
        max_entries: int = MAX_STORE_ENTRIES,
        max_bytes: int = MAX_STORE_BYTES,
        above: ProviderBytes | None = None,
    ) -> None:
        self.above = above
        self.on_first_note: Callable[[], object] | None = None
        self._max_entries = max_entries
        self._max_bytes = max_bytes
        self._notes: OrderedDict[int, Note] = OrderedDict()
        self._queues: dict[Key, deque[int]] = {}
        self._mixed: set[Key] = set()
        self._known: OrderedDict[str, frozenset[str]] = OrderedDict()
        self._next = 0
        self._bytes = 0
        self._evicted = 0
        self._uncaptured = 0
        # Re-entrant: garbage collection in here may close an abandoned response, which notes. So collections
        # are copied and changed in single steps, never iterated.
        self._lock = threading.RLock()
        _stores.add(self)

    def note(self, call_id: str, name: str, text: str | None, complete: bool) -> int:
        """Queue the raw `text` of one tool input and return its number; None says that it was seen but not kept."""
        size = sys.getsizeof(call_id) + sys.getsizeof(name) + sys.getsizeof(text)
        if size > self._max_bytes:
            text, complete = None, False
            size = sys.getsizeof(call_id) + sys.getsizeof(name)
        note = Note((call_id, name), NotedInput(text, complete), size)
        with self._lock:
            self._uncaptured += text is None
            seq = self._add(note)
            while self._notes and (len(self._notes) > self._max_entries or self._bytes > self._max_bytes):
                self._forget(*self._notes.popitem(last=False))
                self._evicted += 1
        first, self.on_first_note = self.on_first_note, None
        if first is not None:
            first()
        return seq

    def settle(self, numbers: Iterable[int], *, forced: bool = False) -> None:
        """Say that the response which these notes came from is whole; `forced`, see `Note`."""
        with self._lock:
            for note in filter(None, map(self._notes.get, numbers)):
                note.whole, note.forced = True, forced

    def sent(self, answered: Collection[str]) -> None:
        """Say that a further request was sent, and which call ids it gave results for."""
        with self._lock:
            for note in list(self._notes.values()):
                note.followed = True
                note.answered = note.answered or note.key[0] in answered

    def left(self) -> list[Note]:
        """Return a copy of what waits, oldest first."""
        with self._lock:
            return [replace(note) for note in list(self._notes.values())]

    def knows(self, call_id: str, name: str) -> bool:
        """Return whether an input of this call was noted, taken since or not; ids of long ago are forgotten."""
        return name in self._known.get(call_id, ()) or (call_id, name) in self._queues

    def may_know(self, call_id: str) -> bool:
        """Return whether `knows` or `name_of` can find this id, at the cost of one look-up; an id too long to keep, never."""
        return call_id in self._known

    def name_of(self, call_id: str) -> str | None:
        """Return under which name an input of this call id waits; None where there is none, or several."""
        found = {key[1] for key in list(self._queues) if key[0] == call_id}
        return found.pop() if len(found) == 1 else None

    def waits(self, name: str, matches: Callable[[str], bool]) -> bool:
        """Return whether a complete input of this tool waits that `matches` accepts; it runs without the lock."""
        texts = [note.noted.text for note in self._waiting(name) if note.noted.complete]
        return any(text is not None and accepts(matches, text) for text in texts)

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
                notes = [(seq, note) for seq in seqs if (note := self._notes.get(seq)) is not None]
                meant = [(seq, note.noted) for seq, note in notes if not note.is_thrown_away]
                waiting = meant or [(seq, note.noted) for seq, note in notes]
                mixed = key in self._mixed
            if not waiting:
                return None
            seq, noted = choose(waiting, mixed, matches)
            if self._remove_chosen(key, seq, noted):
                return noted
        return None

    def take_by_name(self, name: str, matches: Callable[[str], bool], *, alone: bool = True) -> NotedInput | None:
        """Remove and return the oldest note of this tool that `matches` accepts, whatever its call id.

        For dispatchers that are not told the id. Where no text matches and just one waits, it is that one if
        `alone` counts: the handler got something else than the model emitted. Among several, nothing tells
        which: None.
        """
        waiting = self._waiting(name)
        texts = [note for note in waiting if note.noted.text is not None]
        matching = next((note for note in texts if accepts(matches, note.noted.text or "")), None)
        if matching is None and alone and len(waiting) == 1 and waiting[0].key[1] == name:
            matching = waiting[0]
        return None if matching is None else self.take(*matching.key, matches)

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

    def _waiting(self, name: str) -> list[Note]:
        """Return the notes of a tool; where there are none, those of a tool whose name differs by a prefix."""
        with self._lock:
            notes = list(self._notes.values())
        named = [note for note in notes if note.key[1] == name] or [note for note in notes if akin(note.key[1], name)]
        return ([note for note in named if not note.is_thrown_away] or named)[:MAX_CANDIDATES]

    def _add(self, note: Note) -> int:
        seq = self._next
        self._next += 1
        self._queues.setdefault(note.key, deque()).append(seq)
        self._notes[seq] = note
        self._bytes += note.size
        self._remember(*note.key)
        return seq

    def _remember(self, call_id: str, name: str) -> None:
        names = self._known.get(call_id, _NO_NAMES)
        if len(call_id) + len(name) > MAX_KNOWN_CHARS or len(names) >= MAX_NAMES_OF_AN_ID:
            return
        self._known[call_id] = names | {name}
        if len(self._known) > MAX_KNOWN_CALLS:
            self._known.popitem(last=False)

    def _remove(self, seq: int) -> bool:
        note = self._notes.pop(seq, None)
        if note is not None:
            self._forget(seq, note)
        return note is not None

    def _forget(self, seq: int, note: Note) -> None:
        self._bytes -= note.size
        queue = self._queues.get(note.key)
        if queue is None or seq not in queue:
            return
        queue.remove(seq)
        if not queue:
            del self._queues[note.key]
            self._mixed.discard(note.key)

    def _remove_chosen(self, key: Key, seq: int, noted: NotedInput) -> bool:
        with self._lock:
            if not self._remove(seq):
                return False
            if noted.complete:
                self._drop_cut_attempts(key, seq)
            if noted.ambiguous and key in self._queues:
                self._mixed.add(key)
            return True

    def _drop_cut_attempts(self, key: Key, before: int) -> None:
        for seq in list(self._queues.get(key, ()))[:MAX_CANDIDATES]:
            note = self._notes.get(seq)
            if note is None or seq > before:
                continue
            if note.is_thrown_away or (not note.noted.complete and note.noted.text is not None):
                self._remove(seq)


def _renew_locks() -> None:
    for store in list(_stores):
        store._lock = threading.RLock()  # noqa: SLF001 - the module's own class, in a child that has one thread


_stores: weakref.WeakSet[ProviderBytes] = weakref.WeakSet()
if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_renew_locks)
