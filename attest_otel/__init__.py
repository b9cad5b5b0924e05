"""attest_otel: an OpenTelemetry span processor that grades live agents' tool calls.

Importing this package starts nothing: no thread, no socket, no model client.
"""

from __future__ import annotations

from attest_otel.config import AttestConfig
from attest_otel.errors import (
    AttestError,
    BadInputError,
    ConfigError,
    ContractError,
    ReportTimeoutError,
    RunFileError,
)
from attest_otel.export.redacting_exporter import RedactingSpanExporter
from attest_otel.findings import CheckResult, Finding
from attest_otel.grader import Attest
from attest_otel.live.install import install
from attest_otel.live.processor import AttestSpanProcessor
from attest_otel.live.sampler import AttestSampler
from attest_otel.record.agent_run import AgentRun, agent_run
from attest_otel.record.anthropic_http import anthropic_http_client, async_anthropic_http_client
from attest_otel.record.dispatcher import bind_context, traced_dispatcher
from attest_otel.record.tools import Tools
from attest_otel.report import Report
from attest_otel.statistics import difference_is_real, wilson_interval
from attest_otel.trajectory import Artifact, Step, Tool, ToolCall, Trajectory, Usage
from attest_otel.verdict import ToolUsePolicy, VerdictPolicy

__all__ = [
    "AgentRun",
    "Artifact",
    "Attest",
    "AttestConfig",
    "AttestError",
    "AttestSampler",
    "AttestSpanProcessor",
    "BadInputError",
    "CheckResult",
    "ConfigError",
    "ContractError",
    "Finding",
    "RedactingSpanExporter",
    "Report",
    "ReportTimeoutError",
    "RunFileError",
    "Step",
    "Tool",
    "ToolCall",
    "ToolUsePolicy",
    "Tools",
    "Trajectory",
    "Usage",
    "VerdictPolicy",
    "agent_run",
    "anthropic_http_client",
    "async_anthropic_http_client",
    "bind_context",
    "difference_is_real",
    "install",
    "traced_dispatcher",
    "wilson_interval",
]
