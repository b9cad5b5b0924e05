"""An asyncio agent server with 200 runs at a time: the 99th percentile of its latency, with the processor and without.

Beside them a batch processor that exports to nowhere: what keeping spans alive costs anybody.
"""

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
    took: dict[str, list[float]] = {"bare": [], "batch": [], "attest": []}
    with contextlib.ExitStack() as stack:
        setups = {
            "bare": stack.enter_context(setup()),
            "batch": stack.enter_context(setup(batch=True)),
            "attest": stack.enter_context(setup(attest=True, model_checks=sleeping_judge)),
        }

        def measure() -> None:
            for kind, one in setups.items():
                tidy()
                took[kind].extend(
                    asyncio.run(serve(one.tracer, clients=CLIENTS, runs=runs, calls=5, think_seconds=think_seconds))
                )
                one.settle()

        benchmark.pedantic(measure, rounds=ROUNDS, iterations=1, warmup_rounds=0)
        processor = setups["attest"].processor
        assert processor is not None
        health = processor.health()
    figures = {
        f"{kind}_p{share}_ms": percentile(seconds, share / 100) * 1e3 for kind, seconds in took.items() for share in (50, 99)
    }
    figures |= {
        f"{kind}_p{s}_ratio": figures[f"{kind}_p{s}_ms"] / figures[f"bare_p{s}_ms"]
        for kind in ("batch", "attest")
        for s in (50, 99)
    }
    benchmark.extra_info.update({name: round(value, 3) for name, value in figures.items()})
    print(
        f"\nthink {think_seconds} s: {benchmark.extra_info} evaluated {health.evaluated} of {health.started}, dropped {dict(health.dropped)}"
    )
    assert health.started == CLIENTS * runs * ROUNDS == health.evaluated + sum(health.dropped.values())
