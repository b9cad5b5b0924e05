"""How many runs a second are evaluated while an agent does nothing but make spans, and that none is lost uncounted."""

from __future__ import annotations

import time
from typing import Any

import pytest

from tests.benchmarks.agents import one_run, setup

SECONDS = 5.0


@pytest.mark.timeout(300)
def test_what_is_sent_is_evaluated_or_dropped(benchmark: Any) -> None:
    """Runs sent = evaluated + dropped, to the run, at a rate no grader keeps up with; then with a worker that has the time."""
    figures: dict[str, float] = {}

    def measure() -> None:
        with setup() as bare:
            began, made = time.perf_counter(), 0
            while time.perf_counter() - began < 1.0:
                one_run(bare.tracer, 5)
                made += 1
            figures["made_a_second_bare"] = made / (time.perf_counter() - began)
        with setup(attest=True) as one:
            assert one.processor is not None
            began, sent = time.perf_counter(), 0
            while time.perf_counter() - began < SECONDS:
                one_run(one.tracer, 5)
                sent += 1
            took = time.perf_counter() - began
            busy = one.processor.health().evaluated
            figures["made_a_second"] = sent / took
            figures["evaluated_a_second_meanwhile"] = busy / took
            began = time.perf_counter()
            assert one.processor.drain(120)
            health = one.processor.health()
            figures["evaluated_a_second_afterwards"] = (health.evaluated - busy) / (time.perf_counter() - began)
            figures["dropped_share"] = sum(health.dropped.values()) / sent
            assert health.started == sent == health.evaluated + sum(health.dropped.values())

    benchmark.pedantic(measure, rounds=1, iterations=1)
    benchmark.extra_info.update({name: round(value, 3) for name, value in figures.items()})
    print(f"\n{benchmark.extra_info}")
