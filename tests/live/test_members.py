"""Several processors in one process: one judges a span, the others stand aside and say so."""

from __future__ import annotations

import logging
from typing import Any

import pytest
from opentelemetry.context import Context
from opentelemetry.sdk.metrics import MeterProvider
from opentelemetry.sdk.metrics.export import InMemoryMetricReader
from opentelemetry.sdk.trace import ReadableSpan, Span, SpanProcessor, TracerProvider
from opentelemetry.sdk.trace.export import SimpleSpanProcessor
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter

from attest_otel import AttestSpanProcessor, Report, agent_run
from attest_otel.live.install import install
from attest_otel.record import settings
from tests.live.helpers import AGENT, WAIT, Live, live


def add(pipeline: Live, config: dict[str, Any] | None = None) -> tuple[AttestSpanProcessor, list[Report]]:
    """Add one more processor to a pipeline's provider, by hand."""
    reports: list[Report] = []
    given: dict[str, Any] = {"tracer_provider": pipeline.provider, "meter_provider": pipeline.meters}
    processor = AttestSpanProcessor(config or {}, **given, on_report=reports.append)
    pipeline.provider.add_span_processor(processor)
    return processor, reports


@pytest.mark.parametrize("config", [{}, {"capture": "full", "checks": ["coverage"]}], ids=["same settings", "other settings"])
def test_a_second_processor_on_a_provider_stands_aside_and_says_so_once(
    config: dict[str, Any], caplog: pytest.LogCaptureFixture
) -> None:
    """Verdicts, metrics and evaluation spans are the first one's alone; what a recorder shows follows its settings too."""
    caplog.set_level(logging.WARNING, "attest_otel")
    with live() as pipeline:
        second, reports = add(pipeline, config)
        for _ in range(3):
            pipeline.run()
        assert pipeline.processor.drain(WAIT)
        assert second.drain(WAIT)
        assert second.force_flush()
        assert (len(pipeline.reports), len(reports)) == (3, 0)
        evaluations = [span for span in pipeline.exporter.get_finished_spans() if span.name == "evaluate a"]
        assert len(evaluations) == 3
        assert sum(pipeline.metric("attest.runs").values()) == 3
        states = {dict(key)["attest.state"]: value for key, value in pipeline.metric("attest.processor.runs").items()}
        assert states["started"] == 3
        assert settings.current().capture == "redacted"
        assert (pipeline.processor.is_active, second.is_active) == (True, False)
    said = [record.getMessage() for record in caplog.records if "second AttestSpanProcessor" in record.getMessage()]
    assert len(said) == 1


def test_a_run_s_report_comes_from_the_one_that_judges() -> None:
    """Content and claims go to the first processor; the second takes nothing in."""
    with live() as pipeline:
        add(pipeline)
        for _ in range(2):
            with agent_run("a", task="t") as run:
                pass
            assert run.report(WAIT).agent == "a"


def test_processors_of_two_providers_both_judge() -> None:
    """Each judges the spans of its own provider."""
    with live() as one, live() as other:
        one.run()
        other.run()
        assert one.processor.drain(WAIT)
        assert other.processor.drain(WAIT)
        assert (len(one.reports), len(other.reports)) == (1, 1)


class Route(SpanProcessor):
    """Passes on the spans of the agents of one name."""

    def __init__(self, inner: SpanProcessor, name: str) -> None:
        self.inner, self.name = inner, name

    def on_start(self, span: Span, parent_context: Context | None = None) -> None:
        """Pass on what is this name's."""
        if (span.attributes or {}).get("gen_ai.agent.name") == self.name:
            self.inner.on_start(span, parent_context)

    def on_end(self, span: ReadableSpan) -> None:
        """Pass on what is this name's."""
        if (span.attributes or {}).get("gen_ai.agent.name") == self.name:
            self.inner.on_end(span)


def test_processors_that_share_a_provider_and_no_span_both_judge() -> None:
    """It is the same spans that make two processors one too many."""
    reports: list[Report] = []
    provider = TracerProvider(shutdown_on_exit=False)
    both = [AttestSpanProcessor({}, tracer_provider=provider, on_report=reports.append) for _ in range(2)]
    for processor, name in zip(both, "ab", strict=True):
        provider.add_span_processor(Route(processor, name))
    for name in "ab":
        provider.get_tracer("app").start_span("agent", attributes={**AGENT, "gen_ai.agent.name": name}).end()
    assert all(processor.drain(WAIT) for processor in both)
    for processor in both:
        processor.shutdown()
    assert sorted(str(report.agent) for report in reports) == ["a", "b"]


def test_the_second_takes_over_when_the_first_is_shut_down() -> None:
    """Who stood aside judges from then on, under its own settings and metrics, and counts what it judges."""
    with live() as pipeline:
        second, reports = add(pipeline, {"capture": "off"})
        pipeline.run()
        assert pipeline.processor.drain(WAIT)
        pipeline.processor.shutdown()
        assert second.is_active
        with agent_run("a", task="t") as run:
            pass
        assert run.report(WAIT).agent == "a"
        assert second.drain(WAIT)
        assert (len(pipeline.reports), len(reports)) == (1, 1)
        assert settings.current().capture == "off"


def test_one_added_after_the_first_was_shut_down_judges() -> None:
    """A processor that is shut down leads nobody; install() makes a fresh one."""
    with live() as pipeline:
        pipeline.run()
        pipeline.processor.shutdown()
        again = install(pipeline.provider, config={}, meter_provider=pipeline.meters)
        assert again is not pipeline.processor
        assert install(pipeline.provider, config={}) is again
        pipeline.run()
        assert again.drain(WAIT)
        assert again.health().evaluated == 1


def test_install_with_other_settings_says_that_the_first_ones_stay(caplog: pytest.LogCaptureFixture) -> None:
    """Twice is once, and silence would let a person believe that the second settings are in force."""
    caplog.set_level(logging.WARNING, "attest_otel")
    with live({"capture": "off"}) as pipeline:
        assert install(pipeline.provider, config={"capture": "off"}) is pipeline.processor
        assert install(pipeline.provider) is pipeline.processor
        assert caplog.records == []
        assert install(pipeline.provider, config={"capture": "full"}) is pipeline.processor
    assert ["settings stay" in record.getMessage() for record in caplog.records] == [True]


def test_a_second_one_stands_aside_in_a_forks_child_too() -> None:
    """What a processor is to another outlives its making anew."""
    with live() as pipeline:
        second, _ = add(pipeline)
        pipeline.run()
        assert not second.is_active
        second.after_fork()
        assert not second.is_active


def test_the_order_of_exporters_is_the_first_ones_to_settle() -> None:
    """The one that stands aside does not move before the others."""
    exporter, meters = InMemorySpanExporter(), MeterProvider([InMemoryMetricReader()], shutdown_on_exit=False)
    provider = TracerProvider(shutdown_on_exit=False)
    provider.add_span_processor(SimpleSpanProcessor(exporter))
    first, second = (AttestSpanProcessor({}, tracer_provider=provider, meter_provider=meters) for _ in range(2))
    provider.add_span_processor(first)
    provider.add_span_processor(second)
    with provider.get_tracer("app").start_as_current_span("agent", attributes=AGENT):
        pass
    provider.shutdown()
    meters.shutdown()
    assert [span.name for span in exporter.get_finished_spans()] == ["agent", "evaluate a"]
