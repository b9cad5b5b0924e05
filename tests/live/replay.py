"""Recorded spans lived through again: the SDK's own spans, with the ids, times and parents they had."""

from __future__ import annotations

import base64
import json
import threading
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from google.protobuf.json_format import MessageToDict
from opentelemetry import trace
from opentelemetry.context import Context
from opentelemetry.exporter.otlp.proto.common.trace_encoder import encode_spans
from opentelemetry.sdk.trace import ReadableSpan, Span, TracerProvider
from opentelemetry.sdk.trace.id_generator import RandomIdGenerator
from opentelemetry.trace import SpanKind, Status, StatusCode

from attest_otel.read.otlp import read_value

KINDS = (
    SpanKind.INTERNAL,
    SpanKind.INTERNAL,
    SpanKind.SERVER,
    SpanKind.CLIENT,
    SpanKind.PRODUCER,
    SpanKind.CONSUMER,
)
CODES = (StatusCode.UNSET, StatusCode.OK, StatusCode.ERROR)


class RecordedIds(RandomIdGenerator):
    """Gives the next span of this thread the ids it had; every other span has ids of its own."""

    def __init__(self) -> None:
        self._own = threading.local()

    def expect(self, trace_id: str, span_id: str) -> None:
        """Say what ids the next span had."""
        self._own.ids = (int(trace_id, 16), int(span_id, 16))

    def generate_trace_id(self) -> int:
        """Return the recorded trace id, or a random one."""
        ids = getattr(self._own, "ids", None)
        return super().generate_trace_id() if ids is None else int(ids[0])

    def generate_span_id(self) -> int:
        """Return the recorded span id, once, or a random one."""
        ids, self._own.ids = getattr(self._own, "ids", None), None
        return super().generate_span_id() if ids is None else int(ids[1])


def recorded_spans(request: Mapping[str, Any]) -> Iterator[tuple[str, dict[str, Any]]]:
    """Yield the spans of an OTLP request, each with the name of its scope."""
    for resource in request["resourceSpans"]:
        for scoped in resource["scopeSpans"]:
            for span in scoped["spans"]:
                yield scoped["scope"]["name"], span


def replay(provider: TracerProvider, ids: RecordedIds, request: Mapping[str, Any]) -> None:
    """Start and end every span of a request in the order in which it happened."""
    spans = list(recorded_spans(request))
    depth = {span["spanId"]: _depth(span, spans) for _, span in spans}
    moments = [(int(span["startTimeUnixNano"]), 0, depth[span["spanId"]], number) for number, (_, span) in enumerate(spans)]
    moments += [(int(span["endTimeUnixNano"]), 1, -depth[span["spanId"]], number) for number, (_, span) in enumerate(spans)]
    live: dict[str, Span] = {}
    for at, is_end, _, number in sorted(moments):
        scope, span = spans[number]
        if is_end:
            _end(live[span["spanId"]], span, at)
        else:
            ids.expect(span["traceId"], span["spanId"])
            live[span["spanId"]] = _start(provider, scope, span, live.get(span.get("parentSpanId", "")), at)


def write_otlp(path: Path, spans: Sequence[ReadableSpan]) -> None:
    """Write finished spans as the Collector's file exporter does: one OTLP request, ids in hexadecimal."""
    request = MessageToDict(encode_spans(spans))
    for _, span in recorded_spans(request):
        for name in ("traceId", "spanId", "parentSpanId"):
            if name in span:
                span[name] = _hex_of_base64(span[name])
    path.write_text(json.dumps(request), encoding="utf-8")


def _start(provider: TracerProvider, scope: str, span: Mapping[str, Any], parent: Span | None, at: int) -> Span:
    attributes = {pair["key"]: read_value(pair["value"]) for pair in span["attributes"]}
    context = Context() if parent is None else trace.set_span_in_context(parent, Context())
    started = provider.get_tracer(scope).start_span(span["name"], context, KINDS[span.get("kind", 1)], attributes, start_time=at)
    assert isinstance(started, Span)
    return started


def _end(live: Span, span: Mapping[str, Any], at: int) -> None:
    for event in span.get("events", ()):
        attributes = {pair["key"]: read_value(pair["value"]) for pair in event.get("attributes", ())}
        live.add_event(event["name"], attributes, int(event["timeUnixNano"]))
    status = span.get("status", {})
    if status.get("code"):
        live.set_status(Status(CODES[int(status["code"])], status.get("message")))
    live.end(at)


def _depth(span: Mapping[str, Any], spans: Iterable[tuple[str, Mapping[str, Any]]]) -> int:
    parents = {one["spanId"]: one.get("parentSpanId", "") for _, one in spans}
    depth, above = 0, span.get("parentSpanId", "")
    while above in parents:
        depth, above = depth + 1, parents[above]
    return depth


def _hex_of_base64(text: str) -> str:
    return base64.b64decode(text).hex()
