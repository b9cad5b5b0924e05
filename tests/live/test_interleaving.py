"""Whatever the order in which spans of several runs start and end, each trajectory equals the one recorded alone."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st
from opentelemetry.sdk.trace import ReadableSpan
from opentelemetry.trace import SpanContext, TraceFlags

from attest_otel.config import AttestConfig
from attest_otel.live.buffer import Buffer
from attest_otel.live.grading import rebuild
from attest_otel.live.runs import State
from tests.live.helpers import AGENT, tool


@dataclass(frozen=True)
class Planned:
    """One span to come: its place in the tree, and its times, which no interleaving changes."""

    span_id: int
    parent_id: int | None
    attributes: dict[str, Any]


def spans_of(number: int, parents: list[int]) -> list[Planned]:
    """Return the spans of one run: a root and tools below earlier spans."""
    first = number * 100 + 1
    planned = [Planned(first, None, {**AGENT, "gen_ai.agent.name": f"agent{number}"})]
    for index, parent in enumerate(parents, 1):
        planned.append(Planned(first + index, first + parent % index, tool(f"t{index}", f"out {number} {index}")))
    return planned


def readable(trace_id: int, planned: Planned) -> ReadableSpan:
    """Return the SDK's view of a planned span."""
    parent = None if planned.parent_id is None else SpanContext(trace_id, planned.parent_id, is_remote=False)
    return ReadableSpan(
        f"span {planned.span_id}",
        context=SpanContext(trace_id, planned.span_id, is_remote=False, trace_flags=TraceFlags(1)),
        parent=parent,
        attributes=planned.attributes,
        start_time=planned.span_id * 1_000,
        end_time=planned.span_id * 1_000 + 500,
    )


def feed(events: list[tuple[str, int, Planned]]) -> dict[str, str]:
    """Feed a buffer and return each run's trajectory by its agent."""
    buffer = Buffer(AttestConfig())
    found: dict[str, str] = {}
    for what, trace_id, planned in events:
        (buffer.start if what == "start" else buffer.end)(readable(trace_id, planned), 1.0)
        for job in buffer.runs.take_ready():
            run = rebuild(job)
            found[str(run.agent)] = run.model_dump_json()
            buffer.runs.done(job.run, State.EVALUATED)
    return found


@st.composite
def interleaved(draw: st.DrawFn) -> tuple[list[list[tuple[str, int, Planned]]], list[tuple[str, int, Planned]]]:
    """Return the events of several runs, each alone and all mixed, children before parents' ends where a run is well-formed."""
    same_trace = draw(st.booleans())
    alone: list[list[tuple[str, int, Planned]]] = []
    for number in range(draw(st.integers(2, 4))):
        planned = spans_of(number, draw(st.lists(st.integers(0, 9), max_size=6)))
        trace_id = 1 if same_trace else number + 1
        pending = [("start", trace_id, one) for one in planned]
        order = draw(st.permutations(planned[1:]))
        alone.append(pending + [("end", trace_id, one) for one in (*order, planned[0])])
    queues = [list(events) for events in alone]
    mixed: list[tuple[str, int, Planned]] = []
    while any(queues):
        choice = draw(st.sampled_from([index for index, queue in enumerate(queues) if queue]))
        mixed.append(queues[choice].pop(0))
    return alone, mixed


@settings(max_examples=60, deadline=None)
@given(interleaved())
def test_each_run_is_the_one_recorded_alone(
    events: tuple[list[list[tuple[str, int, Planned]]], list[tuple[str, int, Planned]]],
) -> None:
    """Mixed with others, in one trace or several, a run's trajectory is byte for byte its own."""
    alone, mixed = events
    expected: dict[str, str] = {}
    for one in alone:
        expected.update(feed(one))
    assert feed(mixed) == expected
    assert len(expected) == len(alone)


@settings(max_examples=100, deadline=None)
@given(
    st.lists(
        st.tuples(st.sampled_from(["start", "end"]), st.integers(0, 3), st.integers(1, 5), st.integers(0, 5), st.booleans()),
        max_size=40,
    )
)
def test_no_order_of_arrival_breaks_the_buffer(arrivals: list[tuple[str, int, int, int, bool]]) -> None:
    """Starts without ends, ends without starts, reused ids and cycles: nothing is raised, and the books balance."""
    buffer = Buffer(AttestConfig.model_validate({"limits": {"max_open_runs": 3, "max_spans_per_run": 4, "max_decided_runs": 2}}))
    for now, (what, trace_id, span_id, parent_id, is_agent) in enumerate(arrivals):
        planned = Planned(span_id, parent_id or None, dict(AGENT) if is_agent else tool())
        (buffer.start if what == "start" else buffer.end)(readable(trace_id + 1, planned), float(now))
        buffer.runs.tick(float(now))
        for job in buffer.runs.take_ready():
            rebuild(job)
            buffer.runs.done(job.run, State.EVALUATED)
    buffer.runs.decide_all("shutdown", 1e9)
    for job in buffer.runs.take_ready():
        buffer.runs.done(job.run, State.EVALUATED)
    for run in buffer.runs.memory.whole():
        buffer.runs._let_go(run)
    assert buffer.runs.open == {}
    assert buffer.runs.size == 0
