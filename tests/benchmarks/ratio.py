"""Costs as ratios within one test run, so that the machine and its other work matter little.

CPU time, the best of several rounds, both sides in turn. The garbage collector is off while a cost is
taken (as in pytest-benchmark's `--benchmark-disable-gc`): what it walks is mostly the caller's own heap.
"""

from __future__ import annotations

import gc
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager

Work = Callable[[], object]


def ratio(work: Work, reference: Work, rounds: int = 7) -> float:
    """Return how many times the cost of the reference the work costs."""
    pairs = [(cost(work), cost(reference)) for _ in range(rounds)]
    return min(worked for worked, _ in pairs) / min(referred for _, referred in pairs)


def cost(work: Work) -> float:
    """Return the CPU seconds of doing the work once."""
    with _no_collector():
        before = time.process_time()
        done = work()
        seconds = time.process_time() - before
    del done
    return seconds


@contextmanager
def _no_collector() -> Iterator[None]:
    gc.collect()
    gc.disable()
    try:
        yield
    finally:
        gc.enable()
