"""The state machine of runs: what makes a run, when it is handed over, and what is said to be missing."""

from __future__ import annotations

from typing import Any

import pytest
from opentelemetry import trace
from opentelemetry.context import Context
from opentelemetry.sdk.trace import ReadableSpan
from opentelemetry.trace import NonRecordingSpan, SpanContext, TraceFlags

from attest_otel.live.grading import rebuild
from attest_otel.live.runs import State
from attest_otel.quiet import own
from tests.live.helpers import AGENT, Bench, names, tool


def test_a_run_is_handed_over_when_its_root_has_ended() -> None:
    """A run with nothing open below its root is handed over at once, whole."""
    bench = Bench()
    root = bench.agent()
    bench.tool(root).end()
    assert bench.jobs() == []
    root.end()
    (job,) = bench.jobs()
    assert names(job) == ["agent", "execute_tool lookup"]
    assert job.incomplete == ()


def test_two_runs_of_one_trace_are_two() -> None:
    """Two agents below one server span are two runs, and the server span is none."""
    bench = Bench()
    server = bench.start("POST /batch")
    for _ in range(2):
        root = bench.agent(server)
        bench.tool(root).end()
        root.end()
        assert len(bench.jobs()) == 1
    server.end()
    assert bench.jobs() == []
    assert bench.buffer.runs.size < 10_000


def test_a_nested_agent_belongs_to_the_run_above() -> None:
    """A sub-agent's spans are counted once, in its parent's run."""
    bench = Bench()
    root = bench.agent()
    nested = bench.agent(root)
    bench.tool(nested).end()
    nested.end()
    assert bench.jobs() == []
    root.end()
    (job,) = bench.jobs()
    assert names(job) == ["agent", "agent", "execute_tool lookup"]


def test_without_an_agent_the_local_root_is_the_run() -> None:
    """A local root that holds a tool span is a run; one that holds none is nothing."""
    bench = Bench()
    server = bench.start("GET /")
    bench.tool(server).end()
    server.end()
    assert len(bench.jobs()) == 1
    bench.start("GET /health").end()
    assert bench.jobs() == []


def test_a_remote_parent_does_not_hide_the_local_root() -> None:
    """A span whose parent is in another process starts a run here."""
    bench = Bench()
    far = NonRecordingSpan(SpanContext(5, 6, is_remote=True, trace_flags=TraceFlags(1)))
    root = bench.agent(far)
    root.end()
    assert len(bench.jobs()) == 1


def remote(span: trace.Span) -> trace.Span:
    """What a server knows of the span that called it."""
    known = span.get_span_context()
    return NonRecordingSpan(SpanContext(known.trace_id, known.span_id, is_remote=True, trace_flags=known.trace_flags))


def test_a_protocols_server_in_its_clients_process_is_a_hop_of_the_call() -> None:
    """A tool span whose remote parent is open here is the same call seen twice: no orphan, and in the run."""
    bench = Bench()
    root = bench.agent()
    client = bench.tool(root)
    bench.tool(remote(client), "served").end()
    client.end()
    root.end()
    (job,) = bench.jobs()
    assert names(job) == ["agent", "execute_tool lookup", "execute_tool served"]


def test_only_a_tools_span_joins_a_remote_parent_that_is_open_here() -> None:
    """An agent that is called from outside is a run of its own, wherever the caller says it is; so is what comes too late."""
    bench = Bench()
    root = bench.agent()
    bench.agent(remote(root)).end()
    assert len(bench.jobs()) == 1
    root.end()
    assert [names(job) for job in bench.jobs()] == [["agent"]]
    bench.tool(remote(root), "late").end()
    assert [names(job) for job in bench.jobs()] == [["execute_tool late"]]


def test_an_agent_known_only_at_its_end_is_a_run_of_its_own() -> None:
    """A span that says at its end that it is an agent's takes what is below it out of the server's span."""
    bench = Bench()
    server = bench.start("POST /")
    late = bench.start("work", server)
    bench.tool(late).end()
    late.set_attributes(AGENT)
    late.end()
    (job,) = bench.jobs()
    assert names(job) == ["execute_tool lookup", "work"]
    server.end()
    assert bench.jobs() == []


def test_a_decided_trace_may_get_a_new_run() -> None:
    """A run below an ended span of another run, in the same trace, is a run of its own and not late."""
    bench = Bench()
    first = bench.agent()
    first.end()
    assert len(bench.jobs()) == 1
    second = bench.agent(first)
    bench.tool(second).end()
    second.end()
    (job,) = bench.jobs()
    assert names(job) == ["agent", "execute_tool lookup"]
    assert job.revision == 0


def test_open_spans_are_waited_for_and_then_said() -> None:
    """With something open below an ended root the run waits for the grace, then says what was open."""
    bench = Bench(grace_seconds=2.0)
    root = bench.agent()
    bench.tool(root, "slow")
    root.end()
    assert bench.pass_time(1.9) == pytest.approx(bench.clock.now + 0.1)
    assert bench.jobs() == []
    bench.pass_time(0.2)
    (job,) = bench.jobs()
    assert job.incomplete == ("incomplete: still open: execute_tool slow",)


def test_no_timer_runs_while_the_root_is_open() -> None:
    """An open run is not decided by the grace, only by the cap on its age."""
    bench = Bench(grace_seconds=2.0, max_run_seconds=900.0)
    root = bench.agent()
    bench.tool(root).end()
    bench.pass_time(899.0)
    assert bench.jobs() == []
    bench.pass_time(2.0)
    (job,) = bench.jobs()
    assert "max_run_seconds" in job.incomplete[0]
    assert names(job) == ["agent", "execute_tool lookup"]


def test_late_spans_lead_to_one_revision() -> None:
    """What was open at the verdict and ends later supersedes it once; what comes after that is counted."""
    bench = Bench(grace_seconds=2.0)
    root = bench.agent()
    first, second = bench.tool(root, "one"), bench.tool(root, "two")
    root.end()
    bench.pass_time(3.0)
    assert len(bench.jobs()) == 1
    first.end()
    assert bench.jobs() == []
    bench.pass_time(3.0)
    (job,) = bench.jobs()
    assert job.revision == 1
    assert job.incomplete == ("incomplete: still open: execute_tool two",)
    second.end()
    assert bench.pass_time(10.0) is None
    assert bench.jobs() == []
    assert bench.buffer.counts.read()["late"] == 2


def test_a_span_that_starts_after_the_verdict_is_late() -> None:
    """A detached tool call below a decided run leads to a revision that holds it."""
    bench = Bench()
    root = bench.agent()
    root.end()
    assert len(bench.jobs()) == 1
    bench.tool(root, "detached").end()
    (job,) = bench.jobs()
    assert job.revision == 1
    assert names(job) == ["agent", "execute_tool detached"]


@pytest.mark.parametrize("state", [State.QUEUED, State.EVALUATED, State.EVICTED])
def test_spans_are_handled_in_every_decided_state(state: State) -> None:
    """A start and an end in each state after the decision are counted, and no run leaks."""
    bench = Bench()
    root = bench.agent()
    root.end()
    (job,) = bench.jobs(grade=False)
    if state is not State.QUEUED:
        bench.buffer.runs.done(job.run, state)
    bench.tool(root).end()
    assert bench.buffer.counts.read()["late"] == 1
    assert len(bench.jobs(grade=False)) == (0 if state is State.EVICTED else 1)
    assert bench.buffer.runs.open == {}


def test_fragments_join_their_run_by_conversation() -> None:
    """A parentless tool span of a run's conversation is part of that run."""
    bench = Bench()
    root = bench.agent(None, **{"gen_ai.conversation.id": "c1"})
    bench.tool(None, "pooled", **{"gen_ai.conversation.id": "c1"}).end()
    bench.pass_time(60.0)
    assert bench.jobs() == []
    root.end()
    (job,) = bench.jobs()
    assert names(job) == ["agent", "execute_tool pooled"]


def test_fragments_of_nobody_are_graded_alone_once() -> None:
    """Parentless spans of one conversation without a run are one group, after the grace."""
    bench = Bench(grace_seconds=2.0)
    for name in ("one", "two"):
        bench.tool(None, name, **{"gen_ai.conversation.id": "c1"}).end()
    assert bench.jobs() == []
    bench.pass_time(2.5)
    (job,) = bench.jobs()
    assert names(job) == ["execute_tool one", "execute_tool two"]
    bench.tool(None, "unnamed").end()
    assert len(bench.jobs()) == 1


def test_the_oldest_run_leaves_when_too_many_are_open() -> None:
    """With more open runs than allowed the oldest is graded with what it has, and says so."""
    bench = Bench(max_open_runs=3)
    for _ in range(5):
        bench.tool(bench.agent()).end()
    jobs = bench.jobs()
    assert len(jobs) == 2
    assert all("max_open_runs" in job.incomplete[0] for job in jobs)
    assert len(bench.buffer.runs.open) == 3


def test_spans_beyond_the_cap_are_left_out_and_said() -> None:
    """A run keeps max_spans_per_run spans; further ones, and what is below them, are counted and make no runs."""
    bench = Bench(max_spans_per_run=3)
    root = bench.agent()
    for _ in range(4):
        above = bench.tool(root)
        bench.tool(above, "below").end()
        above.end()
    root.end()
    (job,) = bench.jobs()
    assert len(job.records) == 3
    assert job.incomplete == ("incomplete: 6 spans left out: the run has more than max_spans_per_run",)


def test_big_values_are_cut_and_said() -> None:
    """A 10 MB output costs at most twice the value cap, and its name is among what was cut."""
    bench = Bench(max_value_bytes=1_000)
    root = bench.agent()
    bench.tool(root, output="x" * 10_000_000).end()
    assert bench.buffer.runs.size < 5_000
    root.end()
    (job,) = bench.jobs()
    cut = next(record for record in job.records if record.cut)
    assert cut.cut == ("gen_ai.tool.call.result",)
    assert "10000000 characters, sha256" in cut.attributes["gen_ai.tool.call.result"]
    assert job.incomplete == ("truncated: 1 spans hold values bigger than max_value_bytes",)


def test_a_busy_run_is_cut_and_its_quiet_neighbour_is_not() -> None:
    """When one run fills all bytes, it is cut or pushed out; a small one keeps all it has."""
    bench = Bench(max_value_bytes=10_000, max_run_bytes=50_000, max_total_bytes=60_000)
    busy, quiet = bench.agent(), bench.agent()
    for _ in range(30):
        bench.tool(busy, output="x" * 5_000).end()
    bench.tool(quiet, output="y" * 5_000).end()
    quiet.end()
    busy.end()
    by_size = sorted(bench.jobs(), key=lambda job: len(job.records))
    assert by_size[0].incomplete == ()
    assert by_size[0].records[1].attributes["gen_ai.tool.call.result"] == "y" * 5_000
    assert "max_run_bytes" in by_size[1].incomplete[0]


def test_bytes_return_to_nothing() -> None:
    """Graded and forgotten runs hold no bytes, whatever went on in between."""
    bench = Bench(max_decided_runs=1, grace_seconds=1.0, max_value_bytes=64)
    for number in range(20):
        root = bench.agent()
        child = bench.tool(root, output="z" * 500)
        bench.buffer.content(0, {})
        if number % 3:
            child.end()
        root.end()
        bench.pass_time(2.0)
        bench.jobs()
    for run in bench.buffer.runs.memory.whole():
        bench.buffer.runs._let_go(run)
    assert bench.buffer.runs.size == 0
    assert bench.buffer._index == {}


def test_content_beside_a_span_takes_the_place_of_what_it_shows() -> None:
    """Full values handed over before the end are what the record holds."""
    bench = Bench()
    root = bench.agent()
    child = bench.tool(root, output="[redacted]")
    context = child.get_span_context()
    bench.buffer.content((context.trace_id << 64) | context.span_id, {"gen_ai.tool.call.result": "all of it"})
    child.end()
    root.end()
    (job,) = bench.jobs()
    assert "all of it" in [record.attributes.get("gen_ai.tool.call.result") for record in job.records]


def test_our_own_spans_and_the_quiet_trace_are_never_runs() -> None:
    """What has the shape of a judge's request or of an evaluation, and the quiet trace, are left alone."""
    bench = Bench()
    root = bench.agent()
    root.end()
    assert len(bench.jobs()) == 1
    bench.start_as("attest_otel.judge", "chat m", None, **{"gen_ai.operation.name": "chat"}).end()
    bench.start_as("attest_otel.evaluation", "evaluate a", root, **{"attest.verdict": "block"}).end()
    quiet = NonRecordingSpan(SpanContext(7, 6, is_remote=False, trace_flags=TraceFlags(1)))
    bench.agent(quiet).end()
    assert bench.jobs() == []
    counts = bench.buffer.counts.read()
    assert (counts["unknown"], counts["late"], counts["revised"]) == (0, 0, 0)


def test_a_span_of_our_making_is_left_alone_whatever_it_says() -> None:
    """The mark of our own making decides, and a span that is made without it is nobody's of ours."""
    bench = Bench()
    bench.tracer.start_span("execute_tool", context=own(Context()), attributes=tool()).end()
    assert bench.jobs() == []
    assert bench.buffer.counts.read()["unknown"] == 0
    bench.tool().end()
    assert len(bench.jobs()) == 1


SCOPES = ["attest_otel.judge", "attest_otel.evaluation"]


@pytest.mark.parametrize("scope", SCOPES)
@pytest.mark.parametrize("marks", [{}, {"gen_ai.operation.name": "chat"}], ids=["nothing", "chat"])
def test_a_span_under_our_name_hides_no_call_below_it(scope: str, marks: dict[str, str]) -> None:
    """Within a run it is a span like any other, and the tool below it a call of the run."""
    bench = Bench()
    root = bench.agent()
    between = bench.start_as(scope, "ours?", root, **marks)
    bench.tool(between).end()
    between.end()
    root.end()
    (job,) = bench.jobs()
    run = rebuild(job)
    assert [step.tool_call.name for step in run.steps if step.tool_call is not None] == ["lookup"]


@pytest.mark.parametrize("scope", SCOPES)
def test_a_span_under_our_name_outside_of_every_run_hides_nothing_either(scope: str) -> None:
    """At the top of a trace it is left out at most itself: the tool below it is graded."""
    bench = Bench()
    top = bench.start_as(scope, "ours?", None, **{"gen_ai.operation.name": "chat"})
    bench.tool(top).end()
    top.end()
    graded = [step for job in bench.jobs() for step in rebuild(job).steps]
    assert [step.tool_call.name for step in graded if step.tool_call is not None] == ["lookup"]


LATER: list[tuple[str, dict[str, str], dict[str, str]]] = [
    ("attest_otel.judge", {"gen_ai.operation.name": "chat"}, tool()),
    ("attest_otel.judge", {"gen_ai.operation.name": "chat"}, {"gen_ai.output.messages": "[]"}),
    ("attest_otel.evaluation", {}, tool()),
    ("attest_otel.evaluation", {}, {"gen_ai.operation.name": "invoke_agent"}),
]


@pytest.mark.parametrize(("scope", "at_first", "later"), LATER)
def test_what_shows_only_at_its_end_that_it_is_not_ours_is_graded(
    scope: str, at_first: dict[str, str], later: dict[str, str]
) -> None:
    """A stranger's span that starts in the shape of ours and says later what it is makes a run of its own."""
    bench = Bench()
    span = bench.start_as(scope, "ours?", None, **at_first)
    span.set_attributes(later)
    span.end()
    (job,) = bench.jobs()
    assert names(job) == ["ours?"]
    assert bench.buffer.counts.read()["unknown"] == 0


def test_the_end_of_an_unknown_span_is_counted() -> None:
    """A span whose start was never seen makes no run."""
    bench = Bench()
    context = SpanContext(1, 2, is_remote=False)
    bench.buffer.end(ReadableSpan("stray", context=context, attributes=tool()), 1.0)
    bench.buffer.end(ReadableSpan("no context"), 1.0)
    assert bench.jobs() == []
    assert bench.buffer.counts.read()["unknown"] == 1


def test_duplicate_ids_and_double_ends_are_survived() -> None:
    """Two spans with one id are both stored; a second end of one span is counted and ignored."""
    bench = Bench()
    root = bench.agent()
    child = bench.tool(root)
    assert isinstance(child, ReadableSpan)
    bench.buffer.start(child, 1.0)
    child.end()
    bench.buffer.end(child, 1.0)
    root.end()
    (job,) = bench.jobs()
    assert names(job) == ["agent", "execute_tool lookup"]
    assert bench.buffer.counts.read()["duplicate"] == 2


def test_a_span_that_is_its_own_parent_is_a_root() -> None:
    """A cycle of one does not hang or hide the run."""
    bench = Bench()
    context = SpanContext(1, 2, is_remote=False)
    span = ReadableSpan("loop", context=context, parent=context, attributes=AGENT, start_time=2, end_time=1)
    bench.buffer.start(span, 1.0)
    bench.buffer.end(span, 1.0)
    assert len(bench.jobs()) == 1


def test_shutdown_decides_what_is_open() -> None:
    """Open runs are handed over with what has ended, and with the root as far as it came."""
    bench = Bench()
    root = bench.agent()
    bench.tool(root).end()
    bench.buffer.runs.decide_all("shutdown", bench.clock.now)
    (job,) = bench.jobs()
    assert names(job) == ["agent", "execute_tool lookup"]
    assert [text.split(":")[0] for text in job.incomplete] == ["incomplete", "incomplete"]
    assert isinstance(root, trace.Span)


def test_the_memory_of_decided_runs_is_bounded() -> None:
    """Of many decided runs only so many are remembered, and few keep their spans."""
    bench = Bench(max_decided_runs=10)
    for _ in range(50):
        root = bench.agent()
        root.end()
        bench.jobs()
    assert len(bench.buffer.runs.memory._runs) == 10
    assert len(bench.buffer._index) <= 10


CHAT: dict[str, Any] = {"gen_ai.operation.name": "chat", "gen_ai.request.model": "m"}
SAID: dict[str, Any] = {"gen_ai.output.messages": '[{"role": "assistant", "parts": [{"type": "text", "content": "Done."}]}]'}


def test_the_sdks_own_view_of_a_model_call_joins_the_run_of_the_call() -> None:
    """A span without content in a trace of its own, inside a model call of a run, is no run: two views are one call."""
    bench = Bench()
    root = bench.agent()
    outer = bench.start("chat", root, **CHAT, **SAID)
    bench.start_as("com.sdk", "create", None, **CHAT).end()
    outer.end()
    bench.pass_time(1.0)
    assert bench.jobs() == []
    root.end()
    (job,) = bench.jobs()
    assert (len(job.records), job.incomplete) == (3, ())
    bench.pass_time(99.0)
    assert bench.jobs() == []


def test_a_silent_model_call_inside_two_runs_is_nobodys() -> None:
    """Where two runs at once made a model call around it nobody can tell whose it is: it is graded alone."""
    bench = Bench()
    roots = [bench.agent() for _ in range(2)]
    outers = [bench.start("chat", root, **CHAT, **SAID) for root in roots]
    bench.start_as("com.sdk", "create", None, **CHAT).end()
    for span in [*outers, *roots]:
        span.end()
    bench.pass_time(99.0)
    assert sorted(len(job.records) for job in bench.jobs()) == [1, 2, 2]


def test_a_silent_model_call_around_which_there_is_none_is_graded_alone() -> None:
    """It waits for a run as any fragment does, and no longer; where no run is open it doesn't wait at all."""
    bench = Bench()
    bench.start_as("com.sdk", "create", None, **CHAT).end()
    assert len(bench.jobs()) == 1
    root = bench.agent()
    bench.start_as("com.sdk", "create", None, **CHAT).end()
    assert bench.jobs() == []
    bench.pass_time(99.0)
    assert len(bench.jobs()) == 1
    root.end()
    assert [len(job.records) for job in bench.jobs()] == [1]


def test_all_that_a_run_holds_is_graded_with_it() -> None:
    """An agent that shows itself only at its end, below a run that is over and waits for another span, is lost to neither."""
    bench = Bench()
    root = bench.agent()
    still = bench.tool(root, "slow")
    root.end()
    inner = bench.start("inner", root)
    bench.tool(inner, "refund").end()
    inner.set_attributes(AGENT)
    inner.end()
    still.end()
    (job,) = bench.jobs()
    rebuilt = rebuild(job)
    assert sorted(step.tool_call.name for step in rebuilt.steps if step.tool_call is not None) == ["refund", "slow"]
