"""One run under two policies: findings say what happened, a policy decides what follows from it.

python examples/custom_policy.py
"""

from __future__ import annotations

from pathlib import Path

from attest_otel import Attest, Report, ToolUsePolicy, Trajectory, VerdictPolicy

RUN = Path(__file__).parent / "runs" / "refund.json"

STRICT = VerdictPolicy(
    tool_use=ToolUsePolicy(on_unhandled_error="block"),  # a failed mail nobody told the customer about
    dispositions={"arguments": {"placeholder": "block"}},  # any row of the table of checks
    min_score={"tool_use": 0.9},
)

RULES = [
    {"id": "one_charge", "severity": "fail", "at_most": {"charge_card": 1}},
    {
        "id": "look_before_charging",
        "severity": "warn",
        "tool": "charge_card",
        "require": 'run.calls.exists(c, c.name == "lookup_order" && c.index < call.index)',
    },
]


def main() -> list[Report]:
    """Grade the example run three times and print the verdicts."""
    run = Trajectory.model_validate_json(RUN.read_text(encoding="utf-8"))
    graders = {
        "default policy": Attest(),
        "strict policy": Attest(verdict_policy=STRICT),
        "with rules": Attest({"agents": {"refund-agent": {"rules": RULES}}}),
    }
    reports = []
    for name, attest in graders.items():
        report = attest.evaluate(run, checks=["tool_use", "policy"])
        reports.append(report)
        print(f"{name:<15} verdict: {report.verdict}  {[entry['verdict'] for entry in report.blocking]}")
    return reports


if __name__ == "__main__":
    main()
