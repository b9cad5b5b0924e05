"""Property 1: with a fault at any seam, the application's result and its own exception are unchanged."""

from __future__ import annotations

import asyncio
import concurrent.futures
import inspect
import logging
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from types import SimpleNamespace
from typing import Any

import pytest
from opentelemetry import context, trace
from opentelemetry.sdk.trace import TracerProvider

from attest_otel import content
from attest_otel.export import callback, logs, metrics, spans
from attest_otel.formats import strict_json
from attest_otel.live import admission, buffer, deciding, grading, intake, pipeline, processor, waiting, worker
from attest_otel.live.lane import Lane
from attest_otel.record import agent_run as agent_module
from attest_otel.record import (
    capture_limits,
    dispatched_call,
    open_runs,
    provider_bytes,
    run_requests,
    settings,
    tool_requests,
    tool_span,
)
from attest_otel.record.agent_run import agent_run
from attest_otel.record.dispatcher import traced_dispatcher
from tests.live.helpers import AGENT, WAIT, Live, tool
from tests.reliability.helpers import Started, drained, findings, pass_through, recorded


class OurError(RuntimeError):
    """The fault that is injected."""


class TheirError(ValueError):
    """The application's own exception."""


def _fail(*_: Any, **__: Any) -> Any:
    raise OurError


SEAMS: list[tuple[Any, str]] = [
    (processor.AttestSpanProcessor, "on_start"),
    (processor.AttestSpanProcessor, "on_end"),
    (processor.AttestSpanProcessor, "accept_content"),
    (processor.AttestSpanProcessor, "report_waiter"),
    (intake.Intake, "start"),
    (intake.Intake, "end"),
    (processor, "put_first"),
    (admission.Admission, "start"),
    (admission.Admission, "end"),
    (worker.Worker, "wake"),
    (worker.Worker, "call"),
    (worker.Worker, "may_hold"),
    (worker.Worker, "_start"),
    (worker.Worker, "_handle"),
    (worker.Worker, "_round"),
    (buffer.Buffer, "start"),
    (buffer.Buffer, "end"),
    (buffer.Buffer, "content"),
    (buffer.Buffer, "knows"),
    (buffer.Buffer, "root_of"),
    (buffer, "from_sdk"),
    (buffer, "cut_record"),
    (buffer, "kind_of"),
    (deciding.Decider, "tick"),
    (deciding.Decider, "decide"),
    (deciding.Decider, "take_ready"),
    (deciding.Decider, "done"),
    (pipeline.Pipeline, "waiter"),
    (pipeline.Pipeline, "_submit_ready"),
    (pipeline.Pipeline, "_on_graded"),
    (Lane, "submit"),
    (Lane, "watch"),
    (waiting.Waiters, "add"),
    (waiting.Waiters, "answer"),
    (grading.Grader, "grade"),
    (grading, "rebuild"),
    (grading, "run_one"),
    (grading, "RunView"),
    (metrics.EvaluationMetrics, "emit"),
    (spans.EvaluationSpans, "emit"),
    (logs.EvaluationLogs, "emit"),
    (callback.Callback, "emit"),
    (content, "offer"),
    (content, "waiter_for"),
    (settings, "current"),
    (settings.RecorderSettings, "tracer"),
    (settings.RecorderSettings, "shown"),
    (agent_module.AgentRun, "_start"),
    (agent_module.AgentRun, "_finish"),
    (agent_module.AgentRun, "_say_incomplete"),
    (agent_module, "agent_content"),
    (agent_module, "RunRequests"),
    (run_requests, "inside"),
    (agent_module, "enter"),
    (open_runs, "opened"),
    (tool_span.ToolCallRecorder, "_start"),
    (tool_span.ToolCallRecorder, "_finish"),
    (tool_span.ToolCallRecorder, "_full"),
    (tool_span.ToolCallRecorder, "_record_error"),
    (tool_span, "read_result"),
    (tool_span, "dump_json"),
    (tool_span, "inside_tool"),
    (tool_requests.RequestReader, "read"),
    (tool_requests.AskedCall, "matches"),
    (dispatched_call, "take"),
    (dispatched_call, "complete"),
    (open_runs, "find"),
    (run_requests.RunRequests, "not_run"),
    (strict_json, "parse"),
    (provider_bytes.ProviderBytes, "take"),
    (capture_limits._log, "warning"),
    (logging.getLogger("attest_otel"), "warning"),
    (inspect, "isawaitable"),
]
NAMES = [f"{getattr(owner, '__name__', type(owner).__name__).rpartition('.')[2]}.{name}" for owner, name in SEAMS]


@dataclass
class Outcome:
    """What the application saw."""

    results: list[Any]
    errors: list[BaseException]


def application(sentinel: Any, error: BaseException, tracer: trace.Tracer) -> Outcome:
    """An agent with calls of every form, and one that somebody else's instrumentation records; it keeps what it gets."""
    seen = Outcome([], [])

    def dispatch(name: str, arguments: Any) -> Any:
        if name == "raise":
            raise error
        return sentinel

    async def dispatch_async(name: str, arguments: Any) -> Any:
        return dispatch(name, arguments)

    traced, traced_async = traced_dispatcher(dispatch), traced_dispatcher(dispatch_async)

    async def calls() -> None:
        async with agent_run("async", task="t"):
            seen.results.append(await traced_async("ok", "{}"))
            try:
                await traced_async("raise", {"a": 1})
            except BaseException as caught:
                seen.errors.append(caught)

    with agent_run("a", task="t", tools=[], allowed_tools=["ok"]) as run:
        seen.results.append(traced("ok", "{}"))
        seen.results.append(traced("ok", {"a": 1}))
        seen.results.append(
            traced_dispatcher(lambda block: sentinel)(SimpleNamespace(type="tool_use", id="1", name="ok", input={}))
        )
        try:
            traced("raise", "{}")
        except BaseException as caught:
            seen.errors.append(caught)
        run.final_answer = "done"
    asyncio.run(calls())
    around: list[Any] = [agent_run("b", task="t"), tracer.start_as_current_span("agent", attributes=AGENT)]
    for run in around:
        try:
            with run, tracer.start_as_current_span("execute_tool t", attributes=tool()):
                raise error
        except BaseException as caught:
            seen.errors.append(caught)
    return seen


@pytest.fixture
def live_one(monkeypatch: pytest.MonkeyPatch) -> Iterator[Live]:
    """A pipeline with short deadlines, so that a broken one is closed soon."""
    monkeypatch.setattr(capture_limits, "_said", set())
    with recorded({"limits": {"shutdown_seconds": 0.2}, "export": {"log_events": True}}) as pipeline_one:
        yield pipeline_one


@pytest.mark.parametrize(("owner", "name"), SEAMS, ids=NAMES)
def test_a_fault_at_any_seam_changes_nothing(owner: Any, name: str, live_one: Live) -> None:
    """Results are the same objects, exceptions the same exceptions, and flushing and shutting down raise nothing."""
    hook = owner is processor.AttestSpanProcessor and name in {"on_start", "on_end"}
    sentinel, error = object(), TheirError("mine")
    before = context.get_current()
    with pytest.MonkeyPatch.context() as patch:
        if hook:
            patch.setattr(processor.AttestSpanProcessor, "_log", None, raising=False)
            live_one.processor._log = None  # type: ignore[assignment]
        else:
            patch.setattr(owner, name, _fail)
        if owner in {intake.Intake, admission.Admission}:
            live_one.processor._turned_away[1] = True
        seen = application(sentinel, error, live_one.tracer)
        live_one.provider.force_flush(200)
        live_one.provider.shutdown()
    assert [result is sentinel for result in seen.results] == [True] * 4
    assert [caught is error for caught in seen.errors] == [True] * 4
    assert context.get_current() == before


class Rude(trace.NoOpTracerProvider):
    """Another processor of the same provider, which raises."""

    def __init__(self, *where: str) -> None:
        self.where = where

    def on_start(self, span: Any, parent_context: Any = None) -> None:
        """Raise when a span of the recorder starts."""
        if "start" in self.where:
            raise OurError

    def on_end(self, span: Any) -> None:
        """Raise when a span of the recorder ends."""
        if "end" in self.where:
            raise OurError

    def _on_ending(self, span: Any) -> None:
        pass

    def shutdown(self) -> None:
        """Stop."""


@pytest.mark.parametrize("where", ["start", "end"])
def test_a_processor_of_others_that_raises_does_not_reach_the_agent_through_us(where: str, live_one: Live) -> None:
    """The spans are ours: a fault of another processor while we make them is not the agent's."""
    live_one.provider.add_span_processor(Rude(where))  # type: ignore[arg-type]
    sentinel, error = object(), TheirError("mine")
    seen = application(sentinel, error, trace.NoOpTracer())
    assert [result is sentinel for result in seen.results] == [True] * 4
    assert [caught is error for caught in seen.errors] == [True] * 4


def test_an_agent_whose_tracer_fails_runs_and_says_why_it_has_no_report(live_one: Live, monkeypatch: pytest.MonkeyPatch) -> None:
    """`agent_run` enters though no span could be made; calls by hand work; `report` is a clear error."""
    monkeypatch.setattr(settings.RecorderSettings, "tracer", _fail)
    with agent_run("a", task="t") as run:
        call = run.tool_call("x", "{}")
        call.output = "fine"
        call.end()
    with pytest.raises(TimeoutError, match="nobody grades"):
        run.report(1)


def test_a_call_by_hand_outside_of_its_run_is_no_error(live_one: Live) -> None:
    """A call recorded before the run was entered, or after it ended, raises nothing."""
    run = agent_run("a", task="t")
    run.tool_call("early").end()
    with run:
        pass
    run.tool_call("late").end()


class Evil:
    """Every way of looking at it raises, or never ends."""

    def __init__(self, how: str) -> None:
        object.__setattr__(self, "how", how)

    def _do(self) -> Any:
        if object.__getattribute__(self, "how") == "raise":
            raise OurError
        return self._do()

    def __str__(self) -> str:
        return str(self._do())

    __repr__ = __str__

    def __len__(self) -> int:
        return int(self._do())

    def __bool__(self) -> bool:
        return bool(self._do())

    def __iter__(self) -> Iterator[Any]:
        return iter(self._do())

    def __eq__(self, other: object) -> bool:
        return bool(self._do())

    def __hash__(self) -> int:
        return int(self._do())

    def __getattr__(self, name: str) -> Any:
        return self._do()


class Masked:
    """Its class is a lie that raises."""

    @property  # type: ignore[misc]
    def __class__(self) -> Any:
        raise OurError


def _itself() -> list[Any]:
    found: list[Any] = []
    found.append(found)
    return found


EVIL: list[tuple[str, Callable[[], Any]]] = [
    ("raises", lambda: Evil("raise")),
    ("recurses", lambda: Evil("recurse")),
    ("masked", Masked),
    ("itself", _itself),
    ("in a list", lambda: [Evil("raise")]),
    ("as a key", lambda: {_Key(): 1}),
    ("as a value", lambda: {"a": Evil("recurse")}),
]


class _Key:
    def __hash__(self) -> int:
        return 1

    def __eq__(self, other: object) -> bool:
        return self is other

    def __str__(self) -> str:
        raise OurError


@pytest.mark.parametrize("place", ["arguments", "result", "attribute", "received", "error"])
@pytest.mark.parametrize("make", [make for _, make in EVIL], ids=[name for name, _ in EVIL])
def test_values_that_raise_or_recurse_pass_through(make: Callable[[], Any], place: str, live_one: Live) -> None:
    """As arguments, results, attributes or inside an exception they reach whom they were meant for, and the run is graded."""
    value = make()
    with agent_run("a", task="t", tools=[]) as run:
        if place == "arguments":
            assert traced_dispatcher(lambda name, arguments: arguments)("t", value) is value
        elif place == "result":
            assert traced_dispatcher(lambda name, arguments: value)("t", "{}") is value
        elif place == "received":
            with run.tool_call("t", "{}") as call:
                call.received = value
                call.output = value
        elif place == "attribute":
            here = trace.get_current_span().get_span_context()
            ids = trace.SpanContext(here.trace_id, 1, is_remote=False)
            foreign = Started(
                "execute_tool t", context=ids, parent=here, attributes={**tool(), "x": value, "gen_ai.tool.call.result": value}
            )
            pass_through(live_one, [foreign], [])
            live_one.processor.accept_content(here.trace_id, 1, {"gen_ai.tool.call.arguments": value})
            pass_through(live_one, [], [foreign])
        else:
            error = TheirError(value)
            with pytest.raises(TheirError) as caught:
                traced_dispatcher(_raiser(error))("t", "{}")
            assert caught.value is error
    assert run.report(WAIT) is not None


def _raiser(error: BaseException) -> Callable[[str, str], Any]:
    def dispatch(name: str, arguments: str) -> Any:
        raise error

    return dispatch


def test_a_future_stays_the_future_it_is(live_one: Live) -> None:
    """A dispatcher that returns a future returns that future; its span ends with it, whatever the end."""
    futures: list[concurrent.futures.Future[str]] = [concurrent.futures.Future() for _ in range(3)]
    with agent_run("a", task="t", tools=[]) as run:
        for future in futures:
            assert traced_dispatcher(lambda name, arguments, given=future: given)("t", "{}") is future
        futures[0].set_result("fine")
        futures[1].set_exception(TheirError("no"))
        futures[2].cancel()
        futures[2].set_running_or_notify_cancel()

    async def loop() -> Any:
        future: asyncio.Future[str] = asyncio.get_running_loop().create_future()
        asyncio.get_running_loop().call_soon(future.set_result, "later")
        traced = traced_dispatcher(lambda name, arguments: future)("t", "{}")
        assert traced is future
        return await traced

    assert asyncio.run(loop()) == "later"
    report = run.report(WAIT)
    assert len(findings(report, "tool_use")) == 3
    assert not any("open" in text for text in report.incomplete)


def test_calls_that_could_not_be_recorded_are_said(live_one: Live, monkeypatch: pytest.MonkeyPatch) -> None:
    """A run whose calls our own fault left out is incomplete, and never passes."""
    with monkeypatch.context() as patch, agent_run("a", task="t", tools=[]) as run:
        patch.setattr(tool_requests.RequestReader, "read", _fail)
        traced_dispatcher(lambda name, arguments: "fine")("t", "{}")
    report = run.report(WAIT)
    assert report.verdict == "review"
    assert any("not recorded" in text for text in report.incomplete)


def test_content_that_could_not_be_recorded_is_said(live_one: Live, monkeypatch: pytest.MonkeyPatch) -> None:
    """A run whose task, tools and answer our own fault lost is incomplete, and its report can still be had."""
    with monkeypatch.context() as patch, agent_run("a", task="t", tools=[]) as run:
        patch.setattr(agent_module, "agent_content", _fail)
        run.__exit__(None, None, None)
    report = run.report(WAIT)
    assert report.verdict == "review"
    assert any("recorder failed" in text for text in report.incomplete)


def test_one_receivers_fault_is_not_anothers(live_one: Live, monkeypatch: pytest.MonkeyPatch) -> None:
    """Of two processors, one that fails costs the other neither content nor its report."""
    broken = processor.AttestSpanProcessor(
        {}, tracer_provider=TracerProvider(shutdown_on_exit=False), meter_provider=live_one.meters
    )
    content.subscribe(live_one.processor)
    monkeypatch.setattr(broken, "accept_content", _fail)
    monkeypatch.setattr(broken, "report_waiter", _fail)
    settings.configure(settings.RecorderSettings(live_one.provider, "off"))
    with agent_run("a", task="t", tools=[]) as run:
        traced_dispatcher(lambda name, arguments: "Error: boom")("t", "{}")
    assert [finding.verdict for finding in findings(run.report(WAIT), "tool_use")] == ["error_silent"]
    broken.shutdown()
    assert len(drained(live_one)) == 1
