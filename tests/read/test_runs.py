"""Which spans make one run."""

from __future__ import annotations

import dataclasses
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from attest_otel import attributes as names
from attest_otel.read.runs import RunSpans, split_runs
from attest_otel.read.span import SpanRecord
from tests.read.spans import TRACE, agent, call_part, calls, chat, dump, message, runs, span, tool

OTHER = "b" * 32


def shape(found: list[RunSpans]) -> list[tuple[int | None, list[int]]]:
    """Each run as its root's number and its spans' numbers."""
    return [(int(run.root.span_id, 16) if run.root else None, [int(s.span_id, 16) for s in run.spans]) for run in found]


def test_a_run_is_the_subtree_of_the_top_most_agent() -> None:
    """Spans around the agent belong to nobody, nested agents belong to the outer one."""
    found = split_runs([span(1), agent(2, 1), tool(3, 2), agent(4, 3), chat(5, 4), span(6, 1)])
    assert shape(found) == [(2, [2, 3, 4, 5])]


def test_two_agents_under_one_request_are_two_runs() -> None:
    """A trace may hold several runs (D14)."""
    found = split_runs([span(1), agent(2, 1), tool(3, 2), agent(4, 1), tool(5, 4)])
    assert shape(found) == [(2, [2, 3]), (4, [4, 5])]


def test_without_an_agent_the_local_root_is_the_run() -> None:
    """A plain request span stands for the run, if it holds any model or tool span."""
    assert shape(split_runs([span(1), chat(2, 1), tool(3, 1)])) == [(1, [1, 2, 3])]
    assert split_runs([span(1), span(2, 1)]) == []


def test_a_missing_parent_makes_a_local_root() -> None:
    """A span whose parent is in another process stands at the top here."""
    assert shape(split_runs([span(2, 1), chat(3, 2)])) == [(2, [2, 3])]


@pytest.mark.parametrize("key", ["gen_ai__conversation__id", "attest__run_id"])
def test_a_fragment_joins_the_run_it_names(key: str) -> None:
    """A tool span of another trace joins the run of its conversation or of an explicit run id (D04)."""
    named: dict[str, Any] = {key: "c-1"}
    found = split_runs([agent(1, **named), tool(2, 1), tool(3, trace=OTHER, **named)])
    assert shape(found) == [(1, [1, 2, 3])]


def test_of_several_runs_of_a_conversation_the_one_at_that_time_is_joined() -> None:
    """A fragment belongs to the run within whose time it lies."""
    first = agent(1, end=100, gen_ai__conversation__id="c-1")
    second = agent(20, end=1_000, gen_ai__conversation__id="c-1")
    fragment = tool(30, trace=OTHER, gen_ai__conversation__id="c-1")
    assert shape(split_runs([first, second, fragment])) == [(1, [1]), (20, [20, 30])]


def test_a_fragment_that_names_nobody_is_an_orphan() -> None:
    """What belongs to no run is a run of its own, and says so."""
    found = split_runs([agent(1), tool(2, 1), tool(3, trace=OTHER)])
    assert [run.orphan for run in found] == [False, True]
    assert runs(*found[1].spans)[0].incomplete == ["orphan_result: model and tool spans of which no run is on record"]


def test_fragments_of_one_conversation_make_one_run() -> None:
    """Fragments without any run are together where they name the same conversation."""
    found = split_runs([chat(1, gen_ai__conversation__id="c"), tool(2, trace=OTHER, gen_ai__conversation__id="c")])
    assert shape(found) == [(None, [1, 2])]


def test_a_second_span_of_a_model_call_joins_by_response_id() -> None:
    """The SDK's own span of a call, in another trace, is no run of its own."""
    inner = chat(3, trace=OTHER, scope="com.anthropic.sdk.python", gen_ai__response__id="msg_1", start=21, end=25)
    found = split_runs([agent(1), chat(2, 1, inputs=[], outputs=[], end=30, gen_ai__response__id="msg_1"), inner])
    assert shape(found) == [(1, [1, 2, 3])]


def test_a_silent_span_inside_a_model_calls_time_joins_it() -> None:
    """Without a response id the time tells, if it is the time of just one model call."""
    inner = chat(3, trace=OTHER, scope="com.anthropic.sdk.python", start=21, end=25)
    outer = chat(2, 1, inputs=[], outputs=[], end=30)
    assert shape(split_runs([agent(1), outer, inner])) == [(1, [1, 2, 3])]
    twice = [
        agent(1),
        outer,
        agent(4, trace="c" * 32),
        chat(5, 4, inputs=[], outputs=[], start=20, end=30, trace="c" * 32),
        inner,
    ]
    assert len(split_runs(twice)) == 3


def test_own_evaluation_and_judge_spans_are_never_graded() -> None:
    """Spans this package makes about runs belong to no run (property 4)."""
    found = split_runs([agent(1), tool(2, 1), span(3, 1, scope=names.EVALUATION_SCOPE), chat(4, scope=names.JUDGE_SCOPE)])
    assert shape(found) == [(1, [1, 2])]


@pytest.mark.parametrize("scope", [names.EVALUATION_SCOPE, names.JUDGE_SCOPE])
def test_a_span_under_our_name_hides_nothing(scope: str) -> None:
    """A file can say any scope: what lies below such a span keeps its place, and what says something is graded itself."""
    for between in (span(2, 1, scope=scope), chat(2, 1, scope=scope)):
        (run,) = runs(agent(1), between, tool(3, 2))
        assert [call.name for call in calls(run)] == ["get_order"]
    asked = chat(2, 1, scope=scope, outputs=[message("assistant", call_part("c1", "refund", {}))])
    (run,) = runs(agent(1), asked)
    assert [call.name for call in calls(run)] == ["refund"]
    (top,) = runs(chat(1, scope=scope), tool(2, 1))
    assert [call.name for call in calls(top)] == ["get_order"]


def test_a_span_that_came_twice_is_one() -> None:
    """Of two spans with one id the one that ended stands."""
    ended = tool(2, 1, gen_ai__tool__call__result="out")
    started = SpanRecord(
        TRACE, ended.span_id, ended.parent_id, False, ended.name, ended.start_ns, None, attributes=dict(ended.attributes)
    )
    for given_spans in ([agent(1), started, ended], [agent(1), ended, started]):
        (found,) = split_runs(given_spans)
        assert found.spans[1].end_ns == ended.end_ns


@pytest.mark.parametrize(
    "spans",
    [
        [agent(1, 1), tool(2, 1)],
        [span(1, 2), span(2, 1), tool(3, 1)],
        [agent(1, 3), tool(2, 1), span(3, 2)],
        [agent(1, 2), agent(2, 1), tool(3, 2)],
        [tool(1, 2), tool(2, 1)],
        [agent(1, start=50, end=10), tool(2, 1, start=10, end=5)],
    ],
)
def test_cycles_and_broken_times_are_survived(spans: list[SpanRecord]) -> None:
    """Self-parents, cycles and ends before starts make runs all the same, every span in one of them (property 21)."""
    found = split_runs(spans)
    seen = [s.span_id for run in found for s in run.spans]
    assert len(seen) == len(set(seen))
    assert [dump(run) for run in runs(*spans)] == [dump(run) for run in runs(*reversed(spans))]


@st.composite
def any_spans(draw: st.DrawFn) -> list[SpanRecord]:
    """Spans of any kind with any parents and times."""
    makers = st.sampled_from([agent, chat, tool, span])
    count = draw(st.integers(1, 12))
    found: list[SpanRecord] = []
    for number in range(1, count + 1):
        parent = draw(st.none() | st.integers(0, count + 1))
        start = draw(st.integers(0, 4))
        extra = {"gen_ai__conversation__id": draw(st.sampled_from(["c1", "c2"]))} if draw(st.booleans()) else {}
        found.append(
            draw(makers)(
                number,
                parent,
                start=start,
                end=start + draw(st.integers(-1, 3)),
                trace=draw(st.sampled_from([TRACE, OTHER])),
                **extra,
            )
        )
    return found


@given(any_spans(), st.randoms(use_true_random=False))
def test_any_spans_in_any_order_make_the_same_runs(spans: list[SpanRecord], random: object) -> None:
    """Total on anything, no span in two runs, and the same bytes for every order of arrival (property 26)."""
    expected = runs(*spans)
    shuffled = list(spans)
    random.shuffle(shuffled)  # type: ignore[attr-defined]
    assert [dump(run) for run in runs(*shuffled)] == [dump(run) for run in expected]
    members = [s.span_id for run in split_runs(spans) for s in run.spans]
    assert len(members) == len(set(members))


def test_a_conversation_goes_on_when_its_run_has_ended() -> None:
    """What starts in it then is of a later turn, live as from files; what started during the run is the run's."""
    during = tool(5, trace="b" * 32, gen_ai__conversation__id="c")
    after = tool(9, trace="d" * 32, gen_ai__conversation__id="c")
    found = split_runs([agent(1, end=60, gen_ai__conversation__id="c"), during, after])
    assert [(run.orphan, len(run.spans)) for run in found] == [(False, 2), (True, 1)]


def test_what_came_before_a_conversations_first_run_is_its() -> None:
    """A fragment waits for the run of its conversation, live; from files it finds the first one that follows."""
    before = tool(1, trace="b" * 32, gen_ai__conversation__id="c")
    found = split_runs([before, agent(5, end=90, gen_ai__conversation__id="c")])
    assert [(run.orphan, len(run.spans)) for run in found] == [(False, 2)]


@pytest.mark.parametrize("leaked", [1, 2])
def test_a_run_below_a_span_of_a_run_that_is_over_is_its_own(leaked: int) -> None:
    """A context that was attached and never detached makes the next run a child of a dead span: two runs, one trace (D06)."""
    first = [agent(1, end=60), chat(2, 1), tool(3, 1)]
    second = [agent(10, leaked, end=160), tool(11, 10)]
    found = split_runs([*first, *second])
    assert [(run.root.span_id[-1] if run.root else None, len(run.spans)) for run in found] == [("1", 3), ("a", 2)]


def test_an_agent_that_begins_while_the_run_above_lasts_belongs_to_it() -> None:
    """A sub-agent may outlive the run that started it, and a run that has not ended holds all below it."""
    outlives = [agent(1, end=60), agent(3, 1, end=900)]
    still_open = [dataclasses.replace(agent(1), end_ns=None), agent(3, 1)]
    for spans in (outlives, still_open):
        assert [len(run.spans) for run in split_runs(spans)] == [2]
