"""An asyncio agent server with 200 runs at a time: the 99th percentile of its latency, with the processor and without."""

from __future__ import annotations

import asyncio
import contextlib
from typing import Any

import pytest

from tests.benchmarks.agents import percentile, serve, setup, sleeping_judge, tidy

CLIENTS = 200
ROUNDS = 4


@pytest.mark.parametrize(("think_seconds", "runs"), [(0.2, 4), (0.05, 8), (0.0, 30)])
@pytest.mark.timeout(300)
def test_p99_of_an_agent_server(benchmark: Any, think_seconds: float, runs: int) -> None:
    """All deterministic checks on, a judge asleep for 30 s; tools take 5 ms, the agent's own model more."""
    bare: list[float] = []
    ours: list[float] = []
    with contextlib.ExitStack() as stack:
        without, with_it = stack.enter_context(setup()), stack.enter_context(setup(attest=True, model_checks=sleeping_judge))

        def measure() -> None:
            for one, into in ((without, bare), (with_it, ours)):
                tidy()
                into.extend(asyncio.run(serve(one.tracer, clients=CLIENTS, runs=runs, calls=5, think_seconds=think_seconds)))
                one.settle()

        benchmark.pedantic(measure, rounds=ROUNDS, iterations=1, warmup_rounds=0)
        assert with_it.processor is not None
        health = with_it.processor.health()
    figures = {
        "bare_p50_ms": percentile(bare, 0.5) * 1e3,
        "bare_p99_ms": percentile(bare, 0.99) * 1e3,
        "attest_p50_ms": percentile(ours, 0.5) * 1e3,
        "attest_p99_ms": percentile(ours, 0.99) * 1e3,
        "p50_ratio": percentile(ours, 0.5) / percentile(bare, 0.5),
        "p99_ratio": percentile(ours, 0.99) / percentile(bare, 0.99),
    }
    benchmark.extra_info.update({name: round(value, 3) for name, value in figures.items()})
    print(
        f"\nthink {think_seconds} s: {benchmark.extra_info} evaluated {health.evaluated} of {health.started}, dropped {dict(health.dropped)}"
    )
    assert health.started == CLIENTS * runs * ROUNDS == health.evaluated + sum(health.dropped.values())
