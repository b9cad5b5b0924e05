"""The statistics against scipy's, and the seed's own numbers."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import binomtest

from attest_otel import difference_is_real, wilson_interval


@given(st.integers(1, 500).flatmap(lambda n: st.tuples(st.integers(0, n), st.just(n))))
def test_wilson_equals_scipy(counts: tuple[int, int]) -> None:
    """The interval is Wilson's without continuity correction."""
    passed, total = counts
    expected = binomtest(passed, total).proportion_ci(0.95, method="wilson")
    found = wilson_interval(passed, total)
    assert found.low == pytest.approx(expected.low, abs=1e-9)
    assert found.high == pytest.approx(expected.high, abs=1e-9)


def test_the_pages_example() -> None:
    """41 of 50 is 0.82, between 0.69 and 0.90."""
    found = wilson_interval(41, 50)
    assert (round(found.rate, 2), round(found.low, 2), round(found.high, 2), found.n) == (0.82, 0.69, 0.90, 50)


@pytest.mark.parametrize(
    ("counts", "real"),
    [
        ((41, 50, 35, 50), False),
        ((49, 50, 30, 50), True),
        ((30, 50, 49, 50), True),
        ((0, 5, 0, 5), False),
        ((400, 500, 330, 500), True),
    ],
)
def test_difference(counts: tuple[int, int, int, int], real: bool) -> None:
    """A difference is real when its interval leaves out zero, whichever way it goes."""
    assert difference_is_real(*counts) is real


@pytest.mark.parametrize(("passed", "total"), [(1, 0), (-1, 5), (6, 5), (True, 5), (1.0, 5)])
def test_bad_counts_are_refused(passed: int, total: int) -> None:
    """Counts that can't be are a ValueError, never a number."""
    with pytest.raises(ValueError, match=r"passed|total|counts"):
        wilson_interval(passed, total)
