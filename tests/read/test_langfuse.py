"""Spans of Langfuse's own SDKs."""

from __future__ import annotations

import json
from typing import Any

import pytest

from tests.read.spans import agent, arguments_of, build, calls, span

ASKED = [{"role": "system", "content": "Be kind."}, {"role": "user", "content": "Refund it."}]
TOOLS = [{"type": "function", "function": {"name": "refund", "parameters": {"type": "object", "properties": {}}}}]


def observed(number: int, parent: int | None, kind: str, given: Any, returned: Any, **more: Any) -> Any:
    """An observation of a type, with its input and output."""
    shown = {
        "langfuse__observation__type": kind,
        "langfuse__observation__input": given,
        "langfuse__observation__output": returned,
    }
    return span(number, parent, **{**shown, **more})


def test_a_run_of_observations() -> None:
    """An agent, the generations and the tool below it: messages, tools, arguments, result, tokens and answer."""
    call = {"id": "c1", "type": "function", "function": {"name": "refund", "arguments": '{"order": "A-1"}'}}
    said = {"role": "assistant", "content": None, "tool_calls": [call]}
    told = [*ASKED, said, {"role": "tool", "tool_call_id": "c1", "content": "done"}]
    request = json.dumps({"messages": ASKED, "tools": TOOLS})
    usage: dict[str, Any] = {"langfuse__observation__usage_details": '{"input": 10, "output": 5}'}
    run = build(
        observed(1, None, "agent", "Refund it.", "Refunded.", end=99, name="support", session__id="s"),
        observed(2, 1, "generation", request, json.dumps(said), **usage),
        observed(3, 1, "tool", '{"order": "A-1"}', "done", name="refund"),
        observed(4, 1, "generation", json.dumps(told), '{"role": "assistant", "content": "Refunded."}'),
    )
    (found,) = calls(run)
    assert (found.id, arguments_of(found), found.output, found.error_type) == ("c1", {"order": "A-1"}, "done", None)
    assert (run.agent, run.task, run.system_prompt, run.final_answer) == ("support", "Refund it.", "Be kind.", "Refunded.")
    assert ([tool.name for tool in run.tools or ()], run.conversation_id, run.incomplete) == (["refund"], "s", [])
    assert run.usage is not None
    assert (run.usage.input_tokens, run.usage.output_tokens) == (10, 5)


def test_a_tool_of_level_error_failed() -> None:
    """Langfuse says so in the observation's level, with a message of its own."""
    more: dict[str, Any] = {"langfuse__observation__level": "ERROR", "langfuse__observation__status_message": "no funds"}
    (found,) = calls(build(agent(1), span(2, 1, name="refund", langfuse__observation__type="tool", **more)))
    assert (found.name, found.error_type, found.output) == ("refund", "_OTHER", "no funds")


@pytest.mark.parametrize("junk", [None, 7, "", "[", "[1]", "{}", '{"messages": 3}', [], {}, '"text"'])
@pytest.mark.parametrize("kind", ["agent", "generation", "tool", "span", "chain"])
def test_junk_is_survived(kind: str, junk: Any) -> None:
    """Whatever stands in an observation, the run is rebuilt."""
    assert build(agent(1), observed(2, 1, kind, junk, junk)).agent == "support"
