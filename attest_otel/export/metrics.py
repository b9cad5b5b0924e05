"""Verdicts, findings, scores and calls as metrics.

Labels come from closed sets only: declared tools and a bounded number of agents, everything else is
`_other`, so that a model inventing tool names adds one series. Counters exist with 0 before the first
count, so that the first block raises an alert. Exemplars carry the run's trace.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable

from opentelemetry.context import Context
from opentelemetry.metrics import MeterProvider
from opentelemetry.trace import NonRecordingSpan, set_span_in_context

from attest_otel import attributes as names
from attest_otel.checks.view import RunView
from attest_otel.config import AttestConfig
from attest_otel.export.evaluated import Evaluated
from attest_otel.findings import CheckResult, Finding
from attest_otel.redaction import Redactor
from attest_otel.report import package_version
from attest_otel.trajectory import Trajectory

MAX_AGENTS = 100
MAX_TOOLS = 500
MAX_LABEL_CHARS = 128
Labels = tuple[tuple[str, str], ...]

VERDICTS = ("pass", "review", "block")
_SECONDS = (0.001, 0.005, 0.01, 0.05, 0.1, 0.5, 1.0, 2.0, 5.0, 10.0, 30.0, 60.0)
_SHARES = (0.0, 0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9, 1.0)


class ClosedSet:
    """A set of label values that stops growing: values after the limit are `_other`."""

    def __init__(self, limit: int, known: Iterable[str] = ()) -> None:
        self._limit = limit
        self._known = set(known)

    def label(self, value: str) -> str:
        """Return the value, or `_other` where the set is full and doesn't hold it."""
        if value not in self._known:
            if len(self._known) >= self._limit:
                return names.OTHER_TOOL
            self._known.add(value)
        return value


class EvaluationMetrics:
    """A sink that counts. Runs are counted once, when their first revision is final; findings as they come."""

    def __init__(self, meter_provider: MeterProvider, config: AttestConfig, redactor: Redactor | None = None) -> None:
        meter = meter_provider.get_meter(names.EVALUATION_SCOPE, package_version())
        self._config = config
        self._redactor = redactor or Redactor(config.redaction)
        self._runs = meter.create_counter(names.METRIC_RUNS, "{run}", "Runs evaluated, by verdict.")
        self._findings = meter.create_counter(names.METRIC_FINDINGS, "{finding}", "Findings, by check and verdict.")
        self._score = meter.create_histogram(
            names.METRIC_SCORE, "1", "Scores of checks.", explicit_bucket_boundaries_advisory=_SHARES
        )
        self._selection = meter.create_counter(names.METRIC_SELECTION, "{run}", "Decisions to call or not, against the cases.")
        self._calls = meter.create_counter(names.METRIC_TOOL_CALLS, "{call}", "Tool calls, by outcome.")
        self._lag = meter.create_histogram(
            names.METRIC_LAG, "s", "From a run's end to its verdict.", explicit_bucket_boundaries_advisory=_SECONDS
        )
        self._duration = meter.create_histogram(
            names.METRIC_CHECK_DURATION, "s", "Time a check took.", explicit_bucket_boundaries_advisory=_SECONDS
        )
        self._agents = ClosedSet(MAX_AGENTS, (name for name in config.agents if name != "*"))
        self._tools = ClosedSet(MAX_TOOLS)
        self._started: set[str] = set()
        for name in config.agents:
            if name != "*":
                self._start(name)

    def begin(self, agent: str | None) -> None:
        """Let an agent's counters exist with 0 from when its first run begins."""
        self._start(self._agents.label(self._shown(agent or names.OTHER_TOOL)))

    def emit(self, evaluated: Evaluated) -> None:
        """Count one evaluated run."""
        agent = self._agents.label(self._shown(evaluated.run.agent or names.OTHER_TOOL))
        self._start(agent)
        context = _context(evaluated)
        view = RunView(evaluated.run, self._config)
        for result in evaluated.fresh_results():
            self._count_result(result, evaluated.run, view, agent, context)
        for check, seconds in evaluated.check_seconds.items():
            self._duration.record(seconds, {names.CHECK: check}, context)
        if evaluated.final and evaluated.report.revision == 0:
            self._count_run(evaluated, view, agent, context)

    def force_flush(self, timeout_millis: int) -> bool:
        """Do nothing: the meter provider's own readers flush metrics."""
        return True

    def _start(self, agent: str) -> None:
        if agent in self._started:
            return
        self._started.add(agent)
        for verdict in VERDICTS:
            self._runs.add(0, {names.VERDICT: verdict, names.AGENT_NAME: agent})

    def _count_run(self, evaluated: Evaluated, view: RunView, agent: str, context: Context) -> None:
        self._runs.add(1, {names.VERDICT: evaluated.report.verdict, names.AGENT_NAME: agent}, context)
        if evaluated.lag_seconds is not None:
            self._lag.record(max(0.0, evaluated.lag_seconds), {names.AGENT_NAME: agent}, context)
        outcomes = Counter(
            (self._tool(view, call.name), "error" if call.outcome.is_error else "ok")
            for call in view.calls
            if call.outcome.is_error is not None
        )
        for (tool, outcome), number in outcomes.items():
            labels = {names.AGENT_NAME: agent, names.TOOL_NAME: tool, names.OUTCOME: outcome}
            self._calls.add(number, labels, context)

    def _count_result(self, result: CheckResult, run: Trajectory, view: RunView, agent: str, context: Context) -> None:
        if result.score is not None:
            self._score.record(result.score, {names.CHECK: result.check, names.AGENT_NAME: agent}, context)
        outcome = result.metadata.get("outcome") if result.check == "selection" else None
        if isinstance(outcome, str):
            self._selection.add(1, {names.OUTCOME: outcome, names.AGENT_NAME: agent}, context)
        for labels, number in Counter(self._labels(result, finding, run, view, agent) for finding in result.findings).items():
            self._findings.add(number, dict(labels), context)

    def _labels(self, result: CheckResult, finding: Finding, run: Trajectory, view: RunView, agent: str) -> Labels:
        step = run.steps[finding.step] if finding.step is not None and finding.step < len(run.steps) else None
        tool = step.tool_call.name if step is not None and step.tool_call is not None else None
        return (
            (names.CHECK, result.check),
            (names.FINDING_VERDICT, finding.verdict),
            (names.SEVERITY, finding.severity),
            (names.DISPOSITION, finding.disposition or "pass"),
            (names.AGENT_NAME, agent),
            *(((names.TOOL_NAME, self._tool(view, tool)),) if tool is not None else ()),
        )

    def _shown(self, name: str) -> str:
        """Return a name as a label may have it; one that the settings name stays."""
        return name if name in self._config.agents else self._redactor.show(name, MAX_LABEL_CHARS)

    def _tool(self, view: RunView, name: str) -> str:
        return self._tools.label(self._shown(name)) if name in view.tools else names.OTHER_TOOL


def _context(evaluated: Evaluated) -> Context:
    return Context() if evaluated.root is None else set_span_in_context(NonRecordingSpan(evaluated.root), Context())
