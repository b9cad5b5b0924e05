"""Placeholder until the room is furnished."""

from __future__ import annotations

from attest_otel.checks.view import RunView
from attest_otel.findings import CheckResult

NAME = "coverage"


def check(view: RunView) -> CheckResult | None:
    """Say nothing."""
    return None
