"""`attest-otel metrics`: the batch numbers of recorded runs, against the cases that say what each needed."""

from __future__ import annotations

import sys
from typing import Any

import click
from rich.table import Table

from attest_otel.batch import BatchMetrics, RunRow, Share, batch_metrics
from attest_otel.cli.contracts import RunContracts
from attest_otel.cli.inputs import BAD_INPUT, Inputs, load_settings
from attest_otel.cli.output import terminal, write_json
from attest_otel.grader import Attest
from attest_otel.redaction import Redactor

LABELS = {
    "accuracy": "tool-call accuracy (task)",
    "precision": "tool-selection precision",
    "recall": "tool-selection recall",
    "argument_validity": "argument-validity rate",
    "query_quality": "query-quality rate",
    "call_precision": "call-level precision",
    "call_recall": "call-level recall",
}


@click.command()
@click.argument("paths", nargs=-1, required=True, metavar="PATH...")
@click.option("--cases", metavar="F", required=True, help="What each run needed.")
@click.option("--config", metavar="F", help="attest.yaml; by default the file that ATTEST_CONFIG names.")
@click.option("--format", "output", type=click.Choice(["table", "json"]), default="table", show_default=True)
def metrics(paths: tuple[str, ...], cases: str, config: str | None, output: str) -> None:
    """Score the tool calls of the runs in PATH... as a batch; a share of nothing is null."""
    attest = Attest(load_settings(config, cases, own_checks=True))
    inputs = Inputs(paths)
    contracts = RunContracts(attest, inputs.complain)
    views = []
    for run in inputs.runs():
        contracts.check(run)
        views.append(attest.view(run))
    numbers = batch_metrics(views)
    if output == "json":
        write_json({"data": as_json(numbers)})
    else:
        _print(numbers)
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


def _print(numbers: BatchMetrics) -> None:
    console = terminal()
    redactor = Redactor()
    table = Table("called", "should", "valid", "quality", "task", "", box=None, pad_edge=False, padding=(0, 2, 0, 0))
    for row in numbers.rows:
        task = redactor.show(row.task or row.run_id or "", 60)
        marks = (_mark(row.called), _mark(row.should_call), _mark(row.valid), _mark(row.good_query))
        table.add_row(*marks, task, "← look" if row.flagged else "")
    console.print(table)
    console.print()
    for name, label in LABELS.items():
        share: Share = getattr(numbers, name)
        value = "null " if share.value is None else f"{share.value:.3f}"
        console.print(f"{label:<27}= {value}  ({share.part}/{share.whole})")
    console.print(f"TP={numbers.tp} TN={numbers.tn} FP={numbers.fp} FN={numbers.fn}")


def _mark(holds: bool | None) -> str:
    return "-" if holds is None else "yes" if holds else "no"
