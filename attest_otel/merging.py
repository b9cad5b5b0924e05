"""What a grading model's results do to the deterministic ones: they settle what waited, and remove no failure.

A finding that a deterministic check made with severity fail stays, whatever the model says (property
27). A report that goes out before the model's leaves out what waits for it, so that a verdict only gets
stricter. Pure functions.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from attest_otel.findings import CheckResult, Finding


def merge_results(results: Sequence[CheckResult], added: Sequence[CheckResult]) -> list[CheckResult]:
    """Return the results with the model's in place of those they settle; no deterministic failure is lost."""
    merged = {result.check: result for result in results}
    for result in added:
        before = merged.get(result.check)
        merged[result.check] = result if before is None else _keep_failures(before, result)
    return list(merged.values())


def without_waiting(results: Sequence[CheckResult]) -> list[CheckResult]:
    """Return the results without the findings that a model is still to settle, for a report that goes out before it."""
    return [_without(result) for result in results]


def waits_for_model(check: str, finding: Finding) -> bool:
    """Return whether a finding says no more than that nobody has asked a model yet."""
    if check == "tool_use":
        return finding.metadata.get("recovery") == "unchecked" and finding.verdict == "error_silent"
    if check == "actions":
        return finding.verdict == "unchecked" and "guessed" in finding.metadata
    return check == "policy" and finding.verdict == "unchecked" and "no grading model" in finding.reason


def is_suspicious(results: Iterable[CheckResult]) -> bool:
    """Return whether a deterministic check found anything, so that sampling may not leave the run out."""
    return any(finding.severity != "pass" for result in results for finding in result.findings)


def _keep_failures(before: CheckResult, after: CheckResult) -> CheckResult:
    """Return the model's result with every deterministic failure it left out, and all else where it could not look."""
    known = {finding.id for finding in after.findings}
    found_nothing = not after.findings and "prompt_versions" in after.metadata  # it asked, and the answers leave nothing to say
    could_not_look = not found_nothing and all(
        finding.metadata.get("checked") is False and finding.subject is None for finding in after.findings
    )
    lost = [
        f
        for f in before.findings
        if f.id not in known and (could_not_look or (f.severity == "fail" and not waits_for_model(before.check, f)))
    ]
    if not lost:
        return after
    findings = [*lost, *after.findings]
    return after.model_copy(
        update={
            "findings": findings,
            "passed": all(f.severity != "fail" for f in findings),
            "score": before.score if could_not_look else after.score,
        }
    )


def _without(result: CheckResult) -> CheckResult:
    kept = [finding for finding in result.findings if not waits_for_model(result.check, finding)]
    if len(kept) == len(result.findings):
        return result
    return result.model_copy(update={"findings": kept, "passed": all(f.severity != "fail" for f in kept), "score": None})
