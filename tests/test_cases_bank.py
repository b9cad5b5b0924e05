"""Runs taken from public bug reports: what must be found in each, and what must not."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import yaml

from attest_otel import Attest, AttestConfig, Report, Trajectory
from attest_otel.cases import Case
from attest_otel.checks import NEEDS_MODEL, ORDER
from attest_otel.config import AgentConfig, CheckName
from attest_otel.findings import Finding
from attest_otel.rules import Rule
from attest_otel.vocabulary import VERDICTS

BANK = Path(__file__).parent / "data" / "runs.yaml"
ALWAYS: tuple[CheckName, ...] = ("tool_use", "arguments", "coverage")
ENTRIES: list[dict[str, Any]] = yaml.load(BANK.read_text(encoding="utf-8"), Loader=yaml.CSafeLoader)
IDS = [entry["id"] for entry in ENTRIES]


@pytest.mark.parametrize("entry", ENTRIES, ids=IDS)
def test_each_expected_finding_is_there(entry: dict[str, Any]) -> None:
    """Every finding the bank lists for a run is in its report, with all that the bank says of it."""
    report = _grade(entry)
    for wanted in _wanted(entry):
        found = _of(report, wanted["check"])
        assert any(_agrees(finding, wanted) for finding in found), f"{wanted} is not among {_shown(report)}"


@pytest.mark.parametrize("entry", ENTRIES, ids=IDS)
def test_no_forbidden_verdict_is_there(entry: dict[str, Any]) -> None:
    """None of the verdicts the bank rules out for a run is in its report."""
    report = _grade(entry)
    for unwanted in entry["expect"]["absent"]:
        for finding in _of(report, unwanted["check"]):
            there = finding.verdict in unwanted["verdicts"] and unwanted.get("step") in (None, finding.step)
            assert not there, finding


@pytest.mark.parametrize("entry", ENTRIES, ids=IDS)
def test_the_verdict_without_a_model(entry: dict[str, Any]) -> None:
    """The report's verdict, with no grading model, is the one the bank gives."""
    report = _grade(entry)
    assert report.verdict == entry["expect"]["verdict_without_model"], _shown(report)


@pytest.mark.parametrize("entry", ENTRIES, ids=IDS)
def test_verdicts_are_words_of_their_check(entry: dict[str, Any]) -> None:
    """No check says a word that a policy cannot name, of any run with all checks on."""
    report = Attest().evaluate(Trajectory.model_validate({**entry["run"], "id": entry["id"]}), checks=ORDER)
    said = {
        (result.check, finding.verdict) for result in (*report.results, *_grade(entry).results) for finding in result.findings
    }
    assert [f"{check}.{verdict}" for check, verdict in sorted(said) if verdict not in VERDICTS[check]] == []


def test_the_bank_is_whole() -> None:
    """All 43 runs are there, each once."""
    assert len(set(IDS)) == len(IDS) == 43


def _grade(entry: dict[str, Any]) -> Report:
    case = entry.get("case")
    cases = [Case.model_validate({"case_id": entry["id"], **case})] if case else None
    rules = [Rule.model_validate(rule) for rule in entry.get("rules", ())]
    config = AttestConfig(agents={"*": AgentConfig(cases=cases, rules=rules)})
    run = Trajectory.model_validate({**entry["run"], "id": entry["id"], "case_id": entry["id"] if case else None})
    return Attest(config).evaluate(run, checks=_checks(entry))


def _checks(entry: dict[str, Any]) -> list[CheckName]:
    named = {part["check"] for part in (*entry["expect"]["findings"], *entry["expect"]["absent"])}
    return [name for name in ORDER if (name in named or name in ALWAYS) and name not in NEEDS_MODEL]


def _wanted(entry: dict[str, Any]) -> list[dict[str, Any]]:
    """Return the findings to expect without a grading model."""
    wanted = []
    for finding in entry["expect"]["findings"]:
        if not finding.get("needs_model"):
            wanted.append(finding)
        elif "without_model" in finding:
            told_apart = {name: finding[name] for name in ("check", "step") if name in finding}
            wanted.append({**told_apart, **finding["without_model"]})
    return wanted


def _agrees(finding: Finding, wanted: dict[str, Any]) -> bool:
    plain = all(
        getattr(finding, name) == wanted[name] for name in ("verdict", "step", "severity", "disposition") if name in wanted
    )
    return plain and all(finding.metadata.get(name) == wanted[name] for name in ("claim", "recovery") if name in wanted)


def _of(report: Report, check: str) -> list[Finding]:
    result = report.result(check)
    return result.findings if result is not None else []


def _shown(report: Report) -> str:
    return "\n".join(
        f"{r.check}: {f.verdict} step {f.step} {f.severity} {f.disposition} {f.metadata}"
        for r in report.results
        for f in r.findings
    )
