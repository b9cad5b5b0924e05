"""What the tests ask Jaeger and Prometheus through their HTTP APIs, and read in the Collector's file, as plain data."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from tests.e2e.loopback import eventually, get_json
from tests.e2e.stack import Stack


@dataclass(frozen=True, slots=True)
class StoredEvent:
    """A span event as Jaeger returns it."""

    name: str
    attributes: Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class StoredSpan:
    """A span as Jaeger returns it; its status is in the attributes, as Jaeger keeps it."""

    name: str
    span_id: str
    parent_id: str | None
    attributes: Mapping[str, Any]
    events: Sequence[StoredEvent]

    @property
    def is_error(self) -> bool:
        """Whether the span's status is ERROR."""
        return self.attributes.get("otel.status_code") == "ERROR"


@dataclass(frozen=True, slots=True)
class StoredTrace:
    """A trace as Jaeger returns it."""

    trace_id: str
    spans: Sequence[StoredSpan]

    def named(self, name: str) -> StoredSpan:
        """The one span of that name; AssertionError, with the names there are, if it is not exactly one."""
        found = [span for span in self.spans if span.name == name]
        assert len(found) == 1, f"{len(found)} spans named {name!r} among {[span.name for span in self.spans]}"
        return found[0]


def find_trace(stack: Stack, service: str, *, tags: Mapping[str, str], spans: int) -> StoredTrace:
    """The one trace of a service with a span that has these tags, once Jaeger has at least so many spans of it."""

    def look() -> StoredTrace | None:
        found = search(stack, service, tags)
        return found[0] if len(found) == 1 and len(found[0].spans) >= spans else None

    return eventually(look, lambda: f"found {search(stack, service, tags)}\n{stack.logs()}")


def search(stack: Stack, service: str, tags: Mapping[str, str]) -> list[StoredTrace]:
    """The traces that Jaeger's search finds."""
    query = {"service": service, "tags": json.dumps(dict(tags)), "lookback": "1h", "limit": "20"}
    answer = get_json(f"{stack.jaeger_query_url}/api/traces", query)
    return [_trace(each) for each in answer["data"] or []]


def wait_for_value(stack: Stack, promql: str, value: float) -> None:
    """Waits until a query gives exactly one series with that value."""

    def look() -> bool:
        return [found for _, found in query_prometheus(stack, promql)] == [value]

    def explain() -> str:
        series = query_prometheus(stack, '{__name__=~"attest.*"}')
        return f"{promql} gives {query_prometheus(stack, promql)}, not {value}; series: {series}\n{stack.logs()}"

    eventually(look, explain)


def query_prometheus(stack: Stack, promql: str) -> list[tuple[Mapping[str, str], float]]:
    """The labels and the value of each series of an instant query."""
    answer = get_json(f"{stack.prometheus_url}/api/v1/query", {"query": promql})
    return [(each["metric"], float(each["value"][1])) for each in answer["data"]["result"]]


def kept_log_events(stack: Stack, service: str) -> list[dict[str, Any]]:
    """The log events of a service that the Collector has kept, as OTLP JSON has them; a line still being written is left out."""
    if not stack.events_file.exists():
        return []
    whole_lines, _, _ = stack.events_file.read_text(encoding="utf-8").rpartition("\n")
    resources = [each for line in whole_lines.splitlines() for each in json.loads(line)["resourceLogs"]]
    scopes = [scope for each in resources if service in str(each["resource"]) for scope in each["scopeLogs"]]
    return [record for scope in scopes for record in scope["logRecords"]]


def _trace(raw: Mapping[str, Any]) -> StoredTrace:
    return StoredTrace(trace_id=raw["traceID"], spans=[_span(each) for each in raw["spans"]])


def _span(raw: Mapping[str, Any]) -> StoredSpan:
    parents = [each["spanID"] for each in raw["references"] if each["refType"] == "CHILD_OF"]
    return StoredSpan(
        name=raw["operationName"],
        span_id=raw["spanID"],
        parent_id=parents[0] if parents else None,
        attributes=_attributes(raw["tags"]),
        events=[_event(each["fields"]) for each in raw["logs"]],
    )


def _event(fields: Sequence[Mapping[str, Any]]) -> StoredEvent:
    attributes = _attributes(fields)
    return StoredEvent(name=attributes.pop("event", ""), attributes=attributes)


def _attributes(tags: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    return {each["key"]: each["value"] for each in tags}
