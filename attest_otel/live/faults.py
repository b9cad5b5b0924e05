"""Faults are counted always and logged once a window, by kind, however often they come.

Thread-safe, and free of locks: it is called from hooks that may interrupt each other.
"""

from __future__ import annotations

import itertools
import logging
import time
from collections.abc import Callable

logger = logging.getLogger("attest_otel")

WINDOW_SECONDS = 60.0
MAX_KINDS = 64


class Counter:
    """A number that only goes up, safe to count from any thread and from inside a signal handler."""

    def __init__(self) -> None:
        self._ticks = itertools.count()

    def add(self) -> None:
        """Count one."""
        next(self._ticks)

    @property
    def value(self) -> int:
        """The number so far."""
        return int(repr(self._ticks)[len("count(") : -1])  # the only way to look at it without counting


class Counts:
    """Numbers by name, from a set that the code names."""

    def __init__(self, *names: str) -> None:
        self._counters = {name: Counter() for name in names}

    def add(self, name: str, times: int = 1) -> None:
        """Count `times` under a name."""
        counter = self._counters.get(name) or self._counters.setdefault(name, Counter())
        for _ in range(times):
            counter.add()

    def read(self) -> dict[str, int]:
        """Return all numbers as they stand."""
        return {name: counter.value for name, counter in list(self._counters.items())}

    def total(self) -> int:
        """Return the sum of all numbers."""
        return sum(self.read().values())


class FaultLog:
    """Logs each kind of fault at most once a window; `counts` has them all."""

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._next: dict[str, float] = {}
        self.counts = Counts()

    def say(self, kind: str, message: str, error: BaseException | None = None) -> None:
        """Count a fault and log it, unless its kind was logged within the window; never raises.

        Args:
            kind: which fault, from a closed set.
            message: what happened and what a person can do.
            error: the fault's exception; only its type is said, for its text may quote an agent.
        """
        try:
            self.counts.add(kind)
            now = self._clock()
            if now < self._next.get(kind, float("-inf")):
                return
            if len(self._next) < MAX_KINDS or kind in self._next:
                self._next[kind] = now + WINDOW_SECONDS
            name = f" ({type(error).__name__})" if error is not None else ""
            logger.warning("%s%s; further faults of this kind are counted, not logged, for %d s", message, name, WINDOW_SECONDS)
        except Exception:  # noqa: BLE001, S110  # a logging handler that raises must not reach the agent
            pass
