"""A circuit breaker: a grading model that keeps failing is left alone for a while, then asked once.

Closed, every question is asked. After `failures` questions in a row that failed, it opens: for
`pause_seconds` nothing is asked. Then one question goes through; its success closes the breaker, its
failure opens it again. Thread-safe.
"""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import Literal

FAILURES = 5
PAUSE_SECONDS = 30.0

Permit = Literal["normal", "probe"]


class Breaker:
    """Decides whether a question may be asked.

    Args:
        clock: seconds that only grow.
        failures: how many failures in a row open it.
        pause_seconds: how long it stays open before it lets one question through.
    """

    def __init__(self, clock: Callable[[], float], *, failures: int = FAILURES, pause_seconds: float = PAUSE_SECONDS) -> None:
        self._clock = clock
        self.failures = failures
        self.pause_seconds = pause_seconds
        self._lock = threading.Lock()
        self._in_a_row = 0
        self._open_until: float | None = None
        self._probing = False

    def admit(self) -> Permit | None:
        """Return a permit to ask, to be given back to `settle`; None while it is open."""
        with self._lock:
            if self._open_until is None:
                return "normal"
            if self._probing or self._clock() < self._open_until:
                return None
            self._probing = True
            return "probe"

    def settle(self, permit: Permit, *, works: bool | None) -> None:
        """Note how a question ended: the model works, or it failed; None where it was given up and shows neither."""
        with self._lock:
            if permit == "probe":
                self._probing = False
            if works:
                self._in_a_row, self._open_until = 0, None
            elif works is False:
                self._in_a_row += 1
                if permit == "probe" or (self._in_a_row >= self.failures and self._open_until is None):
                    self._open_until = self._clock() + self.pause_seconds

    def after_fork(self) -> None:
        """Free the lock in a forked child; a question in flight belongs to the parent."""
        self._lock = threading.Lock()
        self._probing = False
