"""OTLP JSON and Jaeger JSON: ids, numbers and values in every spelling, and the same runs from both."""

from __future__ import annotations

import json
from typing import Any

import pytest

from attest_otel.read import jaeger, otlp
from attest_otel.read.otlp import read_value
from attest_otel.read.span import SpanRecord
from tests.read.spans import CAPTURES, calls, runs


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        ({"stringValue": "a"}, "a"),
        ({"intValue": "123"}, 123),
        ({"intValue": 123}, 123),
        ({"intValue": "-9223372036854775808"}, -(2**63)),
        ({"intValue": "x"}, None),
        ({"doubleValue": 1.5}, 1.5),
        ({"doubleValue": "1.5"}, 1.5),
        ({"doubleValue": 2}, 2.0),
        ({"boolValue": True}, True),
        ({"boolValue": "yes"}, None),
        ({"bytesValue": "AAE="}, "AAE="),
        ({"arrayValue": {"values": [{"intValue": "1"}, {"stringValue": "b"}]}}, [1, "b"]),
        ({"arrayValue": {}}, []),
        ({"kvlistValue": {"values": [{"key": "a", "value": {"kvlistValue": {"values": []}}}]}}, {"a": {}}),
        ({}, None),
        (5, None),
        (None, None),
        ({"stringValue": 5}, None),
    ],
)
def test_values(value: Any, expected: Any) -> None:
    """Each kind of value is read, numbers as text or as numbers; what has the wrong type is nothing."""
    assert read_value(value) == expected


def test_values_nested_without_end_are_bounded() -> None:
    """A value nested deeper than is read ends in nothing, without an error."""
    value: dict[str, Any] = {"stringValue": "deep"}
    for _ in range(500):
        value = {"arrayValue": {"values": [value]}}
    assert read_value(value) is not None


def test_span_fields() -> None:
    """Ids are hex of either case, an all-zero parent is none, flags say whether the parent is remote."""
    record = otlp.read_span(
        {
            "traceId": "ABCDEF" + "0" * 26,
            "spanId": "00000000000000AB",
            "parentSpanId": "0000000000000001",
            "flags": 0x301,
            "name": "n",
            "startTimeUnixNano": "1790000000000000001",
            "endTimeUnixNano": 1790000000000000002,
            "status": {"code": "STATUS_CODE_ERROR", "message": "m"},
            "events": [{"name": "e", "timeUnixNano": "7", "attributes": [{"key": "k", "value": {"stringValue": "v"}}]}],
            "droppedAttributesCount": 2,
            "droppedEventsCount": 1,
        },
        "scope",
    )
    assert record is not None
    assert (record.trace_id[:6], record.span_id, record.parent_id, record.parent_is_remote) == (
        "abcdef",
        "00000000000000ab",
        "0000000000000001",
        True,
    )
    assert (record.start_ns, record.end_ns) == (1790000000000000001, 1790000000000000002)
    assert (record.status, record.status_message, record.scope) == ("error", "m", "scope")
    assert (record.dropped_attributes, record.dropped_events) == (2, 1)
    assert [(e.name, e.time_ns, dict(e.attributes)) for e in record.events] == [("e", 7, {"k": "v"})]
    bare = otlp.read_span({"spanId": "ab", "parentSpanId": "0000000000000000"})
    assert bare is not None
    assert (bare.parent_id, bare.end_ns, bare.status) == (None, None, "unset")


@pytest.mark.parametrize("span", [{}, {"spanId": ""}, {"spanId": "0" * 16}, {"spanId": 5}])
def test_a_span_without_an_id_is_none(span: dict[str, Any]) -> None:
    """Nothing can point at a span that has no id."""
    assert otlp.read_span(span) is None


@pytest.mark.parametrize(
    "junk",
    [
        None,
        5,
        [],
        {},
        {"resourceSpans": None},
        {"resourceSpans": [5, {"scopeSpans": [{"spans": [None, {"attributes": 5, "spanId": "ab", "events": {}}]}]}]},
    ],
)
def test_junk_is_survived(junk: Any) -> None:
    """What has the wrong type is left out, never raised."""
    assert all(isinstance(record, SpanRecord) for record in otlp.read_spans(junk))
    assert list(jaeger.read_spans(junk)) == []


@pytest.mark.parametrize("length", [1024, 4095])
def test_broken_json_of_a_usual_limit_was_probably_cut(length: int) -> None:
    """A file doesn't say the limit: broken JSON of just a usual length is taken for cut; other text is not."""
    text = '{"order_id": "' + "x" * 5000
    attributes = {
        "cut": text[:length],
        "whole": "x" * length,
        "json": "[" + " " * (length - 2) + "]",
        "broken": text[: length + 2],
    }
    assert otlp.probably_cut(attributes) == ("cut",)


def as_jaeger(document: dict[str, Any]) -> dict[str, Any]:
    """A recorded OTLP request as Jaeger's query API would answer it."""
    traces: dict[str, dict[str, Any]] = {}
    for record in otlp.read_spans(document):
        trace = traces.setdefault(
            record.trace_id, {"traceID": record.trace_id, "spans": [], "processes": {"p1": {"serviceName": "s"}}}
        )
        tags = [{"key": "otel.scope.name", "type": "string", "value": record.scope}]
        if record.status != "unset":
            tags.append({"key": "otel.status_code", "type": "string", "value": record.status.upper()})
        for key, value in record.attributes.items():
            if isinstance(value, str):
                tags.append({"key": key, "type": "string", "value": value})
            elif isinstance(value, int):
                tags.append({"key": key, "type": "int64", "value": str(value)})
        assert record.end_ns is not None
        trace["spans"].append(
            {
                "traceID": record.trace_id,
                "spanID": record.span_id,
                "operationName": record.name,
                "references": [{"refType": "CHILD_OF", "traceID": record.trace_id, "spanID": record.parent_id}]
                if record.parent_id
                else [],
                "startTime": record.start_ns // 1000,
                "duration": (record.end_ns - record.start_ns) // 1000,
                "tags": tags,
                "logs": [
                    {
                        "timestamp": e.time_ns // 1000,
                        "fields": [
                            {"key": "event", "type": "string", "value": e.name},
                            *[{"key": k, "type": "string", "value": v} for k, v in e.attributes.items()],
                        ],
                    }
                    for e in record.events
                ],
                "processID": "p1",
            }
        )
    return {"data": list(traces.values()), "total": 0}


@pytest.mark.parametrize(
    "name",
    [
        "otel-genai-langchain__refund.json",
        "pydantic-ai__edge.json",
        "strands-native__toolerror.json",
        "openinference-langchain__toolerror.json",
    ],
)
def test_jaeger_gives_the_same_runs_as_otlp(name: str) -> None:
    """The same trace from Jaeger's API and from OTLP is the same run."""
    document = json.loads((CAPTURES / name).read_text(encoding="utf-8"))
    direct = runs(*otlp.read_spans(document))
    through = runs(*jaeger.read_spans(as_jaeger(document)))
    assert [run.model_dump(exclude={"ended_at"}) for run in through] == [run.model_dump(exclude={"ended_at"}) for run in direct]
    assert [len(calls(run)) for run in through] != [0]


def test_jaeger_keeps_what_was_dropped_in_tags() -> None:
    """OpenTelemetry's mapping writes the counts of dropped attributes and events as tags."""
    tags = [{"key": f"otel.dropped_{name}_count", "type": "int64", "value": n} for name, n in (("attributes", 3), ("events", 2))]
    record = jaeger.read_span({"traceID": "a", "spanID": "b", "startTime": 1, "duration": 1, "tags": tags})
    assert record is not None
    assert (record.dropped_attributes, record.dropped_events, record.attributes) == (3, 2, {})


@pytest.mark.parametrize(
    ("references", "parent"),
    [
        ([{"refType": "CHILD_OF", "traceID": "a", "spanID": "c"}], "c"),
        ([{"refType": "CHILD_OF", "traceID": "00000000000000000000000000000A", "spanID": "C"}], "c"),
        ([{"refType": "CHILD_OF", "spanID": "c"}], "c"),
        ([{"refType": "CHILD_OF", "traceID": "f", "spanID": "d"}, {"refType": "CHILD_OF", "traceID": "a", "spanID": "c"}], "c"),
        ([{"refType": "CHILD_OF", "traceID": "f", "spanID": "d"}], None),
        ([{"refType": "FOLLOWS_FROM", "traceID": "a", "spanID": "d"}, "junk", {"refType": "CHILD_OF", "spanID": 7}], None),
    ],
)
def test_jaeger_parents_are_in_the_same_trace(references: list[Any], parent: str | None) -> None:
    """A reference to another trace is a link, whatever its type says."""
    record = jaeger.read_span({"traceID": "a", "spanID": "b", "startTime": 1, "duration": 1, "references": references})
    assert record is not None
    assert record.parent_id == (None if parent is None else parent.rjust(16, "0"))
