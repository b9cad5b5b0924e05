"""Short ways to write the runs these tests grade."""

from __future__ import annotations

from typing import Any

from attest_otel.checks.side_effects import SideEffect
from attest_otel.checks.view import RunView
from attest_otel.config import AttestConfig
from attest_otel.findings import CheckResult, Finding
from attest_otel.trajectory import Trajectory

REFUND = {"name": "issue_refund", "side_effecting": True}
LOOKUP = {"name": "lookup_order", "side_effecting": False}


def call(name: str = "issue_refund", raw: str | None = '{"id": 1}', output: str | None = "ok", **fields: Any) -> dict[str, Any]:
    """Return one call as a run file holds it."""
    return {"name": name, "arguments_raw": raw, "output": output, **fields}


def view(
    *calls: dict[str, Any],
    tools: Any = (REFUND, LOOKUP),
    history: tuple[SideEffect, ...] = (),
    config: AttestConfig | None = None,
    **fields: Any,
) -> RunView:
    """Return a run of these calls as a check reads it; a call with `agent` is one of that nested agent."""
    steps = [{"agent": c.get("agent"), "tool_call": {k: v for k, v in c.items() if k != "agent"}} for c in calls]
    run = Trajectory.model_validate({"id": "run-1", "task": "t", "steps": steps, "tools": list(tools), **fields})
    return RunView(run, config or AttestConfig(), history=history)


def said(result: CheckResult | None, *, passing: bool = False) -> list[tuple[str, str, int | None]]:
    """Return what a result says: verdict, severity and step of each finding, passing ones only if asked for."""
    assert result is not None
    return [(f.verdict, f.severity, f.step) for f in result.findings if passing or f.severity != "pass"]


def only(result: CheckResult | None, verdict: str) -> Finding:
    """Return the one finding with this verdict."""
    assert result is not None
    (found,) = [f for f in result.findings if f.verdict == verdict]
    return found
