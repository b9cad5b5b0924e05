"""Real airline runs: the verdict of `expectations` against the benchmark's own reward."""

from __future__ import annotations

from collections import Counter

import pytest

from attest_otel import Attest, AttestConfig
from attest_otel.cases import load_cases
from attest_otel.config import AgentConfig
from tests.shared import taubench, taubench_runs

FILES = ["runs.jsonl", "traces.otlp.jsonl"]
REVIEWED = {"tool_use": 10, "arguments": 1, "repetition": 1}
"""Of 20 good runs. `tool_use`: an unrecovered error, or an empty output, about which only a grading model can read the answer."""


@pytest.mark.parametrize("name", FILES)
def test_the_verdict_agrees_with_the_reward(name: str) -> None:
    """At least 39 of 40 agree; the miss passed extra keys that the benchmark's database ignores.

    Spans don't say which case they belong to, nor which tools only read: the settings do.
    """
    records = taubench_runs()
    agent = AgentConfig(cases=load_cases(taubench() / "cases.yaml"), tools=records[0].tools)
    attest = Attest(AttestConfig(agents={"*": agent}))
    rewards = [run.metadata["reward"] == 1.0 for run in records]
    runs = [run.model_copy(update={"case_id": record.case_id}) for run, record in zip(taubench_runs(name), records, strict=True)]
    reports = [attest.evaluate(run, checks=["expectations"]) for run in runs]
    assert all(report.result("expectations") for report in reports)
    missed = [report for good, report in zip(rewards, reports, strict=True) if (report.verdict != "block") is not good]
    assert len(missed) <= 1
    for report in missed:
        (wrong,) = [finding for finding in report.findings() if finding.severity == "fail"]
        assert (wrong.verdict, wrong.metadata["argument"]) == ("wrong_argument", "flights")
        assert "origin" in str(wrong.metadata)


@pytest.mark.parametrize("name", FILES)
def test_no_good_run_is_blocked(name: str) -> None:
    """Without cases no run with reward 1 is blocked by any check, and no check sends more of them to review than is known."""
    attest = Attest({})
    rewards = [run.metadata["reward"] == 1.0 for run in taubench_runs()]
    reports = [attest.evaluate(run, checks=attest.deterministic_checks()) for run in taubench_runs(name)]
    good = [report for reward, report in zip(rewards, reports, strict=True) if reward]
    assert len(good) == 20
    assert [(report.run_id, report.blocking) for report in good if report.blocking] == []
    reviewed = Counter(
        result.check for report in good for result in report.results if any(f.disposition == "review" for f in result.findings)
    )
    assert all(count <= REVIEWED.get(check, 0) for check, count in reviewed.items()), reviewed
