"""`attest-otel check`: grade recorded runs with every deterministic check, and the model's where a judge is set."""

from __future__ import annotations

import sys
from collections import Counter
from collections.abc import Iterable
from typing import get_args

import click
from rich.console import Console
from rich.text import Text

from attest_otel.checks import ORDER
from attest_otel.cli.contracts import RunContracts
from attest_otel.cli.inputs import BAD_INPUT, Inputs, load_settings
from attest_otel.cli.options import BAD, CONFIG_HELP, Choice, epilog, format_option
from attest_otel.cli.output import terminal, write_line
from attest_otel.cli.render import STYLES, Kind, render_advice, render_report
from attest_otel.config import CheckName
from attest_otel.findings import DISPOSITION_RANK
from attest_otel.grader import AnswerKind, Attest
from attest_otel.suggestions import unknown

READS_CASES = frozenset({"expectations", "selection"})


@click.command(
    epilog=epilog(
        {0: "nothing reached --fail-on", 1: "something did", 2: f"{BAD}; every good run is still reported"},
        "attest-otel check runs.jsonl --cases cases.yaml --fail-on review",
    )
)
@click.argument("paths", nargs=-1, required=True, metavar="PATH...")
@click.option("--config", metavar="F", help=CONFIG_HELP)
@click.option("--cases", metavar="F", help="Cases for every agent that names none in the configuration.")
@click.option("--checks", metavar="a,b", help="Run these checks only.")
@format_option("one report a line")
@click.option(
    "--kind",
    type=Choice(get_args(AnswerKind)),
    default="factual",
    show_default=True,
    help="What counts as supported, for a grading model's faithfulness; auto: code where the evidence holds a diff.",
)
@click.option(
    "--fail-on",
    type=Choice(["block", "review", "never"]),
    default="block",
    show_default=True,
    help="What makes the exit code 1.",
)
def check(
    paths: tuple[str, ...],
    config: str | None,
    cases: str | None,
    checks: str | None,
    output: str,
    kind: AnswerKind,
    fail_on: str,
) -> None:
    """Grade the runs in PATH...: run files, OTLP JSON, Jaeger JSON, folders of them, or - for standard input."""
    wanted = parse_checks(checks)
    if wanted and cases and READS_CASES.isdisjoint(wanted):
        raise click.UsageError(f"--cases: nothing in --checks reads cases; add {' or '.join(sorted(READS_CASES))}")
    attest = Attest(load_settings(config, cases, own_checks=wanted is not None))
    names = wanted or attest.default_checks()
    console = terminal()
    inputs = Inputs(paths, console if output == "table" else None)
    contracts = RunContracts(attest, inputs.complain)
    verdicts: Counter[str] = Counter()
    kinds: Counter[Kind] = Counter()
    found: Counter[Kind] = Counter()
    for place, run in inputs.placed_runs():
        contracts.check(run)
        report = attest.evaluate(run, checks=names, answer_kind=kind)
        verdicts[report.verdict] += 1
        if output == "json":
            write_line(report.to_json())
        else:
            found = render_report(console, run, report, attest.redactor, place)
            kinds += found
    if output == "table":
        if kinds and not found:
            console.print()
        render_advice(console, kinds)
        _summary(console, verdicts)
    sys.exit(exit_code(verdicts, fail_on, bad=inputs.bad))


def parse_checks(text: str | None) -> list[CheckName] | None:
    """Return the checks a person named, or None (ConfigError from the grader for an unknown one)."""
    if text is None:
        return None
    wanted = [name.strip() for name in text.split(",") if name.strip()]
    wrong = [name for name in wanted if name not in ORDER]
    if wrong or not wanted:
        raise click.UsageError(f"--checks: {unknown('check', wrong[0], ORDER)}" if wrong else "--checks: names no check")
    return [name for name in ORDER if name in wanted]


def exit_code(verdicts: Iterable[str], fail_on: str, *, bad: bool) -> int:
    """Return 2 for bad input, 1 where a verdict reached `fail_on`, else 0."""
    if bad:
        return BAD_INPUT
    reached = fail_on != "never" and any(DISPOSITION_RANK[v] >= DISPOSITION_RANK[fail_on] for v in verdicts)
    return 1 if reached else 0


def _summary(console: Console, verdicts: Counter[str]) -> None:
    total = sum(verdicts.values())
    parts: list[str | tuple[str, str]] = [f"{total} run{'s' if total != 1 else ''}: "]
    for number, verdict in enumerate(("block", "review", "pass")):
        parts += ["" if number == 0 else ", ", (f"{verdicts[verdict]} {verdict}", STYLES[verdict])]
    console.print(Text.assemble(*parts))
