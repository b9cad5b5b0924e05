"""What is one run: nested agents, fragments, late spans, duplicate instrumentation, many at once (properties 11, 20, 21)."""

from __future__ import annotations

import asyncio
import gc
import threading
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest
import trio
from opentelemetry import trace
from opentelemetry.context import Context
from opentelemetry.trace import NonRecordingSpan, SpanContext, TraceFlags, set_span_in_context

from attest_otel.record.agent_run import AgentRun, agent_run
from attest_otel.record.dispatcher import bind_context, traced_dispatcher
from attest_otel.trajectory import Tool, Trajectory
from tests.live.helpers import AGENT, WAIT, live, tool
from tests.reliability.helpers import (
    Started,
    drained,
    findings,
    pass_through,
    recorded,
    trajectories,
    verdicts,
)

AT_MOST_ONE = {"id": "one", "severity": "fail", "at_most": {"lookup": 1}}


def test_a_nested_agent_is_graded_by_its_own_rules() -> None:
    """A rule of the sub-agent sees the sub-agent's calls, one of the parent's sees the run's; the step says whose call it was."""
    config = {"agents": {"sub": {"rules": [AT_MOST_ONE]}, "a": {"allowed_tools": ["lookup"]}}}
    with recorded(config) as pipeline:
        runs = trajectories(pipeline)
        dispatch = traced_dispatcher(lambda name, arguments: "fine")
        with agent_run("a", task="t", allowed_tools=["lookup"]):
            dispatch("lookup", '{"n": 1}')
            with agent_run("sub", task="part"):
                dispatch("lookup", '{"n": 2}')
                dispatch("lookup", '{"n": 3}')
        (report,) = drained(pipeline)
        assert [step.agent for step in runs[0].steps] == [None, ["sub"], ["sub"]]
        assert "broken" in verdicts(report, "policy")
        assert report.verdict == "block"


def test_the_parents_rule_is_not_broken_by_the_sub_agents_limit() -> None:
    """With one call each, a rule of at most one call an agent holds for the sub-agent."""
    with recorded({"agents": {"sub": {"rules": [AT_MOST_ONE]}}}) as pipeline:
        dispatch = traced_dispatcher(lambda name, arguments: "fine")
        with agent_run("a", task="t"):
            dispatch("lookup", '{"n": 1}')
            with agent_run("sub", task="part"):
                dispatch("lookup", '{"n": 2}')
        (report,) = drained(pipeline)
        assert "broken" not in verdicts(report, "policy")


def test_a_remote_parent_does_not_hide_the_run() -> None:
    """An agent called over the network, in the caller's trace, is a run; so is a local root with model spans."""
    with live() as pipeline:
        remote = set_span_in_context(NonRecordingSpan(SpanContext(9, 9, is_remote=True, trace_flags=TraceFlags(1))), Context())
        for attributes in (AGENT, {"http.route": "/ask"}):
            start = pipeline.tracer.start_as_current_span
            with start("serve", context=remote, attributes=attributes), start("execute_tool t", attributes=tool()):
                pass
        reports = drained(pipeline)
        assert [len(findings(report, "tool_use")) for report in reports] == [1, 1]
        assert not any("orphan_result" in verdicts(report, "coverage") for report in reports)


@pytest.mark.parametrize("name", ["attest.run_id", "gen_ai.conversation.id"])
@pytest.mark.parametrize("when", ["before", "within", "after"])
def test_fragments_join_by_explicit_name(name: str, when: str) -> None:
    """A parentless tool span joins the run that names the same id, whether it ends before, within or soon after the run begins or ends."""
    named = {name: "r1"}
    with live({"limits": {"grace_seconds": 1.0}}) as pipeline:

        def fragment() -> None:
            pipeline.tracer.start_span("execute_tool far", context=Context(), attributes=tool("far", **named)).end()

        early = (
            pipeline.tracer.start_span("execute_tool far", context=Context(), attributes=tool("far", **named))
            if when == "before"
            else None
        )
        root = pipeline.tracer.start_span("agent", context=Context(), attributes={**AGENT, **named})
        below = trace.set_span_in_context(root, Context())
        near = pipeline.tracer.start_span("execute_tool near", context=below, attributes=tool("near"))
        if early is not None:
            early.end()
        if when == "within":
            fragment()
        near.end()
        if when == "after":
            late = pipeline.tracer.start_span("execute_tool far", context=Context(), attributes=tool("far", **named))
            root.end()
            late.end()
        else:
            root.end()
        reports = drained(pipeline)
        assert [len(findings(report, "tool_use")) for report in reports] == [2]


def test_a_strangers_span_of_the_conversation_recovers_no_error() -> None:
    """A parentless span that only names the conversation is in the report, and the run's own error stays unrecovered."""
    named = {"gen_ai.conversation.id": "c1"}
    with live({"limits": {"grace_seconds": 1.0}}) as pipeline:
        root = pipeline.tracer.start_span("agent", context=Context(), attributes={**AGENT, **named})
        below = trace.set_span_in_context(root, Context())
        failed = tool("pay", "Error: declined")
        pipeline.tracer.start_span("execute_tool pay", context=below, attributes=failed).end()
        fine = tool("pay", "paid", **named)
        pipeline.tracer.start_span("execute_tool pay", context=Context(), attributes=fine).end()
        root.end()
        (report,) = drained(pipeline)
        assert [finding.verdict for finding in findings(report, "tool_use")] == ["error_silent", "correct"]
        assert report.verdict == "review"


def test_late_spans_supersede_once_and_never_milder() -> None:
    """What ends after the grace makes one revision with all there is; further late spans change nothing."""
    with live({"limits": {"grace_seconds": 0.05}}) as pipeline:
        root = pipeline.tracer.start_span("agent", context=Context(), attributes=AGENT)
        below = trace.set_span_in_context(root, Context())
        slow = [
            pipeline.tracer.start_span("execute_tool t", context=below, attributes=tool(f"t{n}", f"Error: {n}")) for n in range(3)
        ]
        done = threading.Event()
        pipeline.processor._pipeline._grader._sinks += (_Noting(done),)
        root.end()
        assert done.wait(WAIT)
        assert pipeline.processor.drain(WAIT)
        first = pipeline.reports[0]
        assert first.verdict == "review"
        assert sum("still open" in text for text in first.incomplete) == 3
        done.clear()
        slow[0].end()
        slow[1].end()
        assert done.wait(WAIT)
        slow[2].end()
        pipeline.tracer.start_span("execute_tool late", context=below, attributes=tool("late")).end()
        assert pipeline.processor.drain(WAIT)
        pipeline.processor.shutdown()
        assert [report.revision for report in pipeline.reports] == [0, 1]
        order = ["pass", "review", "block"]
        assert order.index(pipeline.reports[1].verdict) >= order.index(first.verdict)
        assert len({report.run_id for report in pipeline.reports}) == 1
        assert pipeline.processor.health().late_spans > 0
        assert sum(pipeline.metric("attest.runs").values()) == 1


class _Noting:
    def __init__(self, done: threading.Event) -> None:
        self._done = done

    def emit(self, evaluated: Any) -> None:
        """Note that a report went out."""
        self._done.set()

    def force_flush(self, timeout_millis: int) -> bool:
        """Do nothing."""
        return True


def test_runs_that_never_end_leave_by_age_and_say_so() -> None:
    """A run older than max_run_seconds is graded with what there is; its late end is one revision."""
    with live({"limits": {"max_run_seconds": 0.05, "grace_seconds": 0.05}}) as pipeline:
        done = threading.Event()
        pipeline.processor._pipeline._grader._sinks += (_Noting(done),)
        root = pipeline.tracer.start_span("agent", context=Context(), attributes=AGENT)
        pipeline.tracer.start_span("execute_tool t", context=trace.set_span_in_context(root), attributes=tool()).end()
        assert done.wait(WAIT)
        assert pipeline.processor.drain(WAIT)
        assert any("max_run_seconds" in text for text in pipeline.reports[0].incomplete)
        assert pipeline.reports[0].verdict == "review"
        root.end()


def _streaming_agent(seen: list[AgentRun]) -> Iterator[int]:
    with agent_run("a", task="t", tools=[]) as run:
        seen.append(run)
        yield from traced_dispatcher(lambda name, arguments: iter(range(10)))("t", "{}")


def _async_streaming_agent(seen: list[AgentRun]) -> Any:
    async def stream() -> Any:
        async with agent_run("a", task="t", tools=[]) as run:
            seen.append(run)
            for number in range(10):
                yield number

    return stream()


@pytest.mark.parametrize("how", ["closed", "collected", "async"])
def test_an_abandoned_stream_ends_its_run(how: str) -> None:
    """An agent whose generator is closed, collected or left in an event loop ends its run, with a report, and no hang."""
    seen: list[AgentRun] = []
    with recorded() as pipeline:
        if how == "async":

            async def consume() -> None:
                stream = _async_streaming_agent(seen)
                await anext(stream)
                await stream.aclose()

            asyncio.run(consume())
        else:
            stream = _streaming_agent(seen)
            assert next(stream) == 0
            if how == "closed":
                stream.close()  # type: ignore[attr-defined]
            del stream
            gc.collect()
        assert seen[0].report(WAIT).agent == "a"
        assert len(drained(pipeline)) == 1
        assert pipeline.processor.health().open_runs == 0
        assert not trace.get_current_span().is_recording()


@pytest.mark.parametrize("foreign", ["outside", "inside", "beside"])
def test_two_instrumentations_of_one_call_are_one_call(foreign: str) -> None:
    """A framework's span around, inside or beside ours of the same call is counted once."""
    given = tool("lookup", "fine", **{"gen_ai.tool.call.id": "c1", "gen_ai.tool.call.arguments": "{}"})
    with recorded() as pipeline:
        runs = trajectories(pipeline)
        start = pipeline.tracer.start_as_current_span

        def handler(name: str, arguments: str, call_id: str) -> str:
            if foreign == "inside":
                with start("execute_tool lookup", attributes=given):
                    return "fine"
            if foreign == "beside":
                here = trace.get_current_span().parent  # type: ignore[attr-defined]
                pipeline.tracer.start_span(
                    "t", context=set_span_in_context(NonRecordingSpan(here), Context()), attributes=given
                ).end()
            return "fine"

        with agent_run("a", task="t", tools=[Tool(name="lookup", side_effecting=True)]):
            if foreign == "outside":
                with start("execute_tool lookup", attributes=given):
                    traced_dispatcher(handler)("lookup", "{}", call_id="c1")
            else:
                traced_dispatcher(handler)("lookup", "{}", call_id="c1")
        (report,) = drained(pipeline)
        assert len(runs[0].steps) == 1
        assert len(findings(report, "tool_use")) == 1
        assert verdicts(report, "repetition") == ["distinct"]


def shape(run: Trajectory) -> Any:
    """Return what a run says, without its ids and times."""
    text = run.model_copy(update={"id": None, "started_at": None, "ended_at": None})
    steps = [
        (s.agent, s.tool_call.name, s.tool_call.arguments_raw, s.tool_call.output, s.tool_call.is_error)
        for s in text.steps
        if s.tool_call
    ]
    return (text.agent, text.task, text.final_answer, steps, text.incomplete)


def _handler(name: str, arguments: str) -> str:
    if name == "fail":
        raise ValueError(arguments)
    return f"{name} {arguments}"


def _agent(number: int) -> None:
    dispatch = traced_dispatcher(_handler)
    with agent_run(f"a{number}", task=f"task {number}", tools=[]) as run:
        for step in range(5):
            dispatch(f"t{step}", f'{{"n": {number}}}')
        with pytest.raises(ValueError, match=str(number)):
            dispatch("fail", str(number))
        with agent_run(f"sub{number}", task="part", tools=[]):
            dispatch("inner", str(number))
        run.final_answer = f"answer {number}"


async def _async_agent(number: int, pause: Callable[[float], Any]) -> None:
    async def handler(name: str, arguments: str) -> str:
        await pause(0)
        return _handler(name, arguments)

    dispatch = traced_dispatcher(handler)
    async with agent_run(f"a{number}", task=f"task {number}", tools=[]) as run:
        for step in range(5):
            await dispatch(f"t{step}", f'{{"n": {number}}}')
        with pytest.raises(ValueError, match=str(number)):
            await dispatch("fail", str(number))
        async with agent_run(f"sub{number}", task="part", tools=[]):
            await dispatch("inner", str(number))
        run.final_answer = f"answer {number}"


def _in_threads(count: int) -> None:
    with ThreadPoolExecutor(8) as pool:
        list(pool.map(_agent, range(count)))


def _in_asyncio(count: int) -> None:
    async def main() -> None:
        await asyncio.gather(*(_async_agent(number, asyncio.sleep) for number in range(count)))

    asyncio.run(main())


def _in_trio(count: int) -> None:
    async def main() -> None:
        async with trio.open_nursery() as nursery:
            for number in range(count):
                nursery.start_soon(_async_agent, number, trio.sleep)

    trio.run(main)


def _in_pools(count: int) -> None:
    """Each agent's calls go through a pool that all agents share."""
    with ThreadPoolExecutor(8) as shared, ThreadPoolExecutor(4) as agents:

        def agent(number: int) -> None:
            def pooled(name: str, arguments: str) -> str:
                return shared.submit(bind_context(_handler), name, arguments).result()

            dispatch = traced_dispatcher(pooled)
            with agent_run(f"a{number}", task=f"task {number}", tools=[]) as run:
                for step in range(5):
                    dispatch(f"t{step}", f'{{"n": {number}}}')
                with pytest.raises(ValueError, match=str(number)):
                    dispatch("fail", str(number))
                with agent_run(f"sub{number}", task="part", tools=[]):
                    dispatch("inner", str(number))
                run.final_answer = f"answer {number}"

        list(agents.map(agent, range(count)))


@pytest.mark.parametrize("together", [_in_threads, _in_asyncio, _in_trio, _in_pools])
def test_each_of_many_runs_at_once_is_the_one_recorded_alone(together: Callable[[int], None]) -> None:
    """Under threads, asyncio, trio and shared pools, with nested agents and failures, each trajectory equals its lone twin's."""
    count = 24
    with recorded() as pipeline:
        runs = trajectories(pipeline)
        for number in range(count):
            _agent(number)
        drained(pipeline)
        alone = {run.agent: shape(run) for run in runs}
        runs.clear()
        together(count)
        drained(pipeline)
        assert len(runs) == count
        assert {run.agent: shape(run) for run in runs} == alone


def _odd(span_id: int, parent: int | None = None, **more: Any) -> Started:
    above = SpanContext(5, parent, is_remote=False) if parent is not None else None
    return Started("t", context=SpanContext(5, span_id, is_remote=False, trace_flags=TraceFlags(1)), parent=above, **more)


@pytest.mark.parametrize(
    "times",
    [(100, 100), (100, 50), (0, 0), (None, None), (2**63, 1), (-5, -9)],
    ids=["equal", "end before start", "zero", "none", "jump", "negative"],
)
def test_times_that_make_no_sense_are_survived(times: tuple[Any, Any]) -> None:
    """Clock jumps, equal and missing times: every call is in the report, and its order is fixed."""
    with live() as pipeline:
        runs = trajectories(pipeline)
        start, end = times
        spans = [_odd(n, 1, attributes=tool(f"t{n}"), start_time=start, end_time=end) for n in range(2, 6)]
        root = _odd(1, attributes=AGENT, start_time=start, end_time=end)
        for turn in (spans, spans[::-1]):
            pass_through(pipeline, [root, *turn], [*turn, root])
            drained(pipeline)
        assert len(findings(pipeline.reports[0], "tool_use")) == 4
        named = [[step.tool_call.name for step in run.steps if step.tool_call] for run in runs]
        assert named[0] == ["t2", "t3", "t4", "t5"] == named[-1]


def test_duplicate_ids_cycles_and_missing_parents_are_survived() -> None:
    """Spans that share an id, are each other's parent or have a parent nobody saw: all are graded, none hangs."""
    with live({"limits": {"grace_seconds": 0.05, "max_run_seconds": 5.0}}) as pipeline:
        odd = [
            _odd(1, attributes=AGENT),
            _odd(2, 1, attributes=tool("twin")),
            _odd(2, 1, attributes=tool("twin")),
            _odd(3, 4, attributes=tool("left")),
            _odd(4, 3, attributes=tool("right")),
            _odd(5, 999, attributes=tool("lost")),
        ]
        pass_through(pipeline, odd, reversed(odd))
        assert pipeline.processor.drain(WAIT)
        pipeline.processor.shutdown()
        graded = [finding.subject for report in pipeline.reports for finding in findings(report, "tool_use")]
        assert sorted(set(graded), key=str) == ["left", "lost", "right", "twin"]
        assert all(report.verdict != "pass" for report in pipeline.reports)
