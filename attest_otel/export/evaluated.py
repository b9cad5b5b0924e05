"""What goes from the live pipeline to the sinks: one evaluated run.

A sink writes it somewhere: spans, metrics, logs, a callback. Sinks are isolated from each other: one
that raises or hangs costs the others nothing.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Protocol, runtime_checkable

from opentelemetry.sdk.trace import ReadableSpan
from opentelemetry.trace import SpanContext

from attest_otel.findings import CheckResult
from attest_otel.report import Report
from attest_otel.trajectory import Trajectory


@dataclass(frozen=True, slots=True)
class Evaluated:
    """One run with its report.

    A run may be sent more than once: its deterministic findings at once (`final` False while a model
    is still reading), everything when all checks are in, and again as a revision when late spans
    supersede it. `fresh` names the checks whose results were not sent before; None means all. Of those,
    `sent` are the ids of findings and `scored` the checks whose score went out all the same.
    `root` is the context of the run's root span, the parent of the evaluation span; `lag_seconds` the
    time from the run's end to this report; `check_seconds` how long each check took; `spans` the
    run's own ended spans, for a sink that exports what was recorded but not sampled.
    """

    run: Trajectory
    report: Report
    root: SpanContext | None = None
    lag_seconds: float | None = None
    check_seconds: Mapping[str, float] = field(default_factory=dict)
    spans: tuple[ReadableSpan, ...] = ()
    final: bool = True
    fresh: frozenset[str] | None = None
    sent: frozenset[str] = frozenset()
    scored: frozenset[str] = frozenset()

    def fresh_results(self) -> list[CheckResult]:
        """Return the results that were not sent before, without the findings and scores that were."""
        return [self._fresh(r) for r in self.report.results if self.fresh is None or r.check in self.fresh]

    def _fresh(self, result: CheckResult) -> CheckResult:
        findings = [finding for finding in result.findings if finding.id not in self.sent]
        if len(findings) == len(result.findings) and result.check not in self.scored:
            return result
        return result.model_copy(update={"findings": findings, "score": None if result.check in self.scored else result.score})


class Sink(Protocol):
    """One way out."""

    def emit(self, evaluated: Evaluated) -> None:
        """Write one evaluated run; called from the worker's threads, never from the agent's."""

    def force_flush(self, timeout_millis: int) -> bool:
        """Push out what is held back, within the time given; return whether all of it went."""


@runtime_checkable
class BeginSink(Protocol):
    """A sink that wants to know an agent when its first run begins, before there is a report."""

    def begin(self, agent: str | None) -> None:
        """An agent's first run began; None where the agent has no name."""
