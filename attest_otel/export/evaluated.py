"""What goes from the live pipeline to the sinks: one evaluated run.

A sink writes it somewhere: spans, metrics, logs, a callback. Sinks are isolated from each other: one
that raises or hangs costs the others nothing.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Protocol

from opentelemetry.sdk.trace import ReadableSpan
from opentelemetry.trace import SpanContext

from attest_otel.report import Report
from attest_otel.trajectory import Trajectory


@dataclass(frozen=True, slots=True)
class Evaluated:
    """One run with its report.

    `root` is the context of the run's root span, the parent of the evaluation span. `lag_seconds` is
    the time from the run's end to the verdict. `check_seconds` is how long each check took. `spans`
    are the run's own ended spans, for sinks that export what was recorded but not sampled.
    `first` is False for a report that adds to one sent before (a model's findings, a later revision).
    """

    run: Trajectory
    report: Report
    root: SpanContext | None = None
    lag_seconds: float | None = None
    check_seconds: Mapping[str, float] = field(default_factory=dict)
    spans: tuple[ReadableSpan, ...] = ()
    first: bool = True


class Sink(Protocol):
    """One way out."""

    def emit(self, evaluated: Evaluated) -> None:
        """Write one evaluated run; called from the worker's threads, never from the agent's."""

    def force_flush(self, timeout_millis: int) -> bool:
        """Push out what is held back, within the time given; return whether all of it went."""
