"""A sampler under which every run is judged, and only what the user's own sampler keeps is exported.

A span the inner sampler drops is recorded only: span processors see it, exporters don't.
"""

from __future__ import annotations

from collections.abc import Sequence

from opentelemetry.context import Context
from opentelemetry.sdk.trace.sampling import Decision, Sampler, SamplingResult
from opentelemetry.trace import Link, SpanKind, TraceState
from opentelemetry.util.types import Attributes

from attest_otel.export.unsampled import asks_to_keep
from attest_otel.quiet import QUIET_TRACE


class AttestSampler(Sampler):
    """Turns the inner sampler's DROP into RECORD_ONLY; all else is the inner sampler's.

    That holds for every span and not only for agents': most instrumentations name what a span is
    after it has started, and a run whose tool calls are dropped can't be judged. The evaluation span of
    an unsampled run that is kept for its verdict is sampled.
    """

    def __init__(self, inner: Sampler) -> None:
        self._inner = inner

    def should_sample(
        self,
        parent_context: Context | None,
        trace_id: int,
        name: str,
        kind: SpanKind | None = None,
        attributes: Attributes = None,
        links: Sequence[Link] | None = None,
        trace_state: TraceState | None = None,
    ) -> SamplingResult:
        """Return the inner sampler's decision, recorded at least; its attributes and trace state are kept."""
        result = self._inner.should_sample(parent_context, trace_id, name, kind, attributes, links, trace_state)
        if result.decision is not Decision.DROP or trace_id == QUIET_TRACE:
            return result
        decision = Decision.RECORD_AND_SAMPLE if asks_to_keep(parent_context) else Decision.RECORD_ONLY
        return SamplingResult(decision, {**(attributes or {}), **dict(result.attributes or {})}, result.trace_state)

    def get_description(self) -> str:
        """Return the name of this sampler around the inner one's."""
        return f"AttestSampler{{{self._inner.get_description()}}}"
