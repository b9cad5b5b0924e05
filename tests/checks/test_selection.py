"""The decision to call: made when needed, and only then."""

from __future__ import annotations

from typing import Any

import pytest

from attest_otel.cases import Case
from attest_otel.checks.selection import check
from attest_otel.report import Report
from tests.checks.case_runs import call, case, expected, verdicts, view

LOOKUP = call("lookup", {"order_id": "O1"})
EMAIL = call("email", {"to": "a@b.c"})


def needs(*names: str) -> Case:
    """A case that says which tools are needed."""
    return Case(case_id="c", should_call=list(names))


RULES = [
    pytest.param([LOOKUP], needs("lookup"), [("called", 0)], "tp", id="called"),
    pytest.param([EMAIL, LOOKUP, LOOKUP], needs("lookup"), [("called", 1)], "tp", id="others do not matter"),
    pytest.param([call("lookup", "{", is_error=True)], needs("lookup"), [("called", 0)], "tp", id="a failed call was made"),
    pytest.param([], needs("lookup"), [("missed_call", None)], "fn", id="missed"),
    pytest.param([LOOKUP], needs("lookup", "email"), [("called", 0), ("missed_call", None)], "fn", id="one of two missed"),
    pytest.param([LOOKUP], needs("lookup", "lookup"), [("called", 0)], "tp", id="named twice"),
    pytest.param([], needs(), [("not_needed", None)], "tn", id="none needed, none made"),
    pytest.param([LOOKUP, EMAIL], needs(), [("needless_call", 0), ("needless_call", 1)], "fp", id="none needed, two made"),
    pytest.param([EMAIL], case(expected("email", {"to": "a"})), [("called", 0)], "tp", id="the tools of the expected calls"),
    pytest.param([], case(expected("email", {"to": "a"})), [("missed_call", None)], "fn", id="an expected tool missed"),
    pytest.param(
        [LOOKUP], case(forbid_other_side_effects=True), [("not_needed", None)], "tn", id="nothing must happen, reads are free"
    ),
    pytest.param(
        [LOOKUP, EMAIL],
        case(forbid_other_side_effects=True),
        [("needless_call", 1)],
        "fp",
        id="nothing must happen, something did",
    ),
    pytest.param(
        [LOOKUP], case(forbid_other_side_effects=True, should_call=["lookup"]), [("called", 0)], "tp", id="should_call wins"
    ),
]


@pytest.mark.parametrize(("calls", "made", "found", "outcome"), RULES)
def test_what_follows(calls: list[dict[str, Any]], made: Case, found: list[tuple[str, int | None]], outcome: str) -> None:
    """Each decision's findings, and its tp, fp, fn or tn."""
    result = check(view(calls, made))
    assert verdicts(result) == found
    assert result is not None
    assert result.metadata["outcome"] == outcome


@pytest.mark.parametrize(
    ("calls", "made", "verdict"), [([], needs("lookup"), "block"), ([LOOKUP], needs(), "review"), ([], needs(), "pass")]
)
def test_dispositions(calls: list[dict[str, Any]], made: Case, verdict: str) -> None:
    """A missed call blocks; a needless one goes to review."""
    result = check(view(calls, made))
    assert result is not None
    assert Report(results=[result]).verdict == verdict


def test_a_case_that_says_nothing_of_calls() -> None:
    """No case, or one that only forbids, gives no decision to grade."""
    assert check(view([LOOKUP], None)) is None
    assert check(view([LOOKUP], Case(case_id="c", forbid_other_side_effects=True))) is None


def test_a_case_that_is_not_loaded_is_unchecked() -> None:
    """A run that names an unknown case is unchecked where cases are loaded."""
    known = view([LOOKUP], needs("lookup"))
    assert verdicts(check(type(known)(known.run.model_copy(update={"case_id": "x"}), known.config, None))) == [
        ("unchecked", None)
    ]


def test_an_incomplete_run_says_that_the_call_may_be_lost() -> None:
    """Where spans were lost, the missed call's reason says so."""
    result = check(view([], needs("lookup"), incomplete=["spans dropped"]))
    assert result is not None
    assert "incomplete" in result.findings[0].reason
