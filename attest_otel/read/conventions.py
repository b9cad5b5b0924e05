"""Which convention a span speaks, and its facts read by that convention's module."""

from __future__ import annotations

from attest_otel import attributes as names
from attest_otel.read import genai, langfuse, mcp, openinference, traceloop, vercel
from attest_otel.read.cut_off import cut_off_by
from attest_otel.read.facts import Kind, Reader, SpanFacts
from attest_otel.read.kinds import kind_of
from attest_otel.read.span import SpanRecord

_BY_ATTRIBUTE: tuple[tuple[str, Reader], ...] = (
    ("mcp.method.name", mcp.read),
    ("ai.operationId", vercel.read),
    ("openinference.span.kind", openinference.read),
    ("gen_ai.prompt.0.role", traceloop.read),
    ("gen_ai.completion.0.role", traceloop.read),
    ("gen_ai.completion.0.content", traceloop.read),
    (names.OPERATION_NAME, genai.read),
    (names.INPUT_MESSAGES, genai.read),
    (names.OUTPUT_MESSAGES, genai.read),
    ("traceloop.span.kind", traceloop.read),
    ("traceloop.entity.output", traceloop.read),
    ("llm.request.type", traceloop.read),
    (langfuse.TYPE, langfuse.read),
)


def facts_of(span: SpanRecord) -> SpanFacts:
    """Return what a span says; total: a span that breaks its reader says only what kind it is."""
    kind = kind_of(span)
    try:
        facts = _reader(span)(span, kind)
    except (ValueError, TypeError, KeyError, AttributeError, IndexError, RecursionError, OverflowError):
        return _bare(span, kind)
    if kind == "chat":
        facts.cut_off = cut_off_by(span)
    return facts


def _reader(span: SpanRecord) -> Reader:
    given = span.attributes
    for name, reader in _BY_ATTRIBUTE:
        if name in given:
            return reader
    return genai.read


def _bare(span: SpanRecord, kind: Kind) -> SpanFacts:
    return SpanFacts(span, kind, name_is_given=False)
