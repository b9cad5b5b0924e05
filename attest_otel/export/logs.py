"""Findings as log events on the evaluated span's context: the newer form of `gen_ai.evaluation.result`.

A log event stands alone, so it also carries the verdict of its run and the score of its check; its body says in
one line what it is about, for those who read logs as text.
"""

from __future__ import annotations

import time
from collections.abc import Callable

from opentelemetry._logs import LoggerProvider, LogRecord, SeverityNumber
from opentelemetry.context import Context
from opentelemetry.trace import NonRecordingSpan, set_span_in_context

from attest_otel import attributes as names
from attest_otel.config import Limits
from attest_otel.export.evaluated import Evaluated
from attest_otel.export.events import MAX_REASON_CHARS, Found, event_attributes, worst_first
from attest_otel.redaction import Redactor
from attest_otel.report import package_version

_SEVERITY = {"pass": SeverityNumber.INFO, "review": SeverityNumber.WARN, "block": SeverityNumber.ERROR}


class EvaluationLogs:
    """A sink that writes one log event a finding, as soon as it exists."""

    def __init__(
        self,
        logger_provider: LoggerProvider,
        limits: Limits,
        redactor: Redactor,
        *,
        clock_ns: Callable[[], int] = time.time_ns,
    ) -> None:
        self._logger = logger_provider.get_logger(names.EVALUATION_SCOPE, package_version())
        self._limits = limits
        self._redactor = redactor
        self._clock_ns = clock_ns

    def emit(self, evaluated: Evaluated) -> None:
        """Write the findings that were not sent before, worst first, up to the limit of findings."""
        found = worst_first(evaluated.run, evaluated.fresh_results())
        context = Context()
        if evaluated.root is not None:
            context = set_span_in_context(NonRecordingSpan(evaluated.root), context)
        for item in found[: self._limits.max_findings]:
            attributes = event_attributes(item, self._redactor, self._limits)
            attributes[names.VERDICT] = evaluated.report.verdict
            self._logger.emit(
                LogRecord(
                    timestamp=self._clock_ns(),
                    context=context,
                    severity_number=_SEVERITY[item.finding.disposition or "pass"],
                    body=self._body(item),
                    attributes=attributes,
                    event_name=names.EVALUATION_EVENT,
                )
            )

    def force_flush(self, timeout_millis: int) -> bool:
        """Do nothing: the logger provider's own processors flush records."""
        return True

    def _body(self, item: Found) -> str:
        return f"{item.result.check}: {item.finding.verdict}: {self._redactor.show(item.finding.reason, MAX_REASON_CHARS)}"
