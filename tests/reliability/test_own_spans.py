"""No feedback, and no hiding place: our own spans are known by how they were made, not by what they say (property 4)."""

from __future__ import annotations

import pytest
from opentelemetry.context import Context
from opentelemetry.sdk.trace import ReadableSpan, Span, SpanProcessor, TracerProvider

from attest_otel import AttestSpanProcessor, Report
from attest_otel.report import package_version
from tests.live.helpers import AGENT, live, tool
from tests.reliability.helpers import drained, findings


@pytest.mark.parametrize("scope", ["attest_otel.evaluation", "attest_otel.judge"])
def test_a_strangers_span_of_our_scope_hides_no_call(scope: str) -> None:
    """Whoever asks the provider for a tracer of our name gets the very one we use, and is graded all the same."""
    with live() as pipeline:
        tracer = pipeline.provider.get_tracer(scope, package_version())
        with (
            pipeline.tracer.start_as_current_span("agent", context=Context(), attributes=AGENT),
            tracer.start_as_current_span("evaluate a"),
            pipeline.tracer.start_as_current_span("execute_tool", attributes=tool("pay", "Error: declined")),
        ):
            pass
        (report,) = drained(pipeline)
        assert [finding.verdict for finding in findings(report, "tool_use")] == ["error_silent"]


class Forgetful(SpanProcessor):
    """A wrapper that passes spans on without the context they were started in."""

    def __init__(self, inner: SpanProcessor) -> None:
        self.inner = inner

    def on_start(self, span: Span, parent_context: Context | None = None) -> None:
        """Pass the span on alone."""
        self.inner.on_start(span)

    def on_end(self, span: ReadableSpan) -> None:
        """Pass the span on."""
        self.inner.on_end(span)


def test_a_wrapper_that_loses_the_context_starts_no_feedback() -> None:
    """Evaluation spans then are known by their shape: one run is one report, and nothing is late."""
    reports: list[Report] = []
    provider = TracerProvider(shutdown_on_exit=False)
    processor = AttestSpanProcessor({}, tracer_provider=provider, on_report=reports.append)
    provider.add_span_processor(Forgetful(processor))
    with provider.get_tracer("app").start_as_current_span("agent", context=Context(), attributes=AGENT):
        pass
    assert processor.drain(20)
    assert processor.drain(20)
    health = processor.health()
    processor.shutdown()
    provider.shutdown()
    assert [report.revision for report in reports] == [0]
    assert (health.started, health.late_spans) == (1, 0)
