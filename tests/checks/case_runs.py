"""Short spellings for runs and cases in the tests of `expectations` and `selection`."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any

from attest_otel.cases import Case
from attest_otel.checks.view import RunView
from attest_otel.config import AgentConfig, AttestConfig
from attest_otel.findings import CheckResult
from attest_otel.trajectory import Tool, Trajectory

ORDER_ID = {"order_id": {"type": "string"}}
TOOLS = [
    Tool(
        name="refund",
        side_effecting=True,
        input_schema={
            "type": "object",
            "properties": {**ORDER_ID, "cents": {"type": "integer"}, "note": {"type": "string"}},
            "required": ["order_id", "cents"],
        },
    ),
    Tool(name="cancel", side_effecting=True, input_schema={"type": "object", "properties": ORDER_ID, "required": ["order_id"]}),
    Tool(name="email", side_effecting=True, input_schema={"type": "object", "properties": {"to": {"type": "string"}}}),
    Tool(name="lookup", side_effecting=False, input_schema={"type": "object", "properties": ORDER_ID}),
]

Made = tuple[str, Any] | tuple[str, Any, dict[str, Any]]


def call(name: str, args: Any = None, **more: Any) -> dict[str, Any]:
    """A recorded call; `args` is an object, or raw text."""
    raw = args if isinstance(args, str) else json.dumps(args if args is not None else {})
    return {"name": name, "arguments_raw": raw, "output": "ok", **more}


def expected(name: str, args: dict[str, Any] | None = None, **types: str) -> dict[str, Any]:
    """An expected call with its arguments and the types of some."""
    return {"name": name, "args": args or {}, "arg_types": types}


def case(*calls: dict[str, Any], **more: Any) -> Case:
    """A case that expects these calls."""
    return Case.model_validate({"case_id": "c", "expect_tool_calls": list(calls), **more})


def view(calls: Sequence[dict[str, Any]], made: Case | None, **more: Any) -> RunView:
    """A run of these calls, with its case."""
    record = {"case_id": made.case_id if made else None, "steps": [{"tool_call": one} for one in calls], **more}
    run = Trajectory.model_validate({"tools": [tool.model_dump() for tool in TOOLS], **record})
    cases = [made] if made else None
    return RunView(run, AttestConfig(agents={"*": AgentConfig(cases=cases)}), made)


def verdicts(result: CheckResult | None) -> list[tuple[str, int | None]]:
    """Each finding's verdict and step."""
    assert result is not None
    return [(finding.verdict, finding.step) for finding in result.findings]
