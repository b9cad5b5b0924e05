"""Agents that only make spans, and the pipelines they are measured with."""

from __future__ import annotations

import asyncio
import gc
import json
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import anyio
from opentelemetry import trace
from opentelemetry.context import Context
from opentelemetry.sdk.metrics import MeterProvider
from opentelemetry.sdk.trace import ReadableSpan, TracerProvider
from opentelemetry.sdk.trace.export import BatchSpanProcessor, SpanExporter, SpanExportResult

from attest_otel.findings import CheckResult
from attest_otel.live.install import install
from attest_otel.live.processor import AttestSpanProcessor
from attest_otel.report import Report
from attest_otel.trajectory import Trajectory

AGENT = {"gen_ai.operation.name": "invoke_agent", "gen_ai.agent.name": "a"}
OUTPUT = json.dumps({"status": "shipped", "items": [{"sku": f"S{number}", "qty": number} for number in range(20)]})
ANSWER = '[{"role":"assistant","parts":[{"type":"text","content":"Your order was shipped."}]}]'


class Nowhere(SpanExporter):
    """Exports to nowhere."""

    def export(self, spans: Sequence[ReadableSpan]) -> SpanExportResult:
        """Take the spans."""
        return SpanExportResult.SUCCESS


@dataclass(slots=True)
class Setup:
    """A tracer, and the processor behind it if there is one."""

    tracer: trace.Tracer
    provider: TracerProvider
    processor: AttestSpanProcessor | None = None

    def settle(self) -> None:
        """Let everything that was made be graded and exported."""
        if self.processor is not None:
            self.processor.force_flush(60_000)
        self.provider.force_flush()


@contextmanager
def setup(*, attest: bool = False, batch: bool = False, **options: Any) -> Iterator[Setup]:
    """Make a provider with our processor, a batch processor, both or none."""
    provider, meters = TracerProvider(shutdown_on_exit=False), MeterProvider(shutdown_on_exit=False)
    if batch:
        provider.add_span_processor(BatchSpanProcessor(Nowhere(), max_queue_size=100_000))
    processor = install(provider, config={}, meter_provider=meters) if attest and not options else None
    if attest and options:
        processor = AttestSpanProcessor({}, tracer_provider=provider, meter_provider=meters, **options)
        provider.add_span_processor(processor)
    try:
        yield Setup(provider.get_tracer("agent"), provider, processor)
    finally:
        provider.shutdown()
        meters.shutdown()


def tool(number: int) -> dict[str, Any]:
    """Return the attributes of a tool span as it starts."""
    return {
        "gen_ai.operation.name": "execute_tool",
        "gen_ai.tool.name": f"t{number % 4}",
        "gen_ai.tool.call.id": f"c{number}",
        "gen_ai.tool.call.arguments": f'{{"order_id": "ORD-{number}"}}',
    }


def one_run(tracer: trace.Tracer, spans: int) -> None:
    """Make one run of so many spans, with nothing between them."""
    with tracer.start_as_current_span("agent", context=Context(), attributes=AGENT) as root:
        for number in range(spans - 1):
            with tracer.start_as_current_span("execute_tool", attributes=tool(number)) as span:
                span.set_attribute("gen_ai.tool.call.result", OUTPUT)
        root.set_attribute("gen_ai.output.messages", ANSWER)


def many_runs(tracer: trace.Tracer, spans: int, runs: int) -> None:
    """Make so many runs, one after another."""
    for _ in range(runs):
        one_run(tracer, spans)


def on_threads(threads: int, action: Callable[[], None]) -> float:
    """Run an action on each of so many threads; return the processor seconds that those threads took."""
    took: list[float] = []

    def work() -> None:
        began = time.thread_time()
        action()
        took.append(time.thread_time() - began)

    if threads == 1:
        work()
        return took[0]
    many = [threading.Thread(target=work) for _ in range(threads)]
    for thread in many:
        thread.start()
    for thread in many:
        thread.join()
    return sum(took)


async def sleeping_judge(run: Trajectory, report: Report) -> list[CheckResult]:
    """Answer nothing, after 30 seconds."""
    await anyio.sleep(30)
    return []


async def serve(tracer: trace.Tracer, *, clients: int, runs: int, calls: int, think_seconds: float) -> list[float]:
    """Serve so many runs to each of so many clients at once; return the seconds each run took.

    Each call of a tool takes 5 ms; before it the agent's own model thinks.
    """
    took: list[float] = []

    async def one() -> None:
        began = time.perf_counter()
        with tracer.start_as_current_span("agent", context=Context(), attributes=AGENT) as root:
            for number in range(calls):
                await asyncio.sleep(think_seconds)
                with tracer.start_as_current_span("execute_tool", attributes=tool(number)) as span:
                    await asyncio.sleep(0.005)
                    span.set_attribute("gen_ai.tool.call.result", OUTPUT)
            root.set_attribute("gen_ai.output.messages", ANSWER)
        took.append(time.perf_counter() - began)

    async def client(number: int) -> None:
        await asyncio.sleep(number / clients * calls * (0.005 + think_seconds))
        for _ in range(runs):
            await one()

    await asyncio.gather(*[client(number) for number in range(clients)])
    return took


def percentile(values: Sequence[float], share: float) -> float:
    """Return the value below which a share of the values lies."""
    return sorted(values)[min(int(len(values) * share), len(values) - 1)]


def tidy() -> None:
    """Begin a measurement with an empty young generation."""
    gc.collect()
