"""`RedactingSpanExporter`: redacted copies go out, the spans stay as they were, nothing is lost."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

import pytest
from opentelemetry.sdk.resources import Resource
from opentelemetry.sdk.trace import ReadableSpan, SpanLimits, TracerProvider
from opentelemetry.sdk.trace.export import SimpleSpanProcessor, SpanExporter, SpanExportResult
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter
from opentelemetry.trace import Link, SpanContext, Status, StatusCode, TraceFlags

from attest_otel import RedactingSpanExporter
from attest_otel.config import RedactionConfig

SECRET = "ghp_" + "C4n4ryC4n4ryC4n4ryC4n4ryC4n4ryC4n4ry"


class Kept(SpanExporter):
    """Keeps what it is given, and answers as told."""

    def __init__(self, result: SpanExportResult = SpanExportResult.SUCCESS) -> None:
        self.result = result
        self.spans: list[ReadableSpan] = []
        self.calls: list[str] = []

    def export(self, spans: Any) -> SpanExportResult:
        """Keep the spans."""
        self.spans += spans
        return self.result

    def shutdown(self) -> None:
        """Note the call."""
        self.calls.append("shutdown")

    def force_flush(self, timeout_millis: int = 30_000) -> bool:
        """Note the call."""
        self.calls.append(f"flush {timeout_millis}")
        return False


def original(**limits: Any) -> ReadableSpan:
    """Return an ended span with a secret in every part."""
    memory = InMemorySpanExporter()
    provider = TracerProvider(
        resource=Resource({"host": f"at {SECRET}"}), span_limits=SpanLimits(**limits), shutdown_on_exit=False
    )
    provider.add_span_processor(SimpleSpanProcessor(memory))
    link = Link(SpanContext(1, 2, is_remote=False, trace_flags=TraceFlags(1)), {"l": SECRET})
    values: dict[str, Any] = {
        "a": SECRET,
        f"k {SECRET}": 1,
        "list": ["x", SECRET],
        "db.password": "hunter2",
        "n": 3,
        "f": 0.5,
        "b": True,
        "raw": SECRET.encode(),
    }
    span = provider.get_tracer("scope", "1").start_span(f"name {SECRET}", attributes=values, links=[link])
    span.add_event(f"event {SECRET}", {"e": SECRET})
    span.set_status(Status(StatusCode.ERROR, f"for {SECRET}"))
    span.end()
    (found,) = memory.get_finished_spans()
    provider.shutdown()
    return found


def everything(span: ReadableSpan) -> str:
    """Return all that a span says, as text."""
    events = [(event.name, dict(event.attributes or {})) for event in span.events]
    links = [dict(link.attributes or {}) for link in span.links]
    return str((span.name, dict(span.attributes or {}), events, links, span.status.description, dict(span.resource.attributes)))


def test_every_part_is_redacted_in_a_copy() -> None:
    """Name, attributes, keys, events, links, status and resource lose the secret; the span itself keeps it."""
    span, kept = original(), Kept()
    before = everything(span)
    RedactingSpanExporter(kept).export([span])
    shown = everything(kept.spans[0])
    assert SECRET not in shown
    assert "hunter2" not in shown
    assert everything(span) == before
    assert SECRET in before


def test_what_is_no_secret_stays() -> None:
    """Ids, times, kind, scope, plain values and counts of what was dropped are the span's."""
    span, kept = original(max_span_attributes=5), Kept()
    RedactingSpanExporter(kept).export([span])
    (copy,) = kept.spans
    for name in (
        "context",
        "parent",
        "start_time",
        "end_time",
        "kind",
        "instrumentation_scope",
        "dropped_attributes",
        "dropped_events",
        "dropped_links",
    ):
        assert getattr(copy, name) == getattr(span, name)
    assert copy.dropped_attributes == 3
    attributes = dict(copy.attributes or {})
    assert (attributes["n"], attributes["f"], attributes["b"]) == (3, 0.5, True)
    assert copy.status.status_code is StatusCode.ERROR


def test_a_secret_that_the_sdk_cut_goes() -> None:
    """A value cut by the SDK's length limit may end in half a secret."""
    for limit in range(12, 40, 4):
        span, kept = original(max_span_attribute_length=limit), Kept()
        RedactingSpanExporter(kept).export([span])
        assert SECRET[:12] not in str(dict(kept.spans[0].attributes or {}))


@pytest.mark.parametrize("result", list(SpanExportResult))
def test_answers_and_calls_are_passed_on(result: SpanExportResult) -> None:
    """The exporter's result, flush and shutdown are the wrapped one's."""
    kept = Kept(result)
    wrapped = RedactingSpanExporter(kept)
    assert wrapped.export([original()]) is result
    assert wrapped.force_flush(7) is False
    wrapped.shutdown()
    assert kept.calls == ["flush 7", "shutdown"]


class Hostile(Mapping[str, Any]):
    """A mapping of which nothing can be read."""

    def __getitem__(self, key: str) -> Any:
        raise RuntimeError(SECRET)

    def __iter__(self) -> Iterator[str]:
        raise RuntimeError(SECRET)

    def __len__(self) -> int:
        raise RuntimeError(SECRET)


class Text(str):
    """A text that fails when it is used."""

    __slots__ = ()

    def encode(self, encoding: str = "utf-8", errors: str = "strict") -> bytes:
        """Fail."""
        raise RuntimeError(SECRET)


def test_hostile_values_cost_themselves_alone() -> None:
    """A value that raises is dropped, what is deep is bounded, the span and its neighbours go out."""
    deep: Any = SECRET
    for _ in range(500):
        deep = [deep]
    recursive: list[Any] = []
    recursive.append(recursive)
    values: dict[str, Any] = {"h": Hostile(), "t": Text(SECRET), "d": deep, "r": recursive, "o": object(), "ok": "fine"}
    odd = ReadableSpan("n", SpanContext(1, 2, is_remote=False), attributes=values)
    bad = ReadableSpan("n", SpanContext(1, 3, is_remote=False), attributes=Hostile())
    kept = Kept()
    assert RedactingSpanExporter(kept).export([odd, bad, original()]) is SpanExportResult.SUCCESS
    assert len(kept.spans) == 3
    shown = dict(kept.spans[0].attributes or {})
    assert shown["ok"] == "fine"
    assert SECRET not in str(shown)


def test_own_patterns_and_hook() -> None:
    """Settings and a hook work as everywhere; a hook that raises drops the texts."""
    kept = Kept()
    RedactingSpanExporter(kept, config=RedactionConfig(patterns=["name"]), hook=lambda text: text.replace("event", "#")).export(
        [original()]
    )
    assert kept.spans[0].name.startswith("[redacted:custom]")
    assert kept.spans[0].events[0].name.startswith("#")

    def broken(text: str) -> str:
        raise ValueError(text)

    RedactingSpanExporter(kept, hook=broken).export([original()])
    assert SECRET not in everything(kept.spans[1])


def test_one_resource_stays_one() -> None:
    """Spans of one resource share the copy's resource, so that exporters still group them."""
    kept = Kept()
    span = original()
    RedactingSpanExporter(kept).export([span, span])
    assert kept.spans[0].resource is kept.spans[1].resource
