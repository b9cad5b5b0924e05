"""What the model was heard to ask for and nothing ran: said, and never said of what ran or was not meant to run."""

from __future__ import annotations

import json
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import Context
from dataclasses import dataclass, field
from typing import Any

import anthropic
import httpx2
import pytest
from opentelemetry import context as otel_context
from opentelemetry.trace import set_span_in_context

from attest_otel.gaps import Gap, read_gap
from attest_otel.record import settings
from attest_otel.record.agent_run import AgentRun, agent_run
from attest_otel.record.anthropic_http import anthropic_http_client
from attest_otel.record.dispatcher import traced_dispatcher
from attest_otel.testing import Answer, MessagesServer, RawBlock, Reply, Text, ToolUse, Wire
from attest_otel.trajectory import Tool, Trajectory
from tests.live.helpers import WAIT, Live, tool
from tests.reliability.helpers import recorded, trajectories

LOOKUP = ToolUse("lookup", '{"n": 1.0}', "toolu_1")
OTHER = ToolUse("lookup", '{"n": 2.0}', "toolu_2")
REPORT = ToolUse("report", '{"text": "All is well.", "score": 4.0, "parts": [{"a": 1}]}', "toolu_r")
DONE = Reply("Done.")
TOOLS = [Tool(name="lookup", side_effecting=False), Tool(name="report", side_effecting=False)]


@dataclass
class Model:
    """A conversation with the scripted model over the real client."""

    client: anthropic.Anthropic
    messages: list[Any] = field(default_factory=lambda: [{"role": "user", "content": "q"}])

    def ask(self, *, stream: bool = False, **more: Any) -> list[Any]:
        """Send what was said so far, and return the tool-use blocks of the answer."""
        asked: dict[str, Any] = {"model": "m", "max_tokens": 50, "messages": self.messages, **more}
        if stream:
            with self.client.messages.stream(**asked) as events:
                message: Any = events.get_final_message()
        else:
            message = self.client.messages.create(**asked)
        self.messages = [*self.messages, {"role": "assistant", "content": [b.model_dump() for b in message.content]}]
        return [block for block in message.content if block.type == "tool_use"]

    def answer(self, *blocks: Any) -> None:
        """Say what the tools returned."""
        results = [{"type": "tool_result", "tool_use_id": block.id, "content": "fine"} for block in blocks]
        self.messages = [*self.messages, {"role": "user", "content": results}]


@contextmanager
def scripted(*answers: Answer) -> Iterator[Model]:
    """Serve these answers to a noting client."""
    with (
        MessagesServer(answers) as server,
        anthropic.Anthropic(
            base_url=server.base_url, api_key="k", max_retries=0, http_client=anthropic_http_client(trust_env=False)
        ) as client,
    ):
        yield Model(client)


@dataclass
class Bench:
    """A live pipeline, and every run as it was rebuilt."""

    pipeline: Live
    runs: list[Trajectory]

    def run(self, name: str = "a") -> Trajectory:
        """Wait for all runs, and return the one of an agent."""
        assert self.pipeline.processor.drain(WAIT)
        (found,) = [run for run in self.runs if run.agent == name]
        return found

    def left(self, name: str = "a") -> list[str]:
        """Return which calls an agent's run says were requested and not run."""
        return [text for gap, text in map(read_gap, self.run(name).incomplete) if gap is Gap.REQUESTED_NOT_RUN]


@pytest.fixture
def bench() -> Iterator[Bench]:
    """A live pipeline that the recorder writes to."""
    with recorded() as pipeline:
        yield Bench(pipeline, trajectories(pipeline))


def elsewhere(*actions: Callable[[], Any]) -> None:
    """Run actions in threads that inherit no context, as a pool's do."""
    threads = [threading.Thread(target=Context().run, args=(action,)) for action in actions]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(WAIT)


def dispatcher(*, tools: list[Tool] | None = None) -> Callable[..., Any]:
    """Return a traced `dispatch(name, arguments, ...)`."""
    return traced_dispatcher(lambda name, arguments, **more: "fine", tools=tools)


def calls(run: Trajectory) -> list[tuple[str, str | None]]:
    """Return the names and raw texts of a run's calls."""
    return [(step.tool_call.name, step.tool_call.arguments_raw) for step in run.steps if step.tool_call is not None]


# What a user does in a thread pool with one block: each must end up in the run, to the character.
WAYS: dict[str, Callable[[Any], Any]] = {
    "block": traced_dispatcher(lambda block: "fine"),
    "name and dict": lambda block: dispatcher()(block.name, block.input),
    "name, dict and id": lambda block: dispatcher()(block.name, block.input, tool_use_id=block.id),
    "name and text": lambda block: dispatcher()(block.name, json.dumps(block.input)),
    "changed, with the id": lambda block: dispatcher()(block.name, {**block.input, "more": 1}, call_id=block.id),
    "renamed, with the id": lambda block: dispatcher()("my_lookup", block.input, call_id=block.id),
    "with an id of its own": lambda block: dispatcher()(block.name, block.input, call_id="job-7"),
}


@pytest.mark.parametrize("way", WAYS)
def test_a_pools_calls_join_the_run_whose_model_asked_for_them(bench: Bench, way: str) -> None:
    """Without `bind_context`: one run, with both calls and the provider's text of each."""
    with scripted(Reply([LOOKUP, OTHER]), DONE) as model, agent_run("a", task="t", tools=TOOLS) as run:
        blocks = model.ask()
        elsewhere(*(lambda block=block: WAYS[way](block) for block in blocks))
        model.answer(*blocks)
        model.ask()
        run.final_answer = "Done."
    found = calls(bench.run())
    assert sorted(text or "" for _, text in found) == [LOOKUP.input_text, OTHER.input_text]
    assert bench.left() == []
    assert len(bench.runs) == 1


@pytest.mark.parametrize("way", WAYS)
def test_calls_inside_the_run_leave_nothing(bench: Bench, way: str) -> None:
    """The same calls on the run's own thread."""
    with scripted(Reply([LOOKUP, OTHER]), DONE) as model, agent_run("a", task="t", tools=TOOLS):
        blocks = model.ask()
        for block in blocks:
            WAYS[way](block)
        model.answer(*blocks)
        model.ask()
    assert [text for _, text in calls(bench.run())] == [LOOKUP.input_text, OTHER.input_text]
    assert bench.left() == []


def test_a_call_made_again_joins_too(bench: Bench) -> None:
    """A tool that is tried twice under one id is two calls of the run."""
    with scripted(Reply([LOOKUP])) as model, agent_run("a", task="t"):
        (block,) = model.ask()
        for _ in range(2):
            elsewhere(lambda: WAYS["block"](block))
    assert len(calls(bench.run())) == 2
    assert len(bench.runs) == 1


def test_equal_ids_of_two_runs_are_told_apart_by_the_text(bench: Bench) -> None:
    """Where ids repeat, a call goes to the run whose model said just this."""
    again = ToolUse("lookup", '{"n": 9.0}', "toolu_1")
    with scripted(Reply([LOOKUP])) as first, scripted(Reply([again])) as second, agent_run("a", task="t"):
        (one,) = first.ask()
        with agent_run("b", task="t"):
            (other,) = second.ask()
            elsewhere(lambda: WAYS["block"](one), lambda: WAYS["block"](other))
    run = bench.run()
    assert sorted((step.agent or [], step.tool_call.arguments_raw) for step in run.steps if step.tool_call is not None) == [
        ([], LOOKUP.input_text),
        (["b"], again.input_text),
    ]


def _two_runs(model_a: Model, model_b: Model, way: Callable[[Any], Any]) -> None:
    """Open two runs side by side, and dispatch what the first one's model asked for where no run is known."""
    ready, go_on = threading.Event(), threading.Event()

    def second() -> None:
        with agent_run("b", task="t"):
            model_b.ask()
            ready.set()
            assert go_on.wait(WAIT)

    thread = threading.Thread(target=Context().run, args=(second,))
    with agent_run("a", task="t"):
        (block,) = model_a.ask()
        thread.start()
        assert ready.wait(WAIT)
        elsewhere(lambda: way(block))
        go_on.set()
        thread.join(WAIT)


def test_a_call_that_two_runs_asked_for_is_nobodys(bench: Bench) -> None:
    """Without an id, equal calls of two open runs are not given to either: both say so, and the call is an orphan."""
    twin = ToolUse("lookup", '{"n": 1.0}', "toolu_9")
    with scripted(Reply([LOOKUP])) as a, scripted(Reply([twin])) as b:
        _two_runs(a, b, WAYS["name and dict"])
    assert (bench.left("a"), bench.left("b")) == (["lookup, call toolu_1"], ["lookup, call toolu_9"])
    assert len(bench.runs) == 3


def test_a_call_of_another_run_that_is_open_is_not_taken(bench: Bench) -> None:
    """A call goes to the run that asked, not to another that is open."""
    with scripted(Reply([LOOKUP])) as a, scripted(Reply([OTHER])) as b:
        _two_runs(a, b, WAYS["name and dict"])
    assert bench.left("a") == []
    assert bench.left("b") == ["lookup, call toolu_2"]
    assert calls(bench.run("a")) == [("lookup", LOOKUP.input_text)]


@pytest.mark.parametrize("way", ["block", "name and dict"])
def test_a_thread_with_a_span_of_its_own(bench: Bench, way: str) -> None:
    """Under a foreign span only id and text together say whose a call is; else it is where its span is."""
    with scripted(Reply([LOOKUP])) as model, agent_run("a", task="t"):
        (block,) = model.ask()

        def work() -> None:
            with bench.pipeline.tracer.start_as_current_span("worker"):
                WAYS[way](block)

        elsewhere(work)
    joined = way == "block"
    assert bench.left() == ([] if joined else ["lookup, call toolu_1"])
    assert len(calls(bench.run())) == joined


def test_a_span_put_below_the_run_by_hand_stays_there(bench: Bench) -> None:
    """A thread that was given the run's span, and not its context, records below that span, with the provider's text."""
    with scripted(Reply([LOOKUP])) as model, agent_run("a", task="t") as run:
        (block,) = model.ask()

        def work() -> None:
            with bench.pipeline.tracer.start_as_current_span("batch", context=set_span_in_context(run.span)):
                WAYS["block"](block)

        elsewhere(work)
    assert calls(bench.run()) == [("lookup", LOOKUP.input_text)]
    spans = {span.name: span for span in bench.pipeline.exporter.get_finished_spans()}
    parent, batch = spans["execute_tool lookup"].parent, spans["batch"].context
    assert parent is not None
    assert batch is not None
    assert parent.span_id == batch.span_id


def test_an_opentelemetry_context_alone_carries_the_run(bench: Bench) -> None:
    """Instrumentations and frameworks carry that context into threads, and no context variable: model and tools are the run's."""
    with scripted(Reply([LOOKUP])) as model, agent_run("a", task="t"):
        carried = otel_context.get_current()

        def work() -> None:
            otel_context.attach(carried)
            for block in model.ask():
                dispatcher()(block.name, {**block.input, "more": 1})

        elsewhere(work)
    assert calls(bench.run()) == [("lookup", LOOKUP.input_text)]
    assert bench.left() == []


def test_what_a_joined_tool_does_is_inside_the_run(bench: Bench) -> None:
    """An agent that a pooled tool runs is a nested agent of the run."""

    def handler(block: Any) -> str:
        with agent_run("inner", task="t"):
            dispatcher()("look", {})
        return "fine"

    with scripted(Reply([LOOKUP])) as model, agent_run("a", task="t"):
        (block,) = model.ask()
        elsewhere(lambda: traced_dispatcher(handler)(block))
    assert [step.agent for step in bench.run().steps] == [None, ["inner"]]
    assert len(bench.runs) == 1


def test_a_run_that_has_ended_is_joined_no_more(bench: Bench) -> None:
    """A call that comes after its run's end was not run by then: the run says so, and the call is an orphan."""
    with scripted(Reply([LOOKUP])) as model, agent_run("a", task="t"):
        (block,) = model.ask()
    elsewhere(lambda: WAYS["block"](block))
    assert bench.left() == ["lookup, call toolu_1"]
    assert len(bench.runs) == 2


# A call that nothing recorded: what the application did with it, and whether the run must say so.
Act = Callable[[Model, AgentRun], None]


def _answered(model: Model, run: AgentRun) -> None:
    blocks = model.ask()
    model.answer(*blocks)
    model.ask()
    run.final_answer = "Done."


def _streamed(model: Model, run: AgentRun) -> None:
    model.answer(*model.ask(stream=True))
    model.ask(stream=True)


def _stopped(model: Model, run: AgentRun) -> None:
    model.ask()
    run.final_answer = "I looked it up."


def _silent(model: Model, run: AgentRun) -> None:
    model.ask()


def _one_of_two(model: Model, run: AgentRun) -> None:
    blocks = model.ask()
    dispatcher()(blocks[0].name, blocks[0].input, call_id=blocks[0].id)
    dispatcher()(blocks[0].name, blocks[0].input, call_id=blocks[0].id)
    model.answer(*blocks)
    model.ask()


def _effect_is_no_answer(model: Model, run: AgentRun) -> None:
    run.tools = [Tool(name="lookup", side_effecting=True)]
    (block,) = model.ask(tool_choice={"type": "tool", "name": "lookup"})
    run.final_answer = json.dumps(block.input)


def _forced_and_answered(model: Model, run: AgentRun) -> None:
    model.answer(*model.ask(tool_choice={"type": "tool", "name": "lookup"}))
    model.ask()


def _fetched_before(model: Model, run: AgentRun) -> None:
    dispatcher()("lookup", {"n": 7})
    model.answer(*model.ask())
    model.ask()


def _failed(model: Model, run: AgentRun) -> None:
    run.final_answer = "q"
    model.ask()


ONE = ["lookup, call toolu_1"]
SAID: list[tuple[Act, tuple[Answer, ...], list[str]]] = [
    (_answered, (Reply([LOOKUP]), DONE), ONE),
    (_answered, (Reply([LOOKUP, OTHER]), DONE), [*ONE, "lookup, call toolu_2"]),
    (_streamed, (Reply([Text("Look."), LOOKUP]), DONE), ONE),
    (_stopped, (Reply([LOOKUP]),), ONE),
    (_silent, (Reply([LOOKUP]),), ONE),
    (_one_of_two, (Reply([LOOKUP, OTHER]), DONE), ["lookup, call toolu_2"]),
    (_effect_is_no_answer, (Reply([LOOKUP]),), ONE),
    (_forced_and_answered, (Reply([LOOKUP]), DONE), ONE),
    (_failed, (Reply([LOOKUP]),), ONE),
    (_fetched_before, (Reply([LOOKUP]), DONE), ONE),
    (_silent, (Reply([ToolUse("lookup", "", "toolu_1")]),), ONE),
]


@pytest.mark.parametrize(("act", "answers", "said"), SAID, ids=[f"{n}-{act.__name__}" for n, (act, _, _) in enumerate(SAID)])
def test_a_call_that_nothing_took_is_said(bench: Bench, act: Act, answers: tuple[Answer, ...], said: list[str]) -> None:
    """The run names each call, and its verdict is no pass."""
    with scripted(*answers) as model, agent_run("a", task="t", tools=TOOLS) as run:
        act(model, run)
    assert bench.left() == said
    report = run.report(WAIT)
    assert report.verdict == "review"
    (coverage,) = [result for result in report.results if result.check == "coverage"]
    reasons = [finding.reason for finding in coverage.findings if finding.verdict == "requested_not_run"]
    assert all(reason.startswith("The model asked for a call, and nothing shows that it ran.") for reason in reasons)
    assert len(reasons) == len(said)


def _by_hand(name: str, raw: str | None = None, call_id: str | None = None, **more: Any) -> Act:
    def act(model: Model, run: AgentRun) -> None:
        model.answer(*model.ask())
        with run.tool_call(name, raw, call_id=call_id, **more) as call:
            call.output = "fine"
        model.ask()

    return act


def _answers_with(text: Callable[[Any], Any]) -> Act:
    def act(model: Model, run: AgentRun) -> None:
        (block,) = model.ask()
        run.final_answer = text(block.input)

    return act


def _forced(model: Model, run: AgentRun) -> None:
    model.ask(tool_choice={"name": "report", "disable_parallel_tool_use": True, "type": "tool"})
    run.final_answer = "Seen."


def _routed(model: Model, run: AgentRun) -> None:
    """Read the input of a first answer, and begin another conversation."""
    before = model.messages
    model.ask()
    model.messages = before
    model.ask()


def _cut(model: Model, run: AgentRun) -> None:
    with pytest.raises(httpx2.RemoteProtocolError):
        model.ask(stream=True)
    run.final_answer = "Sorry."


def _cut_and_again(model: Model, run: AgentRun) -> None:
    _cut(model, run)
    for block in model.ask(stream=True):
        WAYS["block"](block)


def _closed_early(model: Model, run: AgentRun) -> None:
    with model.client.messages.stream(model="m", max_tokens=5, messages=model.messages) as events:
        for event in events:
            if event.type == "content_block_stop":
                break


def _nested_for_it(name: str, task: str) -> Act:
    def act(model: Model, run: AgentRun) -> None:
        blocks = model.ask()
        with agent_run(name, task=task):
            pass
        model.answer(*blocks)
        model.ask()

    return act


def _dispatched_in_nested(way: str) -> Act:
    def act(model: Model, run: AgentRun) -> None:
        blocks = model.ask()
        with agent_run("worker", task="other"):
            for block in blocks:
                WAYS[way](block)
        model.answer(*blocks)
        model.ask()

    return act


def _dispatched_in_another_run(model: Model, run: AgentRun) -> None:
    blocks = model.ask()

    def work() -> None:
        with agent_run("b", task="t"):
            for block in blocks:
                WAYS["block"](block)

    elsewhere(work)
    model.answer(*blocks)
    model.ask()


def _rewritten_without_ids(model: Model, run: AgentRun) -> None:
    blocks = model.ask()
    for block in blocks:
        dispatcher()(block.name, {**block.input, "with": "defaults"})
    model.answer(*blocks)
    model.ask()


def _renamed(change: Callable[[str], str]) -> Act:
    def act(model: Model, run: AgentRun) -> None:
        blocks = model.ask()
        for block in blocks:
            dispatcher()(change(block.name), block.input)
        model.answer(*blocks)
        model.ask()

    return act


def _foreign_spans(*ids: str | None) -> Act:
    def act(model: Model, run: AgentRun) -> None:
        blocks = model.ask()
        for call_id in ids:
            marks = {} if call_id is None else {"gen_ai.tool.call.id": call_id}
            with run_tracer(run).start_as_current_span("execute_tool lookup", attributes=tool("lookup", **marks)):
                pass
        model.answer(*blocks)
        model.ask()

    return act


def run_tracer(run: AgentRun) -> Any:
    """Return a tracer of somebody else on the run's own provider."""
    provider = settings.current().tracer_provider
    assert provider is not None
    return provider.get_tracer("theirs")


SERVER_TOOL = RawBlock('{"type":"server_tool_use","id":"srvtoolu_1","name":"web_search","input":{"query":"x"}}')
PREFIXED = ToolUse("mcp__shop__lookup", '{"n": 1.0}', "toolu_p")
ASK_AGENT = ToolUse("ask_researcher", '{"question": "Why?"}', "toolu_n")
TOLD: dict[str, tuple[Act, tuple[Answer, ...]]] = {
    "by hand, same id": (_by_hand("lookup", call_id="toolu_1"), (Reply([LOOKUP]), DONE)),
    "by hand, same id and another name": (_by_hand("look", "{}", call_id="toolu_1"), (Reply([LOOKUP]), DONE)),
    "by hand, same name and text": (_by_hand("lookup", '{"n": 1.0}'), (Reply([LOOKUP]), DONE)),
    "by hand, same name and value": (_by_hand("lookup", arguments={"n": 1}), (Reply([LOOKUP]), DONE)),
    "the answer is the input": (_answers_with(json.dumps), (Reply([REPORT]),)),
    "the answer is the input as a value": (_answers_with(lambda given: given), (Reply([REPORT]),)),
    "the answer is the input with defaults": (_answers_with(lambda g: json.dumps({**g, "by": "us"})), (Reply([REPORT]),)),
    "the answer is a text of the input": (_answers_with(lambda given: given["text"] + "\n"), (Reply([REPORT]),)),
    "the answer is a number of the input": (_answers_with(lambda given: "4"), (Reply([REPORT]),)),
    "the answer is a part of the input": (_answers_with(lambda given: json.dumps(given["parts"])), (Reply([REPORT]),)),
    "forced": (_forced, (Reply([REPORT]),)),
    "read and gone on": (_routed, (Reply([REPORT]), DONE)),
    "out of tokens": (_silent, (Reply([LOOKUP], stop_reason="max_tokens"),)),
    "refused": (_silent, (Reply([LOOKUP], stop_reason="refusal"),)),
    "cut after the input": (_cut, (Reply([LOOKUP, "x" * 5000], wire=Wire(cut_after_bytes=3000)),)),
    "cut and asked again": (_cut_and_again, (Reply([LOOKUP, "x" * 5000], wire=Wire(cut_after_bytes=3000)), Reply([OTHER]))),
    "closed by the application": (_closed_early, (Reply([LOOKUP, "x" * 5000], wire=Wire(pause_seconds=0.001)),)),
    "server tool": (_silent, (Reply([SERVER_TOOL, "Found."], stop_reason="end_turn"),)),
    "nested agent named as the tool": (_nested_for_it("researcher", "look into it"), (Reply([ASK_AGENT]), DONE)),
    "nested agent with the text as task": (_nested_for_it("helper", "Why?"), (Reply([ASK_AGENT]), DONE)),
    "dispatched in a nested run": (_dispatched_in_nested("block"), (Reply([LOOKUP, OTHER]), DONE)),
    "dispatched in a nested run, no id": (_dispatched_in_nested("name and dict"), (Reply([LOOKUP, OTHER]), DONE)),
    "dispatched in another run": (_dispatched_in_another_run, (Reply([LOOKUP]), DONE)),
    "rewritten, no ids": (_rewritten_without_ids, (Reply([LOOKUP, OTHER]), DONE)),
    "prefix taken off, no ids": (_renamed(lambda name: name.removeprefix("mcp__shop__")), (Reply([PREFIXED]), DONE)),
    "prefix put on, no ids": (_renamed(lambda name: f"shop.{name}"), (Reply([LOOKUP, OTHER]), DONE)),
    "cut and asked again under the same id": (
        _cut_and_again,
        (Reply([LOOKUP, "x" * 5000], wire=Wire(cut_after_bytes=3000)), Reply([LOOKUP])),
    ),
    "a protocol's span of a prefixed tool": (_foreign_spans(None), (Reply([PREFIXED]), DONE)),
    "recorded by another instrumentation": (_foreign_spans("toolu_1"), (Reply([LOOKUP]), DONE)),
    "recorded by another instrumentation, no id": (_foreign_spans(None), (Reply([LOOKUP]), DONE)),
}


@pytest.mark.parametrize("case", TOLD)
def test_a_call_that_ran_or_was_not_meant_to_is_not_said(bench: Bench, case: str) -> None:
    """Recorded in any way, thrown away, cut off, or read as the answer: the run is whole."""
    act, answers = TOLD[case]
    with scripted(*answers) as model, agent_run("a", task="t", tools=TOOLS) as run:
        act(model, run)
    assert bench.left() == []


def test_one_foreign_span_without_an_id_stands_for_one_call(bench: Bench) -> None:
    """Two calls of one tool and one span of it: one call is missing."""
    with scripted(Reply([LOOKUP, OTHER]), DONE) as model, agent_run("a", task="t") as run:
        _foreign_spans(None)(model, run)
    assert bench.left() == ["lookup, call toolu_2"]


def test_one_nested_agent_stands_for_one_call(bench: Bench) -> None:
    """Two calls for an agent and one agent that ran: one call is missing; an agent inside a dispatched tool stands for none."""
    second = ToolUse("ask_researcher", '{"question": "How?"}', "toolu_m")

    def research(block: Any) -> str:
        with agent_run("researcher", task="t"):
            return "fine"

    with scripted(Reply([ASK_AGENT, second]), DONE) as model, agent_run("a", task="t"):
        blocks = model.ask()
        traced_dispatcher(research)(blocks[0])
        model.answer(*blocks)
        model.ask()
    assert bench.left() == ["ask_researcher, call toolu_m"]


def test_an_agent_inside_a_tool_takes_none_of_the_outer_ones_notes(bench: Bench) -> None:
    """A tool's own agent that makes an equal call of its own leaves the outer run's second call its text."""

    def handler(name: str, arguments: Any) -> str:
        if arguments.get("n") == 1:
            with agent_run("inner", task="t"):
                dispatcher()("lookup", {"n": 2})
        return "fine"

    with scripted(Reply([LOOKUP, OTHER])) as model, agent_run("a", task="t"):
        for block in model.ask():
            traced_dispatcher(handler)(block.name, block.input)
    steps = [(step.agent, step.tool_call.arguments_raw) for step in bench.run().steps if step.tool_call is not None]
    assert steps == [(None, LOOKUP.input_text), (["inner"], None), (None, OTHER.input_text)]
    assert bench.left() == []


def test_a_plain_client_claims_nothing(bench: Bench) -> None:
    """Where nobody heard what the model asked for, nothing is said of it."""
    with (
        MessagesServer([Reply([LOOKUP]), DONE]) as server,
        anthropic.Anthropic(
            base_url=server.base_url, api_key="k", http_client=anthropic.DefaultHttpxClient(trust_env=False)
        ) as client,
    ):
        model = Model(client)
        with agent_run("a", task="t") as run:
            _answered(model, run)
    assert bench.left() == []


def test_many_calls_are_bounded(bench: Bench) -> None:
    """Of more calls than are named, the number is."""
    many = [ToolUse("lookup", f'{{"n": {n}}}', f"toolu_{n}") for n in range(130)]
    with scripted(Reply(many)) as model, agent_run("a", task="t") as run:
        model.ask()
    texts = bench.run().incomplete
    assert len(texts) <= 21
    assert "further gaps" in texts[-1]
    assert run.report(WAIT).verdict == "review"


def test_a_hand_record_gets_the_providers_text(bench: Bench) -> None:
    """A call recorded by its id alone, or with equal parsed arguments, has the text as the model emitted it."""
    with scripted(Reply([LOOKUP, OTHER])) as model, agent_run("a", task="t") as run:
        model.ask()
        run.tool_call("lookup", call_id="toolu_1").end()
        run.tool_call("lookup", call_id="toolu_2", arguments={"n": 2}).end()
    assert calls(bench.run()) == [("lookup", LOOKUP.input_text), ("lookup", OTHER.input_text)]


def test_text_written_anew_is_what_the_handler_got(bench: Bench) -> None:
    """An application that dispatches its own JSON of a parsed input: the provider's text is the raw one."""
    doubled = ToolUse("lookup", '{"n": 1, "n": 2}', "toolu_1")
    with scripted(Reply([doubled])) as model, agent_run("a", task="t"):
        (block,) = model.ask()
        dispatcher()(block.name, json.dumps(block.input))
    (step,) = bench.run().steps
    assert step.tool_call is not None
    assert (step.tool_call.arguments_raw, step.tool_call.arguments_received) == (doubled.input_text, {"n": 2})
