"""Agent runs and dispatched calls as spans: what is recorded, and that the agent never notices."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from types import SimpleNamespace
from typing import Any

import pytest
import trio
from opentelemetry import baggage, context
from opentelemetry.sdk.trace import ReadableSpan, TracerProvider
from opentelemetry.sdk.trace.export import SimpleSpanProcessor
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter

from attest_otel import attributes as names
from attest_otel.errors import ReportTimeoutError
from attest_otel.record import capture_limits, settings
from attest_otel.record.agent_run import agent_run
from attest_otel.record.dispatcher import bind_context, traced_dispatcher
from attest_otel.record.settings import RecorderSettings
from attest_otel.record.tools import Tools
from attest_otel.trajectory import Tool


class Spans:
    """The spans of one test, by name."""

    def __init__(self) -> None:
        self.exporter = InMemorySpanExporter()
        self.provider = TracerProvider()
        self.provider.add_span_processor(SimpleSpanProcessor(self.exporter))

    def all(self) -> list[ReadableSpan]:
        """Return every finished span."""
        return list(self.exporter.get_finished_spans())

    def one(self, name: str) -> dict[str, Any]:
        """Return the attributes of the one span of a name."""
        (span,) = [s for s in self.all() if s.name == name]
        return dict(span.attributes or {})


@pytest.fixture
def spans() -> Iterator[Spans]:
    """Record onto a provider of this test, with full capture."""
    found = Spans()
    before = settings._settings
    settings.configure(RecorderSettings(tracer_provider=found.provider, capture="full"))
    yield found
    settings._settings = before
    found.provider.shutdown()


RAW = [
    '{"amount_cents": 4200.0}',
    '{"amount_cents":1,"amount_cents":9900}',
    '{"n":1e2}',
    '{"n":1234567890123456789}',
    '{ "reason" : "caf\\u00e9 \\ud83d\\ude00" , "a" : 1}',
    "",
    '{"order_id": "A-10',
]


@pytest.mark.parametrize("raw", RAW)
def test_raw_text_comes_through_to_the_character(spans: Spans, raw: str) -> None:
    """Text given to the dispatcher is the span's arguments, untouched."""
    got: list[str] = []

    def dispatch(name: str, arguments: str) -> str:
        got.append(arguments)
        return "ok"

    with agent_run("a", task="t"):
        assert traced_dispatcher(dispatch)("tool", raw) == "ok"
    assert got == [raw]
    attributes = spans.one("execute_tool tool")
    assert attributes[names.TOOL_CALL_ARGUMENTS] == raw
    assert attributes[names.TOOL_CALL_RESULT] == "ok"
    assert names.ARGUMENTS_RECEIVED not in attributes


BLOCKS: list[Any] = [
    SimpleNamespace(type="tool_use", id="toolu_1", name="tool", input={"a": 1}),
    {"type": "tool_use", "id": "toolu_1", "name": "tool", "input": {"a": 1}},
    SimpleNamespace(id="toolu_1", type="function", function=SimpleNamespace(name="tool", arguments='{"a": 1}')),
    {"id": "toolu_1", "type": "function", "function": {"name": "tool", "arguments": '{"a": 1}'}},
    {"type": "function_call", "call_id": "toolu_1", "name": "tool", "arguments": '{"a": 1}'},
]


@pytest.mark.parametrize("block", BLOCKS)
def test_providers_blocks(spans: Spans, block: Any) -> None:
    """`dispatch(block)` understands the tool-use blocks of Anthropic and OpenAI, objects and mappings."""
    with agent_run("a", task="t"):
        traced_dispatcher(lambda block: "ok")(block)
    attributes = spans.one("execute_tool tool")
    assert attributes[names.TOOL_CALL_ID] == "toolu_1"
    assert json.loads(str(attributes[names.TOOL_CALL_ARGUMENTS])) == {"a": 1}


def test_received_is_taken_before_the_handler_changes_it(spans: Spans) -> None:
    """A handler that changes its arguments does not change what was recorded."""

    def dispatch(name: str, arguments: dict[str, Any]) -> None:
        arguments.clear()

    with agent_run("a", task="t"):
        traced_dispatcher(dispatch)(name="tool", arguments={"a": 1})
    attributes = spans.one("execute_tool tool")
    assert attributes[names.ARGUMENTS_RECEIVED] == '{"a": 1}'
    assert attributes[names.TOOL_CALL_RESULT] == ""
    assert json.loads(str(attributes[names.RECORDED]))["arguments"] == "reserialized"


class Boom(Exception):  # noqa: N818  # an agent's own exception
    """What an agent's tool raises."""


def test_exceptions_pass_through_and_are_recorded(spans: Spans) -> None:
    """The handler's own exception reaches the agent, the same object, and the span says ERROR."""
    boom = Boom("order_id MISSING")

    def dispatch(name: str, arguments: str) -> str:
        raise boom

    with pytest.raises(Boom) as caught, agent_run("a", task="t"):
        traced_dispatcher(dispatch)("tool", "{}")
    assert caught.value is boom
    tool, agent = spans.all()
    assert (tool.status.status_code.name, dict(tool.attributes or {})[names.ERROR_TYPE]) == ("ERROR", "Boom")
    assert dict(tool.events[0].attributes or {}) == {"exception.type": "Boom", "exception.message": "order_id MISSING"}
    assert agent.status.status_code.name == "ERROR"


@pytest.mark.parametrize("error", [KeyboardInterrupt, SystemExit, asyncio.CancelledError, GeneratorExit])
def test_a_span_is_closed_whatever_ends_the_call(spans: Spans, error: type[BaseException]) -> None:
    """Interrupts and cancellations close both spans with a status and are not swallowed."""

    def dispatch(name: str, arguments: str) -> str:
        raise error

    with pytest.raises(error), agent_run("a", task="t"):
        traced_dispatcher(dispatch)("tool", "{}")
    assert [s.status.status_code.name for s in spans.all()] == ["ERROR", "ERROR"]


async def _async_agent() -> str:
    async def dispatch(name: str, arguments: str) -> str:
        return f"{name}:{arguments}"

    async with agent_run("a", task="t") as run:
        run.final_answer = await traced_dispatcher(dispatch)("tool", "{}")
        return run.final_answer


def test_async_dispatch_under_asyncio_and_trio(spans: Spans) -> None:
    """An async dispatcher stays async, under asyncio and trio, and nests below its run."""
    assert asyncio.run(_async_agent()) == trio.run(_async_agent) == "tool:{}"
    tool, agent, *_ = spans.all()
    assert tool.parent is not None
    assert agent.context is not None
    assert tool.parent.span_id == agent.context.span_id


def test_a_sync_dispatcher_that_returns_a_coroutine(spans: Spans) -> None:
    """The span of a call that returns an awaitable ends when the awaitable does."""

    async def work() -> str:
        return "later"

    async def agent() -> str:
        with agent_run("a", task="t"):
            return await traced_dispatcher(lambda name, arguments: work())("tool", "{}")

    assert asyncio.run(agent()) == "later"
    assert spans.one("execute_tool tool")[names.TOOL_CALL_RESULT] == "later"


def test_a_streamed_result_is_absent_not_empty(spans: Spans) -> None:
    """A generator's output is not known when it is returned: recorded as absent."""
    with agent_run("a", task="t"):
        result = traced_dispatcher(lambda name, arguments: (part for part in ("a", "b")))("tool", "{}")
    assert "".join(result) == "ab"
    attributes = spans.one("execute_tool tool")
    assert names.TOOL_CALL_RESULT not in attributes
    assert json.loads(str(attributes[names.RECORDED]))["output"] == "absent"


RESULTS: list[tuple[Any, str, bool | None]] = [
    ("text", "text", None),
    (None, "", None),
    ({"a": 1}, '{"a": 1}', None),
    ({"type": "tool_result", "content": [{"type": "text", "text": "no"}], "is_error": True}, "no", True),
    (SimpleNamespace(content=[SimpleNamespace(type="text", text="x")], isError=False), "x", False),
    ({"isError": False, "content": [{"type": "text", "text": "x"}]}, "x", False),
    ({"isError": True, "content": "no"}, "no", True),
    ({"isError": False, "content": [], "error": "declined"}, '{"isError": false, "content": [], "error": "declined"}', None),
    ({"isError": False, "error": "declined"}, '{"isError": false, "error": "declined"}', None),
    ([{"type": "text", "text": "a"}, {"type": "text", "text": "b"}], "a\nb", None),
    (b"bytes", "bytes", None),
    (3, "3", None),
]


@pytest.mark.parametrize(("result", "text", "flag"), RESULTS)
def test_results(spans: Spans, result: Any, text: str, flag: bool | None) -> None:
    """Results of every kind become the text the model is shown, with the flag they carry."""
    with agent_run("a", task="t"):
        assert traced_dispatcher(lambda name, arguments: result)("tool", "{}") is result
    attributes = spans.one("execute_tool tool")
    assert attributes[names.TOOL_CALL_RESULT] == text
    assert attributes.get(names.IS_ERROR) == flag


class Hostile:
    """Every way of looking at it fails."""

    def __str__(self) -> str:
        raise RuntimeError

    __repr__ = __str__

    def __getattr__(self, name: str) -> Any:
        raise RuntimeError

    def __iter__(self) -> Any:
        raise RuntimeError

    def __eq__(self, other: object) -> bool:
        raise RuntimeError

    __hash__ = None  # type: ignore[assignment]


@pytest.mark.parametrize("shape", ["bare", "dict", "list"])
def test_hostile_values_never_reach_the_agent(spans: Spans, shape: str) -> None:
    """Arguments and results that raise when looked at pass through unchanged."""
    hostile = Hostile()
    arguments: Any = {"bare": hostile, "dict": {"a": hostile}, "list": [hostile]}[shape]
    with agent_run("a", task="t"):
        assert traced_dispatcher(lambda name, arguments: hostile)("tool", arguments) is hostile
    assert len(spans.all()) == 2


def test_agent_span(spans: Spans) -> None:
    """The agent span carries task, instructions, tools, answer and ids under the conventions' names."""
    tools = Tools([Tool(name="x", side_effecting=True, input_schema={"type": "object"}, description="d")])
    with agent_run(
        "a", task="t", system_prompt="s", tools=tools, allowed_tools=["x"], tool_fallbacks={"x": ["y"]}, conversation_id="c"
    ) as run:
        run.final_answer = "done"
    attributes = spans.one("invoke_agent a")
    assert attributes[names.OPERATION_NAME] == "invoke_agent"
    assert (attributes[names.AGENT_NAME], attributes[names.CONVERSATION_ID]) == ("a", "c")
    assert json.loads(attributes[names.INPUT_MESSAGES]) == [{"role": "user", "parts": [{"type": "text", "content": "t"}]}]
    assert json.loads(attributes[names.SYSTEM_INSTRUCTIONS]) == [{"type": "text", "content": "s"}]
    assert json.loads(attributes[names.OUTPUT_MESSAGES])[0]["parts"][0]["content"] == "done"
    assert json.loads(attributes[names.TOOLS]) == [
        {"name": "x", "side_effecting": True, "input_schema": {"type": "object"}, "description": "d"}
    ]
    assert json.loads(attributes[names.ALLOWED_TOOLS]) == ["x"]
    assert json.loads(attributes[names.TOOL_FALLBACKS]) == {"x": ["y"]}


def test_case_id_from_baggage(spans: Spans) -> None:
    """A canary request carries its case in baggage; an argument wins over it."""
    token = context.attach(baggage.set_baggage(names.CASE_ID, "canary"))
    try:
        with agent_run("a", task="t"), agent_run("b", task="t", case_id="own"):
            pass
    finally:
        context.detach(token)
    assert spans.one("invoke_agent a")[names.CASE_ID] == "canary"
    assert spans.one("invoke_agent b")[names.CASE_ID] == "own"


def test_calls_by_hand(spans: Spans) -> None:
    """`tool_call` records a call; without a `with` block it closes with the run."""
    with agent_run("a", task="t") as run:
        with run.tool_call("x", '{"a": 1.0}', call_id="c1") as call:
            call.output = "ok"
            call.exit_code = 0
        run.tool_call("y").output = "late"
    attributes = spans.one("execute_tool x")
    assert (attributes[names.TOOL_CALL_ARGUMENTS], attributes[names.EXIT_CODE]) == ('{"a": 1.0}', 0)
    assert spans.one("execute_tool y")[names.TOOL_CALL_RESULT] == "late"


def test_capture_off_shows_no_content(spans: Spans) -> None:
    """With `capture: off` no content attribute is on any span, exception messages included."""
    settings.configure(RecorderSettings(tracer_provider=spans.provider, capture="off"))

    def dispatch(name: str, arguments: str) -> str:
        raise Boom("CANARY")

    with suppress(Boom), agent_run("a", task="CANARY", system_prompt="CANARY") as run:
        run.final_answer = "CANARY"
        traced_dispatcher(dispatch)("tool", '{"a": "CANARY"}')
    assert len(spans.all()) == 2
    assert "CANARY" not in "".join(span.to_json() for span in spans.all())


def test_threads_keep_their_run(spans: Spans) -> None:
    """`bind_context` keeps pooled calls in their run, each in a context of its own."""
    with agent_run("a", task="t"), ThreadPoolExecutor(4) as pool:
        dispatch = bind_context(traced_dispatcher(lambda name, arguments: arguments))
        assert list(pool.map(dispatch, ["tool"] * 20, [str(n) for n in range(20)])) == [str(n) for n in range(20)]
    *tools, agent = spans.all()
    assert agent.context is not None
    assert {t.parent.span_id for t in tools if t.parent} == {agent.context.span_id}


@pytest.mark.parametrize("bound", [True, False])
def test_a_call_that_no_run_has_is_told(
    spans: Spans, bound: bool, caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Calls in threads that know of no run are told once, with the remedy; with the remedy nothing is told."""
    monkeypatch.setattr(capture_limits, "_said", set())
    dispatch = traced_dispatcher(lambda name, arguments: arguments)
    with agent_run("a", task="t"), ThreadPoolExecutor(2) as pool:
        list(pool.map(bind_context(dispatch) if bound else dispatch, ["tool"] * 4, ["{}"] * 4))
    told = [record.getMessage() for record in caplog.records]
    assert len(told) == (0 if bound else 1)
    assert all("bind_context" in text for text in told)


def test_the_context_is_as_it_was(spans: Spans) -> None:
    """After a run the current span, context and baggage are what they were before."""
    before = context.get_current()
    with agent_run("a", task="t"):
        traced_dispatcher(lambda name, arguments: "ok")("tool", "{}")
        assert context.get_current() is not before
    assert context.get_current() == before


def test_report_says_why_there_is_none(spans: Spans) -> None:
    """Without a processor, or before the run has ended, `report` is a clear error and no hang."""
    with agent_run("a", task="t") as run, pytest.raises(ReportTimeoutError, match="has not ended"):
        run.report(1)
    with pytest.raises(TimeoutError, match="no AttestSpanProcessor"):
        run.report(1)


PARTITIONS: list[tuple[dict[str, Any], str]] = [
    ({"side_effecting": {"a"}}, "undeclared: b"),
    ({"side_effecting": {"a"}, "read_only": {"a", "b"}}, "both side-effecting and read-only: a"),
    ({"side_effecting": {"a"}, "read_only": {"b", "c"}}, "not a registered tool: c"),
]


@pytest.mark.parametrize(("partition", "message"), PARTITIONS)
def test_the_partition_is_exhaustive(partition: dict[str, Any], message: str) -> None:
    """A tool without a declaration, with two, or one that isn't registered is refused by name."""
    definitions = [{"name": "a", "input_schema": {"type": "object"}}, {"name": "b", "input_schema": {"type": "object"}}]
    with pytest.raises(ValueError, match=message):
        Tools.from_anthropic(definitions, **partition)


def test_mcp_annotations_declare() -> None:
    """MCP's readOnlyHint and destructiveHint count as declarations; names given win."""
    tools = Tools.from_mcp(
        [
            {"name": "r", "inputSchema": {}, "annotations": {"readOnlyHint": True}},
            {"name": "w", "inputSchema": {}, "annotations": {"destructiveHint": True, "idempotentHint": True}},
        ]
    )
    assert [(t.name, t.side_effecting, t.idempotent) for t in tools] == [("r", False, None), ("w", True, True)]
