"""Real airline runs: the verdict of `expectations` against the benchmark's own reward."""

from __future__ import annotations

from pathlib import Path

import pytest

from attest_otel import Attest, AttestConfig, Trajectory
from attest_otel.cases import load_cases
from attest_otel.config import AgentConfig

FOLDER = Path(__file__).resolve().parents[2].parent / "shared" / "taubench"
NEEDED = [FOLDER / "runs.jsonl", FOLDER / "cases.yaml"]

pytestmark = pytest.mark.skipif(not all(path.exists() for path in NEEDED), reason=f"needs the airline runs in {FOLDER}")


def test_the_verdict_agrees_with_the_reward() -> None:
    """At least 39 of 40 agree; the miss passed extra keys that the benchmark's database ignores."""
    attest = Attest(AttestConfig(agents={"*": AgentConfig(cases=load_cases(FOLDER / "cases.yaml"))}))
    lines = (FOLDER / "runs.jsonl").read_text(encoding="utf-8").splitlines()
    runs = [Trajectory.model_validate_json(line) for line in lines]
    reports = [attest.evaluate(run, checks=["expectations"]) for run in runs]
    missed = [report for run, report in zip(runs, reports, strict=True) if (report.verdict != "block") is not (run.metadata["reward"] == 1.0)]
    assert len(runs) == 40
    assert len(missed) <= 1
    for report in missed:
        (wrong,) = [finding for finding in report.findings() if finding.severity == "fail"]
        assert (wrong.verdict, wrong.metadata["argument"]) == ("wrong_argument", "flights")
        assert "origin" in str(wrong.evidence)
