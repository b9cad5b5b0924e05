"""The evaluation span: what people find in their tracing tool.

`evaluate {agent}` is a child of the run's root span, linked to the spans its findings are about, with
one `gen_ai.evaluation.result` event a finding, worst first. An ended span takes no more events, so the
evaluation has a span of its own.
"""

from __future__ import annotations

from collections.abc import Sequence

from opentelemetry.context import Context
from opentelemetry.trace import (
    Link,
    NonRecordingSpan,
    SpanContext,
    SpanKind,
    Status,
    StatusCode,
    TracerProvider,
    set_span_in_context,
)
from opentelemetry.util.types import AttributeValue

from attest_otel import attributes as names
from attest_otel.config import Limits, Unsampled
from attest_otel.export.evaluated import Evaluated
from attest_otel.export.events import MAX_NAME_CHARS, Found, event_attributes, worst_first
from attest_otel.export.unsampled import asking_to_keep, is_kept, sampled_context
from attest_otel.quiet import own
from attest_otel.redaction import Redactor
from attest_otel.report import Report, package_version
from attest_otel.span_ids import with_own_ids

MAX_LINKS = 64
MAX_BLOCKING = 32


class EvaluationSpans:
    """A sink that makes one evaluation span a final report, sampled as its run is or kept with it.

    A span that no exporter will get has no events: they are most of what it costs.
    """

    def __init__(
        self, tracer_provider: TracerProvider, limits: Limits, redactor: Redactor, unsampled: Unsampled = "none"
    ) -> None:
        self._tracer = with_own_ids(tracer_provider.get_tracer(names.EVALUATION_SCOPE, package_version()))
        self._limits = limits
        self._redactor = redactor
        self._unsampled: Unsampled = unsampled

    def emit(self, evaluated: Evaluated) -> None:
        """Make the evaluation span of a final report; one that a model still adds to waits."""
        if not evaluated.final:
            return
        found = worst_first(evaluated.run, evaluated.report.results)
        span = self._tracer.start_span(
            f"evaluate {self._redactor.show(evaluated.report.agent or 'run', MAX_NAME_CHARS)}",
            context=own(_parent(evaluated.root, keep=is_kept(self._unsampled, evaluated))),
            kind=SpanKind.INTERNAL,
            attributes=self._attributes(evaluated, len(found)),
            links=_links(found, evaluated.root),
        )
        shown = self._limits.max_events_per_span if span.get_span_context().trace_flags.sampled else 0
        for item in found[:shown]:
            span.add_event(names.EVALUATION_EVENT, event_attributes(item, self._redactor, self._limits))
        if evaluated.report.verdict == "block":
            span.set_status(Status(StatusCode.ERROR, self._redactor.show(_first_words(evaluated.report), MAX_NAME_CHARS)))
        span.end()

    def force_flush(self, timeout_millis: int) -> bool:
        """Do nothing: the provider's own processors flush spans."""
        return True

    def _attributes(self, evaluated: Evaluated, findings: int) -> dict[str, AttributeValue]:
        report, show = evaluated.report, self._redactor.show
        attributes: dict[str, AttributeValue] = {
            names.VERDICT: report.verdict,
            names.BLOCKING: [show(_blocking_text(b), MAX_NAME_CHARS) for b in report.blocking[:MAX_BLOCKING]],
            names.REVISION: report.revision,
            names.INCOMPLETE: [show(reason, MAX_NAME_CHARS) for reason in report.incomplete[:MAX_BLOCKING]],
            names.VERSION: report.version,
            names.FINDINGS_TOTAL: findings,
        }
        if findings > self._limits.max_events_per_span:
            attributes[names.FINDINGS_LEFT_OUT] = findings - self._limits.max_events_per_span
        if report.overall_score is not None:
            attributes[names.SCORE_OVERALL] = report.overall_score
        for check, score in report.scores.items():
            if score is not None:
                attributes[names.SCORE_PREFIX + check] = score
        run = evaluated.run
        for name, text in (
            (names.POLICY_HASH, report.policy_hash),
            (names.AGENT_NAME, report.agent),
            (names.CONVERSATION_ID, run.conversation_id),
            (names.CASE_ID, report.case_id),
            (names.RUN_ID, report.run_id),
        ):
            if text is not None:
                attributes[name] = show(text, MAX_NAME_CHARS)
        return attributes


def _parent(root: SpanContext | None, *, keep: bool) -> Context:
    if root is None:
        return Context()
    if not keep:
        return set_span_in_context(NonRecordingSpan(root), Context())
    return asking_to_keep(set_span_in_context(NonRecordingSpan(sampled_context(root)), Context()))


def _links(found: Sequence[Found], root: SpanContext | None) -> list[Link]:
    if root is None:
        return []
    spans = dict.fromkeys(f.call.span_id for f in found if f.finding.severity != "pass" and f.call is not None)
    return [Link(_sibling(root, int(span_id, 16))) for span_id in list(spans)[:MAX_LINKS] if span_id]


def _sibling(root: SpanContext, span_id: int) -> SpanContext:
    return SpanContext(root.trace_id, span_id, is_remote=False, trace_flags=root.trace_flags, trace_state=root.trace_state)


def _blocking_text(blocking: dict[str, str | None]) -> str:
    return f"{blocking['check']}: {blocking['verdict']}" + (f" ({blocking['subject']})" if blocking["subject"] else "")


def _first_words(report: Report) -> str:
    first = report.blocking[0]
    more = f" and {len(report.blocking) - 1} more" if len(report.blocking) > 1 else ""
    return f"blocked: {_blocking_text(first)}{more}"
