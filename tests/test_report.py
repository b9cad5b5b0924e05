"""The report: field names and their order, what follows from the results, and bytes that never differ."""

from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from attest_otel.findings import CheckResult, Finding, make_finding, make_result
from attest_otel.report import Report, dump_json, make_report
from attest_otel.verdict import VerdictPolicy

FIELDS = [
    "run_id", "agent", "case_id", "verdict", "passed", "checks_passed", "overall_score", "scores", "blocking",
    "results", "revision", "incomplete", "policy_hash", "version",
]  # fmt: skip


def result(check: str, severity: str, verdict: str, score: float | None = None) -> CheckResult:
    """Return a result with one finding that no policy has seen."""
    finding = Finding.model_validate({"severity": severity, "verdict": verdict, "subject": "pay"})
    return CheckResult(check=check, passed=severity != "fail", score=score, findings=[finding])


def test_fields_and_their_order() -> None:
    """A report's JSON has the documented fields, in the documented order, down to its findings."""
    report = json.loads(Report(results=[result("tool_use", "fail", "disallowed_tool", 0.0)]).to_json())
    assert list(report) == FIELDS
    assert list(report["results"][0]) == ["check", "passed", "score", "summary", "findings", "metadata"]
    expected = [
        "id",
        "severity",
        "verdict",
        "disposition",
        "subject",
        "reason",
        "evidence",
        "step",
        "metadata",
    ]
    assert list(report["results"][0]["findings"][0]) == expected
    assert report["blocking"] == [{"check": "tool_use", "verdict": "disallowed_tool", "subject": "pay"}]


@pytest.mark.parametrize(
    ("check", "severity", "verdict", "expected"),
    [
        ("tool_use", "fail", "disallowed_tool", "block"),
        ("tool_use", "fail", "error_silent", "review"),
        ("tool_use", "warn", "unchecked", "review"),
        ("tool_use", "pass", "correct", "pass"),
        ("injection", "warn", "suspicious", "pass"),
        ("own_check", "fail", "anything", "block"),
    ],
)
def test_report_built_by_hand(check: str, severity: str, verdict: str, expected: str) -> None:
    """A report made of results that no policy saw has the verdict of the default policy."""
    report = Report(results=[result(check, severity, verdict)])
    assert report.verdict == expected
    assert report.passed is (expected == "pass")
    assert report.results == VerdictPolicy().apply([result(check, severity, verdict)])


@pytest.mark.parametrize("severities", [[], ["pass"], ["pass", "warn"], ["warn", "fail", "pass"]])
def test_made_or_validated_a_report_is_the_same(severities: list[str]) -> None:
    """A report made without validation equals the one that pydantic makes of the same parts, field by field."""
    results = VerdictPolicy().apply(result("tool_use", severity, "v", 0.25) for severity in severities)
    made = make_report(results, run_id="r", agent="a", case_id=None, incomplete=["cut"], policy_hash="h", revision=1)
    parts = {"run_id": "r", "agent": "a", "results": results, "incomplete": ["cut"], "policy_hash": "h", "revision": 1}
    validated = Report.model_validate(parts)
    assert made == validated
    assert made.to_json() == validated.to_json()
    assert made.model_copy() == made


def test_verdict_cannot_be_claimed() -> None:
    """What a report is told of its verdict, scores and blocking doesn't count: they follow from the results."""
    blocked = [result("tool_use", "fail", "disallowed_tool", 0.5)]
    report = Report(
        verdict="pass",
        passed=True,
        checks_passed=True,
        overall_score=1.0,
        scores={"x": 1.0},
        blocking=[],
        results=blocked,
    )
    assert (report.verdict, report.passed, report.checks_passed, report.overall_score) == (
        "block",
        False,
        False,
        0.5,
    )
    assert report.scores == {"tool_use": 0.5}
    assert len(report.blocking) == 1


def test_strictest_disposition_wins() -> None:
    """Block is stricter than review, and review than pass; good scores elsewhere don't average it away."""
    results = [
        result("arguments", "pass", "valid", 1.0),
        result("actions", "warn", "unchecked"),
        result("tool_use", "fail", "disallowed_tool", 0.0),
    ]
    assert Report(results=results).verdict == "block"
    assert Report(results=results[:2]).verdict == "review"
    assert Report(results=results[:1]).verdict == "pass"


def test_review_can_pass_every_check() -> None:
    """`checks_passed` says that no check failed, even where something needs review."""
    report = Report(results=[result("actions", "warn", "unchecked")])
    assert (report.checks_passed, report.passed) == (True, False)


def test_overall_score_is_the_mean_of_what_was_graded() -> None:
    """Checks without a score are left out of the mean, and a report with none has none."""
    assert (
        Report(results=[result("a", "pass", "x", 1.0), result("b", "pass", "x", 0.5), result("c", "pass", "x")]).overall_score
        == 0.75
    )
    assert Report(results=[result("c", "pass", "x")]).overall_score is None
    assert Report().overall_score is None


def test_result_by_name() -> None:
    """A check's result is found by its name, and is None where it did not run."""
    report = Report(results=[result("a", "pass", "x")])
    assert report.result("a") == report.results[0]
    assert report.result("b") is None


@given(st.text(st.characters(exclude_categories=()), max_size=30))
def test_any_text_can_be_printed(text: str) -> None:
    """Whatever text stands in a report, lone surrogates too, its JSON is one line that UTF-8 can hold, and reads back."""
    found = make_finding("tool_use", "warn", "unchecked", text, subject=text, evidence=text, metadata={text: text})
    line = Report(run_id=text, agent=text, incomplete=[text], results=[make_result("tool_use", [found], text)]).to_json()
    assert "\n" not in line.encode().decode()
    assert json.loads(line)["results"][0]["findings"][0]["reason"] == text


def test_json_stays_readable() -> None:
    """Text that UTF-8 can say is not escaped; one lone surrogate escapes the line and loses nothing."""
    assert dump_json({"a": "zahlte 5 €"}) == '{"a":"zahlte 5 €"}'
    assert dump_json({"a": "€\ud800"}) == '{"a":"\\u20ac\\ud800"}'


def test_same_results_same_bytes() -> None:
    """Two reports of equal results are the same bytes."""
    results = [result("tool_use", "fail", "error_silent", 0.25)]
    assert Report(results=results).to_json() == Report(results=[r.model_copy(deep=True) for r in results]).to_json()
