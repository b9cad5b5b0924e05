"""The environment of a program whose telemetry goes to the stack."""

from __future__ import annotations

import os
from collections.abc import Mapping

from tests.e2e.stack import Stack


def telemetry_to(stack: Stack, service: str, protocol: str) -> Mapping[str, str]:
    """The caller's environment without its own telemetry settings, pointed at the stack."""
    inherited = {name: value for name, value in os.environ.items() if not name.startswith(("OTEL_", "ATTEST_"))}
    return inherited | {
        "OTEL_EXPORTER_OTLP_ENDPOINT": stack.otlp_grpc_endpoint if protocol == "grpc" else stack.otlp_http_endpoint,
        "OTEL_EXPORTER_OTLP_PROTOCOL": protocol,
        "OTEL_SERVICE_NAME": service,
        "NO_PROXY": "127.0.0.1,localhost",
    }
