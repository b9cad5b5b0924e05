"""The circuit breaker."""

from __future__ import annotations

from attest_otel.judge.breaker import Breaker
from tests.judge.offline import StillTime


def failing(time: StillTime, times: int, failures: int = 3) -> Breaker:
    """A breaker after so many failures in a row."""
    breaker = Breaker(time.clock, failures=failures, pause_seconds=30.0)
    for _ in range(times):
        permit = breaker.admit()
        assert permit is not None
        breaker.settle(permit, works=False)
    return breaker


def test_it_opens_after_failures_in_a_row() -> None:
    """Two of three leave it closed, three open it."""
    assert failing(StillTime(), 2).admit() == "normal"
    assert failing(StillTime(), 3).admit() is None


def test_a_success_in_between_starts_the_count_anew() -> None:
    """Only failures in a row count; a question that shows nothing leaves the count."""
    breaker = failing(StillTime(), 2)
    breaker.settle("normal", works=True)
    breaker.settle("normal", works=False)
    breaker.settle("normal", works=None)
    breaker.settle("normal", works=False)
    assert breaker.admit() == "normal"
    breaker.settle("normal", works=False)
    assert breaker.admit() is None


def test_after_the_pause_one_question_goes_through() -> None:
    """One, not two, and not before."""
    time = StillTime()
    breaker = failing(time, 3)
    time.now += 29.9
    assert breaker.admit() is None
    time.now += 0.1
    assert [breaker.admit(), breaker.admit()] == ["probe", None]


def test_the_probe_decides() -> None:
    """It works: closed. It fails: open for another pause. Given up: the next one is the probe."""
    time = StillTime()
    breaker = failing(time, 3)
    time.now += 30
    assert breaker.admit() == "probe"
    breaker.settle("probe", works=None)
    assert breaker.admit() == "probe"
    breaker.settle("probe", works=False)
    time.now += 29
    assert breaker.admit() is None
    time.now += 1
    assert breaker.admit() == "probe"
    breaker.settle("probe", works=True)
    assert [breaker.admit(), breaker.admit()] == ["normal", "normal"]


def test_questions_that_were_under_way_do_not_prolong_the_pause() -> None:
    """Failures that come in after it opened leave its end where it is."""
    time = StillTime()
    breaker = failing(time, 3)
    time.now += 20
    breaker.settle("normal", works=False)
    time.now += 10
    assert breaker.admit() == "probe"
