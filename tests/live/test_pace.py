"""How often the pipeline's threads let go of the interpreter."""

from __future__ import annotations

import pytest

from attest_otel.live import pace


class Time:
    """A clock that is moved by hand, and by sleeping."""

    def __init__(self) -> None:
        self.now = 0.0
        self.slept: list[float] = []

    def perf_counter(self) -> float:
        """Return the time."""
        return self.now

    def sleep(self, seconds: float) -> None:
        """Let the time pass."""
        self.slept.append(seconds)
        self.now += seconds


def test_a_thread_pauses_once_a_slice_is_used_up(monkeypatch: pytest.MonkeyPatch) -> None:
    """Within a slice nothing is paused; after it once, and a new slice begins."""
    time = Time()
    monkeypatch.setattr(pace, "time", time)
    one = pace.Pace()
    time.now += pace.SLICE_SECONDS / 2
    one.give_way()
    assert not time.slept
    time.now += pace.SLICE_SECONDS
    one.give_way()
    one.give_way()
    assert time.slept == [pace.PAUSE_SECONDS]
