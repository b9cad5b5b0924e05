"""attest_otel: an OpenTelemetry span processor that grades live agents' tool calls.

Importing this package starts nothing: no thread, no socket, no model client.
"""

from __future__ import annotations

from attest_otel.config import AttestConfig
from attest_otel.findings import CheckResult, Finding
from attest_otel.grader import Attest
from attest_otel.report import Report
from attest_otel.statistics import difference_is_real, wilson_interval
from attest_otel.trajectory import Artifact, Step, Tool, ToolCall, Trajectory, Usage
from attest_otel.verdict import ToolUsePolicy, VerdictPolicy

__all__ = [
    "Artifact",
    "Attest",
    "AttestConfig",
    "CheckResult",
    "Finding",
    "Report",
    "Step",
    "Tool",
    "ToolCall",
    "ToolUsePolicy",
    "Trajectory",
    "Usage",
    "VerdictPolicy",
    "difference_is_real",
    "wilson_interval",
]
