"""Reports to the user's own function: `on_report(report)`."""

from __future__ import annotations

from collections.abc import Callable

from attest_otel.export.evaluated import Evaluated
from attest_otel.report import Report

OnReport = Callable[[Report], object]


class Callback:
    """A sink that calls a function with every report: the deterministic one at once, the final one when it differs."""

    def __init__(self, on_report: OnReport) -> None:
        self._on_report = on_report

    def emit(self, evaluated: Evaluated) -> None:
        """Call the function, on the worker's thread."""
        self._on_report(evaluated.report)

    def force_flush(self, timeout_millis: int) -> bool:
        """Do nothing: the function has been called."""
        return True
