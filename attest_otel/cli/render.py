"""How runs and reports look to a person. Everything a stranger wrote is redacted, cut and cleaned first."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator
from typing import Any

from rich.console import Console
from rich.text import Text

from attest_otel.cli.advice import advice
from attest_otel.export.events import Found, worst_first
from attest_otel.findings import DISPOSITION_RANK
from attest_otel.redaction import Redactor
from attest_otel.report import Report, dump_json
from attest_otel.trajectory import Trajectory

STYLES = {"pass": "green", "review": "yellow", "block": "bold red"}
MAX_FINDINGS = 25
MAX_ADVICE = 6
MAX_REASON_CHARS = 400
MAX_EVIDENCE_CHARS = 160
MAX_VALUE_CHARS = 80
MAX_NAME_CHARS = 60
MAX_PLACE_CHARS = 200
MARGIN = 10
MIN_TEXT_WIDTH = 20

_BLANKS = re.compile("[ \t\r\n]+")

Kind = tuple[str, str, str]
"""The disposition, check and verdict of findings that need the same thing done about them."""


def render_report(console: Console, run: Trajectory, report: Report, redactor: Redactor, place: str = "") -> Counter[Kind]:
    """Print one report: its verdict, then its findings that don't pass, the strictest first.

    Args:
        console: where it is printed.
        run: the record of the run, for the names and ids of its calls.
        report: what is printed.
        redactor: what every text goes through.
        place: the file, and the line, that the run stands in.

    Returns:
        How many findings of each kind need something done about them.
    """
    _print_verdict(console, report, redactor, place)
    shown = [found for found in worst_first(run, report.results) if found.finding.disposition != "pass"]
    for item in shown[:MAX_FINDINGS]:
        _print_finding(console, item, redactor)
    if len(shown) > MAX_FINDINGS:
        console.print(f"  … and {len(shown) - MAX_FINDINGS} more findings (--format json lists them all)")
    if shown:
        console.print()
    return Counter((item.finding.disposition or "pass", item.result.check, item.finding.verdict) for item in shown)


def render_advice(console: Console, kinds: Counter[Kind]) -> None:
    """Print what can be done about findings, once for all that need the same: the strictest first, then the most frequent."""
    if not kinds:
        return
    console.print(Text("What to do next", style="bold"))
    grouped = _by_advice(kinds)
    for (check, text), (disposition, verdicts) in list(grouped.items())[:MAX_ADVICE]:
        print_beside(console, f"  {disposition}", f"{check}: {', '.join(verdicts)}", "bold", STYLES[disposition])
        print_beside(console, "", text)
    if len(grouped) > MAX_ADVICE:
        console.print(f"  … and {len(grouped) - MAX_ADVICE} more kinds of findings")
    hint = "`attest-otel runs PATH` shows the calls as the checks saw them; `--format json` prints each finding in full."
    print_beside(console, "  see", hint)
    console.print()


def print_beside(console: Console, label: str, text: str, style: str = "", label_style: str = "bold", indent: int = 0) -> None:
    """Print a text that is fit to be shown beside its label; its further lines stand below the first."""
    margin = indent + MARGIN
    for line in Text(text, style=style).wrap(console, max(MIN_TEXT_WIDTH, console.width - margin)):
        shown = Text.assemble((" " * indent + f"{label:<{MARGIN}}", label_style), line)
        shown.rstrip()
        console.print(shown)
        label = ""


def _by_advice(kinds: Counter[Kind]) -> dict[tuple[str, str], tuple[str, list[str]]]:
    """Return for each check and advice the strictest disposition and the verdicts, with how often each was found."""
    grouped: dict[tuple[str, str], tuple[str, list[str]]] = {}
    ordered = sorted(kinds.items(), key=lambda item: (-DISPOSITION_RANK[item[0][0]], -item[1], item[0]))
    for (disposition, check, verdict), number in ordered:
        key = (check, advice(check, verdict) or "Read the reason above.")
        shown = verdict if number == 1 else f"{verdict} ({number} times)"
        grouped.setdefault(key, (disposition, []))[1].append(shown)
    return grouped


def _print_verdict(console: Console, report: Report, redactor: Redactor, place: str) -> None:
    name = redactor.show(report.run_id or report.agent or "run", MAX_VALUE_CHARS)
    score = "" if report.overall_score is None else f", score {report.overall_score:.2f}"
    where = f"  {redactor.show(place, MAX_PLACE_CHARS)}" if place else ""
    verdict = (report.verdict, STYLES[report.verdict])
    console.print(Text.assemble(("verdict: ", "bold"), verdict, f"  {name}{score}", (where, "dim")))


def _print_finding(console: Console, item: Found, redactor: Redactor) -> None:
    finding = item.finding
    disposition = finding.disposition or "pass"
    heading = " · ".join([f"{item.result.check}: {finding.verdict}", *_about(item, redactor)])
    print_beside(console, f"  {disposition}", heading, "bold", STYLES[disposition])
    print_beside(console, "", redactor.show(finding.reason, MAX_REASON_CHARS))
    for label, text in _details(item, redactor):
        print_beside(console, label, text, label_style="dim", indent=MARGIN)


def _about(item: Found, redactor: Redactor) -> Iterator[str]:
    finding, call = item.finding, item.call
    if finding.step is not None:
        yield f"step {finding.step}"
    named = (finding.subject, *((call.name, call.id) if call is not None else ()))
    for name in dict.fromkeys(named):
        if name:
            yield redactor.show(name, MAX_NAME_CHARS)


def _details(item: Found, redactor: Redactor) -> Iterator[tuple[str, str]]:
    """Yield what the finding claims and was decided on, each short enough for a line or two."""
    finding = item.finding
    claim = _claim(finding.metadata, redactor)
    if claim:
        yield "claim", claim
    if finding.evidence and finding.evidence != finding.metadata.get("emitted"):
        yield "evidence", redactor.show(_BLANKS.sub(" ", redactor.redact(finding.evidence)), MAX_EVIDENCE_CHARS)


def _claim(metadata: dict[str, Any], redactor: Redactor) -> str:
    what = [str(metadata[name]) for name in ("claim", "argument", "path") if metadata.get(name) is not None]
    values = [
        f"{name} {redactor.show(_as_text(metadata[name]), MAX_VALUE_CHARS)}"
        for name in ("expected", "emitted", "received")
        if metadata.get(name) is not None
    ]
    about = redactor.show(" ".join(what), MAX_VALUE_CHARS)
    return f"{about}: {', '.join(values)}" if about and values else about or ", ".join(values)


def _as_text(value: Any) -> str:
    return value if isinstance(value, str) else dump_json(value)
