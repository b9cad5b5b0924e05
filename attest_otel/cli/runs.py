"""`attest-otel runs`: what was rebuilt, one run record a line: see what the checks see."""

from __future__ import annotations

import sys

import click
from rich.console import Console
from rich.table import Table

from attest_otel.cli.inputs import BAD_INPUT, Inputs
from attest_otel.cli.output import terminal, write_json
from attest_otel.redaction import Redactor
from attest_otel.report import dump_json
from attest_otel.trajectory import Trajectory

MAX_CALLS_SHOWN = 100


@click.command()
@click.argument("paths", nargs=-1, required=True, metavar="PATH...")
@click.option(
    "--format",
    "output",
    type=click.Choice(["table", "json"]),
    default="table",
    show_default=True,
    help="json: one run record a line.",
)
def runs(paths: tuple[str, ...], output: str) -> None:
    """Show the runs in PATH... as the checks see them."""
    inputs = Inputs(paths)
    console = terminal()
    redactor = Redactor()
    for run in inputs.runs():
        if output == "json":
            write_json(run.model_dump(mode="json", exclude_unset=True))
        else:
            _print(console, run, redactor)
    sys.exit(BAD_INPUT if inputs.bad else 0)


def _print(console: Console, run: Trajectory, redactor: Redactor) -> None:
    show = redactor.show
    console.print(f"run {show(run.id or '-', 80)}  agent {show(run.agent or '-', 80)}", style="bold")
    console.print(f"  task    {show(run.task or '(not recorded)', 160)}")
    table = Table(box=None, pad_edge=False, show_header=False, padding=(0, 2, 0, 0))
    calls = [(number, step.tool_call) for number, step in enumerate(run.steps) if step.tool_call is not None]
    for number, call in calls[:MAX_CALLS_SHOWN]:
        arguments = call.arguments_raw if call.arguments_raw is not None else dump_json(call.arguments)
        output = "(not recorded)" if call.output is None else call.output
        table.add_row(
            f"  {number}",
            show(call.name, 60),
            call.arguments_fidelity,
            show(arguments, 80),
            "→",
            show(output, 80),
        )
    console.print(table)
    if len(calls) > MAX_CALLS_SHOWN:
        console.print(f"  … and {len(calls) - MAX_CALLS_SHOWN} more calls")
    console.print(f"  answer  {show(run.final_answer or '(not recorded)', 160)}\n")
