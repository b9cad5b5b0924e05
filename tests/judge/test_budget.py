"""Budgets: calls and tokens a run, a minute and a day."""

from __future__ import annotations

import math
import random

import pytest

from attest_otel.config import JudgeConfig
from attest_otel.judge.budget import (
    DAY_SECONDS,
    MINUTE_SECONDS,
    Budgets,
    Reservation,
    Shortage,
    Window,
    estimated_tokens,
)
from tests.judge.offline import StillTime


def budgets(time: StillTime, **limits: int) -> Budgets:
    """Budgets with these limits."""
    return Budgets(JudgeConfig.model_validate(limits), time.clock)


@pytest.mark.parametrize(
    ("limits", "limit", "said"),
    [
        ({"max_calls_per_run": 2}, "budget", "the budget of 2 calls a run is used up"),
        ({"max_calls_per_minute": 2}, "rate", "the budget of 2 calls a minute is used up"),
        ({"max_calls_per_day": 2}, "budget", "the budget of 2 calls a day is used up"),
        (
            {"max_tokens_per_run": 25},
            "budget",
            "the budget of 25 tokens a run has too few left for this question",
        ),
        (
            {"max_tokens_per_minute": 25},
            "rate",
            "the budget of 25 tokens a minute has too few left for this question",
        ),
        (
            {"max_tokens_per_day": 25},
            "budget",
            "the budget of 25 tokens a day has too few left for this question",
        ),
    ],
)
def test_each_budget_stops_the_third_call(limits: dict[str, int], limit: str, said: str) -> None:
    """Two calls of ten tokens fit; the third names the limit that stops it."""
    made = budgets(StillTime(), **limits)
    run = made.of_run()
    assert all(isinstance(made.reserve(run, 10), Reservation) for _ in range(2))
    assert made.reserve(run, 10) == Shortage(said, limit)


def test_a_budget_of_nothing_allows_nothing() -> None:
    """Zero calls is zero calls."""
    made = budgets(StillTime(), max_calls_per_run=0)
    assert made.reserve(made.of_run(), 1) == Shortage("the budget of 0 calls a run is used up", "budget")


def test_each_run_has_its_own() -> None:
    """One run's end is not another's; the minute's is everybody's."""
    made = budgets(StillTime(), max_calls_per_run=1, max_calls_per_minute=2)
    for _ in range(2):
        assert isinstance(made.reserve(made.of_run(), 1), Reservation)
    assert isinstance(made.reserve(made.of_run(), 1), Shortage)


def test_what_was_used_takes_the_place_of_the_estimate() -> None:
    """A question that cost less than estimated leaves room for the next, one that cost more takes it."""
    made = budgets(StillTime(), max_tokens_per_run=100)
    run = made.of_run()
    first = made.reserve(run, 90)
    assert isinstance(first, Reservation)
    assert isinstance(made.reserve(run, 20), Shortage)
    made.settle(first, 10)
    assert isinstance(made.reserve(run, 90), Reservation)
    assert isinstance(made.reserve(run, 1), Shortage)


@pytest.mark.parametrize(("limit", "seconds"), [("max_calls_per_minute", MINUTE_SECONDS), ("max_calls_per_day", DAY_SECONDS)])
def test_a_window_moves_on(limit: str, seconds: float) -> None:
    """After a minute, or a day, and a sixtieth of it, there is room again; not before."""
    time = StillTime()
    made = budgets(time, **{limit: 1})
    assert isinstance(made.reserve(made.of_run(), 1), Reservation)
    time.now += seconds - 0.01
    assert isinstance(made.reserve(made.of_run(), 1), Shortage)
    time.now += 0.01 + seconds / 60
    assert isinstance(made.reserve(made.of_run(), 1), Reservation)


def test_no_minute_holds_more_than_its_budget() -> None:
    """Whenever calls come, no span of 60 seconds has more than the budget allows."""
    draw = random.Random(7)
    window, taken, now = Window("minute", 60.0, 10, 10**9), [], 0.0
    for _ in range(2_000):
        now += draw.expovariate(1.0)
        if window.shortage(1, now) is None:
            window.take(1, now)
            taken.append(now)
    assert len(taken) > 200
    assert all(taken[i + 10] - taken[i] >= 60.0 for i in range(len(taken) - 10))


def test_a_window_is_bounded() -> None:
    """A day of calls keeps no more slices than it has."""
    window = Window("day", DAY_SECONDS, 10**9, 10**9)
    for second in range(0, 400_000, 7):
        window.shortage(1, float(second))
        window.take(1, float(second))
    assert len(window._buckets) <= 62
    run = Window("run", math.inf, 10**9, 10**9)
    for second in range(1000):
        run.take(1, float(second))
    assert len(run._buckets) == 1


@pytest.mark.parametrize(("text", "tokens"), [("", 1), ("a" * 300, 101), ("漢" * 100, 101), ("\ud800", 1)])
def test_estimates(text: str, tokens: int) -> None:
    """About three bytes a token, whatever the writing; a lone surrogate is no accident."""
    assert estimated_tokens(text) == tokens
