"""Which recorded call answers which expected one, so that the fewest claims fail.

`assign` takes one tool's expected calls (rows) and recorded calls (columns, in emission order). Every
row gets a column while there are enough; the total cost is least; among equals the earliest calls are
taken. Columns that are alike (same key) are told apart only as often as there are rows. Exact up to
`MAX_EXACT_ROWS` rows and `MAX_EXACT_PAIRS` pairs; beyond, the most specific rows choose first, each
the first column that equals it exactly, else the best of the first `GREEDY_WINDOW` that are left.

`align` is the same for a sequence: rows take columns in order. Pure and deterministic; costs are
small non-negative integers.
"""

from __future__ import annotations

from collections import defaultdict, deque
from collections.abc import Callable, Hashable, Sequence
from itertools import islice

MAX_EXACT_ROWS = 16
MAX_EXACT_PAIRS = 20_000
GREEDY_WINDOW = 16
_UNREACHED = 1 << 60

Cost = Callable[[int, int], int]
Matches = Callable[[int], deque[int]]


def assign(rows: int, columns: Sequence[Hashable], cost: Cost, matches: Matches) -> dict[int, int]:
    """Return the column of each row that gets one.

    Args:
        rows: how many rows there are, the most specific first.
        columns: the key of each column; columns with one key cost every row the same.
        cost: the cost of a row and a column.
        matches: the columns that equal the row, in order; rows that are alike share one queue; asked only
            beyond the bounds.
    """
    kept = _first_of_each(columns, rows)
    if rows == 1 or (rows <= MAX_EXACT_ROWS and rows * len(kept) <= MAX_EXACT_PAIRS):
        return _exact(rows, kept, cost)
    return _greedy(rows, kept, cost, matches)


def align(rows: int, columns: int, cost: Callable[[int, int], int | None]) -> tuple[int, int, dict[int, int]] | None:
    """Return how rows take columns in order: (rows without one, total cost, column of each row).

    `cost` is None where a row can't take a column. None is returned beyond `MAX_EXACT_PAIRS` pairs.
    """
    if rows * columns > MAX_EXACT_PAIRS:
        return None
    best: list[list[tuple[int, int]]] = [[(row, 0) for row in range(rows + 1)]]
    for column in range(columns):
        before, now = best[-1], [(0, 0)]
        for row in range(rows):
            options = [before[row + 1], (now[row][0] + 1, now[row][1])]
            price = cost(row, column)
            if price is not None:
                options.append((before[row][0], before[row][1] + price))
            now.append(min(options))
        best.append(now)
    return (*best[-1][rows], _trace(best, rows, columns, cost))


def first_sequence(rows: int, columns: int, fits: Callable[[int, int], bool]) -> dict[int, int] | None:
    """Return the earliest columns that fit all rows in order, or None where there is no such sequence."""
    found: dict[int, int] = {}
    for column in range(columns):
        if len(found) < rows and fits(len(found), column):
            found[len(found)] = column
    return found if len(found) == rows else None


def _trace(best: list[list[tuple[int, int]]], row: int, column: int, cost: Callable[[int, int], int | None]) -> dict[int, int]:
    """Walk back from the end; skipping a column is preferred, so that the earliest columns are taken."""
    taken: dict[int, int] = {}
    while row and column:
        here = best[column][row]
        if best[column - 1][row] == here:
            column -= 1
            continue
        price = cost(row - 1, column - 1)
        left, spent = best[column - 1][row - 1]
        if price is not None and (left, spent + price) == here:
            taken[row - 1] = column - 1
            column -= 1
        row -= 1
    return taken


def _first_of_each(columns: Sequence[Hashable], most: int) -> list[int]:
    """Return the columns without those that only repeat one that already stands there `most` times."""
    seen: dict[Hashable, int] = defaultdict(int)
    kept: list[int] = []
    for column, key in enumerate(columns):
        seen[key] += 1
        if seen[key] <= most:
            kept.append(column)
    return kept


def _exact(rows: int, columns: list[int], cost: Cost) -> dict[int, int]:
    if rows == 1:
        return _single(columns, cost)
    prices = [{column: cost(row, column) for column in columns} for row in range(rows)]
    kept = _cheapest(prices)
    weight = rows * (len(kept) + 1)
    matrix = [[line[column] * weight + rank for rank, column in enumerate(kept)] for line in prices]
    if rows <= len(kept):
        return {row: kept[rank] for row, rank in enumerate(_least_cost(matrix))}
    turned = [[line[rank] for line in matrix] for rank in range(len(kept))]
    return {row: kept[rank] for rank, row in enumerate(_least_cost(turned))}


def _cheapest(prices: list[dict[int, int]]) -> list[int]:
    """Return the columns a best assignment can be made of: for each row as many of its cheapest as there are rows."""
    kept: set[int] = set()
    for line in prices:
        kept.update(sorted(line, key=line.__getitem__)[: len(prices)])
    return sorted(kept)


def _single(columns: list[int], cost: Cost) -> dict[int, int]:
    best: tuple[int, int] | None = None
    for column in columns:
        price = cost(0, column)
        if best is None or price < best[0]:
            best = (price, column)
        if price == 0:
            break
    return {} if best is None else {0: best[1]}


def _greedy(rows: int, columns: list[int], cost: Cost, matches: Matches) -> dict[int, int]:
    free = set(columns)
    taken: dict[int, int] = {}
    for row in range(rows):
        waiting = matches(row)
        while waiting and waiting[0] not in free:
            waiting.popleft()
        if waiting:
            taken[row] = waiting.popleft()
            free.discard(taken[row])
    left = deque(column for column in columns if column in free)
    for row in range(rows):
        if row not in taken and left:
            window = list(islice(left, GREEDY_WINDOW))
            taken[row] = window[min(range(len(window)), key=lambda at: cost(row, window[at]))]
            left.remove(taken[row])
    return taken


def _least_cost(matrix: list[list[int]]) -> list[int]:
    """Return the column of each row at least total cost (the Hungarian method; rows <= columns)."""
    rows, columns = len(matrix), len(matrix[0]) if matrix else 0
    row_price, column_price = [0] * (rows + 1), [0] * (columns + 1)
    row_of = [0] * (columns + 1)
    for row in range(1, rows + 1):
        _place(row, matrix, row_price, column_price, row_of)
    result = [0] * rows
    for column in range(1, columns + 1):
        if row_of[column]:
            result[row_of[column] - 1] = column - 1
    return result


def _place(row: int, matrix: list[list[int]], row_price: list[int], column_price: list[int], row_of: list[int]) -> None:
    """Give one more row a column, moving earlier rows along the cheapest chain of exchanges; indexes count from 1."""
    columns = len(row_of) - 1
    row_of[0] = row
    came_from = [0] * (columns + 1)
    slack = [_UNREACHED] * (columns + 1)
    done = [False] * (columns + 1)
    at = 0
    while row_of[at]:
        done[at] = True
        current = row_of[at]
        open_columns = [column for column in range(1, columns + 1) if not done[column]]
        for column in open_columns:
            price = matrix[current - 1][column - 1] - row_price[current] - column_price[column]
            if price < slack[column]:
                slack[column], came_from[column] = price, at
        following = min(open_columns, key=lambda column: slack[column])
        step = slack[following]
        for column in range(columns + 1):
            if done[column]:
                row_price[row_of[column]] += step
                column_price[column] -= step
            else:
                slack[column] -= step
        at = following
    while at:
        row_of[at] = row_of[came_from[at]]
        at = came_from[at]
