"""What a check says: findings, one per claim, call or payload, collected in a result.

Source: the grader's page on results and findings; the field names are its own. A finding says what
happened; the verdict policy gives it a disposition.
"""

from __future__ import annotations

from collections.abc import Iterable
from functools import cache
from hashlib import blake2b
from typing import Any, Literal, TypeVar

from pydantic import BaseModel, ConfigDict, Field

Severity = Literal["pass", "warn", "fail"]
Disposition = Literal["pass", "review", "block"]

SEVERITY_RANK: dict[str, int] = {"pass": 0, "warn": 1, "fail": 2}
DISPOSITION_RANK: dict[str, int] = {"pass": 0, "review": 1, "block": 2}

MAX_EVIDENCE_CHARS = 500


class Finding(BaseModel):
    """One thing a check found.

    `subject` is what it is about (a tool, a claim), `reason` explains it to a person, `evidence`
    quotes the deciding text, `step` is an index into the run's steps. `disposition` is None until a
    verdict policy has spoken. `id` is stable: the same finding on the same run has the same id.
    """

    model_config = ConfigDict(extra="forbid", frozen=True)

    id: str = ""
    severity: Severity
    verdict: str
    disposition: Disposition | None = None
    subject: str | None = None
    reason: str = ""
    evidence: str | None = None
    step: int | None = None
    metadata: dict[str, Any] = Field(default_factory=dict)


class CheckResult(BaseModel):
    """What one check says of one run; `score` is between 0 and 1, or None where nothing was graded."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    check: str
    passed: bool
    score: float | None = None
    summary: str = ""
    findings: list[Finding] = Field(default_factory=list)
    metadata: dict[str, Any] = Field(default_factory=dict)


_Made = TypeVar("_Made", bound=BaseModel)
_set = object.__setattr__


def make_model(model: type[_Made], fields: dict[str, Any]) -> _Made:
    """Return a model with all its fields as they stand, without pydantic, which costs more than many a check.

    For values of the checks, whose types mypy holds; what a file or a caller gives is validated by the model
    itself. All share one set of field names, which a copy copies: the garbage collector walks every container.
    """
    made = model.__new__(model)
    _set(made, "__dict__", fields)
    _set(made, "__pydantic_fields_set__", _names(model))
    _set(made, "__pydantic_extra__", None)
    _set(made, "__pydantic_private__", None)
    return made


def changed(made: _Made, **fields: Any) -> _Made:
    """Return a copy of a model with other values in some of its fields, which aren't validated either."""
    return make_model(type(made), {**made.__dict__, **fields})


@cache
def _names(model: type[BaseModel]) -> set[str]:
    return set(model.model_fields)


def finding_id(check: str, verdict: str, subject: str | None, step: int | None, key: str = "") -> str:
    """Return the stable id of a finding: 16 hexadecimal digits over what it is about."""
    text = f"{check}\x1f{verdict}\x1f{subject}\x1f{step}\x1f{key}"
    return blake2b(text.encode("utf-8", "surrogatepass"), digest_size=8).hexdigest()


def make_finding(
    check: str,
    severity: Severity,
    verdict: str,
    reason: str,
    *,
    subject: str | None = None,
    step: int | None = None,
    evidence: str | None = None,
    key: str = "",
    metadata: dict[str, Any] | None = None,
) -> Finding:
    """Return a finding with its id; `key` tells apart findings of one check, verdict, subject and step."""
    return make_model(Finding, {
        "id": finding_id(check, verdict, subject, step, key),
        "severity": severity,
        "verdict": verdict,
        "disposition": "pass" if severity == "pass" else None,
        "subject": subject,
        "reason": reason,
        "evidence": None if evidence is None else excerpt(evidence),
        "step": step,
        "metadata": {} if metadata is None else metadata.copy(),
    })  # fmt: skip


def make_result(
    check: str,
    findings: Iterable[Finding],
    summary: str,
    *,
    score: float | None = None,
    metadata: dict[str, Any] | None = None,
) -> CheckResult:
    """Return a check's result; it passed when no finding has severity fail."""
    found = list(findings)
    return make_model(CheckResult, {
        "check": check,
        "passed": all(f.severity != "fail" for f in found),
        "score": score,
        "summary": summary,
        "findings": found,
        "metadata": {} if metadata is None else metadata.copy(),
    })  # fmt: skip


def share_passed(findings: Iterable[Finding]) -> float | None:
    """Return the share of findings with severity pass, or None where there is none to grade."""
    severities = [f.severity for f in findings]
    return severities.count("pass") / len(severities) if severities else None


def excerpt(text: str | None, limit: int = MAX_EVIDENCE_CHARS) -> str | None:
    """Return the text, or its head and tail around a note of how much was left out."""
    if text is None or len(text) <= limit:
        return text
    half = limit // 2
    return f"{text[:half]} … ({len(text) - 2 * half} characters left out) … {text[-half:]}"
