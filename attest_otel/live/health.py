"""The pipeline's own health: numbers for a readiness probe, and the same as metrics that can raise an alert.

Counters exist from the start with 0, so that the first fault is a step and not a birth.
"""

from __future__ import annotations

import weakref
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field

from opentelemetry.metrics import CallbackOptions, MeterProvider, Observation

from attest_otel import attributes as names

DROP_REASONS = ("overload", "queue_full", "shutdown")
ALERTING_FAULTS = ("worker_restarted", "lane_restarted", "step_overran", "on_start", "on_end")
"""Kinds of faults that are counted from 0; the others appear when they happen. All are from a closed set."""


@dataclass(frozen=True, slots=True)
class Health:
    """How the pipeline is.

    `started` = `evaluated` + the sum of `dropped` + what is waiting; `unsampled` of the evaluated runs
    were recorded and not sampled. `last_success_age_seconds` counts from when the pipeline began while
    nothing was evaluated, and is None while there was nothing to evaluate. `stuck` says that
    something is waiting and nothing has been evaluated for the time a run may take.
    """

    open_runs: int = 0
    queue_size: int = 0
    bytes: int = 0
    started: int = 0
    evaluated: int = 0
    unsampled: int = 0
    dropped: Mapping[str, int] = field(default_factory=dict)
    faults: Mapping[str, int] = field(default_factory=dict)
    late_spans: int = 0
    worker_alive: bool = False
    last_success_age_seconds: float | None = None
    stuck: bool = False
    stuck_steps: tuple[str, ...] = ()


class HealthMetrics:
    """Reports a processor's health to a meter; holds the processor weakly, so that it can go away."""

    def __init__(self, meter_provider: MeterProvider, health: Callable[[], Health]) -> None:
        self._health = weakref.WeakMethod(health)
        self._on = True
        meter = meter_provider.get_meter("attest_otel")
        meter.create_observable_counter(names.METRIC_PROCESSOR_RUNS, [self._runs], "{run}", "Runs by what became of them.")
        meter.create_observable_counter(names.METRIC_FAULTS, [self._faults], "{fault}", "Faults of the pipeline, by kind.")
        meter.create_observable_counter(
            names.METRIC_LATE_SPANS, [self._late], "{span}", "Spans that came after their run's verdict."
        )
        for name, unit, text, read in _GAUGES:
            meter.create_observable_gauge(name, [self._gauge(read)], unit, text)

    def close(self) -> None:
        """Report nothing from here on."""
        self._on = False

    def open(self) -> None:
        """Report again."""
        self._on = True

    def _now(self) -> Health | None:
        health = self._health()
        return health() if health is not None and self._on else None

    def _runs(self, _: CallbackOptions) -> Iterable[Observation]:
        health = self._now()
        if health is None:
            return
        yield Observation(health.started, {names.PROCESSOR_STATE: "started"})
        yield Observation(health.evaluated, {names.PROCESSOR_STATE: "evaluated"})
        yield Observation(health.unsampled, {names.PROCESSOR_STATE: "unsampled"})
        for reason, count in health.dropped.items():
            yield Observation(count, {names.PROCESSOR_STATE: "dropped", names.ERROR_TYPE: reason})

    def _faults(self, _: CallbackOptions) -> Iterable[Observation]:
        health = self._now()
        if health is not None:
            for kind in (*ALERTING_FAULTS, *(kind for kind in health.faults if kind not in ALERTING_FAULTS)):
                yield Observation(health.faults.get(kind, 0), {names.ERROR_TYPE: kind})

    def _late(self, _: CallbackOptions) -> Iterable[Observation]:
        health = self._now()
        if health is not None:
            yield Observation(health.late_spans)

    def _gauge(self, read: Callable[[Health], float | None]) -> Callable[[CallbackOptions], Iterable[Observation]]:
        def observe(_: CallbackOptions) -> Iterable[Observation]:
            health = self._now()
            value = read(health) if health is not None else None
            if value is not None:
                yield Observation(value)

        return observe


_GAUGES: tuple[tuple[str, str, str, Callable[[Health], float | None]], ...] = (
    (names.METRIC_QUEUE_SIZE, "{run}", "Runs that wait for their verdict.", lambda h: h.queue_size),
    (names.METRIC_OPEN_RUNS, "{run}", "Runs that have not ended.", lambda h: h.open_runs),
    (names.METRIC_BYTES, "By", "Bytes that runs hold.", lambda h: h.bytes),
    (names.METRIC_LAST_SUCCESS_AGE, "s", "Seconds since a run was evaluated.", lambda h: h.last_success_age_seconds),
)
