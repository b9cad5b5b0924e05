"""Repeated side effects, retries that are safe, and loops."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from attest_otel.checks.repetition import MAX_REPEATS, check, side_effects
from attest_otel.checks.side_effects import SideEffect
from attest_otel.verdict import VerdictPolicy
from tests.checks.call_runs import LOOKUP, REFUND, call, only, said, view
from tests.shared import taubench_runs

TIMEOUT = "Error: read timed out"
REFUSED = "Error: order not found"
KEYED = {**REFUND, "idempotency_key": "key"}


def test_two_equal_effects_block() -> None:
    """Both took effect: fail, at the second call, whatever the call ids."""
    result = check(view(call(id="a"), call(raw='{ "id" : 1.0 }', id="b")))
    assert said(result) == [("repeated_side_effect", "fail", 1)]
    assert VerdictPolicy().apply([result] if result else [])[0].findings[-1].disposition == "block"
    assert only(result, "repeated_side_effect").metadata["first_outcome"] == "succeeded"


def test_the_same_id_is_no_repeat() -> None:
    """Two calls that share an id and differ in their arguments are distinct."""
    assert said(check(view(call(id="a"), call(raw='{"id": 2}', id="a")))) == []


@pytest.mark.parametrize(
    "first",
    [
        {"output": TIMEOUT},
        {"output": None},
        {"output": "Error: connection reset by peer"},
        {"output": '{"error": "upstream", "status": 504}'},
        {"output": "HTTP 502 Bad Gateway", "is_error": True},
        {"output": "Internal Server Error", "is_error": True},
        {"output": "", "error_type": "TimeoutError"},
        {"output": "", "error_type": "CancelledError"},
        {"output": "", "error_type": "504"},
        {"output": "killed", "exit_code": 137},
    ],
)
def test_an_unknown_first_outcome_is_for_a_person(first: dict[str, Any]) -> None:
    """Where the first answer was lost or never recorded, the second call may be a second effect: warn."""
    result = check(view(call(**first), call()))
    assert said(result) == [("repeated_side_effect", "warn", 1)]
    assert only(result, "repeated_side_effect").metadata["first_outcome"] == "unknown"


@pytest.mark.parametrize(
    "first",
    [
        {"output": REFUSED},
        {"output": "amount must be positive", "is_error": True},
        {"output": "", "error_type": "ValidationError"},
        {"output": "", "error_type": "ConnectTimeout"},
        {"output": "Error: connection refused"},
        {"output": "Error: 503 service unavailable"},
        {"output": '{"error": "rate limited", "status": 429}'},
        {"output": "no such file", "exit_code": 1},
    ],
)
def test_a_refused_first_call_is_no_effect(first: dict[str, Any]) -> None:
    """A call that clearly failed and was made again is distinct."""
    result = check(view(call(**first), call()))
    assert said(result, passing=True) == [("distinct", "pass", 0), ("distinct", "pass", 1)]
    assert result is not None
    assert result.findings[1].metadata["first_outcome"] == "failed"


def test_a_refused_repeat_did_nothing() -> None:
    """The tool itself refused the second call: nothing was done twice."""
    assert said(check(view(call(), call(output=REFUSED)))) == []


def test_an_effect_behind_refusals_is_remembered() -> None:
    """A refusal between two effects hides neither."""
    assert said(check(view(call(), call(output=REFUSED), call()))) == [("repeated_side_effect", "fail", 2)]


@pytest.mark.parametrize(
    ("tool", "expected"),
    [
        ({**REFUND, "idempotent": True}, [("idempotent_retry", "pass", 1)]),
        ({**REFUND, "repeatable": True}, [("distinct", "pass", 1)]),
        ({"name": "issue_refund"}, [("repeated_side_effect", "warn", 1)]),
        ({"name": "issue_refund", "side_effecting": False}, []),
        (REFUND, [("repeated_side_effect", "fail", 1)]),
    ],
)
def test_the_declaration_decides(tool: dict[str, Any], expected: list[tuple[str, str, int]]) -> None:
    """Idempotent, repeatable, undeclared, read-only and side-effecting tools repeat differently."""
    found = said(check(view(call(), call(), tools=[tool])), passing=True)
    assert [f for f in found if f[2] == 1] == expected


def test_the_same_idempotency_key_is_one_effect() -> None:
    """A retry under the same key is safe, a lost first answer included."""
    calls = [call(raw='{"id": 1, "key": "k1"}', output=TIMEOUT), call(raw='{"key": "k1", "id": 1}')]
    assert said(check(view(*calls, tools=[KEYED])), passing=True)[1:] == [("idempotent_retry", "pass", 1)]


@pytest.mark.parametrize("second", ['{"id": 1, "key": "k2"}', '{"id": 1}', '{"id": 1, "key": null}'])
def test_a_new_idempotency_key_is_a_second_effect(second: str) -> None:
    """Equal arguments under another key, or none, are done again."""
    calls = [call(raw='{"id": 1, "key": "k1"}'), call(raw=second)]
    assert said(check(view(*calls, tools=[KEYED]))) == [("repeated_side_effect", "fail", 1)]


def test_arguments_nobody_recorded_cannot_be_compared() -> None:
    """Two calls without recorded arguments are neither equal nor distinct."""
    assert [f[0] for f in said(check(view(call(raw=None), call(raw=None))))] == ["unchecked", "unchecked"]
    assert said(check(view(call(raw=None)))) == []


def test_a_repeat_of_an_earlier_run_names_it() -> None:
    """Across the runs of a conversation a repeat is a warning that names the run and this run's step."""
    history = side_effects(view(call(), id="run-0"))
    result = check(view(call("lookup_order"), call(), history=history))
    assert said(result) == [("repeated_side_effect", "warn", 1)]
    assert only(result, "repeated_side_effect").metadata["earlier_run_id"] == "run-0"


def test_only_what_repeats_at_a_cost_is_remembered() -> None:
    """Read-only, undeclared, idempotent, repeatable and refused calls leave no memory."""
    tools = [
        REFUND,
        LOOKUP,
        {"name": "u"},
        {**REFUND, "name": "i", "idempotent": True},
        {**REFUND, "name": "r", "repeatable": True},
    ]
    calls = [call("lookup_order"), call("u"), call("i"), call("r"), call(output=REFUSED), call(output=TIMEOUT)]
    (kept,) = side_effects(view(*calls, tools=tools))
    assert (kept.tool, kept.outcome, kept.step) == ("issue_refund", "unknown", 5)


def test_a_new_revision_of_a_run_repeats_nothing() -> None:
    """What the same run is remembered to have done is not held against it."""
    run = view(call())
    assert said(check(view(call(), history=side_effects(run)))) == []


def test_an_earlier_run_under_the_same_key_is_a_retry() -> None:
    """The idempotency key holds across runs, a new one does not."""
    history = side_effects(view(call(raw='{"id": 1, "key": "k1"}'), tools=[KEYED], id="run-0"))
    same = view(call(raw='{"id": 1, "key": "k1"}'), tools=[KEYED], history=history)
    other = view(call(raw='{"id": 1, "key": "k2"}'), tools=[KEYED], history=history)
    assert said(check(same), passing=True) == [("idempotent_retry", "pass", 0)]
    assert said(check(other)) == [("repeated_side_effect", "warn", 0)]


def test_undeclared_tools_are_not_held_against_later_turns() -> None:
    """Calling an undeclared tool again in the next turn is everyday work."""
    effect = side_effects(view(call(), id="run-0"))[0]
    assert said(check(view(call(), tools=[], history=(effect,)))) == []


def poll(*outputs: str | None) -> Any:
    """Return what the check says of one lookup made again and again."""
    return check(view(*(call("lookup_order", output=output) for output in outputs)))


def test_a_loop_is_three_equal_calls_with_equal_outcomes() -> None:
    """Found at the third call, once, with the count."""
    result = poll("[]", "[]", "[]", "[]")
    assert said(result) == [("loop", "warn", 2)]
    assert only(result, "loop").metadata["count"] == 4


@pytest.mark.parametrize(
    "outputs",
    [
        ("[]", "[]"),
        ("10%", "50%", "done"),
        ("pending", "pending", "pending", "done"),
        ("a", "b", "a", "b", "a", "b"),
        (None, None, None),
    ],
)
def test_polling_that_changes_is_no_loop(outputs: tuple[str | None, ...]) -> None:
    """Equal calls whose outcome changes, or isn't known, make no loop."""
    assert said(poll(*outputs)) == []


def test_a_batch_is_no_loop() -> None:
    """The same tool with different arguments and equal outputs is a batch."""
    assert said(check(view(*(call("lookup_order", raw=f'{{"id": {n}}}') for n in range(9))))) == []


def test_a_shell_can_loop() -> None:
    """Repeatable tools loop like any other."""
    assert [f[0] for f in said(check(view(*[call()] * 3, tools=[{**REFUND, "repeatable": True}])))] == ["loop"]


def test_many_repeats_are_counted_not_listed() -> None:
    """5,000 equal effects give few findings, and the last says for how many it stands."""
    result = check(view(*[call()] * 5_000))
    assert result is not None
    repeats = [f for f in result.findings if f.verdict == "repeated_side_effect"]
    assert len(repeats) == MAX_REPEATS
    assert repeats[-1].metadata["count"] + MAX_REPEATS - 1 == 4_999


CALLS = st.builds(
    lambda raw, output, tool: call(tool, raw=raw, output=output),
    st.sampled_from(['{"id": 1, "key": "a"}', '{"id": 1, "key": "b"}', '{"id": 1}', '{"id": 2}']),
    st.sampled_from(["ok", TIMEOUT, REFUSED, None]),
    st.sampled_from(["issue_refund", "keyed", "undeclared", "lookup_order"]),
)
RANK = {"warn": 1, "fail": 2}


@given(st.lists(CALLS, max_size=8), CALLS, st.integers(0, 8))
def test_adding_a_call_never_removes_a_side_effect_finding(
    calls: list[dict[str, Any]], added: dict[str, Any], place: int
) -> None:
    """However a run grows, it has no fewer repeats, and none of them gets milder."""
    tools = [REFUND, LOOKUP, {**KEYED, "name": "keyed"}]
    place = min(place, len(calls))
    before = said(check(view(*calls, tools=tools))) if calls else []
    after = said(check(view(*calls[:place], added, *calls[place:], tools=tools)))
    ranks = [sorted((RANK[s] for v, s, _ in found if v == "repeated_side_effect"), reverse=True) for found in (before, after)]
    assert len(ranks[1]) >= len(ranks[0])
    assert all(b >= a for a, b in zip(ranks[0], ranks[1], strict=False))


def test_no_good_airline_run_repeats_anything() -> None:
    """No recorded run with reward 1 has a finding, and the one loop that is found is one."""
    found = {run.id: said(check(view_of(run))) for run in taubench_runs() if run.steps and check(view_of(run))}
    assert {k: v for k, v in found.items() if v} == {"airline-013-0": [("loop", "warn", 10)]}


def view_of(run: Any) -> Any:
    """Return a recorded run as a check reads it."""
    from attest_otel.checks.view import RunView

    return RunView(run)


def test_a_memory_holds_no_content() -> None:
    """What is remembered of a call is digests: neither arguments nor keys."""
    (effect,) = side_effects(view(call(raw='{"id": "canary", "key": "canary"}'), tools=[KEYED]))
    assert isinstance(effect, SideEffect)
    assert "canary" not in repr(effect)


def test_many_repeated_operations_are_counted_not_listed() -> None:
    """Thousands of operations, each done twice, give a bounded report that counts them all."""
    result = check(view(*[call(raw=f'{{"id": {n % 2_000}}}') for n in range(4_000)]))
    assert result is not None
    repeats = [f for f in result.findings if f.verdict == "repeated_side_effect"]
    assert len(result.findings) < 500
    assert sum(f.metadata.get("count", 1) for f in repeats) == 2_000
    assert result.score == 0.5
