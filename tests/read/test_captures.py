"""What real instrumentations' spans tell: the golden table of sources and fields."""

from __future__ import annotations

import json
import random
from pathlib import Path
from typing import Any

import pytest

from attest_otel.read.files import read_runs
from attest_otel.read.otlp import read_logs, read_spans, with_events
from attest_otel.trajectory import ToolCall, Trajectory
from tests.read.spans import CAPTURES, arguments_of, calls, dump, runs

FILES = sorted(path.name for path in CAPTURES.glob("*.json") if not path.name.endswith(".logs.json"))
SILENT = "otel-genai-anthropic-no-content__refund.json"
TASK = "What is the status of order A-1001?"
SYSTEM = "You are a support agent for an online shop. Use the tools."
ORDER = {"order_id": "A-1001", "item": "blue mug", "status": "delivered", "total_cents": 4200}
LAMP = {"order_id": "A-1002", "item": "lamp", "status": "shipped", "total_cents": 1999}
REFUNDED = {"refunded": True, "order_id": "A-1001", "amount_cents": 4200}
REFUND = {"order_id": "A-1001", "amount_cents": 4200, "reason": "damaged"}
GET = ("get_order", {"order_id": "A-1001"}, ORDER)
NAMES = ["get_order", "issue_refund", "list_orders"]

SCENARIOS: dict[str, tuple[list[tuple[str, Any, Any]], str]] = {
    "basic": ([GET], "Order A-1001 is a blue mug, delivered; total 42.00 EUR."),
    "stream": ([GET], "Order A-1001 is a blue mug, delivered; total 42.00 EUR."),
    "refund": ([GET, ("issue_refund", REFUND, REFUNDED)], "I refunded 42.00 EUR for order A-1001."),
    "refund-nothread": ([GET, ("issue_refund", REFUND, REFUNDED)], "I refunded 42.00 EUR for order A-1001."),
    "parallel": ([GET, ("get_order", {"order_id": "A-1002"}, LAMP)], "A-1001 is delivered and A-1002 is shipped."),
}
EDGE_RAW = [
    '{"order_id":"A-1001","amount_cents":4200.0}',
    '{ "reason" : "caf\\u00e9 \\ud83d\\ude00 注文" , "order_id" : "A-1001", "amount_cents":1}',
    '{"order_id":"A-1001","amount_cents":1,"amount_cents":9900}',
    '{"order_id":"A-1001","amount_cents":123456789012345678901234567890}',
    '{"order_id":"A-1001","amount_cents":1E2,"reason":null}',
    "{}",
]
EDGE_VALUES: list[dict[str, Any]] = [
    {"order_id": "A-1001", "amount_cents": 4200.0},
    {"reason": "café 😀 注文", "order_id": "A-1001", "amount_cents": 1},
    {"order_id": "A-1001", "amount_cents": 9900},
    {"order_id": "A-1001", "amount_cents": 123456789012345678901234567890},
    {"order_id": "A-1001", "amount_cents": 100.0, "reason": None},
    {},
]

VERBATIM = {
    "openinference-openai-agents", "openinference-openai-chat", "openinference-openai-responses", "otel-openai-v2-legacy-events",
    "pydantic-ai", "pydantic-ai-v2", "pydantic-ai-v5-openai", "traceloop-0.47-openai-chat", "traceloop-openai-agents", "vercel-ai-sdk-v6-openai",
}  # fmt: skip
COERCED = {"vercel-ai-sdk-v6-anthropic"}
STREAM_COERCED = {"vercel-ai-sdk-v6-openai"}
NO_CONVERSATION = {"otel-genai-openai-agents", "otel-genai-openai-agents-chat"}
NO_TOOLS = {"anthropic-sdk-native-loop", "anthropic-sdk-native-runner", "otel-openai-v2-legacy-events"}
NAMES_ONLY = {"otel-genai-langchain", "otel-genai-langchain+anthropic"}
OWN_PROMPT = {"openinference-smolagents"}
NO_AGENT = {
    "anthropic-sdk-native-loop", "anthropic-sdk-native-runner", "mcp-sdk-native", "openinference-anthropic", "openinference-openai-chat",
    "openinference-openai-responses", "otel-genai-anthropic", "otel-genai-anthropic-event-only", "otel-genai-openai-chat",
    "otel-genai-openai-chat-event-only", "otel-genai-openai-responses", "otel-openai-v2-legacy-events", "traceloop-0.47-anthropic",
    "traceloop-0.47-openai-chat", "traceloop-anthropic", "traceloop-openai-chat", "traceloop-openai-responses", "traceloop-mcp",
}  # fmt: skip
SEVERAL = {"tworuns": 2, "concurrent": 2, "basic-noroot": 2}


def read(name: str) -> list[Trajectory]:
    """Every run of a recorded file and its log records."""
    paths = [CAPTURES / name]
    logs = CAPTURES / name.replace(".json", ".logs.json")
    results = list(read_runs([*paths, logs] if logs.exists() else paths))
    assert [str(result.error) for result in results if result.error] == []
    return [result.run for result in results if result.run is not None]


def one(name: str) -> Trajectory:
    """The one run of a recorded file."""
    (found,) = read(name)
    return found


def having(*scenarios: str) -> list[str]:
    """The files that record these scenarios."""
    return [name for name in FILES if name.removesuffix(".json").split("__")[1] in scenarios and name != SILENT]


def source_of(name: str) -> str:
    """Which instrumentation recorded a file."""
    return name.split("__", maxsplit=1)[0]


def fidelity_of(name: str) -> str:
    """How near to the provider's bytes this source's arguments are."""
    source = source_of(name)
    if source in COERCED or (source in STREAM_COERCED and "__stream" in name):
        return "coerced"
    return "verbatim" if source in VERBATIM else "reserialized"


def output_value(call: ToolCall) -> Any:
    """A call's output as a value."""
    return json.loads(call.output or "null")


@pytest.mark.parametrize("name", FILES)
def test_every_file_reads_and_makes_its_runs(name: str) -> None:
    """Each recorded request is one run, unless its script made several or had no span around it."""
    scenario = name.removesuffix(".json").split("__")[1]
    assert len(read(name)) == SEVERAL.get(scenario, 1)


@pytest.mark.parametrize("name", FILES)
def test_every_run_is_a_valid_run_record(name: str) -> None:
    """What the builder makes passes the run record's own strict checks and comes back equal from a file."""
    for run in read(name):
        text = run.model_dump_json(exclude_unset=True)
        assert (
            Trajectory.model_validate_json(text).model_dump()
            == Trajectory.model_validate(run.model_dump(exclude_unset=True)).model_dump()
        )


@pytest.mark.parametrize("name", having(*SCENARIOS))
def test_calls_come_in_order_with_arguments_and_outputs(name: str) -> None:
    """Name, arguments and output of every call survive, whichever spans they were spread over."""
    if source_of(name) == "mcp-sdk-native":
        pytest.skip("this source records no content")
    expected, _ = SCENARIOS[name.removesuffix(".json").split("__")[1]]
    found = [(c.name, arguments_of(c), output_value(c)) for c in calls(one(name)) if c.name != "final_answer"]
    assert found == expected
    assert all(c.is_error is not True and c.error_type is None for c in calls(one(name)))


@pytest.mark.parametrize("name", having(*SCENARIOS))
def test_arguments_say_how_near_they_are_to_the_provider(name: str) -> None:
    """Raw text is given where the source passes it on, and only there."""
    if source_of(name) == "mcp-sdk-native":
        assert [c.arguments_fidelity for c in calls(one(name))] == ["absent"]
        return
    for call in calls(one(name)):
        assert call.arguments_fidelity == fidelity_of(name)
        assert (call.arguments_raw is not None) == (fidelity_of(name) == "verbatim")


@pytest.mark.parametrize("name", having(*SCENARIOS))
def test_task_prompt_and_answer(name: str) -> None:
    """The task, the system prompt and the final answer are the script's, where the source records them at all."""
    run, source = one(name), source_of(name)
    if source in NO_CONVERSATION | {"mcp-sdk-native", "traceloop-mcp"}:
        assert (run.task, run.system_prompt, run.final_answer) == (None, None, None)
        assert run.incomplete == ["not_recorded: no model call of this run is on record"]
        return
    assert run.task == TASK
    assert run.incomplete == []
    assert run.metadata == {}
    if source not in OWN_PROMPT:
        assert run.system_prompt == SYSTEM
    if name != "pydantic-ai__stream.json":
        assert run.final_answer == SCENARIOS[name.removesuffix(".json").split("__")[1]][1]


@pytest.mark.parametrize("name", having(*SCENARIOS))
def test_registered_tools(name: str) -> None:
    """The tools the model could choose from are there with their schemas, where the source records them."""
    run, source = one(name), source_of(name)
    if source in NO_TOOLS | NO_CONVERSATION | {"mcp-sdk-native"}:
        assert run.tools is None
        return
    tools = {tool.name: tool for tool in run.tools or ()}
    if source in {"strands-native", "openinference-smolagents", "traceloop-mcp"}:
        assert "get_order" in tools
    else:
        assert sorted(tools) == NAMES
    assert (tools["get_order"].input_schema is not None) == (source not in NAMES_ONLY)
    if source not in NAMES_ONLY:
        assert "order_id" in (tools["get_order"].input_schema or {})["properties"]


@pytest.mark.parametrize("name", having("basic", "refund", "toolerror"))
def test_agent_name(name: str) -> None:
    """The run's agent is named where any span names it."""
    assert one(name).agent == (None if source_of(name) in NO_AGENT else "support")


@pytest.mark.parametrize("name", having("toolerror"))
def test_a_tool_that_raises_is_seen(name: str) -> None:
    """The error is in `error_type` or `is_error` where a span says so, and its text is always there."""
    (call,) = calls(one(name))
    source = source_of(name)
    if source == "mcp-sdk-native":
        assert (call.error_type, call.output) == ("tool_error", None)
        return
    assert arguments_of(call) == {"order_id": "MISSING"}
    no_tool_spans = NO_AGENT - {"anthropic-sdk-native-runner", "mcp-sdk-native", "traceloop-mcp"}
    if source in no_tool_spans:
        assert call.error_type is None
        assert call.is_error is (True if source in {"traceloop-0.47-anthropic", "openinference-anthropic"} else None)
    else:
        assert call.error_type is not None
        assert call.is_error in (None, True)
    assert call.output is not None
    assert "MISSING" in call.output or "An error occurred while running the tool" in call.output


@pytest.mark.parametrize("name", having("edge"))
def test_edge_arguments(name: str) -> None:
    """Verbatim text to the character; else the values that the source's own round trip left."""
    found = calls(one(name))
    assert [call.name for call in found] == ["issue_refund"] * 5 + ["list_orders"]
    if fidelity_of(name) == "verbatim":
        assert [call.arguments_raw for call in found] == EDGE_RAW
        return
    values = [call.arguments for call in found]
    assert values == [
        {**v, "amount_cents": float(v["amount_cents"])} if i == 3 and fidelity_of(name) == "coerced" else v
        for i, v in enumerate(EDGE_VALUES)
    ]
    kinds = [type(v.get("amount_cents")).__name__ for v in values]
    assert kinds == (
        ["int"] * 3 + ["float", "int", "NoneType"]
        if fidelity_of(name) == "coerced"
        else ["float", "int", "int", "int", "float", "NoneType"]
    )


@pytest.mark.parametrize("name", having("malformed"))
def test_malformed_arguments(name: str) -> None:
    """Empty text counts as no arguments; truncated text is kept wherever the source kept it."""
    source = source_of(name)
    found = {call.name: call for call in calls(one(name))}
    assert arguments_of(found["list_orders"]) in ({}, None)
    if source == "otel-genai-langchain-openai":
        assert "get_order" not in found
        assert one(name).incomplete == ["orphan_result: the result of a call (call_02) that no model call on record asked for"]
    elif source in {"openinference-anthropic", "otel-genai-anthropic"}:
        assert found["get_order"].arguments == {}
    else:
        assert found["get_order"].arguments_raw == '{"order_id": "A-10'


@pytest.mark.parametrize("name", having("badcall"))
def test_unknown_tool_and_missing_argument(name: str) -> None:
    """A call of an unknown tool is a call all the same, although no span shows it running."""
    found = calls(one(name))
    assert (found[0].name, arguments_of(found[0])) == ("delete_order", {"order_id": "A-1001"})
    if source_of(name) == "otel-genai-openai-agents+openai":
        assert found[0].recorded is not None
        assert (found[0].recorded.reason or "").startswith("requested_not_run")
        return
    assert (found[1].name, arguments_of(found[1])) == ("issue_refund", {"order_id": "A-1001"})
    assert all(call.output for call in found)
    assert one(name).final_answer == "I cannot do that."


def test_handoff_keeps_the_path_of_agents() -> None:
    """A handed-over run is one run: the first agent's, with the second agent's name on its steps."""
    run = one("shape-openai-agents+openai__handoff.json")
    assert run.agent == "triage"
    assert [(c.agent, c.tool_call.name if c.tool_call else "") for c in run.steps] == [
        (None, "transfer_to_refunds"),
        (["refunds"], "issue_refund"),
    ]
    assert run.final_answer == "I refunded 42.00 EUR for order A-1001."


def test_agent_as_tool_belongs_to_the_outer_run() -> None:
    """An agent that another asks as a tool is part of its run, its calls are counted once, its task is no user's."""
    run = one("shape-openai-agents+openai__agenttool.json")
    assert (run.agent, run.task, run.final_answer) == ("boss", TASK, "The order is delivered.")
    assert [(s.agent, s.tool_call.name if s.tool_call else "") for s in run.steps] == [
        (None, "ask_support"),
        (["support"], "get_order"),
    ]
    assert run.metadata == {}


@pytest.mark.parametrize("scenario", ["tworuns", "concurrent"])
def test_two_runs_of_one_trace_stay_apart(scenario: str) -> None:
    """Two runs under one request are two, also where they run at once; each keeps its own calls and answer."""
    first, second = read(f"shape-openai-agents+openai__{scenario}.json")
    assert [c.name for c in calls(first)] == ["get_order"]
    assert [c.name for c in calls(second)] == ["get_order", "issue_refund"]
    assert second.final_answer == "I refunded 42.00 EUR for order A-1001."
    assert first.id != second.id


@pytest.mark.parametrize("scenario", ["remoteparent", "latechild"])
def test_a_remote_parent_or_an_early_end_changes_nothing(scenario: str) -> None:
    """Neither a parent in another process nor a request span that ends first takes anything from the run."""
    run = one(f"shape-openai-agents+openai__{scenario}.json")
    assert [c.name for c in calls(run)] == ["get_order", "issue_refund"]
    assert run.incomplete == []


@pytest.mark.parametrize("name", having("basic-noroot"))
def test_a_loop_without_a_root_is_orphans(name: str) -> None:
    """Model calls without any span around them are runs of their own, which say that they are fragments."""
    first, second = read(name)
    assert all(run.incomplete == ["orphan_result: model and tool spans of which no run is on record"] for run in (first, second))
    assert [c.name for c in calls(first)] == ["get_order"]
    assert calls(second) == []


def test_no_content_is_never_a_clean_run() -> None:
    """A run whose model calls show no messages says so."""
    run = one(SILENT)
    assert calls(run) == []
    assert run.incomplete == ["not_recorded: 3 of 3 model calls show no messages"]


def test_content_in_log_records_alone_is_read() -> None:
    """A file of log records alone gives the run that the records tell."""
    (result,) = read_runs([CAPTURES / "otel-openai-v2-legacy-events__basic.logs.json"])
    assert result.run is not None
    assert [(c.name, arguments_of(c), output_value(c)) for c in calls(result.run)] == [GET]


@pytest.mark.parametrize("name", FILES[::7])
def test_order_of_arrival_changes_nothing(name: str) -> None:
    """The same spans in any order give the same bytes."""
    spans = list(read_spans(json.loads((CAPTURES / name).read_text(encoding="utf-8"))))
    logs = Path(CAPTURES / name.replace(".json", ".logs.json"))
    if logs.exists():
        spans = with_events(spans, read_logs(json.loads(logs.read_text(encoding="utf-8"))))
    expected = [dump(run) for run in runs(*spans)]
    for seed in range(5):
        random.Random(seed).shuffle(spans)
        assert [dump(run) for run in runs(*spans)] == expected
