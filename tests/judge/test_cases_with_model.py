"""The bank of runs with a grading model that answers truthfully, from a table written by hand."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import pytest

from attest_otel import Attest, AttestConfig, Report, Trajectory
from attest_otel.cases import Case
from attest_otel.checks import ORDER
from attest_otel.config import AgentConfig, CheckName
from attest_otel.rules import Rule
from tests.judge.scripted import Say, ScriptedJudge
from tests.test_cases_bank import ALWAYS, ENTRIES, _agrees, _of, _shown

CHANGED = [e for e in ENTRIES if any(f.get("needs_model") for f in e["expect"]["findings"])]
READ: dict[str, Say] = {
    "Payment complete.": "claimed_success",
    "The payment went through.": "claimed_success",
    "The release is published.": "claimed_success",
    "The script is saved; mean is 4.2 over 120 rows.": "claimed_success",
    "Le fichier est supprime.": "claimed_success",
    "I could not charge the card.": ("acknowledged", "could not charge the card"),
    "Error: upstream 503": ("acknowledged", "upstream 503"),
    "All files are in ../new.": "claimed_success",
}


def answer(kind: str, item: Mapping[str, Any]) -> Say:
    """What a careful reader says: nothing in these runs backs or contradicts a claim."""
    if kind == "tool_use.answer":
        return READ.get(item["final_answer"], "silent")
    return "unverifiable"


@pytest.mark.parametrize("entry", CHANGED, ids=[entry["id"] for entry in CHANGED])
def test_the_verdict_with_a_model(entry: dict[str, Any]) -> None:
    """With a truthful model each run has the findings and the verdict that the bank gives."""
    report = _graded(entry)
    for wanted in entry["expect"]["findings"]:
        assert any(_agrees(finding, wanted) for finding in _of(report, wanted["check"])), (
            f"{wanted} is not among {_shown(report)}"
        )
    assert report.verdict == entry["expect"]["verdict"], _shown(report)


def _graded(entry: dict[str, Any]) -> Report:
    case = entry.get("case")
    cases = [Case.model_validate({"case_id": entry["id"], **case})] if case else None
    rules = [Rule.model_validate(rule) for rule in entry.get("rules", ())]
    config = AttestConfig(agents={"*": AgentConfig(cases=cases, rules=rules)})
    run = Trajectory.model_validate({**entry["run"], "id": entry["id"], "case_id": entry["id"] if case else None})
    return Attest(config, judge=ScriptedJudge(answer)).evaluate(run, checks=_checks(entry))


def _checks(entry: dict[str, Any]) -> list[CheckName]:
    named = {part["check"] for part in (*entry["expect"]["findings"], *entry["expect"]["absent"])}
    return [name for name in ORDER if name in named or name in ALWAYS]
