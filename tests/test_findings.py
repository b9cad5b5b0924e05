"""Findings and results: stable ids, bounded evidence, and scores that are never made of nothing."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from attest_otel.findings import (
    MAX_EVIDENCE_CHARS,
    Severity,
    excerpt,
    finding_id,
    make_finding,
    make_result,
    share_passed,
)


def test_id_is_stable() -> None:
    """The id of a finding is the same in every process and version: other systems keep it."""
    assert make_finding("tool_use", "pass", "correct", "fine", subject="charge_card", step=0).id == "bd3a9bcb51103f75"


@pytest.mark.parametrize(
    "other",
    [("arguments", "correct", "pay", 0, ""), ("tool_use", "incorrect", "pay", 0, ""), ("tool_use", "correct", "p", 0, ""),
     ("tool_use", "correct", "pay", 1, ""), ("tool_use", "correct", "pay", None, ""), ("tool_use", "correct", "pay", 0, "k")],
)  # fmt: skip
def test_id_tells_findings_apart(other: tuple[str, str, str | None, int | None, str]) -> None:
    """Check, verdict, subject, step and key each make another id; reason and evidence don't."""
    assert finding_id(*other) != finding_id("tool_use", "correct", "pay", 0)
    first, second = (make_finding("c", "warn", "v", reason, evidence=reason) for reason in ("one", "two"))
    assert first.id == second.id


def test_only_a_pass_has_a_disposition_before_the_policy() -> None:
    """What failed or needs a look is disposed of by the policy alone."""
    severities: tuple[Severity, ...] = ("pass", "warn", "fail")
    assert [make_finding("c", severity, "v", "r").disposition for severity in severities] == [
        "pass",
        None,
        None,
    ]


def test_result_passes_without_a_fail() -> None:
    """A check passed when no finding failed; a warning alone doesn't fail it."""
    warn, fail = make_finding("c", "warn", "v", "r"), make_finding("c", "fail", "v", "r")
    assert make_result("c", [warn], "s").passed
    assert not make_result("c", [warn, fail], "s").passed


def test_nothing_has_no_score() -> None:
    """The share of passes of no finding is None, not 1."""
    assert share_passed([]) is None
    assert share_passed([make_finding("c", "pass", "v", "r"), make_finding("c", "warn", "v", "r")]) == 0.5


@given(st.text(max_size=3 * MAX_EVIDENCE_CHARS))
def test_evidence_is_bounded(text: str) -> None:
    """Evidence keeps head and tail, and says how much was left out; short evidence is untouched."""
    cut = excerpt(text)
    assert cut is not None
    if len(text) <= MAX_EVIDENCE_CHARS:
        assert cut == text
    else:
        assert len(cut) < MAX_EVIDENCE_CHARS + 60
        assert cut.startswith(text[:100])
        assert cut.endswith(text[-100:])
        assert f"({len(text) - MAX_EVIDENCE_CHARS} characters left out)" in cut
