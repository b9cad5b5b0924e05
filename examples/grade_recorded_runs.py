"""Grade runs that were recorded elsewhere: run files, OTLP JSON or Jaeger JSON, as `attest-otel check` does.

python examples/grade_recorded_runs.py [PATH...]
"""

from __future__ import annotations

import sys
from collections.abc import Sequence
from pathlib import Path

from attest_otel import Attest, Report
from attest_otel.read.files import read_runs

RUNS = Path(__file__).parent / "runs"


def main(paths: Sequence[str | Path] = ()) -> list[Report]:
    """Grade every run of the files, by default the examples', and print a line for each."""
    attest = Attest()
    reports = []
    for result in read_runs(paths or [RUNS / "refund.json", RUNS / "docent.jsonl"]):
        if result.run is None:
            print(f"not read: {result.error}")
            continue
        report = attest.evaluate(result.run, checks=attest.default_checks())
        reports.append(report)
        worst = next((f for f in report.findings() if f.disposition == report.verdict != "pass"), None)
        print(f"verdict: {report.verdict:<6}  {report.run_id}" + (f": {worst.verdict} at step {worst.step}" if worst else ""))
    return reports


if __name__ == "__main__":
    main(sys.argv[1:])
