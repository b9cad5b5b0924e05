"""The builder: who asked, what ran, what came back, and what the record cannot show."""

from __future__ import annotations

import dataclasses
import json
import time
from typing import Any

import pytest

from attest_otel import attributes as names
from attest_otel.read.span import SpanEvent, SpanRecord
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

USER = message("user", "What is order 1?")


def conversation(
    *turns: tuple[list[Any], list[Any]], parent: int = 1, first: int = 2, step: int = 10, **more: Any
) -> list[SpanRecord]:
    """Chat spans with the whole history, as most instrumentations write it: each turn is calls and the results to come."""
    history: list[Any] = [USER]
    spans: list[SpanRecord] = []
    for number, (asked, results) in enumerate(turns):
        output = message("assistant", *asked)
        spans.append(chat(first + number * step, parent, inputs=list(history), outputs=[output], **more))
        history.append(output)
        if results:
            history.append(message("tool", *results))
    return spans


def test_results_come_from_the_next_turn() -> None:
    """Without tool spans the model's next input shows what came back."""
    run = build(
        agent(1),
        *conversation(
            (
                [call_part("c1", "get", {"id": 1}), call_part("c2", "get", {"id": 2})],
                [result_part("c2", "two"), result_part("c1", "one")],
            ),
            (["Done."], []),
        ),
    )
    assert [(c.id, c.output, c.turn) for c in calls(run)] == [("c1", "one", 0), ("c2", "two", 0)]
    assert (run.task, run.final_answer) == ("What is order 1?", "Done.")


def test_reused_ids_are_told_apart_by_their_turn() -> None:
    """An id that repeats names a new call: each result goes to the call of its own turn."""
    run = build(
        agent(1),
        *conversation(
            ([call_part("same", "get", {"id": 1})], [result_part("same", "one")]),
            ([call_part("same", "get", {"id": 2})], [result_part("same", "two")]),
            ([call_part("same", "put", {"id": 3})], [result_part("same", "three")]),
            (["Done."], []),
        ),
    )
    assert [(c.name, arguments_of(c)["id"], c.output) for c in calls(run)] == [
        ("get", 1, "one"),
        ("get", 2, "two"),
        ("put", 3, "three"),
    ]


def test_reused_ids_with_tool_spans() -> None:
    """An execution belongs to the latest turn before it that asked for its id, also when an earlier one never ran."""
    spans = conversation(
        ([call_part("same", "get", {"id": 1})], []),
        ([call_part("same", "get", {"id": 2})], []),
        (["Done."], []),
    )
    run = build(agent(1), *spans, tool(13, 1, tool_name="get", gen_ai__tool__call__id="same", gen_ai__tool__call__result="two"))
    assert [(arguments_of(c)["id"], c.output) for c in calls(run)] == [(1, None), (2, "two")]
    first = calls(run)[0]
    assert first.recorded is not None
    assert first.recorded.reason == "requested_not_run: no tool span and no result of it is on record"


def test_executions_without_ids_are_matched_by_arguments_then_by_name() -> None:
    """Parallel calls whose tool spans carry no id still get their own results, whichever ran first."""
    asked = [call_part("c1", "get", {"id": 1}), call_part("c2", "get", {"id": 2}), call_part("c3", "put", {"n": 4200.0})]
    run = build(
        agent(1),
        *conversation((asked, []), (["Done."], [])),
        tool(3, 1, tool_name="get", gen_ai__tool__call__arguments='{"id": 2}', gen_ai__tool__call__result="two"),
        tool(4, 1, tool_name="get", gen_ai__tool__call__arguments='{"id":1}', gen_ai__tool__call__result="one"),
        tool(5, 1, tool_name="put", gen_ai__tool__call__arguments='{"n": 42}', gen_ai__tool__call__result="put"),
    )
    assert [(c.id, c.output) for c in calls(run)] == [("c1", "one"), ("c2", "two"), ("c3", "put")]


def test_a_different_id_of_the_same_kind_is_a_different_call() -> None:
    """An execution nobody asked for is a call of its own, and both sides say what is missing."""
    run = build(
        agent(1),
        *conversation(([call_part("call_1", "get", {"id": 1})], []), (["Done."], [])),
        tool(
            5,
            1,
            tool_name="get",
            gen_ai__tool__call__id="call_9",
            gen_ai__tool__call__arguments='{"id": 1}',
            gen_ai__tool__call__result="x",
        ),
    )
    asked, ran = calls(run)
    assert asked.recorded is not None
    assert ran.recorded is not None
    assert (asked.id, asked.output, asked.recorded.reason) == (
        "call_1",
        None,
        "requested_not_run: no tool span and no result of it is on record",
    )
    assert (ran.id, ran.output, ran.recorded.reason) == ("call_9", "x", "run_not_requested: no model call on record asked for it")


def test_results_without_ids_pair_by_order_or_not_at_all() -> None:
    """As many results as calls pair in order; any other number is anybody's guess, and is said."""
    asked = [call_part("c1", "get", {"id": 1}), call_part("c2", "get", {"id": 2})]
    even = build(agent(1), *conversation((asked, [result_part(None, "one"), result_part(None, "two")]), (["Done."], [])))
    assert [c.output for c in calls(even)] == ["one", "two"]
    odd = build(agent(1), *conversation((asked, [result_part(None, "one")]), (["Done."], [])))
    assert [(c.output, c.output_fidelity) for c in calls(odd)] == [(None, "ambiguous"), (None, "ambiguous")]
    assert all(c.recorded is not None and str(c.recorded.reason).startswith("pairing_ambiguous") for c in calls(odd))


def test_two_calls_of_one_id_in_one_turn() -> None:
    """With two results they pair in order, with one it can't be told whose it is."""
    asked = [call_part("same", "get", {"id": 1}), call_part("same", "get", {"id": 2})]
    even = build(agent(1), *conversation((asked, [result_part("same", "one"), result_part("same", "two")]), (["Done."], [])))
    assert [c.output for c in calls(even)] == ["one", "two"]
    odd = build(agent(1), *conversation((asked, [result_part("same", "one")]), (["Done."], [])))
    assert [c.output_fidelity for c in calls(odd)] == ["ambiguous", "ambiguous"]


def test_calls_of_earlier_runs_in_the_history_are_not_this_runs() -> None:
    """A conversation's history holds calls of runs that were: none of them is counted, nor are their results orphans."""
    history = [
        message("user", "first"),
        message("assistant", call_part("old", "get", {})),
        message("tool", result_part("old", "x")),
        message("assistant", "So."),
        USER,
    ]
    run = build(agent(1), chat(2, 1, inputs=history, outputs=[message("assistant", "Again.")]))
    assert calls(run) == []
    assert run.incomplete == []
    assert (run.task, run.metadata) == ("What is order 1?", {"user_turns": ["first"]})


def test_later_user_turns_are_kept_apart_from_the_task() -> None:
    """What the user says during the run is evidence, in order, each text once."""
    spans = [
        chat(2, 1, inputs=[message("user", "book a flight")], outputs=[message("assistant", "Which day?")]),
        chat(3, 1, inputs=[message("user", "May 3")], outputs=[message("assistant", "Shall I?")]),
        chat(4, 1, inputs=[message("user", "yes")], outputs=[message("assistant", "Booked.")]),
    ]
    run = build(agent(1, gen_ai__input__messages=json.dumps([message("user", "book a flight")])), *spans)
    assert run.task == "book a flight"
    assert run.metadata == {"user_turns": ["May 3", "yes"]}


def test_an_absent_output_is_never_empty() -> None:
    """A tool span that ended before its result was there has no output; one that returned nothing has an empty one (D08)."""
    run = build(agent(1), tool(2, 1), tool(3, 1, gen_ai__tool__call__result=""))
    assert [(c.output, c.output_fidelity) for c in calls(run)] == [(None, "absent"), ("", "recorded")]


def test_a_raising_tool_three_signals_one_truth() -> None:
    """The exception decides; the output is the tool message where there is one, else the exception's message (D28)."""
    event = SpanEvent("exception", 0, {"exception.type": "TimeoutError", "exception.message": "read timed out"})
    failed = tool(3, 1, tool_name="get", status="error", events=[event], gen_ai__tool__call__id="c1")
    told = build(
        agent(1), *conversation(([call_part("c1", "get", {})], [result_part("c1", "the tool message")]), (["Sorry."], [])), failed
    )
    untold = build(agent(1), failed)
    assert [(c.error_type, c.output, c.is_error) for c in calls(told)] == [("TimeoutError", "the tool message", None)]
    assert [(c.error_type, c.output) for c in calls(untold)] == [("TimeoutError", "read timed out")]


@pytest.mark.parametrize(
    ("given", "error_type", "is_error"),
    [
        ({"status": "error"}, "_OTHER", None),
        ({"error__type": "KeyError"}, "KeyError", None),
        ({"status": "ok", "gen_ai__tool__call__result": "fine"}, None, False),
        ({"status": "ok"}, None, None),
        ({"gen_ai__tool__call__result": "fine"}, None, None),
        ({"gen_ai__tool__call__result": json.dumps({"content": [{"type": "text", "text": "no"}], "isError": True})}, None, True),
        (
            {"gen_ai__tool__call__result": json.dumps({"content": [{"type": "text", "text": "no"}], "isError": False})},
            None,
            False,
        ),
        ({"gen_ai__tool__call__result": json.dumps({"content": [], "isError": False, "error": "declined"})}, None, None),
        ({"attest__tool__call__is_error": True, "gen_ai__tool__call__result": "x"}, None, True),
    ],
)
def test_evidence_of_an_error_is_kept_in_its_own_field(
    given: dict[str, Any], error_type: str | None, is_error: bool | None
) -> None:
    """Status, error type and explicit flags stand where the order of evidence looks for them."""
    (call,) = calls(build(agent(1), tool(2, 1, **given)))
    assert (call.error_type, call.is_error) == (error_type, is_error)


def test_own_recorder() -> None:
    """Everything our own recorder writes comes back: raw text, received arguments, flags, tools, permissions."""
    run = build(
        agent(
            1,
            agent_name="refund-agent",
            scope=names.RECORD_SCOPE,
            gen_ai__conversation__id="conv",
            attest__case_id="case",
            gen_ai__input__messages=json.dumps([message("user", "refund me")]),
            gen_ai__system_instructions=json.dumps([{"type": "text", "content": "Be kind."}]),
            gen_ai__output__messages=json.dumps([message("assistant", "Refunded.")]),
            attest__tools=json.dumps([{"name": "refund", "side_effecting": True, "input_schema": {"type": "object"}}]),
            attest__allowed_tools="[]",
            attest__tool_fallbacks=json.dumps({"refund": ["refund_later"]}),
            attest__artifacts=json.dumps([{"name": "receipt", "text": "42"}]),
        ),
        tool(
            2,
            1,
            tool_name="refund",
            scope=names.RECORD_SCOPE,
            gen_ai__tool__call__id="toolu_1",
            gen_ai__tool__call__arguments='{"amount_cents":1E2, "amount_cents": 7}',
            attest__tool__call__arguments_received='{"amount_cents": 7}',
            gen_ai__tool__call__result="",
            attest__tool__call__turn=3,
            attest__tool__call__is_error=False,
            attest__tool__call__exit_code=1,
        ),
    )
    (call,) = calls(run)
    assert (run.agent, run.conversation_id, run.case_id, run.task) == ("refund-agent", "conv", "case", "refund me")
    assert (run.system_prompt, run.final_answer, run.allowed_tools) == ("Be kind.", "Refunded.", [])
    assert run.tool_fallbacks == {"refund": ["refund_later"]}
    assert [(t.name, t.side_effecting) for t in run.tools or ()] == [("refund", True)]
    assert [a.text for a in run.artifacts] == ["42"]
    assert (call.arguments_raw, call.arguments_received, call.output) == (
        '{"amount_cents":1E2, "amount_cents": 7}',
        {"amount_cents": 7},
        "",
    )
    assert (call.turn, call.is_error, call.exit_code, call.recorded) == (3, False, 1, None)
    assert run.incomplete == []


def test_own_tool_span_beside_an_instrumented_model() -> None:
    """The provider's text from our own span wins over the instrumentation's copy of the same call."""
    raw = '{"id":1E0}'
    run = build(
        agent(1, scope=names.RECORD_SCOPE),
        *conversation(([call_part("c1", "get", {"id": 1.0})], []), (["Done."], [])),
        tool(
            3,
            1,
            tool_name="get",
            scope=names.RECORD_SCOPE,
            gen_ai__tool__call__id="c1",
            gen_ai__tool__call__arguments=raw,
            gen_ai__tool__call__result="x",
        ),
    )
    (call,) = calls(run)
    assert (call.arguments_raw, call.arguments_fidelity, call.turn) == (raw, "verbatim", 0)


def test_silent_model_spans_of_an_own_run_are_no_gap() -> None:
    """The SDK's own spans show no messages; our recorder does, so nothing is missing."""
    run = build(
        agent(1, scope=names.RECORD_SCOPE), chat(2, 1), tool(3, 1, scope=names.RECORD_SCOPE, gen_ai__tool__call__result="x")
    )
    assert run.incomplete == []
    assert calls(run)[0].recorded is None or calls(run)[0].recorded.reason is None  # type: ignore[union-attr]


@pytest.mark.parametrize(
    ("arguments", "raw", "value", "fidelity"),
    [
        ('{"a": 1}', None, {"a": 1}, "reserialized"),
        ({"a": 1}, None, {"a": 1}, "reserialized"),
        (json.dumps('{"a": 1}'), None, {"a": 1}, "reserialized"),
        ('{"a": ', '{"a": ', None, "verbatim"),
        ("", "", None, "verbatim"),
        ("null", "null", None, "reserialized"),
    ],
)
def test_arguments_of_a_foreign_tool_span(arguments: Any, raw: str | None, value: Any, fidelity: str) -> None:
    """A stranger's text proves nothing about the provider's bytes; broken text was only passed on (D12)."""
    (call,) = calls(build(agent(1), tool(2, 1, gen_ai__tool__call__arguments=arguments)))
    assert (call.arguments_raw, call.arguments, call.arguments_fidelity) == (raw, value, fidelity)


def cut(record: SpanRecord, *attributes: str) -> SpanRecord:
    """The span with these attributes marked as cut."""
    return dataclasses.replace(record, cut=attributes)


def test_cut_arguments_are_unknown_and_never_the_models_fault() -> None:
    """Text that the recorder's limit cut is no evidence of what the model wrote (D10)."""
    (call,) = calls(build(agent(1), cut(tool(2, 1, gen_ai__tool__call__arguments='{"a": "xxx'), "gen_ai.tool.call.arguments")))
    assert (call.arguments_raw, call.arguments, call.arguments_fidelity) == (None, None, "absent")
    assert call.recorded is not None
    assert str(call.recorded.reason).startswith("truncated: ")


def test_cut_outputs_and_messages_are_said() -> None:
    """A cut output is kept and called truncated; cut messages are a gap of the run."""
    run = build(
        agent(1),
        chat(2, 1, gen_ai__output__messages='[{"role": "assist'),
        cut(tool(3, 1, gen_ai__tool__call__result="xxx"), "gen_ai.tool.call.result"),
    )
    assert [(c.output, c.output_fidelity) for c in calls(run)] == [("xxx", "truncated")]
    assert "truncated: gen_ai.output.messages of span span 2" in run.incomplete


def test_dropped_attributes_and_open_spans_make_a_run_incomplete() -> None:
    """What the SDK's limits dropped, and what had not ended, is said (property 24)."""
    lost = dataclasses.replace(tool(2, 1), dropped_attributes=3)
    still_open = dataclasses.replace(tool(3, 1), end_ns=None)
    run = build(agent(1, final_result="done"), lost, still_open)
    assert run.incomplete == ["incomplete: 1 spans had not ended: span 3", "incomplete: 3 attributes of span span 2 were dropped"]


def test_dropped_events_that_may_have_been_messages_are_said() -> None:
    """Where messages are events, the limit takes the oldest first: what the user asked, or a call. Other events are nothing lost."""
    said = [SpanEvent("gen_ai.choice", 1, {"message": '{"content": "Done."}'})]
    talk = [message("assistant", "Done.")]
    in_events = dataclasses.replace(chat(2, 1, events=said), dropped_events=3)
    in_attributes = dataclasses.replace(chat(2, 1, outputs=talk, events=[SpanEvent("token", 1)]), dropped_events=3)
    assert build(agent(1), in_events).incomplete == ["incomplete: 3 events of span span 2 were dropped"]
    assert build(agent(1), in_attributes).incomplete == []


def test_mcp_hops_are_one_call() -> None:
    """A framework's tool span with an MCP client and server span below is one call, and their error is its error."""
    run = build(
        agent(1),
        tool(2, 1, tool_name="orders_get", gen_ai__tool__call__id="c1", gen_ai__tool__call__result="x", end=99),
        span(3, 2, name="MCP send tools/call get", mcp__method__name="tools/call", end=98),
        span(
            4,
            3,
            name="tools/call get",
            mcp__method__name="tools/call",
            gen_ai__tool__name="get",
            error__type="tool_error",
            status="error",
            end=97,
        ),
    )
    assert [(c.name, c.error_type, c.output) for c in calls(run)] == [("orders_get", "tool_error", "x")]


def test_two_instrumentations_of_one_call_count_once() -> None:
    """Nested or side by side, two spans of one tool call and of one model call are one each."""
    asked = [call_part("c1", "get", {"id": 1})]
    (first, last) = conversation((asked, [result_part("c1", "x")]), (["Done."], []), end=15, gen_ai__response__id="msg_1")
    last = dataclasses.replace(last, attributes={**last.attributes, "gen_ai.response.id": "msg_2"}, end_ns=300)
    again = chat(
        3, 1, inputs=[USER], outputs=[message("assistant", *asked)], scope="other", start=21, end=22, gen_ai__response__id="msg_1"
    )
    run = build(
        agent(1),
        dataclasses.replace(first, end_ns=25),
        again,
        last,
        tool(4, 1, tool_name="get", gen_ai__tool__call__id="c1", end=60, scope="a"),
        tool(5, 4, tool_name="get", gen_ai__tool__call__id="c1", end=59, scope="b", gen_ai__tool__call__result="x"),
    )
    assert [(c.id, c.output) for c in calls(run)] == [("c1", "x")]


def test_a_tool_that_calls_itself_is_two_calls() -> None:
    """A nested tool span with other arguments is another call."""
    run = build(
        agent(1),
        tool(2, 1, tool_name="walk", gen_ai__tool__call__arguments='{"n": 2}', end=99),
        tool(3, 2, tool_name="walk", gen_ai__tool__call__arguments='{"n": 1}', end=98),
    )
    assert [arguments_of(c)["n"] for c in calls(run)] == [2, 1]


def test_the_thought_stands_with_the_first_call_of_its_turn() -> None:
    """What the model said beside its calls is the thought of the first."""
    asked = ["Let me look.", call_part("c1", "get", {"id": 1}), call_part("c2", "get", {"id": 2})]
    run = build(agent(1), *conversation((asked, [result_part("c1", "a"), result_part("c2", "b")]), (["Done."], [])))
    assert [step.thought for step in run.steps] == ["Let me look.", None]


def test_a_run_that_ends_in_a_call_has_no_answer() -> None:
    """The last turn asked for a tool: nothing was answered."""
    run = build(agent(1), *conversation((["Looking.", call_part("c1", "get", {})], [])))
    assert run.final_answer is None


def test_messages_as_structured_values() -> None:
    """Attributes may be values instead of JSON text: both are read."""
    output = [message("assistant", call_part("c1", "get", {"id": 1}))]
    record = chat(2, 1)
    record = dataclasses.replace(
        record, attributes={**record.attributes, "gen_ai.input.messages": [USER], "gen_ai.output.messages": output}
    )
    run = build(agent(1), record)
    assert (run.task, [c.name for c in calls(run)]) == ("What is order 1?", ["get"])


@pytest.mark.parametrize(
    "junk",
    [
        "",
        "x",
        "[",
        "{}",
        "[[]]",
        "[5]",
        '[{"role": 5}]',
        '[{"parts": 5}]',
        '[{"role":"assistant","parts":[{"type":"tool_call"}]}]',
        "[" * 5000,
        5,
        [],
        {},
        [None],
        None,
    ],
)
def test_junk_in_place_of_messages_is_survived(junk: Any) -> None:
    """Whatever stands where messages should, a run comes out (property 21)."""
    attributes = dict.fromkeys(
        (
            "gen_ai.input.messages",
            "gen_ai.output.messages",
            "gen_ai.tool.definitions",
            "gen_ai.system_instructions",
            "attest.tools",
            "attest.allowed_tools",
            "ai.prompt",
            "input.value",
        ),
        junk,
    )
    for record in (
        agent(1),
        chat(1),
        tool(1),
        span(1, openinference__span__kind="LLM"),
        span(1, ai__operationId="ai.generateText"),
    ):
        found = build(dataclasses.replace(record, attributes={**attributes, **record.attributes}))
        assert found.id is not None


def big_run(count: int) -> list[SpanRecord]:
    """Many turns without ids, each with a call of one tool and a span of it."""
    spans: list[SpanRecord] = [agent(1, end=10**9)]
    for number in range(count):
        spans.append(
            chat(2 + 2 * number, 1, inputs=[USER], outputs=[message("assistant", call_part(None, "get", {"id": number}))])
        )
        spans.append(tool(3 + 2 * number, 1, tool_name="get", gen_ai__tool__call__arguments=json.dumps({"id": number % 3})))
    return spans


def test_pairing_is_not_quadratic() -> None:
    """Four times the calls take nowhere near sixteen times as long."""

    def cost(count: int) -> float:
        spans = big_run(count)
        best = 1e9
        for _ in range(3):
            before = time.process_time()
            assert len(calls(build(*spans))) == count
            best = min(best, time.process_time() - before)
        return best

    assert cost(2000) < 9 * cost(500)


def test_gaps_of_a_run_are_capped_and_counted() -> None:
    """However much is missing, the list stays short and says how much it leaves out."""
    lost = [dataclasses.replace(tool(number, 1), dropped_attributes=1) for number in range(2, 60)]
    run = build(agent(1, final_result="done"), *lost)
    assert len(run.incomplete) == 20
    assert run.incomplete[-1] == "incomplete: and 39 further gaps"
