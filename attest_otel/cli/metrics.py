"""`attest-otel metrics`: the batch numbers of recorded runs, against the cases that say what each needed."""

from __future__ import annotations

import sys
from typing import Any

import click
from rich.console import Console

from attest_otel.batch import BatchMetrics, RunRow, Share, batch_metrics
from attest_otel.cli.contracts import RunContracts
from attest_otel.cli.inputs import BAD_INPUT, Inputs, load_settings
from attest_otel.cli.options import BAD, CONFIG_HELP, epilog, format_option
from attest_otel.cli.output import print_table, terminal, write_json
from attest_otel.grader import Attest
from attest_otel.redaction import Redactor

HEADER = ("called", "should", "valid", "quality", "task", "")
LABELS = {
    "accuracy": "tool-call accuracy (task)",
    "precision": "tool-selection precision",
    "recall": "tool-selection recall",
    "argument_validity": "argument-validity rate",
    "query_quality": "query-quality rate",
    "call_precision": "call-level precision",
    "call_recall": "call-level recall",
}


@click.command(
    epilog=epilog(
        {0: "the batch was scored, whatever the numbers", 2: f"{BAD}; every good run is still counted"},
        "attest-otel metrics runs.jsonl --cases cases.yaml",
    )
)
@click.argument("paths", nargs=-1, required=True, metavar="PATH...")
@click.option("--cases", metavar="F", required=True, help="What each run needed.")
@click.option("--config", metavar="F", help=CONFIG_HELP)
@format_option('all numbers, under "data"')
def metrics(paths: tuple[str, ...], cases: str, config: str | None, output: str) -> None:
    """Score the tool calls of the runs in PATH... as a batch; a share of nothing is null."""
    attest = Attest(load_settings(config, cases, own_checks=True))
    console = terminal()
    inputs = Inputs(paths, console)
    contracts = RunContracts(attest, inputs.complain)
    views = []
    for run in inputs.runs():
        contracts.check(run)
        views.append(attest.view(run))
    numbers = batch_metrics(views)
    if output == "json":
        write_json({"data": as_json(numbers)})
    else:
        _print(console, numbers)
    sys.exit(BAD_INPUT if inputs.bad else 0)


def as_json(numbers: BatchMetrics) -> dict[str, Any]:
    """Return the numbers as plain data, shares rounded to three digits."""
    counts = {name: getattr(numbers, name) for name in ("tp", "fp", "fn", "tn")}
    shares = {name: _rounded(getattr(numbers, name)) for name in LABELS}
    return {**shares, **counts, "runs": [_row_json(row) for row in numbers.rows]}


def _row_json(row: RunRow) -> dict[str, Any]:
    names = (
        "run_id",
        "case_id",
        "outcome",
        "should_call",
        "called",
        "calls",
        "valid",
        "good_query",
        "flagged",
    )
    return {name: getattr(row, name) for name in names}


def _rounded(share: Share) -> float | None:
    return None if share.value is None else round(share.value, 3)


def _print(console: Console, numbers: BatchMetrics) -> None:
    redactor = Redactor()
    print_table(console, [_cells(row, redactor) for row in numbers.rows], HEADER)
    console.print()
    for name, label in LABELS.items():
        share: Share = getattr(numbers, name)
        value = "null " if share.value is None else f"{share.value:.3f}"
        console.print(f"{label:<27}= {value}  ({share.part}/{share.whole})")
    console.print(f"TP={numbers.tp} TN={numbers.tn} FP={numbers.fp} FN={numbers.fn}")


def _cells(row: RunRow, redactor: Redactor) -> tuple[str, ...]:
    marks = (_mark(row.called), _mark(row.should_call), _mark(row.valid), _mark(row.good_query))
    return *marks, redactor.show(row.task or row.run_id or "", 60), "← look" if row.flagged else ""


def _mark(holds: bool | None) -> str:
    return "-" if holds is None else "yes" if holds else "no"
