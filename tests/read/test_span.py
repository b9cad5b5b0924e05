"""A span of the SDK becomes plain values, whatever it carries."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

import pytest
from opentelemetry.sdk.trace import ReadableSpan, SpanLimits, TracerProvider
from opentelemetry.sdk.trace.export import SimpleSpanProcessor
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter
from opentelemetry.trace import Status, StatusCode

from attest_otel.read import span as span_module
from attest_otel.read.span import from_sdk, plain


def record(limits: SpanLimits | None = None, **attributes: Any) -> ReadableSpan:
    """A child span with these attributes, as the SDK hands it out."""
    exporter = InMemorySpanExporter()
    provider = TracerProvider(span_limits=limits)
    provider.add_span_processor(SimpleSpanProcessor(exporter))
    tracer = provider.get_tracer("scope")
    with tracer.start_as_current_span("parent"), tracer.start_as_current_span("child") as child:
        child.set_attributes(attributes)
        child.add_event("exception", {"exception.type": "KeyError"})
        child.set_status(Status(StatusCode.ERROR, "went wrong"))
    provider.shutdown()
    return exporter.get_finished_spans()[0]


class Hostile:
    """An object whose every method raises."""

    def __str__(self) -> str:
        raise RuntimeError

    def __repr__(self) -> str:
        raise RuntimeError

    def __len__(self) -> int:
        raise RuntimeError

    def __iter__(self) -> Iterator[Any]:
        raise RuntimeError

    def __eq__(self, other: object) -> bool:
        raise RuntimeError

    def __hash__(self) -> int:
        raise RuntimeError


class Endless(Mapping[str, Any]):
    """A mapping that never ends and contains itself."""

    def __getitem__(self, key: str) -> Any:
        return self

    def __len__(self) -> int:
        return 0

    def __iter__(self) -> Iterator[str]:
        count = 0
        while True:
            count += 1
            yield str(count)


class Shouting(str):
    """Text whose own text is something else."""

    __slots__ = ()

    def __str__(self) -> str:
        return "shouted"


def test_everything_a_span_says() -> None:
    """Ids are hex, times are nanoseconds, status, events and scope are there."""
    given = record(answer=42)
    found = from_sdk(given)
    assert given.context is not None
    assert given.parent is not None
    assert found.trace_id == f"{given.context.trace_id:032x}"
    assert found.parent_id == f"{given.parent.span_id:016x}"
    assert (found.name, found.scope, found.status, found.status_message) == ("child", "scope", "error", "went wrong")
    assert (found.start_ns, found.end_ns) == (given.start_time, given.end_time)
    assert found.attributes == {"answer": 42}
    assert [(event.name, dict(event.attributes)) for event in found.events] == [("exception", {"exception.type": "KeyError"})]
    assert (found.parent_is_remote, found.sampled, found.cut, found.own_content) == (False, True, (), False)


def test_content_beside_the_span_wins() -> None:
    """What the recorder handed over replaces what the span shows, and is not called cut."""
    given = record(SpanLimits(max_span_attribute_length=10), shown="x" * 50, other="y" * 50)
    assert from_sdk(given).cut == ("shown", "other")
    found = from_sdk(given, {"shown": "x" * 50})
    assert found.attributes["shown"] == "x" * 50
    assert (found.cut, found.own_content) == (("other",), True)


def test_dropped_parts_are_counted() -> None:
    """Limits of count leave their mark."""
    found = from_sdk(record(SpanLimits(max_span_attributes=2), a=1, b=2, c=3))
    assert found.dropped_attributes == 1


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        (1, 1),
        (1.5, 1.5),
        (True, True),
        (None, None),
        ("text", "text"),
        (Shouting("quiet"), "quiet"),
        ((1, ("a",)), [1, ["a"]]),
        ({"a": {"b": (1,)}}, {"a": {"b": [1]}}),
        (b"\xff\x00", "/wA="),
        (Hostile(), "<Hostile>"),
        ([Hostile()], ["<Hostile>"]),
        (object, "<type>"),
        (2**70, 2**70),
    ],
)
def test_values_become_plain(value: Any, expected: Any) -> None:
    """Any value is plain data afterwards, a hostile one is its type's name."""
    assert plain(value) == expected


def test_values_are_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    """Length, number and depth have limits, also for what never ends."""
    monkeypatch.setattr(span_module, "MAX_ITEMS", 3)
    monkeypatch.setattr(span_module, "MAX_VALUE_CHARS", 5)
    monkeypatch.setattr(span_module, "MAX_DEPTH", 4)
    assert plain("x" * 50) == "xxxxx"
    assert plain(range(10)) == [0, 1, 2]
    found = plain(Endless())
    assert list(found) == ["1", "2", "3"]
    assert found["1"]["1"]["1"]["1"] == "<Endless>"


def test_a_span_whose_parts_raise_still_has_its_ids() -> None:
    """A broken span costs its content, which is said, and nothing is raised."""

    class Broken(ReadableSpan):
        @property
        def attributes(self) -> Any:
            raise RuntimeError

    given = record()
    broken = Broken("broken", context=given.context, parent=given.parent)
    found = from_sdk(broken)
    assert found.span_id == from_sdk(given).span_id
    assert found.parent_id == from_sdk(given).parent_id
    assert found.dropped_attributes == 1
