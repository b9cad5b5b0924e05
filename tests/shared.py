"""The real airline runs, which stand beside the checkout and are never part of it."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from attest_otel.read.files import read_runs
from attest_otel.trajectory import Trajectory

TAUBENCH = Path(__file__).resolve().parents[1].parent / "shared" / "taubench"
REQUIRE = "ATTEST_REQUIRE_SHARED"


def taubench() -> Path:
    """Return the folder of the real runs; without it the test is skipped, or fails where they are required."""
    if not TAUBENCH.is_dir():
        missing = f"the real airline runs are not at {TAUBENCH}"
        if os.environ.get(REQUIRE) == "1":
            pytest.fail(f"{missing}, and {REQUIRE}=1 asks for them")
        pytest.skip(missing)
    return TAUBENCH


def taubench_runs(name: str = "runs.jsonl") -> list[Trajectory]:
    """Return the runs of one of its files, in order."""
    runs = [result.run for result in read_runs([taubench() / name])]
    assert len(runs) == 40
    found = [run for run in runs if run is not None]
    assert len(found) == 40
    return found


needs_taubench = pytest.mark.skipif(
    not TAUBENCH.is_dir() and os.environ.get(REQUIRE) != "1", reason="the real airline runs are not beside this checkout"
)
