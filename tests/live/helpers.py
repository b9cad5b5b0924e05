"""What the tests of the live pipeline share: a provider that feeds a buffer, and one with a processor and its reports."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

from opentelemetry import trace
from opentelemetry.context import Context
from opentelemetry.sdk.metrics import MeterProvider
from opentelemetry.sdk.metrics.export import InMemoryMetricReader
from opentelemetry.sdk.trace import ReadableSpan, Span, SpanProcessor, TracerProvider
from opentelemetry.sdk.trace.export import SimpleSpanProcessor
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter

from attest_otel.config import AttestConfig
from attest_otel.live.buffer import Buffer
from attest_otel.live.processor import AttestSpanProcessor
from attest_otel.live.runs import Job, State, span_key
from attest_otel.quiet import is_own
from attest_otel.report import Report

WAIT = 20.0
AGENT = {"gen_ai.operation.name": "invoke_agent", "gen_ai.agent.name": "a"}


def tool(name: str = "lookup", output: str | None = "fine", **more: Any) -> dict[str, Any]:
    """Return the attributes of a tool span."""
    found = {"gen_ai.operation.name": "execute_tool", "gen_ai.tool.name": name, "gen_ai.tool.call.arguments": "{}", **more}
    return found if output is None else {**found, "gen_ai.tool.call.result": output}


class Clock:
    """A clock the test moves."""

    def __init__(self) -> None:
        self.now = 100.0

    def __call__(self) -> float:
        """Return the time."""
        return self.now


class Feed(SpanProcessor):
    """Feeds a buffer at once, on the test's own thread."""

    def __init__(self, buffer: Buffer, clock: Clock) -> None:
        self.buffer, self.clock = buffer, clock

    def on_start(self, span: Span, parent_context: Context | None = None) -> None:
        """Pass a start on, as the processor does."""
        if is_own(parent_context):
            self.buffer.own(span_key(span.get_span_context()), self.clock.now)
        else:
            self.buffer.start(span, self.clock.now)

    def on_end(self, span: ReadableSpan) -> None:
        """Pass an end on."""
        self.buffer.end(span, self.clock.now)


class Bench:
    """A buffer under a fake clock, fed by real spans."""

    def __init__(self, **limits: Any) -> None:
        self.clock = Clock()
        self.buffer = Buffer(AttestConfig.model_validate({"limits": limits}), quiet_trace=7)
        provider = TracerProvider(shutdown_on_exit=False)
        provider.add_span_processor(Feed(self.buffer, self.clock))
        self.provider = provider
        self.tracer = provider.get_tracer("test")

    def start(self, name: str, above: trace.Span | None = None, **attributes: Any) -> trace.Span:
        """Start a span below another."""
        context = trace.set_span_in_context(above, Context()) if above is not None else Context()
        return self.tracer.start_span(name, context=context, attributes=attributes)

    def start_as(self, scope: str, name: str, above: trace.Span | None, **attributes: Any) -> trace.Span:
        """Start a span of some scope below another."""
        context = trace.set_span_in_context(above, Context()) if above is not None else Context()
        return self.provider.get_tracer(scope).start_span(name, context=context, attributes=attributes)

    def agent(self, above: trace.Span | None = None, **more: Any) -> trace.Span:
        """Start an agent's span."""
        return self.start("agent", above, **AGENT, **more)

    def tool(self, above: trace.Span | None = None, name: str = "lookup", **more: Any) -> trace.Span:
        """Start a tool's span."""
        return self.start(f"execute_tool {name}", above, **tool(name, **more))

    def pass_time(self, seconds: float) -> float | None:
        """Move the clock and let timers act."""
        self.clock.now += seconds
        return self.buffer.runs.tick(self.clock.now)

    def jobs(self, *, grade: bool = True) -> list[Job]:
        """Take the runs that are ready, and say that they are graded."""
        jobs = self.buffer.runs.take_ready()
        if grade:
            for job in jobs:
                self.buffer.runs.done(job.run, State.EVALUATED)
        return jobs


def names(job: Job) -> list[str]:
    """Return the names of a job's spans, sorted."""
    return sorted(record.name for record in job.records)


def missing(report: Report) -> list[str]:
    """Return what the pipeline itself says is missing from a run."""
    return [text for text in report.incomplete if not text.startswith("not_recorded")]


class Live:
    """A provider with an exporter in memory, a processor, and the reports it made."""

    def __init__(self, config: dict[str, Any] | None = None, *, sampler: Any = None, **options: Any) -> None:
        self.reports: list[Report] = []
        self.exporter = InMemorySpanExporter()
        self.reader = InMemoryMetricReader()
        self.provider = TracerProvider(sampler=sampler, shutdown_on_exit=False)
        self.meters = MeterProvider([self.reader], shutdown_on_exit=False)
        options.setdefault("on_report", self.reports.append)
        self.processor = AttestSpanProcessor(config or {}, tracer_provider=self.provider, meter_provider=self.meters, **options)
        self.provider.add_span_processor(self.processor)
        self.provider.add_span_processor(SimpleSpanProcessor(self.exporter))
        self.tracer = self.provider.get_tracer("test")

    def run(self, outputs: tuple[str, ...] = ("fine",), name: str = "agent", **more: Any) -> trace.SpanContext:
        """Make one run with a tool call an output."""
        with self.tracer.start_as_current_span(name, context=Context(), attributes={**AGENT, **more}) as root:
            for number, output in enumerate(outputs):
                with self.tracer.start_as_current_span(f"execute_tool t{number}", attributes=tool(f"t{number}", output)):
                    pass
        return root.get_span_context()

    def close(self) -> None:
        """Shut the providers down."""
        self.provider.shutdown()
        self.meters.shutdown()

    def metric(self, name: str) -> dict[tuple[tuple[str, Any], ...], float]:
        """Return a metric's values by their attributes."""
        data = self.reader.get_metrics_data()
        found: dict[tuple[tuple[str, Any], ...], float] = {}
        for resource in data.resource_metrics if data else ():
            for scope in resource.scope_metrics:
                for metric in scope.metrics:
                    if metric.name == name:
                        for point in metric.data.data_points:
                            found[tuple(sorted((point.attributes or {}).items()))] = getattr(point, "value", 0)
        return found


@contextmanager
def live(config: dict[str, Any] | None = None, **options: Any) -> Iterator[Live]:
    """Run a block with a live pipeline, and close it."""
    pipeline = Live(config, **options)
    try:
        yield pipeline
    finally:
        pipeline.close()


def together(*actions: Callable[[], None]) -> None:
    """Run actions in threads of their own, all begun before any may go on; raise what they raised."""
    barrier = threading.Barrier(len(actions))
    raised: list[BaseException] = []

    def run(action: Callable[[], None]) -> None:
        barrier.wait(WAIT)
        try:
            action()
        except BaseException as error:
            raised.append(error)

    threads = [threading.Thread(target=run, args=(action,)) for action in actions]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(WAIT)
    assert not raised
