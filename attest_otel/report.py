"""The report of one run: results, verdict, scores, and what blocked.

Source: the grader's page on reports. A report built by hand gets the verdict the default policy would
give it. Its JSON is deterministic: same results, same bytes.
"""

from __future__ import annotations

import json
import re
from functools import cache
from importlib.metadata import PackageNotFoundError, version
from typing import Any, Self

from pydantic import BaseModel, ConfigDict, Field, model_validator

from attest_otel.findings import CheckResult, Disposition, Finding, make_model
from attest_otel.verdict import VerdictPolicy, strictest


@cache
def package_version() -> str:
    """Return the installed version of attest-otel, or 0 where it runs from a bare checkout."""
    try:
        return version("attest-otel")
    except PackageNotFoundError:
        return "0"


class Report(BaseModel):
    """What all checks say of one run.

    `passed`: the verdict is pass. `checks_passed`: every check passed, even if something needs
    review. `overall_score`: the mean of the scores that aren't null. `revision` counts up when late
    spans supersede an earlier report.
    """

    model_config = ConfigDict(extra="forbid", frozen=True)

    run_id: str | None = None
    agent: str | None = None
    case_id: str | None = None
    verdict: Disposition = "pass"
    passed: bool = True
    checks_passed: bool = True
    overall_score: float | None = None
    scores: dict[str, float | None] = Field(default_factory=dict)
    blocking: list[dict[str, str | None]] = Field(default_factory=list)
    results: list[CheckResult] = Field(default_factory=list)
    revision: int = 0
    incomplete: list[str] = Field(default_factory=list)
    policy_hash: str | None = None
    version: str = Field(default_factory=package_version)

    @model_validator(mode="after")
    def _derive(self) -> Self:
        """Fill what follows from the results; findings that no policy has seen get the default one's disposition."""
        if any(f.disposition is None for r in self.results for f in r.findings):
            object.__setattr__(self, "results", VerdictPolicy().apply(self.results))
        for name, value in _derived(self.results).items():
            object.__setattr__(self, name, value)
        return self

    def findings(self) -> list[Finding]:
        """Return all findings in the order of their checks."""
        return [finding for result in self.results for finding in result.findings]

    def result(self, check: str) -> CheckResult | None:
        """Return one check's result, or None where it did not run."""
        return next((r for r in self.results if r.check == check), None)

    def to_json(self) -> str:
        """Return the report as one line of JSON."""
        return dump_json(self.model_dump())


def make_report(
    results: list[CheckResult],
    *,
    run_id: str | None,
    agent: str | None,
    case_id: str | None,
    incomplete: list[str],
    policy_hash: str,
    revision: int = 0,
) -> Report:
    """Return the report of results that a policy has seen, without validating again what the checks made."""
    return make_model(Report, {
        "run_id": run_id,
        "agent": agent,
        "case_id": case_id,
        **_derived(results),
        "results": results,
        "revision": revision,
        "incomplete": incomplete,
        "policy_hash": policy_hash,
        "version": package_version(),
    })  # fmt: skip


def _derived(results: list[CheckResult]) -> dict[str, Any]:
    """Return what follows from the results, in the order of a report's fields."""
    verdict = strictest({f.disposition or "pass" for r in results for f in r.findings})
    scores = {r.check: r.score for r in results}
    graded = [score for score in scores.values() if score is not None]
    return {
        "verdict": verdict,
        "passed": verdict == "pass",
        "checks_passed": all(r.passed for r in results),
        "overall_score": sum(graded) / len(graded) if graded else None,
        "scores": scores,
        "blocking": _blocking(results) if verdict == "block" else [],
    }


def _blocking(results: list[CheckResult]) -> list[dict[str, str | None]]:
    return [
        {"check": r.check, "verdict": f.verdict, "subject": f.subject}
        for r in results
        for f in r.findings
        if f.disposition == "block"
    ]


_UNSAFE = re.compile("[\x7f-\x9f\xad\u061c\u180e\u200b-\u200f\u2028-\u202e\u2060-\u206f\ufeff\ufff9-\ufffb\U000e0000-\U000e007f]")


def dump_json(data: Any) -> str:
    """Write plain data as one line of JSON: readable where that is safe on a screen, escaped where it isn't."""
    text = json.dumps(data, ensure_ascii=False, separators=(",", ":"), default=str)
    try:
        text.encode()
    except UnicodeEncodeError:
        return json.dumps(data, separators=(",", ":"), default=str).replace("\x7f", "\\u007f")
    return text if _UNSAFE.search(text) is None else _UNSAFE.sub(lambda match: _escaped(match[0]), text)


def _escaped(character: str) -> str:
    return "\\u007f" if character == "\x7f" else json.dumps(character)[1:-1]
