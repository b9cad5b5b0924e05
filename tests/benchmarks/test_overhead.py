"""What the processor adds to each span on the agent's own thread, against what a batch processor adds, in one run.

Processor time of the agent's threads is measured, so that what the worker does meanwhile on its own
thread isn't counted; allocation and garbage collection on the agent's thread are.
"""

from __future__ import annotations

import contextlib
import functools
import statistics
from typing import Any

import pytest

from tests.benchmarks.agents import many_runs, on_threads, setup, tidy

SPANS_A_ROUND = 2_000
ROUNDS = 15


@pytest.mark.parametrize("spans", [5, 50])
@pytest.mark.parametrize("threads", [1, 16])
@pytest.mark.timeout(300)
def test_added_time_a_span(benchmark: Any, spans: int, threads: int) -> None:
    """Alone the processor adds no more than a batch processor does, and beside one at most half of that."""
    kinds = {
        "bare": {},
        "batch": {"batch": True},
        "attest": {"attest": True},
        "both": {"attest": True, "batch": True},
    }
    took: dict[str, list[float]] = {kind: [] for kind in kinds}
    with contextlib.ExitStack() as stack:
        setups = {kind: stack.enter_context(setup(**options)) for kind, options in kinds.items()}

        def measure() -> None:
            for kind, one in setups.items():
                tidy()
                runs = max(SPANS_A_ROUND // spans // threads, 1)
                seconds = on_threads(threads, functools.partial(many_runs, one.tracer, spans, runs))
                took[kind].append(seconds / (runs * spans * threads) * 1e6)
                one.settle()

        measure()
        for values in took.values():
            values.clear()
        benchmark.pedantic(measure, rounds=ROUNDS, iterations=1)
    middle = {kind: statistics.median(values) for kind, values in took.items()}
    added = {
        "batch_us": middle["batch"] - middle["bare"],
        "attest_us": middle["attest"] - middle["bare"],
        "beside_us": middle["both"] - middle["batch"],
    }
    benchmark.extra_info.update({**{k: round(v, 2) for k, v in middle.items()}, **{k: round(v, 2) for k, v in added.items()}})
    print(f"\n{spans} spans, {threads} threads: {benchmark.extra_info}")
    assert added["attest_us"] < 25, "a span costs far more than it may"
