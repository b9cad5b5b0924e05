"""What goes out about the grading model: a span a request by the GenAI conventions, requests and tokens as metrics.

A span is the root of a trace of its own, linked to the root of the run it is about: it neither grows the
run's trace nor is any part of what is judged: the context it is started in says whose it is (property
4). It holds no content. Source: GenAI conventions, inference spans.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from opentelemetry.context import Context
from opentelemetry.metrics import MeterProvider, get_meter
from opentelemetry.trace import (
    Link,
    Span,
    SpanContext,
    SpanKind,
    Status,
    StatusCode,
    TracerProvider,
    get_tracer,
)

from attest_otel import attributes as names
from attest_otel.judge.menu import Message
from attest_otel.judge.messages_client import Failure
from attest_otel.judge.question import Question
from attest_otel.quiet import own
from attest_otel.report import package_version

PROVIDER = "anthropic"
OUTCOMES = (
    "ok",
    "off_menu",
    "refused",
    "rate_limited",
    "timeout",
    "error",
    "cancelled",
    "cached",
    "budget",
    "rate",
    "breaker",
    "sampling",
)
"""What became of a request: ok, off_menu, refused (temperature), rate_limited (429), timeout, error,
cancelled (given up by whoever asked); and of questions for which no request was made: cached, budget, rate, breaker, sampling."""

DIRECTIONS = ("input", "output")


class JudgeTelemetry:
    """Makes the spans and counts of one grading model. Thread-safe."""

    def __init__(self, model: str, tracer_provider: TracerProvider | None, meter_provider: MeterProvider | None) -> None:
        self._model = model
        version = package_version()
        self._tracer = get_tracer(names.JUDGE_SCOPE, version, tracer_provider)
        meter = get_meter(names.JUDGE_SCOPE, version, meter_provider)
        self._requests = meter.create_counter(
            names.METRIC_JUDGE_REQUESTS, "{request}", "Questions for the grading model, by outcome."
        )
        self._tokens = meter.create_counter(names.METRIC_JUDGE_TOKENS, "{token}", "Tokens the grading model read and wrote.")
        for outcome in OUTCOMES:
            self.count(outcome, 0)
        for direction in DIRECTIONS:
            self._count_tokens(direction, 0)

    def count(self, outcome: str, number: int = 1) -> None:
        """Count an outcome, one of OUTCOMES."""
        self._requests.add(number, {names.REQUEST_MODEL: self._model, names.OUTCOME: outcome})

    @contextmanager
    def request(self, question: Question, run_id: str | None, root: SpanContext | None) -> Iterator[RequestSpan]:
        """Open the span of one request; the current span of the caller stays what it is."""
        attributes = {
            names.OPERATION_NAME: names.CHAT,
            names.PROVIDER_NAME: PROVIDER,
            names.REQUEST_MODEL: self._model,
            names.JUDGE_QUESTION: question.kind,
            **({names.RUN_ID: run_id} if run_id is not None else {}),
        }
        links = [Link(root)] if root is not None and root.is_valid else []
        span = self._tracer.start_span(f"{names.CHAT} {self._model}", own(Context()), SpanKind.CLIENT, attributes, links)
        made = RequestSpan(self, span)
        try:
            yield made
        except BaseException:
            made.given_up()
            raise
        finally:
            span.end()

    def _count_tokens(self, direction: str, number: int) -> None:
        self._tokens.add(number, {names.REQUEST_MODEL: self._model, names.DIRECTION: direction})

    def count_usage(self, message: Message) -> None:
        """Count what a message cost."""
        self._count_tokens("input", message.input_tokens)
        self._count_tokens("output", message.output_tokens)


class RequestSpan:
    """The span of one request, to be told how it ended."""

    def __init__(self, telemetry: JudgeTelemetry, span: Span) -> None:
        self._telemetry = telemetry
        self._span = span

    def answered(self, message: Message) -> None:
        """Note a response."""
        outcome = "ok" if message.text is not None else "error" if message.broken else "off_menu"
        self._telemetry.count(outcome)
        self._telemetry.count_usage(message)
        known = {names.RESPONSE_MODEL: message.model, names.RESPONSE_ID: message.response_id}
        self._span.set_attributes({name: value for name, value in known.items() if value is not None})
        if not message.broken:
            self._span.set_attributes(
                {
                    names.USAGE_INPUT_TOKENS: message.input_tokens,
                    names.USAGE_OUTPUT_TOKENS: message.output_tokens,
                }
            )
        if message.text is None:
            self._error("broken_response" if message.broken else "off_menu", message.reason)

    def refused(self, failure: Failure) -> None:
        """Note a request that got no message."""
        outcomes = {"rate": "rate_limited", "timeout": "timeout"}
        self._telemetry.count("refused" if failure.error_type == "temperature" else outcomes.get(failure.limit, "error"))
        self._error(failure.error_type, failure.reason)

    def given_up(self) -> None:
        """Note a request that nobody waits for any more."""
        self._telemetry.count("cancelled")
        self._error("cancelled", "")

    def _error(self, error_type: str, reason: str) -> None:
        self._span.set_attribute(names.ERROR_TYPE, error_type)
        self._span.set_status(Status(StatusCode.ERROR, reason or None))
