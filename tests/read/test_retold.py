"""Model calls without spans of their own: an agent's transcript, and what a client called by itself."""

from __future__ import annotations

import dataclasses
import json
from typing import Any

import pytest

from attest_otel.read.conventions import facts_of
from attest_otel.read.retold import told_by_agents
from attest_otel.read.span import SpanRecord
from attest_otel.read.tree import Tree
from tests.read.spans import agent, arguments_of, build, call_part, calls, chat, message, result_part, span, tool

GOOGLE = "openinference.instrumentation.google_genai"
CREW = "openinference.instrumentation.crewai"


def asked(call_id: str, name: str, arguments: str) -> dict[str, Any]:
    """A message with one call, as OpenAI's clients write it."""
    return {
        "role": "assistant",
        "content": "",
        "tool_calls": [{"id": call_id, "type": "function", "function": {"name": name, "arguments": arguments}}],
    }


def answered(call_id: str, text: str) -> dict[str, Any]:
    """What the tool returned, as OpenAI's clients write it."""
    return {"role": "tool", "tool_call_id": call_id, "content": text}


def crew(*messages: dict[str, Any]) -> tuple[SpanRecord, SpanRecord]:
    """A crew of one agent, whose span keeps its conversation."""
    output = json.dumps({"raw": "Done.", "messages": [{"role": "user", "content": "Refund it."}, *messages]})
    return (
        span(1, scope=CREW, openinference__span__kind="CHAIN", end=999, crew_tasks='[{"description": "Refund it."}]'),
        span(2, 1, scope=CREW, openinference__span__kind="AGENT", end=998, graph__node__id="Clerk", output__value=output),
    )


def crew_tool(number: int, arguments: str, output: str) -> SpanRecord:
    """A tool that ran in the crew; it has no call id."""
    return span(
        number,
        2,
        scope=CREW,
        openinference__span__kind="TOOL",
        tool__name="refund",
        input__value=arguments,
        output__value=output,
    )


def test_an_agents_transcript_shows_what_the_model_asked_for() -> None:
    """A call that never ran, with its broken text, stands only in the conversation on the agent's span."""
    run = build(
        *crew(
            asked("call_1", "refund", '{"order": "A-1'),
            answered("call_1", "Error: not JSON"),
            asked("call_2", "refund", '{"order": "A-1"}'),
            answered("call_2", "refunded"),
            {"role": "assistant", "content": "Done."},
        ),
        crew_tool(5, '{"order": "A-1"}', "refunded"),
    )
    first, second = calls(run)
    assert (first.id, first.arguments_raw, first.output, first.turn) == ("call_1", '{"order": "A-1', "Error: not JSON", 0)
    assert (second.id, arguments_of(second), second.output, second.turn) == ("call_2", {"order": "A-1"}, "refunded", 1)
    assert (run.final_answer, run.incomplete) == ("Done.", [])


def test_the_calls_of_one_transcript_run_in_the_order_they_were_asked() -> None:
    """All turns of a transcript begin when their span does: nothing but their order says which execution is whose."""
    same = '{"order": "A-1"}'
    run = build(
        *crew(asked("call_1", "refund", same), asked("call_2", "refund", same), asked("call_3", "refund", same)),
        *(crew_tool(number, same, f"result {number}") for number in (5, 6, 7)),
    )
    assert [(call.id, call.output) for call in calls(run)] == [(f"call_{n}", f"result {n + 4}") for n in (1, 2, 3)]


def test_an_agent_with_model_calls_on_record_is_told_by_those() -> None:
    """A conversation that stands on the agent's span and on its model calls' is counted once."""
    talk = [message("user", "Hi"), message("assistant", call_part("c1", "get_order", {}))]
    run = build(
        agent(1, gen_ai__input__messages=json.dumps(talk[:1]), gen_ai__output__messages=json.dumps(talk[1:])),
        chat(2, 1, inputs=talk[:1], outputs=talk[1:]),
        tool(4, 1, gen_ai__tool__call__id="c1", gen_ai__tool__call__result="found"),
    )
    assert [(call.id, call.output) for call in calls(run)] == [("c1", "found")]


def test_an_outer_agent_that_repeats_an_inner_ones_conversation_asks_for_nothing() -> None:
    """Two agents' spans with the same conversation, one inside the other, are one conversation."""
    talk = json.dumps([message("assistant", call_part("c1", "get_order", {})), message("tool", result_part("c1", "found"))])
    run = build(agent(1, gen_ai__output__messages=talk), agent(2, 1, agent_name="inner", gen_ai__output__messages=talk, end=900))
    assert [(call.id, call.output) for call in calls(run)] == [("c1", "found")]


def google(history: list[dict[str, Any]] | None, text: str = "Done.") -> SpanRecord:
    """One span of Google's client: what it was given, what it answered, and what it did in between."""
    value: dict[str, Any] = {"candidates": [{"content": {"role": "model", "parts": [{"text": text}]}}]}
    if history is not None:
        value["automatic_function_calling_history"] = history
    return span(
        2,
        1,
        scope=GOOGLE,
        openinference__span__kind="LLM",
        llm__input_messages__0__message__role="user",
        llm__input_messages__0__message__content="Refund it.",
        llm__output_messages__0__message__role="model",
        llm__output_messages__0__message__content=text,
        llm__token_count__prompt=10,
        llm__token_count__completion=5,
        output__value=json.dumps(value),
    )


@pytest.mark.parametrize(
    ("response", "output"), [({"result": "refunded"}, "refunded"), ({"error": "no such order"}, '{"error": "no such order"}')]
)
def test_what_a_client_called_by_itself_is_called(response: dict[str, Any], output: str) -> None:
    """Google's client calls tools within one request: the refund stands in the history of its answer alone."""
    history = [
        {"role": "user", "parts": [{"text": "Refund it."}]},
        {"role": "model", "parts": [{"function_call": {"name": "refund", "args": {"order": "A-1"}}}]},
        {"role": "user", "parts": [{"function_response": {"name": "refund", "response": response}}]},
    ]
    run = build(span(1, end=99), google(history))
    (call,) = calls(run)
    assert (call.name, call.arguments, call.output, call.turn) == ("refund", {"order": "A-1"}, output, 0)
    assert (run.final_answer, run.task, run.incomplete) == ("Done.", "Refund it.", [])
    assert run.usage is not None
    assert (run.usage.input_tokens, run.usage.output_tokens) == (10, 5)


def test_what_a_client_was_given_it_did_not_call() -> None:
    """The history begins with the conversation so far: calls of earlier turns are not made again."""
    before = [
        {"role": "user", "parts": [{"text": "Refund it."}]},
        {"role": "model", "parts": [{"function_call": {"name": "refund", "args": {"order": "A-1"}}}]},
        {"role": "user", "parts": [{"function_response": {"name": "refund", "response": {"result": "refunded"}}}]},
        {"role": "user", "parts": [{"text": "And the other."}]},
    ]
    after = [
        {"role": "model", "parts": [{"function_call": {"name": "refund", "args": {"order": "A-2"}}}]},
        {"role": "user", "parts": [{"function_response": {"name": "refund", "response": {"result": "refunded too"}}}]},
    ]
    given: dict[str, Any] = {}
    for place in range(1, 4):
        given[f"llm.input_messages.{place}.message.role"] = "user"
        given[f"llm.input_messages.{place}.message.content"] = "as above"
    answer = google([*before, *after])
    run = build(span(1, end=99), dataclasses.replace(answer, attributes={**answer.attributes, **given}))
    assert [(call.arguments, call.output) for call in calls(run)] == [({"order": "A-2"}, "refunded too")]


def test_an_answer_without_a_history_is_one_model_call() -> None:
    """Nothing was called where the client says nothing of it."""
    run = build(span(1, end=99), google(None))
    assert (calls(run), run.final_answer) == ([], "Done.")


EARLIER = [
    message("user", "Refund A-1."),
    message("assistant", call_part("c1", "refund", {"order": "A-1"})),
    message("tool", result_part("c1", "refunded")),
    message("assistant", "Done."),
]
NEW = [
    message("user", "And A-2."),
    message("assistant", call_part("c2", "refund", {"order": "A-2"})),
    message("tool", result_part("c2", "refunded too")),
    message("assistant", "Done again."),
]


@pytest.mark.parametrize(
    "attributes",
    [
        {"gen_ai__input__messages": json.dumps([*EARLIER, *NEW[:1]]), "gen_ai__output__messages": json.dumps(NEW[1:])},
        {"pydantic_ai__all_messages": json.dumps([*EARLIER, *NEW]), "pydantic_ai__new_message_index": 4},
        {"all_messages_events": json.dumps([*EARLIER, *NEW])},
        {"pydantic_ai__all_messages": json.dumps(NEW)},
    ],
)
def test_what_earlier_runs_of_a_conversation_asked_for_is_theirs(attributes: dict[str, Any]) -> None:
    """An agent is given the whole conversation: a refund of the last turn is not given again in this one."""
    assert [(call.id, call.output) for call in calls(build(agent(1, **attributes)))] == [("c2", "refunded too")]


def test_an_agent_that_only_remembers_calls_asked_for_none() -> None:
    """Where every call stands in what the agent was given, the run made none."""
    given = json.dumps([*EARLIER, message("user", "Thanks.")])
    run = build(agent(1, gen_ai__input__messages=given, gen_ai__output__messages=json.dumps([message("assistant", "Bye.")])))
    assert (calls(run), run.final_answer) == ([], "Bye.")


def test_a_long_transcript_costs_what_it_is_long() -> None:
    """A conversation of tens of thousands of messages on one span is read in a time that grows with its length."""
    talk = [m for n in range(8_000) for m in (asked(f"c{n}", "refund", "{}"), answered(f"c{n}", "done"))]
    (first, *_, last) = calls(build(*crew(*talk)))
    assert (first.id, first.output, last.id, last.output) == ("c0", "done", "c7999", "done")
    held = sum(len(turn.inputs or ()) for turn in told_by_agents([facts_of(span) for span in crew(*talk)], Tree(crew(*talk))))
    assert held <= len(talk) + 1
