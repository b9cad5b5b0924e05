"""`attest-otel runs`: what was rebuilt, one run record a line: see what the checks see."""

from __future__ import annotations

import sys
from collections.abc import Callable

import click
from rich.console import Console

from attest_otel.cli.inputs import BAD_INPUT, Inputs
from attest_otel.cli.options import BAD, epilog, format_option
from attest_otel.cli.output import print_table, terminal, write_json
from attest_otel.cli.render import print_beside
from attest_otel.redaction import Redactor
from attest_otel.report import dump_json
from attest_otel.trajectory import ToolCall, Trajectory

MAX_CALLS_SHOWN = 100
MAX_TEXT_CHARS = 160


@click.command(
    epilog=epilog({0: "every run could be read", 2: f"{BAD}; every good run is still shown"}, "attest-otel runs traces.json")
)
@click.argument("paths", nargs=-1, required=True, metavar="PATH...")
@format_option("one run record a line")
def runs(paths: tuple[str, ...], output: str) -> None:
    """Show the runs in PATH... as the checks see them."""
    console = terminal()
    inputs = Inputs(paths, console if output == "table" else None)
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
    print_beside(console, "  task", show(run.task or "(not recorded)", MAX_TEXT_CHARS), label_style="")
    calls = [(number, step.tool_call) for number, step in enumerate(run.steps) if step.tool_call is not None]
    print_table(console, [_cells(number, call, show) for number, call in calls[:MAX_CALLS_SHOWN]])
    if len(calls) > MAX_CALLS_SHOWN:
        console.print(f"  … and {len(calls) - MAX_CALLS_SHOWN} more calls")
    print_beside(console, "  answer", show(run.final_answer or "(not recorded)", MAX_TEXT_CHARS), label_style="")
    console.print()


def _cells(number: int, call: ToolCall, show: Callable[[str, int], str]) -> tuple[str, ...]:
    arguments = call.arguments_raw if call.arguments_raw is not None else dump_json(call.arguments)
    output = "(not recorded)" if call.output is None else call.output
    return f"  {number}", show(call.name, 60), call.arguments_fidelity, show(arguments, 80), "→", show(output, 80)
