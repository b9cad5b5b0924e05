"""The verdict policy: each row of the table, each setting, and what a policy may not do."""

from __future__ import annotations

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import ValidationError

from attest_otel import CheckResult, Finding, Report, ToolUsePolicy, VerdictPolicy
from attest_otel.checks import ORDER
from attest_otel.findings import DISPOSITION_RANK, Disposition, Severity
from attest_otel.verdict import DEFAULT_DISPOSITIONS
from attest_otel.vocabulary import VERDICTS


def result(check: str, severity: Severity, verdict: str, *, score: float | None = None, **metadata: object) -> CheckResult:
    """Return a result with one finding that no policy has seen."""
    finding = Finding(severity=severity, verdict=verdict, subject="x", metadata=metadata)
    return CheckResult(check=check, passed=severity != "fail", score=score, findings=[finding])


def disposition(policy: VerdictPolicy, of: CheckResult) -> Disposition | None:
    """Return what a policy makes of a result's one finding."""
    return policy.apply([of])[0].findings[0].disposition


TABLE: list[tuple[str, Severity, str, Disposition]] = [
    ("tool_use", "pass", "correct", "pass"),
    ("tool_use", "fail", "disallowed_tool", "block"),
    ("tool_use", "fail", "error_claimed_success", "block"),
    ("tool_use", "fail", "error_silent", "review"),
    ("tool_use", "fail", "incorrect", "review"),
    ("tool_use", "warn", "unchecked", "review"),
    ("arguments", "pass", "valid", "pass"),
    ("arguments", "fail", "unparseable", "block"),
    ("arguments", "fail", "schema_invalid", "block"),
    ("arguments", "warn", "schema_invalid", "review"),
    ("arguments", "fail", "rewritten", "block"),
    ("arguments", "warn", "rewritten", "review"),
    ("arguments", "warn", "type_mismatch", "review"),
    ("arguments", "warn", "null_optional", "pass"),
    ("expectations", "fail", "wrong_count", "block"),
    ("selection", "fail", "missed_call", "block"),
    ("selection", "fail", "needless_call", "review"),
    ("repetition", "fail", "repeated_side_effect", "block"),
    ("repetition", "warn", "repeated_side_effect", "review"),
    ("repetition", "warn", "loop", "review"),
    ("actions", "fail", "phantom_action", "block"),
    ("provenance", "warn", "ungrounded", "review"),
    ("provenance", "fail", "tainted", "block"),
    ("policy", "fail", "broken", "block"),
    ("policy", "warn", "broken", "review"),
    ("injection", "warn", "suspicious", "pass"),
    ("injection", "fail", "compromised", "block"),
    ("injection", "warn", "unchecked", "review"),
    ("faithfulness", "fail", "unsupported", "block"),
    ("role", "fail", "out_of_scope_complied", "block"),
    ("coverage", "warn", "result_missing", "review"),
    ("custom", "fail", "anything", "block"),
]


@pytest.mark.parametrize(("check", "severity", "verdict", "expected"), TABLE)
def test_default_rows(check: str, severity: Severity, verdict: str, expected: Disposition) -> None:
    """Each verdict has the default disposition of the design's table."""
    assert disposition(VerdictPolicy(), result(check, severity, verdict)) == expected


@pytest.mark.parametrize(
    ("setting", "verdict"),
    [
        ("on_disallowed_tool", "disallowed_tool"),
        ("on_claimed_success", "error_claimed_success"),
        ("on_unhandled_error", "error_silent"),
        ("on_unnecessary_call", "incorrect"),
    ],
)
@pytest.mark.parametrize("wanted", ["pass", "review", "block"])
def test_tool_use_settings(setting: str, verdict: str, wanted: Disposition) -> None:
    """Every tool-use setting decides its own verdict."""
    policy = VerdictPolicy(tool_use=ToolUsePolicy.model_validate({setting: wanted}))
    assert disposition(policy, result("tool_use", "fail", verdict, recovery="silent")) == wanted


def test_unread_answer_never_passes() -> None:
    """An error whose answer nobody read goes to review even where unhandled errors pass, and blocks where they block."""
    unread = result("tool_use", "fail", "error_silent", recovery="unchecked")
    lenient, strict = (VerdictPolicy(tool_use=ToolUsePolicy(on_unhandled_error=d)) for d in ("pass", "block"))
    assert disposition(lenient, unread) == "review"
    assert disposition(strict, unread) == "block"


def test_injection_warning_setting() -> None:
    """`on_injection_warning` decides suspicious payloads."""
    assert disposition(VerdictPolicy(on_injection_warning="review"), result("injection", "warn", "suspicious")) == "review"


def faithfulness(*verdicts: str) -> CheckResult:
    """Return a faithfulness result with a finding a verdict."""
    severity: dict[str, Severity] = {"supported": "pass", "unsupported": "fail"}
    findings = [Finding(severity=severity.get(v, "warn"), verdict=v) for v in verdicts]
    return CheckResult(check="faithfulness", passed=True, score=0.5, findings=findings)


def test_unverifiable_claims() -> None:
    """Unverifiable claims pass beside a checked one; where nothing could be checked they go to review, or as set."""
    assert Report(results=[faithfulness("supported", "unverifiable")]).verdict == "pass"
    assert Report(results=[faithfulness("unverifiable", "unverifiable")]).verdict == "review"
    blocked = VerdictPolicy(on_inconclusive_faithfulness="block").apply([faithfulness("unverifiable")])
    assert Report(results=blocked).verdict == "block"
    passed = VerdictPolicy(on_inconclusive_faithfulness="pass").apply([faithfulness("unchecked")])
    assert Report(results=passed).verdict == "pass"


def test_min_claim_coverage() -> None:
    """A run can't pass when too few of its claims were checked."""
    policy = VerdictPolicy(min_claim_coverage=0.6)
    assert Report(results=policy.apply([faithfulness("supported", "unverifiable")])).verdict == "review"
    assert Report(results=policy.apply([faithfulness("supported", "supported", "unverifiable")])).verdict == "pass"


def test_min_score() -> None:
    """Below a check's lowest score its passing findings go to review."""
    policy = VerdictPolicy(min_score={"faithfulness": 0.9})
    assert disposition(policy, result("faithfulness", "pass", "supported", score=0.89)) == "review"
    assert disposition(policy, result("faithfulness", "pass", "supported", score=0.9)) == "pass"
    assert disposition(policy, result("faithfulness", "pass", "supported", score=None)) == "pass"


@pytest.mark.parametrize("rows", [{"arguments": {"placeholder": "block"}}, {"arguments.placeholder": "block"}])
def test_any_row_can_be_overridden(rows: dict[str, object]) -> None:
    """`dispositions` overrides a row, nested or dotted."""
    policy = VerdictPolicy.model_validate({"dispositions": rows})
    assert disposition(policy, result("arguments", "warn", "placeholder")) == "block"


def test_unchecked_is_never_lifted() -> None:
    """No row makes something nobody checked a pass."""
    policy = VerdictPolicy.model_validate({"dispositions": {"injection": {"unchecked": "pass"}}})
    assert disposition(policy, result("injection", "warn", "unchecked")) == "review"
    assert disposition(VerdictPolicy(), result("custom", "pass", "fine", checked=False)) == "review"


@pytest.mark.parametrize(
    "bad",
    [
        {"min_score": {"role": 2}},
        {"unknown": 1},
        {"on_injection_warning": "maybe"},
        {"dispositions": {"role": {"in_scope": "no"}}},
        {"dispositions": {"role": "block"}},
    ],
)
def test_bad_policies_are_refused(bad: dict[str, object]) -> None:
    """A policy with an unknown name or value can't be made."""
    with pytest.raises(ValidationError):
        VerdictPolicy.model_validate(bad)


@pytest.mark.parametrize(
    ("bad", "said"),
    [
        ({"min_score": {"faithfullness": 0.9}}, "unknown check 'faithfullness'; did you mean 'faithfulness'? The checks are"),
        ({"dispositions": {"argument": {"valid": "pass"}}}, "unknown check 'argument'; did you mean 'arguments'?"),
        ({"dispositions": {"unsuported": "block"}}, "check.verdict: disposition; did you mean faithfulness.unsupported?"),
        ({"dispositions": {"zzz": "block"}}, "check.verdict: disposition; the checks are tool_use,"),
        ({"dispositions": {"policy": "block"}}, "{verdict: disposition}; the verdicts are kept, broken, unchecked"),
        (
            {"dispositions": {"faithfulness": {"unsuported": "block"}}},
            "unknown verdict 'unsuported'; did you mean 'unsupported'? The verdicts of faithfulness are supported, unsupported,",
        ),
        (
            {"dispositions": {"arguments.placehoder": "block"}},
            "unknown verdict 'placehoder'; did you mean 'placeholder'?",
        ),
        ({"dispositions": {"policy": {"zzz": "block"}}}, "'zzz'; the verdicts of policy are kept, broken, unchecked"),
    ],
)
def test_misspelt_names_are_refused(bad: dict[str, object], said: str) -> None:
    """A check or verdict that doesn't exist is refused, with the one that may be meant and all there are."""
    with pytest.raises(ValidationError, match=re.escape(said)):
        VerdictPolicy.model_validate(bad)


def test_every_check_has_its_words() -> None:
    """The words are those of all the checks, in report order; every default row and every check's failure is among them."""
    assert tuple(VERDICTS) == ORDER
    assert all(verdict in VERDICTS[check] for check, row in DEFAULT_DISPOSITIONS.items() for verdict in row)
    assert all(verdict in VERDICTS[check] for check, _, verdict, _ in TABLE if check != "custom")
    assert all("unchecked" in verdicts for verdicts in VERDICTS.values())


@given(st.lists(st.sampled_from(TABLE), max_size=8))
def test_the_verdict_is_the_strictest_disposition(rows: list[tuple[str, Severity, str, Disposition]]) -> None:
    """A report's verdict is the strictest of its findings, whatever the scores; `passed` says that it is pass."""
    report = Report(results=[result(check, severity, verdict, score=1.0) for check, severity, verdict, _ in rows])
    expected = max((row[3] for row in rows), key=lambda d: DISPOSITION_RANK[d], default="pass")
    assert report.verdict == expected
    assert report.passed is (expected == "pass")
    assert len(report.blocking) == sum(row[3] == "block" for row in rows)


def test_overall_score_is_the_mean_of_known_scores() -> None:
    """Null scores are left out of the mean, and a report without scores has none."""
    scored = Report(results=[result("a", "pass", "x", score=1.0), result("b", "pass", "x", score=0.5), result("c", "pass", "x")])
    assert (scored.overall_score, scored.scores) == (0.75, {"a": 1.0, "b": 0.5, "c": None})
    assert Report().overall_score is None
