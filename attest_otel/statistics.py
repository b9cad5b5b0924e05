"""How far a pass rate can be trusted: Wilson's score interval, and whether two rates differ.

Source: the grader's page on pass rates (95 % confidence). Pure functions of counts.
"""

from __future__ import annotations

import math
from typing import NamedTuple

Z_95 = 1.959963984540054


class Interval(NamedTuple):
    """A pass rate with the bounds of its 95 % confidence interval; all between 0 and 1."""

    rate: float
    low: float
    high: float
    n: int


def wilson_interval(passed: int, total: int) -> Interval:
    """Return the rate `passed / total` with its Wilson 95 % interval.

    Raises:
        ValueError: `total` is not at least 1, or `passed` is not between 0 and `total`.
    """
    _require_counts(passed, total)
    rate = passed / total
    z2 = Z_95 * Z_95
    centre = (rate + z2 / (2 * total)) / (1 + z2 / total)
    half = Z_95 * math.sqrt(rate * (1 - rate) / total + z2 / (4 * total * total)) / (1 + z2 / total)
    low = 0.0 if passed == 0 else max(0.0, centre - half)
    high = 1.0 if passed == total else min(1.0, centre + half)
    return Interval(rate, low, high, total)


def difference_is_real(passed_a: int, total_a: int, passed_b: int, total_b: int) -> bool:
    """Return whether two pass rates differ by more than chance at 95 % confidence.

    Newcombe's interval for a difference of proportions, built from the two Wilson intervals: the
    difference is real when the interval leaves out zero.

    Raises:
        ValueError: as in `wilson_interval`, for either pair.
    """
    a, b = wilson_interval(passed_a, total_a), wilson_interval(passed_b, total_b)
    difference = a.rate - b.rate
    low = difference - math.hypot(a.rate - a.low, b.high - b.rate)
    high = difference + math.hypot(a.high - a.rate, b.rate - b.low)
    return low > 0 or high < 0


def _require_counts(passed: int, total: int) -> None:
    if any(isinstance(count, bool) or not isinstance(count, int) for count in (passed, total)):
        raise ValueError(f"counts must be whole numbers, got {passed!r} of {total!r}")
    if total < 1:
        raise ValueError(f"total must be at least 1, got {total}")
    if not 0 <= passed <= total:
        raise ValueError(f"passed must be between 0 and total, got {passed} of {total}")
