"""The findings about rules: one when a rule was kept, one for each call that broke it or could not be judged."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Literal

from attest_otel.checks.capped import Capped
from attest_otel.checks.view import Call
from attest_otel.findings import Finding, excerpt, make_finding
from attest_otel.rules import Rule

NAME = "policy"
MAX_FINDINGS = 20
_MAX_SHOWN_CHARS = 200

Verdict = Literal["kept", "broken", "unchecked"]
Said = tuple[str, Call | None]
"""Why, and the call it is about; None for the run."""


def kept(rule: Rule, why: str) -> Finding:
    """Return the finding that nothing broke a rule."""
    return _finding(rule, "kept", f"Rule {rule.id}: {why}", None)


def unjudged(rule: Rule, why: str) -> Finding:
    """Return the finding that a rule could not be judged at all."""
    return _finding(rule, "unchecked", f"Rule {rule.id} was not checked: {why}", None)


def findings_for(rule: Rule, broken: Sequence[Said], unchecked: Sequence[Said]) -> list[Finding]:
    """Return the findings about calls that broke a rule, and about those it could not be judged on.

    At most `MAX_FINDINGS` of each kind; the last one says how many it stands for.
    """
    return _capped(rule, "broken", "was broken", broken) + _capped(rule, "unchecked", "was not checked", unchecked)


def _capped(rule: Rule, verdict: Verdict, what: str, said: Sequence[Said]) -> list[Finding]:
    capped = Capped(MAX_FINDINGS)
    for why, call in said:
        capped.add(lambda why=why, call=call: _finding(rule, verdict, f"Rule {rule.id} {what}: {why}", call))  # type: ignore[misc]
    return capped.findings()


def _finding(rule: Rule, verdict: Verdict, reason: str, call: Call | None) -> Finding:
    metadata: dict[str, Any] = {"rule": rule.id, "rule_severity": rule.severity}
    if call is not None:
        metadata["tool"] = excerpt(call.name, _MAX_SHOWN_CHARS)
    if verdict == "unchecked":
        metadata["checked"] = False
    severity = rule.severity if verdict == "broken" else "pass" if verdict == "kept" else "warn"
    return make_finding(
        NAME,
        severity,
        verdict,
        reason,
        subject=rule.id,
        step=call.step if call is not None else None,
        evidence=call.call.arguments_raw if call is not None else None,
        key=reason,
        metadata=metadata,
    )
