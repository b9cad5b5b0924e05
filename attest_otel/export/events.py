"""A finding as the conventions' `gen_ai.evaluation.result` event: for span events and log events alike.

The event's name is the check, and so is its score: what a finding is in itself, its label, severity and
disposition say.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import NamedTuple

from opentelemetry.util.types import AttributeValue

from attest_otel import attributes as names
from attest_otel.config import Limits
from attest_otel.findings import DISPOSITION_RANK, SEVERITY_RANK, CheckResult, Finding
from attest_otel.redaction import Redactor
from attest_otel.trajectory import ToolCall, Trajectory

MAX_REASON_CHARS = 1_000
MAX_NAME_CHARS = 256


class Found(NamedTuple):
    """A finding with the check that found it and the call it is about."""

    result: CheckResult
    finding: Finding
    call: ToolCall | None


def worst_first(run: Trajectory, results: Iterable[CheckResult]) -> list[Found]:
    """Return all findings, the strictest first, otherwise in the order of the report."""
    found = list(_found(run, results))
    return sorted(found, key=lambda f: (-DISPOSITION_RANK[f.finding.disposition or "pass"], -SEVERITY_RANK[f.finding.severity]))


def event_attributes(found: Found, redactor: Redactor, limits: Limits) -> dict[str, AttributeValue]:
    """Return one finding's event attributes: text redacted, then cut, then cleaned of control characters."""
    result, finding, call = found
    attributes: dict[str, AttributeValue] = {
        names.EVALUATION_NAME: result.check,
        names.EVALUATION_LABEL: finding.verdict,
        names.EVALUATION_EXPLANATION: redactor.show(finding.reason, MAX_REASON_CHARS),
        names.SEVERITY: finding.severity,
        names.DISPOSITION: finding.disposition or "pass",
        names.FINDING_ID: finding.id,
    }
    if result.score is not None:
        attributes[names.EVALUATION_SCORE] = result.score
    if finding.subject is not None:
        attributes[names.SUBJECT] = redactor.show(finding.subject, MAX_NAME_CHARS)
    if finding.step is not None:
        attributes[names.STEP] = finding.step
    if finding.evidence is not None:
        attributes[names.EVIDENCE] = redactor.show(finding.evidence, limits.max_evidence_chars)
    if call is not None:
        attributes[names.TOOL_NAME] = redactor.show(call.name, MAX_NAME_CHARS)
        if call.id is not None:
            attributes[names.TOOL_CALL_ID] = redactor.show(call.id, MAX_NAME_CHARS)
        if call.span_id is not None:
            attributes[names.SPAN_ID] = call.span_id
    return attributes


def _found(run: Trajectory, results: Iterable[CheckResult]) -> Iterator[Found]:
    for result in results:
        for finding in result.findings:
            step = run.steps[finding.step] if finding.step is not None and finding.step < len(run.steps) else None
            yield Found(result, finding, step.tool_call if step is not None else None)
