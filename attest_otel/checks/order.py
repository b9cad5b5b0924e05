"""What "later" means: emitted in a later turn, or started after the earlier call ended.

A parallel sibling is not later. Where a source has neither turns nor times, the order of the steps
decides. Source: DESIGN 3 rule 2. An index over calls answers "which is the first later one" in
logarithmic time, so that thousands of failing calls stay cheap.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Iterable
from itertools import accumulate

from attest_otel.checks.view import Call

_NONE = 2**63


def is_later(call: Call, than: Call) -> bool:
    """Return whether a call is later than another: what the other returned can have led to it."""
    turn, before = call.call.turn, than.call.turn
    start, ended = call.call.started_at, than.call.ended_at
    if turn is not None and before is not None and turn > before:
        return True
    if start is not None and ended is not None and start >= ended:
        return True
    comparable = (turn is not None and before is not None) or (start is not None and ended is not None)
    return not comparable and call.index > than.index


class LaterIndex:
    """The calls of one kind, asked for the first (in step order) that comes later than another call."""

    def __init__(self, calls: Iterable[Call]) -> None:
        found = list(calls)
        self._by_turn = _Sorted((c.call.turn, c.index) for c in found if c.call.turn is not None)
        self._by_start = _Sorted((c.call.started_at, c.index) for c in found if c.call.started_at is not None)
        self._untimed = {
            (turn, start): sorted(
                c.index for c in found if (not turn or c.call.turn is None) and (not start or c.call.started_at is None)
            )
            for turn in (False, True)
            for start in (False, True)
        }

    def first_after(self, call: Call) -> int | None:
        """Return the index of the first call later than `call`, or None."""
        turn, ended = call.call.turn, call.call.ended_at
        best = _NONE
        if turn is not None:
            best = min(best, self._by_turn.least_index_from(turn + 1))
        if ended is not None:
            best = min(best, self._by_start.least_index_from(ended))
        unordered = self._untimed[turn is not None, ended is not None]
        position = bisect_right(unordered, call.index)
        if position < len(unordered):
            best = min(best, unordered[position])
        return None if best == _NONE else best


class _Sorted:
    """Pairs of a key and a call index, sorted by key, with the least index of every tail."""

    def __init__(self, pairs: Iterable[tuple[int, int]]) -> None:
        ordered = sorted(pairs)
        self._keys = [key for key, _ in ordered]
        self._tails = list(accumulate((index for _, index in reversed(ordered)), min))[::-1]

    def least_index_from(self, key: int) -> int:
        position = bisect_left(self._keys, key)
        return self._tails[position] if position < len(self._keys) else _NONE
