"""What asking may cost: calls and tokens a run, a minute and a day, reserved before and settled after.

Minutes and days are the last 60 and 86,400 seconds of the clock, not the calendar's, and start anew with
the process. No span of time that long holds more calls than its budget. Tokens are reserved by an
estimate, so a run may use a little more than its budget where the estimate was low, and the next question
then waits for room.
"""

from __future__ import annotations

import math
import threading
from collections import deque
from collections.abc import Callable
from dataclasses import dataclass, field

from attest_otel.config import JudgeConfig

MINUTE_SECONDS = 60.0
DAY_SECONDS = 86_400.0
BUCKETS = 60
BYTES_A_TOKEN = 3
"""A low estimate for English, about right for most other writing: budgets err on the safe side."""


@dataclass(slots=True)
class Bucket:
    """What was used in one slice of a window."""

    start: float
    calls: int = 0
    tokens: int = 0


@dataclass(slots=True)
class Window:
    """The use within the last `seconds`; not thread-safe. `name` is "run", "minute" or "day"."""

    name: str
    seconds: float
    max_calls: int
    max_tokens: int
    _buckets: deque[Bucket] = field(default_factory=deque)

    def shortage(self, tokens: int, now: float) -> str | None:
        """Return why a call of so many tokens doesn't fit, as a clause for a person; None where it does."""
        self._forget(now)
        if sum(bucket.calls for bucket in self._buckets) >= self.max_calls:
            return f"the budget of {self.max_calls} calls a {self.name} is used up"
        if sum(bucket.tokens for bucket in self._buckets) + tokens > self.max_tokens:
            return f"the budget of {self.max_tokens} tokens a {self.name} has too few left for this question"
        return None

    def take(self, tokens: int, now: float) -> Bucket:
        """Count a call, and return where it was counted."""
        if not self._buckets or now >= self._buckets[-1].start + self._width:
            self._buckets.append(Bucket(now))
        bucket = self._buckets[-1]
        bucket.calls += 1
        bucket.tokens += tokens
        return bucket

    @property
    def _width(self) -> float:
        return self.seconds / BUCKETS

    def _forget(self, now: float) -> None:
        while self._buckets and now >= self._buckets[0].start + self._width + self.seconds:
            self._buckets.popleft()


@dataclass(frozen=True, slots=True)
class Reservation:
    """A call that was counted before it was made."""

    tokens: int
    buckets: tuple[Bucket, ...]


@dataclass(frozen=True, slots=True)
class Shortage:
    """Why a call is not made: the sentence and the limit's word."""

    reason: str
    limit: str


class Budgets:
    """The budgets of one grading model. Thread-safe."""

    def __init__(self, config: JudgeConfig, clock: Callable[[], float]) -> None:
        self._config = config
        self._clock = clock
        self._lock = threading.Lock()
        self._minute = Window("minute", MINUTE_SECONDS, config.max_calls_per_minute, config.max_tokens_per_minute)
        self._day = Window("day", DAY_SECONDS, config.max_calls_per_day, config.max_tokens_per_day)

    def of_run(self) -> Window:
        """Return the budget of one more run."""
        return Window("run", math.inf, self._config.max_calls_per_run, self._config.max_tokens_per_run)

    def reserve(self, run: Window, tokens: int) -> Reservation | Shortage:
        """Count a call before it is made, or say what stops it: a run's budget first, then the day's, then the minute's."""
        now = self._clock()
        with self._lock:
            for window, limit in ((run, "budget"), (self._day, "budget"), (self._minute, "rate")):
                reason = window.shortage(tokens, now)
                if reason is not None:
                    return Shortage(reason, limit)
            return Reservation(tokens, tuple(window.take(tokens, now) for window in (run, self._day, self._minute)))

    def settle(self, reservation: Reservation, tokens: int) -> None:
        """Put what a call used in the place of its estimate."""
        with self._lock:
            for bucket in reservation.buckets:
                bucket.tokens += tokens - reservation.tokens

    def after_fork(self) -> None:
        """Free the lock in a forked child, where the thread that held it doesn't run."""
        self._lock = threading.Lock()


def estimated_tokens(text: str) -> int:
    """Return about how many tokens a text has, rather too many than too few."""
    return len(text.encode("utf-8", "replace")) // BYTES_A_TOKEN + 1
