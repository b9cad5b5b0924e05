"""A model that was cut off while it wrote a call: `{}` may be all that is left of what it meant."""

from __future__ import annotations

import json
from typing import Any

import pytest

from tests.read.spans import agent, build, call_part, calls, chat, message, result_part, span, tool

USER = message("user", "Ping it.")
CUT = "the model was cut off"


def remarks(*spans: Any) -> list[bool]:
    """Whether each call of the run says that the model was cut off."""
    return [CUT in ((call.recorded.reason if call.recorded else None) or "") for call in calls(build(*spans))]


@pytest.mark.parametrize(
    ("attributes", "cut"),
    [
        ({"gen_ai__response__finish_reasons": ["length"]}, True),
        ({"gen_ai__response__finish_reasons": '["max_tokens"]'}, True),
        ({"gen_ai__response__finish_reasons": ["MALFORMED_FUNCTION_CALL"]}, True),
        ({"gen_ai__response__finish_reason": "FinishReason.LENGTH"}, True),
        ({"anthropic__message__stop_reason": "max_tokens"}, True),
        ({"gen_ai__response__finish_reasons": ["tool_calls"]}, False),
        ({"gen_ai__response__finish_reasons": []}, False),
        ({"gen_ai__response__finish_reasons": 7}, False),
        ({}, False),
    ],
)
def test_a_call_that_was_being_written_when_the_model_was_cut_off_says_so(attributes: dict[str, Any], cut: bool) -> None:
    """Each convention's word for the reason counts; the model's own end says nothing."""
    asked = message("assistant", call_part("c1", "ping", {}))
    assert remarks(agent(1), chat(2, 1, inputs=[USER], outputs=[asked], **attributes)) == [cut]


def test_the_reason_may_stand_with_the_message() -> None:
    """Where the span doesn't say why the model stopped, its message may."""
    asked = {**message("assistant", call_part("c1", "ping", {})), "finish_reason": "length"}
    assert remarks(agent(1), chat(2, 1, inputs=[USER], outputs=[asked])) == [True]


def test_only_the_last_call_can_have_been_cut() -> None:
    """The calls before it were whole when the next one began."""
    asked = message("assistant", call_part("c1", "ping", {}), call_part("c2", "ping", {}))
    assert remarks(agent(1), chat(2, 1, outputs=[asked], gen_ai__response__finish_reasons=["length"])) == [False, True]


@pytest.mark.parametrize(("raw", "cut"), [('{"a": 1}', False), ('{"a": ', False), ("", True), (" ", True)])
def test_text_shows_by_itself_whether_it_is_whole(raw: str, cut: bool) -> None:
    """What the model wrote is judged as it stands; only no text at all reads as a call without arguments."""
    asked = message("assistant", call_part("c1", "ping", raw))
    assert remarks(agent(1), chat(2, 1, outputs=[asked], gen_ai__response__finish_reasons=["length"])) == [cut]


@pytest.mark.parametrize(
    "attributes",
    [
        {
            "openinference__span__kind": "LLM",
            "llm__finish_reason": "MAX_TOKENS",
            "llm__output_messages__0__message__role": "assistant",
            "llm__output_messages__0__message__tool_calls__0__tool_call__function__name": "ping",
            "llm__output_messages__0__message__tool_calls__0__tool_call__function__arguments": "{}",
        },
        {
            "llm__request__type": "chat",
            "gen_ai__completion__0__role": "assistant",
            "gen_ai__completion__0__finish_reason": "max_tokens",
            "gen_ai__completion__0__tool_calls__0__name": "ping",
            "gen_ai__completion__0__tool_calls__0__arguments": "{}",
        },
        {
            "ai__operationId": "ai.streamText.doStream",
            "ai__response__finishReason": "length",
            "ai__response__toolCalls": '[{"toolCallId": "c1", "toolName": "ping", "input": {}}]',
        },
    ],
)
def test_other_conventions_say_it_in_their_own_attributes(attributes: dict[str, Any]) -> None:
    """OpenInference, Traceloop and the AI SDK each have a name for it."""
    assert remarks(agent(1), span(2, 1, scope="openinference.instrumentation.anthropic", **attributes)) == [True]


def test_a_tool_that_ran_when_the_model_was_cut_off_before_it_asked_is_no_cut_call() -> None:
    """A turn that was cut off may have asked for nothing on record; what ran after it was not being written."""
    cut = chat(2, 1, outputs=[message("assistant", "I will")], gen_ai__response__finish_reasons=["length"])
    assert remarks(agent(1), cut, tool(4, 1)) == [False]


def test_a_run_whose_call_was_cut_off_is_not_complete() -> None:
    """The tool ran with what was left and all went well: still nobody knows what the model meant."""
    asked = message("assistant", call_part("c1", "ping", {}))
    run = build(
        agent(1),
        chat(2, 1, inputs=[USER], outputs=[asked], gen_ai__response__finish_reasons=["length"]),
        tool(4, 1, tool_name="ping", gen_ai__tool__call__id="c1", gen_ai__tool__call__result="pong"),
        chat(6, 1, inputs=[USER, asked, message("tool", result_part("c1", "pong"))], outputs=[message("assistant", "Pong.")]),
    )
    (call,) = calls(run)
    assert call.recorded is not None
    assert call.recorded.reason == "truncated: the model was cut off while it wrote the arguments"
    assert json.dumps(call.arguments) == "{}"
