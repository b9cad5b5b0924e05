"""All ways out of one processor, from its settings and providers."""

from __future__ import annotations

from opentelemetry import _logs, metrics, trace

from attest_otel.config import AttestConfig
from attest_otel.export.callback import Callback, OnReport
from attest_otel.export.evaluated import Sink
from attest_otel.export.logs import EvaluationLogs
from attest_otel.export.metrics import EvaluationMetrics
from attest_otel.export.spans import EvaluationSpans
from attest_otel.export.unsampled import HandOver, UnsampledRuns
from attest_otel.redaction import Redactor


def build_sinks(
    config: AttestConfig,
    redactor: Redactor,
    *,
    tracer_provider: trace.TracerProvider | None = None,
    meter_provider: metrics.MeterProvider | None = None,
    logger_provider: _logs.LoggerProvider | None = None,
    on_report: OnReport | None = None,
    hand_over: HandOver | None = None,
) -> tuple[Sink, ...]:
    """Return the sinks of a processor; a provider that isn't given is the global one.

    Metrics come first: a verdict must reach them whatever the others do. Log events are written when
    the configuration asks for them; unsampled runs are kept when it asks for that and `hand_over` says how.
    """
    sinks: list[Sink] = [EvaluationMetrics(meter_provider or metrics.get_meter_provider(), config, redactor)]
    if config.export.log_events:
        sinks.append(EvaluationLogs(logger_provider or _logs.get_logger_provider(), config.limits, redactor))
    unsampled = config.export.unsampled if hand_over is not None else "none"
    if hand_over is not None and unsampled != "none":
        sinks.append(UnsampledRuns(unsampled, hand_over))
    sinks.append(EvaluationSpans(tracer_provider or trace.get_tracer_provider(), config.limits, redactor, unsampled))
    if on_report is not None:
        sinks.append(Callback(on_report))
    return tuple(sinks)
