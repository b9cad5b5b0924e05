"""Short spellings for one call and what the `arguments` check says of it."""

from __future__ import annotations

from typing import Any

from attest_otel.checks.arguments import check
from attest_otel.checks.view import RunView
from attest_otel.findings import Finding
from attest_otel.trajectory import Trajectory

REFUND = {
    "name": "refund",
    "side_effecting": True,
    "input_schema": {
        "type": "object",
        "properties": {
            "order_id": {"type": "string"},
            "cents": {"type": "integer"},
            "note": {"type": "string"},
            "notify": {"type": "boolean", "default": True},
            "fee": {"type": "number"},
            "tags": {"type": "array", "items": {"type": "string"}},
        },
    },
}


def tool(
    name: str = "t", *, required: tuple[str, ...] = (), properties: dict[str, Any] | None = None, **more: Any
) -> dict[str, Any]:
    """A tool with these properties."""
    schema = {"type": "object", "properties": properties or {}, "required": list(required)}
    return {"name": name, "side_effecting": False, "input_schema": schema, **more}


def call(raw: str | None, received: Any = None, name: str = "refund", **more: Any) -> dict[str, Any]:
    """One step with a call."""
    return {"tool_call": {"name": name, "arguments_raw": raw, "arguments_received": received, "output": "ok", **more}}


def view(*steps: dict[str, Any], tools: list[dict[str, Any]] | None = None, **more: Any) -> RunView:
    """A run of these steps with these tools (one refund tool)."""
    return RunView(Trajectory.model_validate({"steps": list(steps), "tools": [REFUND] if tools is None else tools, **more}))


def findings(*steps: dict[str, Any], tools: list[dict[str, Any]] | None = None, **more: Any) -> list[Finding]:
    """What the check finds."""
    return check(view(*steps, tools=tools, **more)).findings


def words(found: list[Finding]) -> list[tuple[str, str, str | None]]:
    """Each finding's verdict, severity and path."""
    return [(f.verdict, f.severity, f.metadata.get("path")) for f in found]
