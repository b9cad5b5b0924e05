"""`attest-otel demo`: a refund agent goes wrong; see the verdict in ten seconds.

Everything is real but the model's server, which runs on loopback from a script. With
OTEL_EXPORTER_OTLP_ENDPOINT set, spans, metrics and the evaluation go there.
"""

from __future__ import annotations

import click

from attest_otel.cli import demo_agent
from attest_otel.cli.demo_sending import Sending
from attest_otel.cli.options import epilog
from attest_otel.cli.output import terminal
from attest_otel.cli.render import print_beside, render_report
from attest_otel.live.install import install
from attest_otel.redaction import Redactor
from attest_otel.trajectory import Step, ToolCall, Trajectory

REPORT_SECONDS = 10.0
MAX_CHARS = 200


@click.command(
    epilog=epilog(
        {0: "the demo ran, whatever its verdict", 2: "the OTEL_* environment can't be followed"},
        "OTEL_EXPORTER_OTLP_ENDPOINT=http://localhost:4318 attest-otel demo",
    )
)
def demo() -> None:
    """A refund agent goes wrong; see the verdict in ten seconds."""
    console = terminal()
    redactor = Redactor()
    show = redactor.show
    sending = Sending()
    install(sending.tracer_provider, config=demo_agent.config(), meter_provider=sending.meter_provider)
    print_beside(console, "customer", show(demo_agent.QUESTION, MAX_CHARS))

    calls: list[ToolCall] = []

    def on_call(name: str, arguments: str, output: str) -> None:
        calls.append(ToolCall(name=name))
        print_beside(console, "agent", f"{show(name, MAX_CHARS)} {show(arguments, MAX_CHARS)}")
        print_beside(console, "", f"→ {show(output, MAX_CHARS)}", style="dim")

    run = demo_agent.run_agent(on_call)
    print_beside(console, "agent", show(run.final_answer or "", MAX_CHARS))
    console.print()
    report = run.report(timeout=REPORT_SECONDS)
    record = Trajectory(agent=demo_agent.AGENT, steps=[Step(tool_call=call) for call in calls])
    render_report(console, record, report, redactor)
    trace_id = f"{run.span.get_span_context().trace_id:032x}"
    failure = sending.finish()
    if sending.endpoint is None:
        console.print("Set OTEL_EXPORTER_OTLP_ENDPOINT to see this run, and why, in Jaeger and Prometheus.")
        return
    where = show(sending.endpoint, 200)
    if failure is None:
        console.print(f"Sent to {where}: trace {trace_id}")
        return
    why = show(failure, 300)
    click.echo(
        f"Not everything arrived at {where} ({why}). Is a Collector listening there? The verdict stands without it.",
        err=True,
    )
