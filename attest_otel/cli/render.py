"""How runs and reports look on a terminal. Everything a stranger wrote is redacted, cut and cleaned first."""

from __future__ import annotations

from rich.console import Console
from rich.text import Text

from attest_otel.export.events import Found, worst_first
from attest_otel.redaction import Redactor
from attest_otel.report import Report
from attest_otel.trajectory import Trajectory

STYLES = {"pass": "green", "review": "yellow", "block": "bold red"}
MAX_FINDINGS = 25
MAX_REASON_CHARS = 400
MARGIN = 10
MIN_TEXT_WIDTH = 20


def render_report(console: Console, run: Trajectory, report: Report, redactor: Redactor, *, everything: bool = False) -> None:
    """Print one report: its verdict, then its findings, the strictest first; passes only when asked for."""
    show = redactor.show
    name = show(report.run_id or report.agent or "run", 80)
    style = STYLES[report.verdict]
    score = "" if report.overall_score is None else f", score {report.overall_score:.2f}"
    console.print(Text.assemble(("verdict: ", "bold"), (report.verdict, style), f"  {name}{score}"))
    found = worst_first(run, report.results)
    shown = [f for f in found if everything or f.finding.disposition != "pass"]
    if not shown:
        return
    for item in shown[:MAX_FINDINGS]:
        _print_finding(console, item, redactor)
    if len(shown) > MAX_FINDINGS:
        console.print(f"  … and {len(shown) - MAX_FINDINGS} more findings (--format json lists them all)")


def _print_finding(console: Console, item: Found, redactor: Redactor) -> None:
    finding = item.finding
    disposition = finding.disposition or "pass"
    place = [f"step {finding.step}"] if finding.step is not None else []
    subject = [redactor.show(finding.subject, 60)] if finding.subject else []
    heading = " · ".join([f"{item.result.check}: {finding.verdict}", *place, *subject])
    console.print(Text.assemble("  ", (f"{disposition:<6}", STYLES[disposition]), "  ", (heading, "bold")))
    print_beside(console, "", redactor.show(finding.reason, MAX_REASON_CHARS))


def print_beside(console: Console, label: str, text: str, style: str = "") -> None:
    """Print a text that is fit to be shown beside its label; its further lines stand below the first."""
    for line in Text(text, style=style).wrap(console, max(MIN_TEXT_WIDTH, console.width - MARGIN)):
        line.rstrip()
        console.print(Text.assemble((f"{label:<{MARGIN}}", "bold"), line))
        label = ""
