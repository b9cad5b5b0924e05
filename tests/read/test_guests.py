"""What joins a run by its conversation's name alone counts, and makes nothing of the run's own milder."""

from __future__ import annotations

from typing import Any

import pytest

from attest_otel import Attest
from attest_otel.read.span import SpanRecord
from attest_otel.trajectory import Trajectory
from tests.read.spans import agent, build, call_part, calls, chat, message, result_part, tool

OTHER = "b" * 32
NAMED: dict[str, Any] = {"gen_ai__conversation__id": "c-1"}
FAILED: dict[str, Any] = {"gen_ai__tool__call__result": "Error: card declined"}
FINE: dict[str, Any] = {"gen_ai__tool__call__result": "charged"}


def recovery(*spans: SpanRecord) -> Any:
    """How the error of a run's first call was recovered."""
    return Attest().tool_use(build(*spans)).findings[0].metadata["recovery"]


def test_a_strangers_call_recovers_nothing_of_the_run() -> None:
    """A parentless span of another trace that only names the conversation is a call of the run, and no retry of its error."""
    run = (agent(1, **NAMED), tool(2, 1, **FAILED))
    assert recovery(*run, tool(3, trace=OTHER, **NAMED, **FINE)) == "unchecked"
    assert recovery(*run, tool(3, 1, **FINE)) == "retried"
    assert len(calls(build(*run, tool(3, trace=OTHER, **NAMED, **FINE)))) == 2


def test_a_strangers_call_is_no_fallback() -> None:
    """Nor does it stand in for the tool that failed."""
    run = (agent(1, **NAMED, attest__tool_fallbacks='{"get_order": ["spare"]}'), tool(2, 1, **FAILED))
    assert recovery(*run, tool(3, 1, tool_name="spare", **FINE)) == "fallback"
    assert recovery(*run, tool(3, trace=OTHER, tool_name="spare", **NAMED, **FINE)) == "unchecked"


@pytest.mark.parametrize(
    "retry",
    [
        tool(3, trace=OTHER, attest__run_id="r-1", **FINE),
        tool(3, **NAMED, **FINE),
    ],
    ids=["explicit run id", "shared trace"],
)
def test_what_surely_belongs_to_the_run_recovers_it(retry: SpanRecord) -> None:
    """An explicit run id and a shared trace say more than a conversation does."""
    root = agent(1, attest__run_id="r-1", **NAMED)
    assert recovery(root, tool(2, 1, **FAILED), retry) == "retried"


@pytest.mark.parametrize("named_by", ["id", "arguments"])
def test_what_the_runs_own_model_asked_for_recovers_it(named_by: str) -> None:
    """A call made in a pool of threads is the run's where its own model asked for it, by id or by arguments."""
    asked = [chat(n, 1, outputs=[message("assistant", call_part(f"c{n}", "get_order", {"id": 1}))]) for n in (2, 4)]
    given: dict[str, Any] = (
        {"gen_ai__tool__call__id": "c4"} if named_by == "id" else {"gen_ai__tool__call__arguments": '{"id": 1}'}
    )
    failed = tool(3, 1, gen_ai__tool__call__id="c2", **FAILED)
    assert recovery(agent(1, **NAMED), *asked, failed, tool(5, trace=OTHER, **NAMED, **FINE, **given)) == "retried"


def test_a_strangers_model_vouches_for_nobody() -> None:
    """That a model call of the other trace asked for the call puts it no nearer to the run."""
    asked = chat(4, trace=OTHER, outputs=[message("assistant", call_part("c4", "get_order", {}))], **NAMED)
    ran = tool(5, trace=OTHER, gen_ai__tool__call__id="c4", **NAMED, **FINE)
    assert recovery(agent(1, **NAMED), tool(2, 1, **FAILED), asked, ran) == "unchecked"


def test_a_call_that_only_a_strangers_messages_show_recovers_nothing() -> None:
    """Nor does a call without a span, asked for and answered in the other trace's messages."""
    first = chat(4, trace=OTHER, inputs=[], outputs=[message("assistant", call_part("c4", "get_order", {}))], **NAMED)
    shown = [message("assistant", call_part("c4", "get_order", {})), message("tool", result_part("c4", "charged"))]
    second = chat(5, trace=OTHER, inputs=shown, outputs=[message("assistant", "Done.")], **NAMED)
    run = build(agent(1, **NAMED), tool(2, 1, **FAILED), first, second)
    outcomes = [call.output for call in calls(run)]
    assert outcomes == ["Error: card declined", "charged"]
    assert Attest().tool_use(run).findings[0].metadata["recovery"] == "unchecked"


def test_pooled_calls_recover_each_other() -> None:
    """Where the tools of a run lost their context altogether, a retry among them is one."""
    failed, retried = (tool(n, trace=trace, **NAMED, **result) for n, trace, result in ((2, OTHER, FAILED), (3, "c" * 32, FINE)))
    assert recovery(agent(1, **NAMED), failed, retried) == "retried"


def test_a_strangers_span_of_the_same_call_does_not_hide_its_error() -> None:
    """Two spans of one call: the one in the run's own trace says what came of it, whichever started first."""
    own = tool(2, 1, start=30, end=60, gen_ai__tool__call__id="c1", **FAILED)
    other = tool(3, trace=OTHER, start=20, end=50, scope="other", gen_ai__tool__call__id="c1", **NAMED, **FINE)
    (call,) = calls(build(agent(1, **NAMED), own, other))
    assert (call.output, call.span_id, call.recorded is not None and call.recorded.joined) == (
        "Error: card declined",
        own.span_id,
        None,
    )


def test_a_stranger_does_not_speak_for_the_run() -> None:
    """The answer, and what the user said, come from the run's own model calls where it has any."""
    own = chat(2, 1, inputs=[message("user", "pay")], outputs=[message("assistant", "It is paid.")])
    other = chat(3, trace=OTHER, inputs=[message("user", "all of it")], outputs=[message("assistant", "It failed.")], **NAMED)
    run = build(agent(1, **NAMED), own, other)
    assert (run.final_answer, run.task, run.metadata) == ("It is paid.", "pay", {})
    assert build(agent(1, **NAMED), other).final_answer == "It failed."


def test_a_call_nobody_asked_for_is_said_whoever_recorded_it() -> None:
    """A stranger that takes our recorder's scope is still one that no model of the run asked for."""
    own = chat(2, 1, outputs=[message("assistant", "Done.")])
    other = tool(3, trace=OTHER, scope="attest_otel.record", gen_ai__tool__call__arguments="{}", **NAMED, **FINE)
    (call,) = calls(build(agent(1, **NAMED), own, other))
    assert call.recorded is not None
    assert (call.recorded.reason or "").startswith("run_not_requested")


def test_how_a_call_joined_outlives_a_file() -> None:
    """The record says it, so that a run graded from its file gets the verdict it got live."""
    run = build(agent(1, **NAMED), tool(2, 1, **FAILED), tool(3, trace=OTHER, **NAMED, **FINE))
    again = Trajectory.model_validate_json(run.model_dump_json(exclude_unset=True))
    assert Attest().tool_use(again) == Attest().tool_use(run)
