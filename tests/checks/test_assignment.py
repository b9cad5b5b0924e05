"""Which recorded call answers which expected one: exact where small, bounded where large."""

from __future__ import annotations

from collections import deque
from itertools import permutations

from hypothesis import given
from hypothesis import strategies as st

from attest_otel.checks.expectations import assignment
from attest_otel.checks.expectations.assignment import MAX_EXACT_ROWS, align, assign, first_sequence

COSTS = st.integers(1, 4).flatmap(
    lambda rows: st.integers(1, 5).flatmap(
        lambda columns: st.lists(st.lists(st.integers(0, 3), min_size=columns, max_size=columns), min_size=rows, max_size=rows)
    )
)


def _no_matches(row: int) -> deque[int]:
    return deque()


@given(COSTS)
def test_no_other_assignment_is_cheaper(costs: list[list[int]]) -> None:
    """All rows get a column while there are enough, at the least total cost (against brute force)."""
    rows, columns = len(costs), len(costs[0])
    found = assign(rows, range(columns), lambda row, column: costs[row][column], _no_matches)
    assert len(found) == len(set(found.values())) == min(rows, columns)
    assert sum(costs[row][column] for row, column in found.items()) == _brute_force(costs)


@given(COSTS)
def test_in_order_no_other_alignment_is_cheaper(costs: list[list[int]]) -> None:
    """Rows take columns in order, as many as can, at the least total cost; 3 stands for "cannot"."""

    def price(row: int, column: int) -> int | None:
        return costs[row][column] if costs[row][column] < 3 else None

    found = align(len(costs), len(costs[0]), price)
    assert found is not None
    without, total, taken = found
    assert sorted(taken.values()) == [taken[row] for row in sorted(taken)]
    assert total == sum(costs[row][column] for row, column in taken.items())
    assert (without, total) == _brute_force_in_order(costs, 0, 0)


def test_the_earliest_of_equal_columns_are_taken() -> None:
    """Among equals the earliest calls answer."""
    assert assign(2, range(5), lambda row, column: 0, _no_matches) == {0: 0, 1: 1}


def test_columns_that_are_alike_cost_once() -> None:
    """A hundred thousand equal calls are one question a row, not a hundred thousand."""
    asked: list[tuple[int, int]] = []

    def cost(row: int, column: int) -> int:
        asked.append((row, column))
        return 1

    assert assign(3, ["same"] * 100_000, cost, _no_matches) == {0: 0, 1: 1, 2: 2}
    assert len(asked) < 100


def test_beyond_the_bound_exact_matches_are_found() -> None:
    """With more rows than are solved exactly, each still finds the column that equals it, in linear work."""
    rows = 4 * MAX_EXACT_ROWS
    asked = 0

    def cost(row: int, column: int) -> int:
        nonlocal asked
        asked += 1
        return 0 if column == rows - 1 - row else 1

    found = assign(rows, range(20 * rows), cost, lambda row: deque([rows - 1 - row]))
    assert found == {row: rows - 1 - row for row in range(rows)}
    assert asked == 0


def test_beyond_the_bound_the_rest_choose_among_the_next() -> None:
    """A row that nothing equals takes the best of the next few that are left; every row gets one."""
    rows = MAX_EXACT_ROWS + 1
    found = assign(rows, range(rows), lambda row, column: abs(row - column), _no_matches)
    assert sorted(found.values()) == list(range(rows))


def test_an_alignment_beyond_the_bound_is_refused() -> None:
    """The quadratic table is never built for a long run."""
    assert align(10, assignment.MAX_EXACT_PAIRS, lambda row, column: 0) is None


def test_the_earliest_fitting_sequence() -> None:
    """Rows that fit in order are found in one pass; a row that never fits means no sequence."""
    text = "abcab"
    assert first_sequence(2, 5, lambda row, column: text[column] == "ca"[row]) == {0: 2, 1: 3}
    assert first_sequence(2, 5, lambda row, column: text[column] == "cc"[row]) is None


def _brute_force(costs: list[list[int]]) -> int:
    rows, columns = len(costs), len(costs[0])
    if rows <= columns:
        return min(sum(costs[row][column] for row, column in enumerate(chosen)) for chosen in permutations(range(columns), rows))
    return min(sum(costs[row][column] for column, row in enumerate(chosen)) for chosen in permutations(range(rows), columns))


def _brute_force_in_order(costs: list[list[int]], row: int, column: int) -> tuple[int, int]:
    if row == len(costs):
        return (0, 0)
    left = _brute_force_in_order(costs, row + 1, column)
    options = [(left[0] + 1, left[1])]
    for at in range(column, len(costs[0])):
        if costs[row][at] < 3:
            rest = _brute_force_in_order(costs, row + 1, at + 1)
            options.append((rest[0], rest[1] + costs[row][at]))
    return min(options)
