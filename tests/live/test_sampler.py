"""The sampler: what the inner one drops is recorded; all else is the inner one's."""

from __future__ import annotations

import pytest
from opentelemetry.context import Context
from opentelemetry.sdk.trace.sampling import (
    ALWAYS_OFF,
    ALWAYS_ON,
    Decision,
    ParentBased,
    Sampler,
    SamplingResult,
    TraceIdRatioBased,
)
from opentelemetry.trace import Link, SpanKind, TraceState
from opentelemetry.util.types import Attributes

from attest_otel.live.sampler import AttestSampler
from attest_otel.quiet import QUIET_TRACE


class Telling(Sampler):
    """Drops everything, and says something about it."""

    def should_sample(
        self,
        parent_context: Context | None,
        trace_id: int,
        name: str,
        kind: SpanKind | None = None,
        attributes: Attributes = None,
        links: object = None,
        trace_state: TraceState | None = None,
    ) -> SamplingResult:
        """Drop."""
        return SamplingResult(Decision.DROP, {"rate": 1}, TraceState([("k", "v")]))

    def get_description(self) -> str:
        """Say its name."""
        return "Telling"


@pytest.mark.parametrize(
    ("inner", "decision"),
    [
        (ALWAYS_OFF, Decision.RECORD_ONLY),
        (ALWAYS_ON, Decision.RECORD_AND_SAMPLE),
        (TraceIdRatioBased(0.0), Decision.RECORD_ONLY),
        (ParentBased(ALWAYS_OFF), Decision.RECORD_ONLY),
    ],
)
def test_drop_becomes_record_only(inner: Sampler, decision: Decision) -> None:
    """A dropped span is recorded, with what it starts with; a sampled one stays sampled."""
    result = AttestSampler(inner).should_sample(None, 2**100, "agent", SpanKind.INTERNAL, {"a": 1}, list[Link]())
    assert result.decision is decision
    assert result.attributes is not None
    assert result.attributes["a"] == 1


def test_what_the_inner_sampler_adds_is_kept() -> None:
    """The inner sampler's attributes and trace state are the result's, and its name is in the description."""
    sampler = AttestSampler(Telling())
    result = sampler.should_sample(None, 1, "agent", attributes={"a": 1})
    assert dict(result.attributes or {}) == {"a": 1, "rate": 1}
    assert result.trace_state is not None
    assert result.trace_state.get("k") == "v"
    assert sampler.get_description() == "AttestSampler{Telling}"


def test_what_is_recorded_for_us_stays_dropped() -> None:
    """Spans of the quiet trace are not recorded for our sake."""
    assert AttestSampler(ALWAYS_OFF).should_sample(None, QUIET_TRACE, "x").decision is Decision.DROP
