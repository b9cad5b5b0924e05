"""Where the demo's telemetry goes, and what a person is told when it doesn't arrive.

The SDK's exporters retry in the background and log what went wrong, line after line. A command that
ends has to know instead: so their log lines are kept, the sending is bounded in time, and one message
says what failed and what to do.
"""

from __future__ import annotations

import logging
import os
import threading

from opentelemetry.sdk.metrics import MeterProvider
from opentelemetry.sdk.resources import Resource
from opentelemetry.sdk.trace import TracerProvider

from attest_otel.export.otlp import otlp_meter_provider, otlp_span_processor

ENDPOINT_ENV = "OTEL_EXPORTER_OTLP_ENDPOINT"
TIMEOUT_ENV = "OTEL_EXPORTER_OTLP_TIMEOUT"
REQUEST_SECONDS = 3.0
SENDING_SECONDS = 10.0
SDK_LOGGER = "opentelemetry"


class Sending:
    """The demo's providers; `endpoint` is None where nothing is to be sent."""

    def __init__(self) -> None:
        self.endpoint = os.environ.get(ENDPOINT_ENV) or None
        resource = Resource.create({"service.name": os.environ.get("OTEL_SERVICE_NAME", "attest-demo")})
        self.tracer_provider = TracerProvider(resource=resource, shutdown_on_exit=False)
        if self.endpoint is None:
            self.meter_provider = MeterProvider(resource=resource, shutdown_on_exit=False)
            return
        seconds = None if os.environ.get(TIMEOUT_ENV) else REQUEST_SECONDS
        self.tracer_provider.add_span_processor(otlp_span_processor(seconds))
        self.meter_provider = otlp_meter_provider(resource, seconds)

    def finish(self) -> str | None:
        """Send what is left and stop, within `SENDING_SECONDS`; return why something did not arrive, or None."""
        heard = _Heard()
        logger = logging.getLogger(SDK_LOGGER)
        propagate, logger.propagate = logger.propagate, False
        logger.addHandler(heard)
        try:
            done = self._stop_in_time()
        finally:
            logger.removeHandler(heard)
            logger.propagate = propagate
        if heard.failed:
            return heard.cause or "the exporter gave up"
        return None if done else heard.cause or f"no answer within {SENDING_SECONDS:g} seconds"

    def _stop_in_time(self) -> bool:
        worker = threading.Thread(target=self._stop, name="attest-demo-sending", daemon=True)
        worker.start()
        worker.join(SENDING_SECONDS)
        return not worker.is_alive()

    def _stop(self) -> None:
        self.tracer_provider.shutdown()
        self.meter_provider.shutdown()


class _Heard(logging.Handler):
    """Keeps why an export failed: the innermost reason of the first complaint."""

    def __init__(self) -> None:
        super().__init__(logging.WARNING)
        self.failed = False
        self.cause: str | None = None

    def emit(self, record: logging.LogRecord) -> None:
        """Take one line of the SDK's log."""
        self.failed = self.failed or record.levelno >= logging.ERROR
        said = record.exc_info[1] if record.exc_info else None
        if said is None and isinstance(record.args, tuple):
            said = next((part for part in record.args if isinstance(part, BaseException)), None)
        if self.cause is None:
            self.cause = record.getMessage().rpartition("Error details: ")[2] if said is None else _innermost(said)


def _innermost(error: BaseException) -> str:
    """Return the system's own words where an error has them, else the error's."""
    found: BaseException = error
    for _ in range(10):
        inner = next(
            (part for part in (*found.args, getattr(found, "reason", None)) if isinstance(part, BaseException)),
            None,
        )
        inner = inner or found.__cause__ or found.__context__
        if inner is None or inner is found:
            break
        found = inner
    return getattr(found, "strerror", None) or str(found) or type(found).__name__
