"""OTLP exporters as the `OTEL_EXPORTER_OTLP_*` environment asks for them, imported only when wanted.

The SDK's exporters read endpoint, headers, certificates and time-outs from the environment themselves;
what is left to choose is the protocol: `http/protobuf` (the default) or `grpc`.
"""

from __future__ import annotations

import os
from importlib import import_module
from typing import TYPE_CHECKING, Any, Literal

from opentelemetry.sdk.metrics import MeterProvider
from opentelemetry.sdk.metrics.export import MetricExporter, PeriodicExportingMetricReader
from opentelemetry.sdk.resources import Resource
from opentelemetry.sdk.trace.export import BatchSpanProcessor, SpanExporter

from attest_otel.errors import ConfigError

if TYPE_CHECKING:
    from opentelemetry.sdk._logs.export import LogRecordExporter

Signal = Literal["TRACES", "METRICS", "LOGS"]

_PACKAGES = {"http/protobuf": "http", "grpc": "grpc"}
_EXPORTERS: dict[Signal, tuple[str, str]] = {
    "TRACES": ("trace_exporter", "OTLPSpanExporter"),
    "METRICS": ("metric_exporter", "OTLPMetricExporter"),
    "LOGS": ("_log_exporter", "OTLPLogExporter"),
}


def otlp_span_exporter(timeout_seconds: float | None = None) -> SpanExporter:
    """Return an exporter of spans by OTLP.

    Args:
        timeout_seconds: how long one export may take, retries included; None leaves it to the environment.

    Raises:
        ConfigError: the environment asks for an unknown protocol, or says what the exporter can't use.
    """
    exporter: SpanExporter = _exporter("TRACES", timeout_seconds)
    return exporter


def otlp_metric_exporter(timeout_seconds: float | None = None) -> MetricExporter:
    """Return an exporter of metrics by OTLP; arguments and errors as above."""
    exporter: MetricExporter = _exporter("METRICS", timeout_seconds)
    return exporter


def otlp_log_exporter(timeout_seconds: float | None = None) -> LogRecordExporter:
    """Return an exporter of log events by OTLP; arguments and errors as above."""
    exporter: LogRecordExporter = _exporter("LOGS", timeout_seconds)
    return exporter


def otlp_span_processor(timeout_seconds: float | None = None) -> BatchSpanProcessor:
    """Return a batch processor that exports spans by OTLP; arguments and errors as above."""
    return BatchSpanProcessor(otlp_span_exporter(timeout_seconds))


def otlp_meter_provider(
    resource: Resource | None = None, timeout_seconds: float | None = None, *, shutdown_on_exit: bool = False
) -> MeterProvider:
    """Return a meter provider that exports metrics by OTLP; it must be shut down, unless it is to do that on exit.

    Other arguments and errors as above.
    """
    reader = PeriodicExportingMetricReader(otlp_metric_exporter(timeout_seconds))
    return MeterProvider([reader], resource=resource, shutdown_on_exit=shutdown_on_exit)


def exports(signal: Signal) -> bool:
    """Return whether the environment wants a signal exported: `OTEL_{signal}_EXPORTER=none` says no."""
    return os.environ.get(f"OTEL_{signal}_EXPORTER", "").strip().lower() != "none"


def _exporter(signal: Signal, timeout_seconds: float | None) -> Any:
    module, name = _EXPORTERS[signal]
    package = _package(signal)
    try:
        return getattr(import_module(f"{package}.{module}"), name)(timeout=timeout_seconds)
    except Exception as error:
        raise ConfigError(
            f"the OTLP exporter of {signal.lower()} can't be made as the OTEL_* environment says: {error}"
        ) from error


def _package(signal: Signal) -> str:
    variables = (f"OTEL_EXPORTER_OTLP_{signal}_PROTOCOL", "OTEL_EXPORTER_OTLP_PROTOCOL")
    protocol = next((os.environ[name] for name in variables if os.environ.get(name)), "http/protobuf")
    if protocol not in _PACKAGES:
        raise ConfigError(f"{variables[0]}: expected {' or '.join(_PACKAGES)}, got {protocol!r}")
    return f"opentelemetry.exporter.otlp.proto.{_PACKAGES[protocol]}"
