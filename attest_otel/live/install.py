"""`install()`: the processor on a tracer provider, once, and before the exporters' processors."""

from __future__ import annotations

import logging
from pathlib import Path
from typing import Any

from opentelemetry import _logs, metrics, trace
from opentelemetry.sdk.trace import TracerProvider

from attest_otel.config import AttestConfig, resolve_config
from attest_otel.errors import ConfigError
from attest_otel.export.callback import OnReport
from attest_otel.live.order import processors_of, put_first
from attest_otel.live.processor import AttestSpanProcessor
from attest_otel.redaction import Hook

logger = logging.getLogger("attest_otel")


def install(
    tracer_provider: trace.TracerProvider | None = None,
    *,
    config: AttestConfig | str | Path | dict[str, Any] | None = None,
    meter_provider: metrics.MeterProvider | None = None,
    logger_provider: _logs.LoggerProvider | None = None,
    on_report: OnReport | None = None,
    redact: Hook | None = None,
) -> AttestSpanProcessor:
    """Add a processor to a tracer provider and return it; twice on one provider is once, until the first is shut down.

    Args:
        tracer_provider: by default the global one; where there is none, one is made that exports by
            OTLP as the `OTEL_*` environment says (protocol, endpoint, `OTEL_TRACES_EXPORTER=none`), and with
            it a meter provider (`OTEL_METRICS_EXPORTER=none`) and, when the settings ask for log events, a
            logger provider (`OTEL_LOGS_EXPORTER=none`). What the application has set is never replaced.
        config: settings, a path to attest.yaml, or a mapping; None reads the file `ATTEST_CONFIG` names.
        meter_provider: where metrics go; the global one by default.
        logger_provider: where log events go, when the settings ask for them.
        on_report: called with every report, on a thread of the pipeline.
        redact: called with every text that is shown, after the patterns; on the agent's thread for what spans show.

    Raises:
        ConfigError: the settings or the environment cannot be used, or the provider is not the SDK's; nothing was added.
    """
    if tracer_provider is None and isinstance(trace.get_tracer_provider(), trace.ProxyTracerProvider):
        config = resolve_config(config)  # first: a wrong setting leaves no provider behind
        from attest_otel.export.global_providers import make_global_providers  # noqa: PLC0415  # the exporters' packages

        make_global_providers(measures=meter_provider is None, logs=config.export.log_events and logger_provider is None)
    provider = tracer_provider if tracer_provider is not None else trace.get_tracer_provider()
    if not isinstance(provider, TracerProvider):
        raise ConfigError(
            f"install: expected a TracerProvider of opentelemetry-sdk, got {type(provider).__name__}; its spans can't be processed"
        )
    found = next((one for one in processors_of(provider) if isinstance(one, AttestSpanProcessor) and one.is_active), None)
    if found is not None:
        if config is not None and resolve_config(config).with_hook(redact) != found.config:
            logger.warning(
                "install: the provider has a processor already, whose settings stay; shut it down first to change them"
            )
        return found
    processor = AttestSpanProcessor(
        config,
        tracer_provider=provider,
        meter_provider=meter_provider,
        logger_provider=logger_provider,
        on_report=on_report,
        redact=redact,
    )
    _say_what_leads_nowhere(processor.config, logger_provider)
    provider.add_span_processor(processor)
    if not put_first(provider, processor):
        logger.warning("the processor could not be put before the exporter's: call its shutdown() before the provider's")
    return processor


def _say_what_leads_nowhere(config: AttestConfig, logger_provider: _logs.LoggerProvider | None) -> None:
    if not config.export.log_events or logger_provider is not None:
        return
    from attest_otel.export.global_providers import has_logger_provider  # noqa: PLC0415
    from attest_otel.export.otlp import exports  # noqa: PLC0415

    if exports("LOGS") and not has_logger_provider():
        logger.warning(
            "install: log events are asked for (export.log_events) and there is no LoggerProvider: they go nowhere "
            "until one is set (install(logger_provider=...) or opentelemetry._logs.set_logger_provider)"
        )
