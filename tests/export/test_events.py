"""One event a finding, under the name of its check and with its score."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from opentelemetry._logs import Logger, LoggerProvider, LogRecord
from opentelemetry.sdk.trace import ReadableSpan, TracerProvider
from opentelemetry.sdk.trace.export import SimpleSpanProcessor
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter

from attest_otel.config import Limits, RedactionConfig
from attest_otel.export.evaluated import Evaluated
from attest_otel.export.logs import EvaluationLogs
from attest_otel.export.spans import EvaluationSpans
from attest_otel.findings import Severity, make_finding, make_result
from attest_otel.redaction import Redactor
from attest_otel.report import Report
from attest_otel.trajectory import Trajectory

NAME, LABEL, VALUE = "gen_ai.evaluation.name", "gen_ai.evaluation.score.label", "gen_ai.evaluation.score.value"
FOUND: list[tuple[Severity, str]] = [("pass", "correct"), ("fail", "disallowed_tool"), ("pass", "correct"), ("warn", "unchecked")]
RESULT = make_result(
    "tool_use", [make_finding("tool_use", severity, verdict, "why", step=n) for n, (severity, verdict) in enumerate(FOUND)], "", score=0.5
)  # fmt: skip
UNSCORED = make_result("injection", [make_finding("injection", "pass", "clean", "why")], "")
EVALUATED = Evaluated(Trajectory(agent="a"), Report(agent="a", results=[RESULT, UNSCORED]))
REDACTOR = Redactor(RedactionConfig())


def made(evaluated: Evaluated) -> ReadableSpan:
    """Return the evaluation span."""
    exporter = InMemorySpanExporter()
    provider = TracerProvider(shutdown_on_exit=False)
    provider.add_span_processor(SimpleSpanProcessor(exporter))
    EvaluationSpans(provider, Limits(), REDACTOR).emit(evaluated)
    (span,) = exporter.get_finished_spans()
    return span


def span_events(evaluated: Evaluated = EVALUATED) -> tuple[list[dict[str, Any]], dict[str, Any]]:
    """Return what the events of the evaluation span say, and what the span says."""
    span = made(evaluated)
    return [dict(event.attributes or {}) for event in span.events], dict(span.attributes or {})


def status(evaluated: Evaluated) -> str | None:
    """Return what the evaluation span's status says."""
    return made(evaluated).status.description


class Kept(Logger):
    """A logger that keeps what it is given."""

    def __init__(self) -> None:
        super().__init__("kept")
        self.records: list[LogRecord] = []

    def emit(self, record: LogRecord | None = None, **_: Any) -> None:
        """Keep a record."""
        assert record is not None
        self.records.append(record)

    def enabled(self, *_: Any, **__: Any) -> bool:
        """Say that records are wanted."""
        return True


class Keeping(LoggerProvider):
    """A provider whose one logger keeps what it is given."""

    def __init__(self) -> None:
        self.logger = Kept()

    def get_logger(self, *_: Any, **__: Any) -> Logger:
        """Return the logger."""
        return self.logger


def logged(evaluated: Evaluated) -> list[LogRecord]:
    """Return the log events."""
    provider = Keeping()
    EvaluationLogs(provider, Limits(), REDACTOR).emit(evaluated)
    return provider.logger.records


def log_events(evaluated: Evaluated = EVALUATED) -> list[dict[str, Any]]:
    """Return what the log events say."""
    return [dict(record.attributes or {}) for record in logged(evaluated)]


def bodies(evaluated: Evaluated) -> list[Any]:
    """Return what the log events say to those who read them as text."""
    return [record.body for record in logged(evaluated)]


@pytest.mark.parametrize("events", [lambda: span_events()[0], log_events], ids=["span", "logs"])
def test_name_and_score_of_an_event_are_its_checks(events: Callable[[], list[dict[str, Any]]]) -> None:
    """The label is the finding's, the name and the score are its check's; a check without a score has none."""
    assert [(event[NAME], event[LABEL], event.get(VALUE)) for event in events()] == [
        ("tool_use", "disallowed_tool", 0.5),
        ("tool_use", "unchecked", 0.5),
        ("tool_use", "correct", 0.5),
        ("tool_use", "correct", 0.5),
        ("injection", "clean", None),
    ]


def test_the_score_of_a_check_is_on_the_span_under_its_own_name() -> None:
    """`attest.score.<check>` stands on the span, and on no event."""
    events, span = span_events()
    assert span["attest.score.tool_use"] == 0.5
    assert "attest.score.injection" not in span
    assert not any(name.startswith("attest.score.") for event in events for name in event)


def test_a_log_event_carries_the_verdict_of_its_run() -> None:
    """It stands alone."""
    assert [event["attest.verdict"] for event in log_events()] == ["block"] * 5


def test_what_is_read_first_says_what_blocks() -> None:
    """The status of a blocked evaluation span names the worst finding with its subject, redacted; a log's body, check and reason."""
    secret = "sk-ant-api03-" + "a1B2" * 12
    finding = make_finding("tool_use", "fail", "disallowed_tool", f"{secret} is not allowed.", subject=secret)
    found = [finding, make_finding("tool_use", "fail", "disallowed_tool", "why", subject="b")]
    evaluated = Evaluated(Trajectory(agent="a"), Report(agent="a", results=[make_result("tool_use", found, "")]))
    assert status(evaluated) == "blocked: tool_use: disallowed_tool ([redacted:api_key]) and 1 more"
    assert bodies(evaluated)[0] == "tool_use: disallowed_tool: [redacted:api_key] is not allowed."
