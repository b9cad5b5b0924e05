"""Memory under abandoned runs and big outputs, and a soak: flat memory, threads and descriptors (`make soak`)."""

from __future__ import annotations

import gc
import os
import subprocess
import sys
import threading
import time
from pathlib import Path

import pytest
from opentelemetry.context import Context

from tests.benchmarks.agents import AGENT, one_run, setup

SOAK_SECONDS = float(os.environ.get("ATTEST_SOAK_SECONDS", "600"))
WARM_UP_SHARE = 0.25
CYCLE_SECONDS = 0.05
MAX_GROWTH_BYTES = 32 * 1024 * 1024
MAX_ABOVE_BASELINE_BYTES = 256 * 1024 * 1024
ABANDONED_RUNS = 100_000


def resident_bytes() -> int:
    """Return this process's resident memory."""
    return int(Path("/proc/self/statm").read_text(encoding="ascii").split()[1]) * os.sysconf("SC_PAGE_SIZE")


def descriptors() -> int:
    """Return how many file descriptors are open."""
    return sum(1 for _ in Path("/proc/self/fd").iterdir())


@pytest.mark.slow
@pytest.mark.timeout(1200)
def test_soak() -> None:
    """Under steady load, with some runs abandoned, memory, threads and descriptors stay where they were after warming up."""
    end = time.monotonic() + SOAK_SECONDS
    warm: tuple[int, int, int] | None = None
    peak = sent = 0
    with setup(attest=True, batch=True) as one:
        assert one.processor is not None
        while time.monotonic() < end:
            for _ in range(5):
                one_run(one.tracer, 5)
            one.tracer.start_span("agent", context=Context(), attributes=AGENT)
            sent += 6
            time.sleep(CYCLE_SECONDS)
            if warm is None and end - time.monotonic() < SOAK_SECONDS * (1 - WARM_UP_SHARE):
                gc.collect()
                warm = resident_bytes(), threading.active_count(), descriptors()
            peak = max(peak, resident_bytes())
        one.settle()
        gc.collect()
        health = one.processor.health()
        after = resident_bytes(), threading.active_count(), descriptors()
    assert warm is not None
    print(
        f"\n{SOAK_SECONDS:.0f} s, {sent} runs, evaluated {health.evaluated}, dropped {dict(health.dropped)}, open {health.open_runs}"
    )
    print(f"(bytes, threads, descriptors) warm {warm}, after {after}, peak {peak} bytes")
    assert after[0] - warm[0] < MAX_GROWTH_BYTES
    assert after[1:] == warm[1:]
    assert health.started == health.evaluated + sum(health.dropped.values())
    assert sent == health.started + health.open_runs


_ABANDONED = """
import gc
from opentelemetry.context import Context
from tests.benchmarks.agents import AGENT, setup, tool
from tests.benchmarks.test_soak import ABANDONED_RUNS, resident_bytes
with setup(attest=True) as one:
    with one.tracer.start_as_current_span("warm", attributes=AGENT):
        pass
    one.settle()
    gc.collect()
    before, peak = resident_bytes(), 0
    for number in range(ABANDONED_RUNS):
        root = one.tracer.start_span("agent", context=Context(), attributes=AGENT)
        if number % 5_000 == 0:
            from opentelemetry.trace import set_span_in_context
            span = one.tracer.start_span("execute_tool", context=set_span_in_context(root), attributes=tool(number))
            span.set_attribute("gen_ai.tool.call.result", "x" * 10_000_000)
            span.end()
            del span
            peak = max(peak, resident_bytes())
        if number % 1_000 == 0:
            peak = max(peak, resident_bytes())
    peak = max(peak, resident_bytes())
    print(peak - before)
"""


@pytest.mark.slow
@pytest.mark.timeout(600)
def test_abandoned_runs_and_big_outputs_stay_bounded() -> None:
    """100,000 runs that never end, some with a 10 MB output, stay within 256 MiB of the baseline."""
    root = Path(__file__).parents[2]
    done = subprocess.run([sys.executable, "-c", _ABANDONED], cwd=root, capture_output=True, text=True, timeout=500, check=True)
    above = int(done.stdout)
    print(f"\npeak above the baseline: {above / 1024 / 1024:.0f} MiB")
    assert above < MAX_ABOVE_BASELINE_BYTES
