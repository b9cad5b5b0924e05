"""OTLP exporters as the `OTEL_EXPORTER_OTLP_*` environment asks for them, imported only when wanted.

The SDK's exporters read endpoint, headers, certificates and time-outs from the environment themselves;
what is left to choose is the protocol: `http/protobuf` (the default) or `grpc`.
"""

from __future__ import annotations

import os
from importlib import import_module
from typing import Literal

from opentelemetry.sdk.metrics import MeterProvider
from opentelemetry.sdk.metrics.export import MetricExporter, PeriodicExportingMetricReader
from opentelemetry.sdk.resources import Resource
from opentelemetry.sdk.trace.export import BatchSpanProcessor, SpanExporter

from attest_otel.errors import ConfigError

_PACKAGES = {"http/protobuf": "http", "grpc": "grpc"}


def otlp_span_processor(timeout_seconds: float | None = None) -> BatchSpanProcessor:
    """Return a batch processor that exports spans by OTLP.

    Args:
        timeout_seconds: how long one export may take, retries included; None leaves it to the environment.

    Raises:
        ConfigError: the environment asks for an unknown protocol.
    """
    exporter: SpanExporter = import_module(f"{_package('TRACES')}.trace_exporter").OTLPSpanExporter(timeout=timeout_seconds)
    return BatchSpanProcessor(exporter)


def otlp_meter_provider(
    resource: Resource | None = None, timeout_seconds: float | None = None, *, shutdown_on_exit: bool = False
) -> MeterProvider:
    """Return a meter provider that exports metrics by OTLP; it must be shut down, unless it is to do that on exit.

    Other arguments and errors as above.
    """
    exporter: MetricExporter = import_module(f"{_package('METRICS')}.metric_exporter").OTLPMetricExporter(timeout=timeout_seconds)
    return MeterProvider([PeriodicExportingMetricReader(exporter)], resource=resource, shutdown_on_exit=shutdown_on_exit)


def exports(signal: Literal["TRACES", "METRICS"]) -> bool:
    """Return whether the environment wants a signal exported: `OTEL_{signal}_EXPORTER=none` says no."""
    return os.environ.get(f"OTEL_{signal}_EXPORTER", "").strip().lower() != "none"


def _package(signal: str) -> str:
    variables = (f"OTEL_EXPORTER_OTLP_{signal}_PROTOCOL", "OTEL_EXPORTER_OTLP_PROTOCOL")
    protocol = next((os.environ[name] for name in variables if os.environ.get(name)), "http/protobuf")
    if protocol not in _PACKAGES:
        raise ConfigError(f"{variables[0]}: expected {' or '.join(_PACKAGES)}, got {protocol!r}")
    return f"opentelemetry.exporter.otlp.proto.{_PACKAGES[protocol]}"
