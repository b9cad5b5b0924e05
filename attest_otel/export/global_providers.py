"""The global providers of a program that has none: spans, metrics and log events by OTLP, as the environment says.

All that a wrong setting can refuse is made first, so that an error leaves no provider, thread or exit hook
behind. The providers stop at the process's exit; a processor that is made after them stops before them.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from typing import TYPE_CHECKING

from opentelemetry import _logs, metrics, trace
from opentelemetry.sdk.metrics import MeterProvider
from opentelemetry.sdk.metrics.export import PeriodicExportingMetricReader
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export import BatchSpanProcessor

from attest_otel.errors import ConfigError
from attest_otel.export.otlp import exports, otlp_log_exporter, otlp_metric_exporter, otlp_span_exporter

if TYPE_CHECKING:
    from opentelemetry.sdk._logs.export import BatchLogRecordProcessor, LogRecordExporter


def make_global_providers(*, measures: bool, logs: bool) -> None:
    """Set a global tracer provider, and with `measures` and `logs` a meter and a logger provider where there is none.

    `OTEL_{TRACES,METRICS,LOGS}_EXPORTER=none` leaves a signal unexported; of metrics and logs there is then no provider.

    Raises:
        ConfigError: the environment can't be followed; nothing was set.
    """
    span_exporter = otlp_span_exporter() if exports("TRACES") else None
    metric_exporter = otlp_metric_exporter() if measures and exports("METRICS") and not has_meter_provider() else None
    log_exporter = otlp_log_exporter() if logs and exports("LOGS") and not has_logger_provider() else None
    with ExitStack() as undo, _named():
        spans = None if span_exporter is None else BatchSpanProcessor(span_exporter)
        if spans is not None:
            undo.callback(spans.shutdown)
        records = None if log_exporter is None else _log_processor(log_exporter)
        if records is not None:
            undo.callback(records.shutdown)
        reader = None if metric_exporter is None else PeriodicExportingMetricReader(metric_exporter)
        undo.pop_all()
    tracers = TracerProvider()
    if spans is not None:
        tracers.add_span_processor(spans)
    trace.set_tracer_provider(tracers)
    if reader is not None:
        metrics.set_meter_provider(MeterProvider([reader]))
    if records is not None:
        _set_logger_provider(records)


def has_meter_provider() -> bool:
    """Return whether the application has set a global meter provider."""
    return type(metrics.get_meter_provider()).__name__ != "_ProxyMeterProvider"


def has_logger_provider() -> bool:
    """Return whether the application has set a global logger provider."""
    return type(_logs.get_logger_provider()).__name__ != "ProxyLoggerProvider"


@contextmanager
def _named() -> Iterator[None]:
    try:
        yield
    except ValueError as error:
        raise ConfigError(
            f"the OTEL_BSP_*, OTEL_BLRP_* or OTEL_METRIC_EXPORT_* environment can't be followed: {error}"
        ) from error


def _log_processor(exporter: LogRecordExporter) -> BatchLogRecordProcessor:
    from opentelemetry.sdk._logs.export import BatchLogRecordProcessor  # noqa: PLC0415  # few programs want log events

    return BatchLogRecordProcessor(exporter)


def _set_logger_provider(records: BatchLogRecordProcessor) -> None:
    from opentelemetry.sdk._logs import LoggerProvider  # noqa: PLC0415

    loggers = LoggerProvider()
    loggers.add_log_record_processor(records)
    _logs.set_logger_provider(loggers)
