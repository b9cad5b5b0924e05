"""The findings about rules: one when a rule was kept, one for each call that broke it or could not be judged."""

from __future__ import annotations

from typing import Any, Literal

from attest_otel.checks.view import Call
from attest_otel.findings import Finding, excerpt, make_finding
from attest_otel.rules import Rule

NAME = "policy"
MAX_FINDINGS = 20
_MAX_SHOWN_CHARS = 200

Verdict = Literal["kept", "broken", "unchecked"]


def kept(rule: Rule, why: str) -> Finding:
    """Return the finding that nothing broke a rule."""
    return _finding(rule, "kept", f"Rule {rule.id}: {why}", None)


def broken(rule: Rule, why: str, call: Call | None = None) -> Finding:
    """Return the finding that a rule was broken, by a call where there is one."""
    return _finding(rule, "broken", f"Rule {rule.id} was broken: {why}", call)


def unjudged(rule: Rule, why: str, call: Call | None = None) -> Finding:
    """Return the finding that a rule could not be judged."""
    return _finding(rule, "unchecked", f"Rule {rule.id} was not checked: {why}", call)


def at_most(findings: list[Finding]) -> list[Finding]:
    """Keep `MAX_FINDINGS` findings of one rule and verdict; the last one says how many it stands for."""
    if len(findings) <= MAX_FINDINGS:
        return findings
    rest = findings[MAX_FINDINGS - 1 :]
    last = rest[0].model_copy(
        update={
            "reason": f"{rest[0].reason} This finding stands for {len(rest)} of its kind.",
            "metadata": {**rest[0].metadata, "count": len(rest)},
        }
    )
    return [*findings[: MAX_FINDINGS - 1], last]


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
