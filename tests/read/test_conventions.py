"""Conventions that no recorded file here speaks: each source's own habits, on spans written by hand."""

from __future__ import annotations

import json
from typing import Any

import pytest

from attest_otel.read.definitions import read_definitions
from attest_otel.read.invalid_calls import invalid_calls
from attest_otel.read.messages import read_message, text_of_content
from attest_otel.read.span import SpanEvent
from tests.read.spans import (
    agent,
    arguments_of,
    build,
    call_part,
    calls,
    chat,
    message,
    result_part,
    span,
    tool,
)

USER = message("user", "Refund it.")


def test_vercel_v7_goes_through_javascript() -> None:
    """v7 writes the conventions' attributes; its numbers went through JavaScript, its agent span mixes text and calls."""
    asked = call_part("call_1", "refund", {"amount_cents": 4200})
    run = build(
        agent(
            1,
            scope="gen_ai",
            agent_name="support",
            gen_ai__output__messages=json.dumps([message("assistant", "Refunded.", asked)]),
        ),
        span(2, 1, name="step 1", scope="gen_ai"),
        chat(3, 2, scope="gen_ai", inputs=[USER], outputs=[message("assistant", asked)]),
        tool(
            4,
            2,
            scope="gen_ai",
            tool_name="refund",
            gen_ai__tool__call__id="call_1",
            gen_ai__tool__call__arguments='{"amount_cents":4200}',
            gen_ai__tool__call__result="{}",
        ),
        chat(
            6,
            2,
            scope="gen_ai",
            inputs=[USER, message("assistant", asked), message("tool", result_part("call_1", {}))],
            outputs=[message("assistant", "Refunded.")],
        ),
    )
    (call,) = calls(run)
    assert (call.arguments, call.arguments_fidelity, call.output) == ({"amount_cents": 4200}, "coerced", "{}")
    assert (run.final_answer, run.task, run.agent) == ("Refunded.", "Refund it.", "support")


def test_agent_framework_takes_the_text_from_the_model_and_the_error_from_the_tool() -> None:
    """The chat span has the provider's text, the tool span what its model made of it; the agent span has everything."""
    raw = '{"amount_cents":4200.0, "order_id":"1"}'
    asked = message("assistant", call_part("call_1", "refund", raw))
    answered = message("tool", result_part("call_1", "Error: Function failed."))
    final = message("assistant", "It failed.")
    run = build(
        agent(
            1,
            scope="agent_framework",
            gen_ai__input__messages=json.dumps([USER]),
            gen_ai__output__messages=json.dumps([asked, answered, final]),
            gen_ai__tool__definitions=json.dumps(
                [{"type": "function", "function": {"name": "refund", "parameters": {"type": "object"}}}]
            ),
        ),
        chat(2, 1, scope="agent_framework", inputs=[USER], outputs=[asked]),
        tool(
            3,
            1,
            scope="agent_framework",
            tool_name="refund",
            status="error",
            error__type="ValueError",
            gen_ai__tool__call__id="call_1",
            gen_ai__tool__call__arguments='{"order_id": "1", "amount_cents": 4200}',
        ),
        chat(5, 1, scope="agent_framework", inputs=[USER, asked, answered], outputs=[final]),
    )
    (call,) = calls(run)
    assert (call.arguments_raw, call.arguments_fidelity) == (raw, "verbatim")
    assert (call.error_type, call.output) == ("ValueError", "Error: Function failed.")
    assert (run.final_answer, [t.name for t in run.tools or ()]) == ("It failed.", ["refund"])


def test_google_adk_has_attributes_of_its_own() -> None:
    """ADK's request, response, arguments and result are read where the conventions' are missing; its merged span is no call."""
    request = {
        "contents": [{"role": "user", "parts": [{"text": "Refund it."}]}],
        "config": {
            "system_instruction": "Be kind.",
            "tools": [{"function_declarations": [{"name": "refund", "parameters": {"type": "object"}}]}],
        },
    }
    response = {"content": {"role": "model", "parts": [{"function_call": {"name": "refund", "args": {"n": 1}}}]}}
    run = build(
        span(1, gen_ai__operation__name="invoke_workflow", end=999),
        agent(2, 1, scope="gcp.vertex.agent", gen_ai__conversation__id="s"),
        span(
            3,
            2,
            scope="gcp.vertex.agent",
            gen_ai__operation__name="generate_content",
            gcp__vertex__agent__llm_request=json.dumps(request),
            gcp__vertex__agent__llm_response=json.dumps(response),
        ),
        tool(
            4,
            2,
            scope="gcp.vertex.agent",
            tool_name="refund",
            gen_ai__tool__call__id="<not specified>",
            gcp__vertex__agent__tool_call_args='{"n": 1}',
            gcp__vertex__agent__tool_response='{"result": "done"}',
        ),
        tool(5, 2, scope="gcp.vertex.agent", tool_name="(merged tools)"),
    )
    (call,) = calls(run)
    assert (call.id, call.name, call.arguments, call.output) == (None, "refund", {"n": 1}, "done")
    assert (run.agent, run.task, run.system_prompt, run.conversation_id) == ("support", "Refund it.", "Be kind.", "s")
    assert [t.name for t in run.tools or ()] == ["refund"]


def test_crewai_is_one_run_of_its_crew() -> None:
    """The kickoff span is the run: task, first agent and its backstory; the agents below are its path."""
    run = build(
        span(
            1,
            end=999,
            name="Crew.kickoff",
            openinference__span__kind="CHAIN",
            crew_tasks=json.dumps([{"description": "Refund order 1."}]),
            crew_agents=json.dumps([{"role": "support", "backstory": "Be kind."}, {"role": "clerk"}]),
            output__value="Refunded.",
        ),
        span(2, 1, end=99, openinference__span__kind="AGENT", graph__node__id="support", input__value="{}"),
        span(3, 2, openinference__span__kind="TOOL", tool__name="get", input__value='{"id": 1}', output__value="x"),
        span(12, 1, end=199, openinference__span__kind="AGENT", graph__node__id="clerk"),
        span(
            13,
            12,
            openinference__span__kind="TOOL",
            tool__name="refund",
            input__value="{'id': 1}",
            tool__parameters='{"properties": {"id": {}}}',
        ),
    )
    assert (run.agent, run.task, run.system_prompt, run.final_answer) == ("support", "Refund order 1.", "Be kind.", "Refunded.")
    assert [(s.agent, s.tool_call.name if s.tool_call else "") for s in run.steps] == [(None, "get"), (["clerk"], "refund")]
    assert [c.arguments_fidelity for c in calls(run)] == ["reserialized", "absent"]


def test_older_events_on_spans() -> None:
    """Messages as span events, their content as JSON text of blocks."""
    events = [
        SpanEvent("gen_ai.user.message", 0, {"content": json.dumps([{"text": "Refund it."}])}),
        SpanEvent(
            "gen_ai.choice",
            0,
            {
                "message": json.dumps(
                    [{"text": "Looking."}, {"toolUse": {"toolUseId": "t1", "name": "refund", "input": {"n": 1}}}]
                )
            },
        ),
    ]
    result = SpanEvent("gen_ai.choice", 0, {"message": json.dumps([{"text": "done"}]), "id": "t1"})
    run = build(agent(1), chat(2, 1, events=events), tool(3, 1, tool_name="refund", gen_ai__tool__call__id="t1", events=[result]))
    assert [(c.id, arguments_of(c), c.output) for c in calls(run)] == [("t1", {"n": 1}, "done")]
    assert (run.task, run.steps[0].thought) == ("Refund it.", "Looking.")


@pytest.mark.parametrize(
    "definition",
    [
        {"type": "function", "name": "f", "description": "d", "parameters": {"type": "object"}},
        {"type": "function", "function": {"name": "f", "description": "d", "parameters": {"type": "object"}}},
        {"name": "f", "description": "d", "input_schema": {"type": "object"}},
        {"name": "f", "description": "d", "inputSchema": {"type": "object"}},
        {"name": "f", "description": "d", "parameters": '{"type": "object"}'},
        {"name": "f", "description": "d", "parameters_json_schema": {"type": "object"}},
        {"toolSpec": {"name": "f", "description": "d", "inputSchema": {"json": {"type": "object"}}}},
        {"function_declarations": [{"name": "f", "description": "d", "parameters": {"type": "object"}}]},
        '{"name": "f", "description": "d", "input_schema": {"type": "object"}}',
    ],
)
def test_shapes_of_tool_definitions(definition: Any) -> None:
    """Every shape of a definition is the same tool."""
    (found,) = read_definitions([definition])
    assert (found.name, found.description, found.input_schema, found.side_effecting) == ("f", "d", {"type": "object"}, None)


@pytest.mark.parametrize(
    ("annotations", "side_effecting", "idempotent"),
    [
        ({"readOnlyHint": True}, False, None),
        ({"readOnlyHint": False}, True, None),
        ({"destructiveHint": True, "idempotentHint": True}, True, True),
        ({"destructiveHint": "yes"}, None, None),
        (None, None, None),
    ],
)
def test_mcp_annotations_declare_side_effects(annotations: Any, side_effecting: bool | None, idempotent: bool | None) -> None:
    """MCP's hints count as a declaration, nothing else does."""
    (found,) = read_definitions([{"name": "f", "annotations": annotations}])
    assert (found.side_effecting, found.idempotent) == (side_effecting, idempotent)


@pytest.mark.parametrize(
    "item",
    [
        {"role": "assistant", "parts": [{"type": "tool_call", "id": "1", "name": "f", "arguments": {"a": 1}}]},
        {
            "role": "assistant",
            "content": None,
            "tool_calls": [{"id": "1", "type": "function", "function": {"name": "f", "arguments": {"a": 1}}}],
        },
        {"role": "assistant", "content": [{"type": "tool_use", "id": "1", "name": "f", "input": {"a": 1}}]},
        {"role": "assistant", "content": [{"type": "tool-call", "toolCallId": "1", "toolName": "f", "input": {"a": 1}}]},
        {"role": "assistant", "content": [{"toolUse": {"toolUseId": "1", "name": "f", "input": {"a": 1}}}]},
        {"role": "model", "parts": [{"function_call": {"id": "1", "name": "f", "args": {"a": 1}}}]},
        {"type": "function_call", "call_id": "1", "id": "fc_1", "name": "f", "arguments": {"a": 1}},
        {
            "role": "assistant",
            "content": [{"type": "tool_use", "id": "1", "name": "f", "input": {"a": 1}}],
            "tool_calls": [{"id": "1", "name": "f", "args": {"a": 1}}],
        },
    ],
)
def test_shapes_of_a_tool_call(item: dict[str, Any]) -> None:
    """Every provider's shape of a call is one call with id, name and arguments."""
    found = read_message(item)
    assert [(c.call_id, c.name, c.arguments.value) for c in found.calls] == [("1", "f", {"a": 1})]
    assert found.role == "assistant"


@pytest.mark.parametrize(
    ("item", "output", "is_error"),
    [
        ({"role": "tool", "parts": [{"type": "tool_call_response", "id": "1", "response": "x"}]}, "x", None),
        ({"role": "user", "parts": [{"type": "tool_call_response", "id": "1", "result": "x"}]}, "x", None),
        ({"role": "tool", "tool_call_id": "1", "content": "x"}, "x", None),
        (
            {
                "role": "user",
                "content": [
                    {"type": "tool_result", "tool_use_id": "1", "content": [{"type": "text", "text": "x"}], "is_error": True}
                ],
            },
            "x",
            True,
        ),
        (
            {
                "role": "tool",
                "content": [{"type": "tool-result", "toolCallId": "1", "output": {"type": "error-text", "value": "x"}}],
            },
            "x",
            True,
        ),
        (
            {"role": "user", "content": [{"toolResult": {"toolUseId": "1", "content": [{"text": "x"}], "status": "error"}}]},
            "x",
            True,
        ),
        ({"type": "function_call_output", "call_id": "1", "output": "x"}, "x", None),
        ({"role": "tool", "parts": [{"type": "tool_call_response", "id": "1", "response": {"a": "é"}}]}, '{"a": "é"}', None),
        ({"role": "tool", "parts": [{"type": "tool_call_response", "id": "1", "response": None}]}, None, None),
        ({"role": "tool", "parts": [{"type": "tool_call_response", "id": "1", "response": ""}]}, "", None),
    ],
)
def test_shapes_of_a_tool_result(item: dict[str, Any], output: str | None, is_error: bool | None) -> None:
    """Every provider's shape of a result is one result with id, text and flag; null is absent, empty is empty."""
    (found,) = read_message(item).results
    assert (found.call_id, found.output, found.is_error) == ("1", output, is_error)


@pytest.mark.parametrize(
    ("given", "text"),
    [
        ("plain", "plain"),
        ("{not json", "{not json"),
        ('[{"type":"text","content":"a"},{"type":"text","text":"b"}]', "a\nb"),
        ([{"type": "text", "content": "a"}], "a"),
        ({"type": "text", "content": "a"}, "a"),
        ("[1, 2]", None),
        (None, None),
        ("", ""),
    ],
)
def test_text_of_instructions(given: Any, text: str | None) -> None:
    """Instructions are plain text, parts, or JSON text of parts."""
    assert text_of_content(given) == text


@pytest.mark.parametrize(
    ("written", "output"),
    [
        ('"refunded A-1001"', "refunded A-1001"),
        ('""', ""),
        (json.dumps(json.dumps({"error": "not found"})), '{"error": "not found"}'),
        (json.dumps(json.dumps([{"type": "text", "text": "done"}])), "done"),
        ('"half', '"half'),
        ('"a" and "b"', '"a" and "b"'),
        ("12", "12"),
    ],
)
def test_a_result_that_the_recorder_spelled_as_a_json_string_is_that_string(written: str, output: str) -> None:
    """A recorder that writes every result as JSON puts quotes round text: an error or an empty result hides behind them."""
    (call,) = calls(build(agent(1), tool(2, 1, gen_ai__tool__call__result=written)))
    assert call.output == output


def test_our_own_recorders_text_is_never_read_as_json() -> None:
    """What a tool returned stands byte for byte where our recorder wrote it down: quotes are the tool's own."""
    own = tool(2, 1, scope="attest_otel.record", gen_ai__tool__call__result='"quoted"')
    (call,) = calls(build(agent(1, scope="attest_otel.record"), own))
    assert call.output == '"quoted"'


LLAMA_INDEX = "openinference.instrumentation.llama_index"


@pytest.mark.parametrize(
    ("content", "raised", "is_error"),
    [
        ({"blocks": [{"text": "Error: no such order"}]}, False, None),
        ({"blocks": [{"text": "Error: "}, {"text": "no such order"}]}, True, True),
        ({"content": "Error: no such order"}, False, None),
    ],
)
def test_llama_index_wraps_what_a_tool_returned(content: dict[str, Any], raised: bool, is_error: bool | None) -> None:
    """Its ToolOutput holds the text, and says that the tool raised; that it did not says nothing of what came back."""
    value = json.dumps({**content, "tool_name": "get_order", "raw_input": {}, "raw_output": "x", "is_error": raised})
    ran = span(2, 1, scope=LLAMA_INDEX, openinference__span__kind="TOOL", tool__name="get_order", output__value=value)
    (call,) = calls(build(agent(1), ran))
    assert (call.output or "").replace("\n", "") == "Error: no such order"
    assert call.is_error is is_error


def test_llama_index_private_steps_are_no_model_calls() -> None:
    """It marks the preparation of a request as a model call: a run is not incomplete because that shows no messages."""
    messages: dict[str, Any] = {
        "llm__output_messages__0__message__role": "assistant",
        "llm__output_messages__0__message__content": "Done.",
    }
    run = build(
        span(1, scope=LLAMA_INDEX, openinference__span__kind="CHAIN", end=99, input__value='{"user_msg": "Hi"}'),
        span(2, 1, scope=LLAMA_INDEX, openinference__span__kind="LLM", name="OpenAI._prepare_chat_with_tools"),
        span(3, 1, scope=LLAMA_INDEX, openinference__span__kind="LLM", name="OpenAI.achat", **messages),
    )
    assert run.incomplete == []


def test_a_python_object_is_no_answer() -> None:
    """Where a root's output is the cut spelling of a framework's object, the model's last words are the answer."""
    messages: dict[str, Any] = {
        "llm__output_messages__0__message__role": "assistant",
        "llm__output_messages__0__message__content": "Done.",
    }
    run = build(
        span(
            1,
            scope=LLAMA_INDEX,
            openinference__span__kind="CHAIN",
            end=99,
            output__value="StopEvent(result=AgentOutput(response=ChatMessage(role=<MessageRole.ASSIST...",
        ),
        span(2, 1, scope=LLAMA_INDEX, openinference__span__kind="LLM", name="OpenAI.achat", **messages),
    )
    assert run.final_answer == "Done."


def test_a_tool_that_a_client_ran_within_a_model_call_was_asked_for() -> None:
    """Google's client shows the answer of the last request alone; what ran inside the model call, that call asked for."""
    inside = tool(3, 2, gen_ai__tool__call__result="found")
    beside = tool(30, 1, tool_name="refund", gen_ai__tool__call__result="done")
    answer = chat(2, 1, inputs=[USER], outputs=[message("assistant", "Done.")], end=29, gen_ai__request__model="gemini")
    first, second = calls(build(agent(1), answer, inside, beside))
    assert [call.recorded.reason if call.recorded else None for call in (first, second)] == [
        None,
        "run_not_requested: no model call on record asked for it",
    ]


def test_a_node_of_a_graph_that_is_called_agent_is_no_agent() -> None:
    """LangGraph's loop of a node `agent` and a node `tools` is one run, though OpenInference marks each turn as an agent."""
    scope = "openinference.instrumentation.langchain"
    node: dict[str, Any] = {"openinference__span__kind": "AGENT", "metadata": '{"langgraph_step": 1, "langgraph_node": "agent"}'}
    asked: dict[str, Any] = {
        "llm__output_messages__0__message__tool_calls__0__tool_call__id": "c1",
        "llm__output_messages__0__message__tool_calls__0__tool_call__function__name": "get_order",
        "llm__output_messages__0__message__tool_calls__0__tool_call__function__arguments": "{}",
    }
    said: dict[str, Any] = {"llm__output_messages__0__message__content": "Found."}
    run = build(
        span(1, scope=scope, openinference__span__kind="CHAIN", name="LangGraph", end=99),
        span(2, 1, scope=scope, name="agent", end=29, **node),
        span(3, 2, scope=scope, openinference__span__kind="LLM", llm__output_messages__0__message__role="assistant", **asked),
        span(4, 1, scope=scope, openinference__span__kind="TOOL", tool__name="get_order", output__value="found"),
        span(5, 1, scope=scope, name="agent", **node),
        span(6, 5, scope=scope, openinference__span__kind="LLM", llm__output_messages__0__message__role="assistant", **said),
    )
    assert [(call.id, call.output) for call in calls(run)] == [("c1", "found")]
    assert (run.final_answer, run.incomplete, run.steps[0].agent) == ("Found.", [], None)


def test_openinference_results_in_parts_are_their_text() -> None:
    """The model of smolagents is given a result as parts under a role of its own."""
    parts: dict[str, Any] = {
        "llm__input_messages__0__message__role": "tool-response",
        "llm__input_messages__0__message__contents__0__message_content__type": "text",
        "llm__input_messages__0__message__contents__0__message_content__text": "Error: unknown tool",
    }
    asked: dict[str, Any] = {
        "llm__output_messages__0__message__role": "assistant",
        "llm__output_messages__0__message__tool_calls__0__tool_call__function__name": "get_order",
    }
    scope = "openinference.instrumentation.smolagents"
    run = build(
        agent(1),
        span(2, 1, scope=scope, openinference__span__kind="LLM", **asked),
        span(4, 1, scope=scope, openinference__span__kind="LLM", **parts),
    )
    assert [call.output for call in calls(run)] == ["Error: unknown tool"]


def test_langchain_keeps_calls_it_cannot_parse_beside_the_others() -> None:
    """A call in broken text is in no message that LangChain shows: the whole response still has it, word for word."""
    fields = {
        "tool_calls": [],
        "invalid_tool_calls": [{"type": "invalid_tool_call", "id": "c2", "name": "refund", "args": '{"order": "A-1'}, 7],
    }
    response = {"generations": [[{"message": {"lc": 1, "kwargs": fields}}, "junk"], None]}
    asked: dict[str, Any] = {
        "llm__output_messages__0__message__role": "assistant",
        "llm__output_messages__0__message__tool_calls__0__tool_call__id": "c1",
        "llm__output_messages__0__message__tool_calls__0__tool_call__function__name": "get_order",
        "output__value": json.dumps(response),
    }
    scope = "openinference.instrumentation.langchain"
    run = build(agent(1), span(2, 1, scope=scope, openinference__span__kind="LLM", **asked))
    assert [(call.id, call.name, call.arguments_raw) for call in calls(run)] == [
        ("c1", "get_order", None),
        ("c2", "refund", '{"order": "A-1'),
    ]


@pytest.mark.parametrize(
    "response",
    [None, 7, "", '"invalid_tool_calls": [{', '{"invalid_tool_calls": [{}]}', '[{"invalid_tool_calls": [{"name": 1}]}]'],
)
def test_what_is_no_response_of_langchains_holds_no_invalid_call(response: Any) -> None:
    """Anything else under the attribute's name is left alone."""
    assert invalid_calls(response) == ()


@pytest.mark.parametrize(
    ("block", "is_error"),
    [
        ({"type": "tool_result", "tool_use_id": "c1", "content": "no such order", "is_error": True}, True),
        ({"type": "tool_result", "tool_use_id": "c1", "content": "no such order"}, None),
        ({"type": "tool_result", "tool_use_id": "c9", "content": "no such order", "is_error": True}, None),
        ({"toolResult": {"toolUseId": "c1", "content": [{"text": "no such order"}], "status": "error"}}, True),
        ({"toolResult": {"toolUseId": "c1", "content": [{"text": "no such order"}], "status": "success"}}, None),
    ],
)
def test_openinference_shows_in_the_request_alone_that_a_result_is_an_error(block: dict[str, Any], is_error: bool | None) -> None:
    """The flattened messages lose Anthropic's and Bedrock's mark; what the model was told is no success."""
    scope = "openinference.instrumentation.anthropic"
    asked: dict[str, Any] = {
        "llm__output_messages__0__message__role": "assistant",
        "llm__output_messages__0__message__tool_calls__0__tool_call__id": "c1",
        "llm__output_messages__0__message__tool_calls__0__tool_call__function__name": "get_order",
    }
    shown: dict[str, Any] = {
        "llm__input_messages__0__message__role": "tool",
        "llm__input_messages__0__message__tool_call_id": "c1",
        "llm__input_messages__0__message__content": "no such order",
        "input__value": json.dumps({"messages": [{"role": "user", "content": [block]}]}),
    }
    run = build(
        agent(1),
        span(2, 1, scope=scope, openinference__span__kind="LLM", **asked),
        span(4, 1, scope=scope, openinference__span__kind="LLM", **shown),
    )
    (call,) = calls(run)
    assert (call.output, call.is_error) == ("no such order", is_error)


def test_bedrocks_json_results_are_their_json() -> None:
    """A result of Bedrock's is a list of parts, of text or of JSON: the object inside is what the tool returned."""
    part = {"toolResult": {"toolUseId": "c1", "content": [{"json": {"error": "gone"}}, {"text": "sorry"}]}}
    (result,) = read_message({"role": "user", "content": [part]}).results
    assert result.output == '{"error": "gone"}\nsorry'


@pytest.mark.parametrize(
    ("response", "output"),
    [
        ('[{"json": {"error": "gone"}}]', '{"error": "gone"}'),
        ('[{"type": "text", "text": "Error: gone"}]', "Error: gone"),
        ('[{"type": "order", "text": "mug"}]', '[{"type": "order", "text": "mug"}]'),
        ('[{"json": 1, "id": 2}]', '[{"json": 1, "id": 2}]'),
        ('[{"type": "text"', '[{"type": "text"'),
        ("[]", "[]"),
    ],
)
def test_parts_that_were_written_as_text_once_more_are_parts(response: str, output: str) -> None:
    """Traceloop writes the parts of a result down as one text; an error among them must not hide in it."""
    (result,) = read_message(message("tool", result_part("c1", response))).results
    assert result.output == output


@pytest.mark.parametrize(
    ("part", "output"),
    [
        ({"type": "tool_result", "tool_use_id": "c1", "content": []}, ""),
        ({"toolResult": {"toolUseId": "c1", "content": []}}, ""),
        ({"type": "tool_call_response", "id": "c1", "response": []}, "[]"),
        ({"type": "tool_result", "tool_use_id": "c1"}, None),
    ],
)
def test_no_parts_are_an_empty_result(part: dict[str, Any], output: str | None) -> None:
    """A result without a part is empty, an empty list that a tool returned is one, and one without content isn't recorded."""
    (result,) = read_message({"role": "user", "content": [part]}).results
    assert result.output == output


@pytest.mark.parametrize(
    ("written", "output", "is_error"),
    [
        ({"id": "c1", "name": "refund", "response": {"result": "done"}}, "done", None),
        ({"id": "c1", "name": "refund", "response": {"error": "no such order"}}, '{"error": "no such order"}', None),
        ({"result": "done"}, "done", None),
        ({"result": "done", "code": 1}, '{"result": "done", "code": 1}', None),
    ],
)
def test_openinferences_view_of_adk_is_unwrapped(written: dict[str, Any], output: str, is_error: bool | None) -> None:
    """It writes down Google's whole function response: the error of a tool stands inside."""
    scope = "openinference.instrumentation.google_adk"
    ran = span(2, 1, scope=scope, openinference__span__kind="TOOL", tool__name="refund", output__value=json.dumps(written))
    (call,) = calls(build(agent(1), ran))
    assert (call.output, call.is_error) == (output, is_error)


def test_openinferences_view_of_an_adk_invocation_has_task_and_answer() -> None:
    """The root's input is the user's message, its output the last event: both in Google's own form."""
    asked = json.dumps({"user_id": "u", "new_message": {"role": "user", "parts": [{"text": "Refund it."}]}})
    answered = json.dumps({"content": {"role": "model", "parts": [{"text": "Done."}]}, "partial": False})
    scope = "openinference.instrumentation.google_adk"
    run = build(
        span(1, scope=scope, openinference__span__kind="CHAIN", end=99, input__value=asked, output__value=answered),
        span(2, 1, scope=scope, openinference__span__kind="TOOL", tool__name="refund", output__value="done"),
    )
    assert (run.task, run.final_answer) == ("Refund it.", "Done.")


def test_mastras_exporter_has_names_of_its_own() -> None:
    """Operations, the whole request and response, a tool's input and output: the same run under other names."""
    request = {"messages": [{"role": "system", "content": "Be kind."}, {"role": "user", "content": "Refund it."}]}
    called = {"text": "", "toolCalls": [{"toolCallId": "c1", "toolName": "refund", "args": {"order": "A-1"}}]}
    run = build(
        span(1, gen_ai__operation__name="agent.run", end=99),
        span(2, 1, gen_ai__operation__name="chat", gen_ai__prompt=json.dumps(request), gen_ai__completion=json.dumps(called)),
        span(
            3,
            1,
            gen_ai__operation__name="tool.execute",
            gen_ai__tool__name="refund",
            gen_ai__tool__input='{"order": "A-1"}',
            gen_ai__tool__output='{"note": "closed"}',
            gen_ai__tool__success=False,
        ),
        span(
            4, 1, gen_ai__operation__name="chat", gen_ai__prompt=json.dumps(request), gen_ai__completion='{"text": "It failed."}'
        ),
    )
    (call,) = calls(run)
    assert (call.id, call.name, arguments_of(call), call.output) == ("c1", "refund", {"order": "A-1"}, '{"note": "closed"}')
    assert (call.error_type, run.task, run.system_prompt, run.final_answer) == ("_OTHER", "Refund it.", "Be kind.", "It failed.")


def test_sentry_writes_messages_text_and_calls_apart() -> None:
    """The request's messages, the response's texts as a list, and its calls each have an attribute."""
    calls_made = [{"id": "c1", "type": "function", "function": {"name": "refund", "arguments": '{"order": "A-1"}'}}]
    run = build(
        agent(1),
        chat(
            2,
            1,
            gen_ai__request__messages='[{"role": "user", "content": "Refund it."}]',
            gen_ai__response__tool_calls=json.dumps(calls_made),
            gen_ai__request__available_tools='[{"name": "refund", "parameters": {"type": "object", "properties": {}}}]',
        ),
        tool(3, 1, tool_name="refund", gen_ai__tool__input='{"order": "A-1"}', gen_ai__tool__output="done"),
        chat(4, 1, gen_ai__request__messages="[]", gen_ai__response__text='["Done."]'),
    )
    (call,) = calls(run)
    assert (call.id, call.arguments_raw, call.output) == ("c1", '{"order": "A-1"}', "done")
    assert (run.task, run.final_answer, [t.name for t in run.tools or ()]) == ("Refund it.", "Done.", ["refund"])


@pytest.mark.parametrize("junk", [7, "", "[", "[1]", "{}", '{"messages": "x"}', None, [], {}])
def test_other_names_with_nothing_in_them_say_nothing(junk: Any) -> None:
    """A model call whose attributes of these names hold no messages shows none."""
    run = build(agent(1), chat(2, 1, gen_ai__prompt=junk, gen_ai__request__messages=junk))
    assert run.task is None


def test_results_written_as_the_text_of_their_parts_are_results() -> None:
    """Traceloop's JavaScript writes a tool's message down as text: whose result it is stands inside."""
    parts = [
        {"type": "tool-result", "toolCallId": "c2", "toolName": "refund", "output": {"type": "error-text", "value": "no funds"}},
        {"type": "tool-result", "toolCallId": "c1", "toolName": "refund", "output": {"type": "text", "value": "done"}},
    ]
    found = read_message(message("tool", json.dumps(parts))).results
    assert [(r.call_id, r.output, r.is_error) for r in found] == [("c2", "no funds", True), ("c1", "done", None)]
    (other,) = read_message(message("tool", '[{"type": "tool-result"}, {"type": "order"}]')).results
    assert other.output == '[{"type": "tool-result"}, {"type": "order"}]'


@pytest.mark.parametrize(
    "item",
    [
        {"function_call": {"name": "refund", "arguments": '{"order": "A-1"}'}},
        {"function_call": [{"name": "refund", "arguments": '{"order": "A-1"}'}]},
        {
            "function_call": {"name": "other", "arguments": "{}"},
            "tool_calls": [{"name": "refund", "arguments": '{"order": "A-1"}'}],
        },
    ],
)
def test_the_one_call_of_openais_older_protocol_is_a_call(item: dict[str, Any]) -> None:
    """Before there were several calls a message had a `function_call`; beside a list of calls it says the same."""
    (call,) = read_message({"role": "assistant", "content": None, **item}).calls
    assert (call.name, call.arguments.raw) == ("refund", '{"order": "A-1"}')


def test_older_flattened_messages_are_read() -> None:
    """OpenInference's single call, and Traceloop's names before it took the conventions'."""
    asked: dict[str, Any] = {
        "llm__output_messages__0__message__role": "assistant",
        "llm__output_messages__0__message__function_call_name": "refund",
        "llm__output_messages__0__message__function_call_arguments_json": '{"order": "A-1"}',
    }
    older: dict[str, Any] = {
        "llm__request__type": "chat",
        "llm__prompts__0__role": "user",
        "llm__prompts__0__content": "Refund it.",
        "llm__completions__0__role": "assistant",
        "llm__completions__0__function_call__name": "refund",
        "llm__completions__0__function_call__arguments": '{"order": "A-2"}',
    }
    run = build(agent(1), span(2, 1, openinference__span__kind="LLM", **asked), span(4, 1, **older))
    assert [arguments_of(call) for call in calls(run)] == [{"order": "A-1"}, {"order": "A-2"}]
    assert run.task == "Refund it."


def test_what_openinference_hides_is_not_recorded() -> None:
    """Its mark for hidden content is no content: no task, no answer, no arguments, no output."""
    hidden: dict[str, Any] = {"input__value": "__REDACTED__", "output__value": "__REDACTED__"}
    run = build(
        span(1, openinference__span__kind="CHAIN", end=99, **hidden),
        span(2, 1, openinference__span__kind="TOOL", tool__name="refund", **hidden),
    )
    (call,) = calls(run)
    assert (run.task, run.final_answer, call.arguments_fidelity, call.output) == (None, None, "absent", None)
