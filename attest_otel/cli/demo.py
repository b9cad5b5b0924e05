"""`attest-otel demo`: a refund agent goes wrong; see the verdict in ten seconds.

Everything is real but the model's server, which runs on loopback from a script. With
OTEL_EXPORTER_OTLP_ENDPOINT set, spans, metrics and the evaluation go there.
"""

from __future__ import annotations

import os

import click
from opentelemetry.metrics import MeterProvider
from opentelemetry.sdk.metrics import MeterProvider as SdkMeterProvider
from opentelemetry.sdk.resources import Resource
from opentelemetry.sdk.trace import TracerProvider
from rich.console import Console

from attest_otel.cli import demo_agent
from attest_otel.cli.render import plain, render_report
from attest_otel.export.otlp import otlp_meter_provider, otlp_span_processor
from attest_otel.live.install import install
from attest_otel.redaction import Redactor
from attest_otel.trajectory import Step, ToolCall, Trajectory

REPORT_SECONDS = 10.0
FLUSH_MILLIS = 5_000


@click.command()
def demo() -> None:
    """A refund agent goes wrong; see the verdict in ten seconds."""
    console = Console(highlight=False)
    redactor = Redactor()
    endpoint = os.environ.get("OTEL_EXPORTER_OTLP_ENDPOINT")
    tracer_provider, meter_provider = _providers(endpoint)
    install(tracer_provider, config=demo_agent.config(), meter_provider=meter_provider)
    console.print(f"[bold]customer[/]  {plain(demo_agent.QUESTION, redactor)}")

    calls: list[ToolCall] = []

    def on_call(name: str, arguments: str, output: str) -> None:
        calls.append(ToolCall(name=name))
        console.print(f"[bold]agent[/]     {plain(name, redactor)} {plain(arguments, redactor)}")
        console.print(f"          [dim]→ {plain(output, redactor)}[/]")

    run = demo_agent.run_agent(on_call)
    console.print(f"[bold]agent[/]     {plain(run.final_answer or '', redactor)}\n")
    report = run.report(timeout=REPORT_SECONDS)
    record = Trajectory(agent=demo_agent.AGENT, steps=[Step(tool_call=call) for call in calls])
    render_report(console, record, report, redactor)
    flushed = tracer_provider.force_flush(FLUSH_MILLIS) and _flush(meter_provider)
    if endpoint:
        trace_id = f"{run.span.get_span_context().trace_id:032x}"
        console.print(f"\nSent to {plain(endpoint, redactor)}: trace {trace_id}" + ("" if flushed else " (not all of it arrived)"))
    else:
        console.print("\nSet OTEL_EXPORTER_OTLP_ENDPOINT to see this run, and why, in Jaeger and Prometheus.")
    tracer_provider.shutdown()


def _providers(endpoint: str | None) -> tuple[TracerProvider, MeterProvider]:
    resource = Resource.create({"service.name": os.environ.get("OTEL_SERVICE_NAME", "attest-demo")})
    tracer_provider = TracerProvider(resource=resource)
    if not endpoint:
        return tracer_provider, SdkMeterProvider(resource=resource)
    tracer_provider.add_span_processor(otlp_span_processor())
    return tracer_provider, otlp_meter_provider(resource)


def _flush(meter_provider: MeterProvider) -> bool:
    return not isinstance(meter_provider, SdkMeterProvider) or meter_provider.force_flush(FLUSH_MILLIS)
