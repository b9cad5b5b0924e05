"""`attest-otel tools`: the tool-use check of one run, as JSON, finding by finding."""

from __future__ import annotations

import sys

import click

from attest_otel.cli.inputs import BAD_INPUT, Inputs
from attest_otel.cli.options import BAD, CONFIG_HELP, epilog
from attest_otel.cli.output import write_json
from attest_otel.grader import Attest


@click.command(
    epilog=epilog(
        {0: "no finding blocks", 1: "one does", 2: f"{BAD}; every good run is still graded"},
        "attest-otel tools run.json",
    )
)
@click.argument("path", metavar="RUN.json")
@click.option("--config", metavar="F", help=CONFIG_HELP)
@click.option(
    "--appropriate",
    is_flag=True,
    help="Also ask the grading model whether each tool was a reasonable choice.",
)
@click.option("--check-answer", is_flag=True, help="Also let the grading model read the answer for unrecovered errors.")
def tools(path: str, config: str | None, appropriate: bool, check_answer: bool) -> None:
    """Grade the tool calls of the runs in RUN.json; one JSON object a run, under "data"."""
    attest = Attest(config)
    inputs = Inputs([path])
    blocked = False
    for run in inputs.runs():
        result = attest.tool_use(run, appropriate=appropriate, check_answer=check_answer)
        blocked = blocked or any(finding.disposition == "block" for finding in result.findings)
        write_json({"data": result.model_dump()})
    sys.exit(BAD_INPUT if inputs.bad else 1 if blocked else 0)
