"""Claims of something done, and whether a call did it."""

from __future__ import annotations

from typing import Any

import pytest

from attest_otel.checks.actions import check
from attest_otel.checks.claims import MAX_ANSWER_CHARS, MAX_CLAIMS, find_claims, normalise
from attest_otel.checks.repetition import side_effects
from tests.checks.call_runs import LOOKUP, REFUND, call, only, said, view

TOOL = {**REFUND, "completion_phrases": ["refunded", "refund has been issued"]}
CANCEL = {"name": "cancel_order", "side_effecting": True, "completion_phrases": ["cancelled", "deleted"]}
PHRASES = ("refunded", "refund has been issued", "cancelled", "deleted", "booked")


def graded(answer: str | None, *calls: dict[str, Any], tools: Any = (TOOL, CANCEL, LOOKUP), **fields: Any) -> Any:
    """Return what the check says of a run with this answer."""
    return check(view(*calls, tools=tools, final_answer=answer, **fields))


@pytest.mark.parametrize(
    "answer",
    [
        "The order file.py has been deleted.",
        "Refunded $42.00.",
        "I've cancelled your order and refunded $42.",
        "Your order is now CANCELLED!",
        "Your refund  has\nbeen issued and will arrive in 5 days.",
        "No problem, your order was cancelled.",
        "I could not reach the bank, but your order has been cancelled.",
        "Your flights are booked.",
        "It\u2019s done: cancelled",
        "As requested, your order has been cancelled.",
        "I can confirm that it has been cancelled.",
        "Here is what I did:\n1. refunded $3\n2. sent a mail",
        "It was not only refunded, it came with a voucher.",
        "\uff32\uff25\uff26\uff35\uff2e\uff24\uff25\uff24.",
        "Would you like more? Your order was cancelled.",
    ],
)
def test_what_is_a_claim(answer: str) -> None:
    """A statement that something was done, in any spelling, is a claim."""
    assert find_claims(answer, PHRASES)[0]


@pytest.mark.parametrize(
    "answer",
    [
        "It could not be refunded.",
        "It has not been cancelled.",
        "I haven\u2019t refunded it.",
        "I didn't get it refunded.",
        "It will be refunded.",
        "I'll get it refunded.",
        "Would you like it refunded?",
        "Has it been cancelled?",
        "If you cancelled it, tell me.",
        "Once refunded, you will see it.",
        "Orders are refunded within 5 days.",
        "Your cancelled order is gone.",
        "It was already refunded in May.",
        "No refund has been issued.",
        "Nothing was deleted.",
        "I was unable to have the order cancelled.",
        "The payment failed, nothing refunded.",
        "I have not, as you asked, cancelled it.",
        "unrefunded",
        "refunded_at is null",
        "a non-refunded fare",
        "To be refunded, reply yes.",
        "I was unable to do the following:\n- refunded $3\n- cancelled the order",
        "These could not be done:\n\n1. refunded",
    ],
)
def test_what_is_no_claim(answer: str) -> None:
    """Negations, questions, futures, conditions, general statements and other words are no claims."""
    assert find_claims(answer, PHRASES)[0] == []


def test_a_claim_with_no_call_blocks() -> None:
    """Said and never called: phantom_action, with the sentence as evidence."""
    result = graded("Good news. Your order was Refunded today.")
    assert said(result) == [("phantom_action", "fail", None)]
    assert only(result, "phantom_action").evidence == "Your order was Refunded today"


@pytest.mark.parametrize("output", ["Error: card declined", "Error: read timed out"])
def test_a_claim_after_a_failed_call_blocks(output: str) -> None:
    """A call that returned an error did not do it, and the finding points at the call."""
    assert said(graded("Refunded.", call("lookup_order"), call(output=output))) == [("phantom_action", "fail", 1)]


def test_a_claim_with_its_call_passes() -> None:
    """A call that succeeded stands behind the claim, whatever failed before it."""
    result = graded("Refunded.", call(output="Error: busy"), call())
    assert said(result, passing=True) == [("performed", "pass", 1)]
    assert result.score == 1.0


def test_another_tool_does_not_stand_behind_a_claim() -> None:
    """Cancelling is not refunding."""
    assert [f[0] for f in said(graded("It was cancelled and refunded.", call("cancel_order")))] == ["phantom_action"]


def test_tools_that_share_a_phrase_share_the_claim() -> None:
    """Where two tools declare the word, either one's success will do."""
    other = {**CANCEL, "name": "cancel_subscription"}
    assert said(graded("It was cancelled.", call("cancel_subscription"), tools=[CANCEL, other])) == []


def test_a_declared_fallback_stands_in() -> None:
    """What a declared fallback did was done."""
    assert said(graded("Refunded.", call("pay_back"), tool_fallbacks={"issue_refund": ["pay_back"]})) == []


def test_an_earlier_run_of_the_conversation_stands_behind_a_claim() -> None:
    """A later turn may speak of what an earlier one did."""
    history = side_effects(view(call(), tools=[TOOL], id="run-0"))
    result = graded("Your order was refunded.", history=history)
    assert said(result, passing=True) == [("performed", "pass", None)]
    assert only(result, "performed").metadata["earlier_run_id"] == "run-0"


@pytest.mark.parametrize("fields", [{"calls": [call(output=None)]}, {"incomplete": ["3 spans were left out"]}])
def test_what_was_not_recorded_is_not_phantom(fields: dict[str, Any]) -> None:
    """A lost outcome, or a run with holes, sends the claim to a person instead of blocking."""
    calls = fields.pop("calls", [])
    assert [f[:2] for f in said(graded("Refunded.", *calls, **fields))] == [("unchecked", "warn")]


def test_nothing_declared_nothing_said() -> None:
    """Without phrases the check has nothing to look at."""
    assert graded("Refunded.", tools=[REFUND]) is None


@pytest.mark.parametrize("answer", [None, "", "Anything else?"])
def test_nothing_claimed_is_nothing_graded(answer: str | None) -> None:
    """No claim: no finding and no score."""
    result = graded(answer)
    assert result.findings == []
    assert result.score is None


@pytest.mark.parametrize("answer", ["fine. " * MAX_ANSWER_CHARS, "refunded. " * 1_000, "a refunded x " * 80_000])
def test_what_was_not_read_is_said(answer: str) -> None:
    """An answer beyond the bounds is unchecked, and at most so many claims are kept."""
    result = graded(answer)
    assert "unchecked" in [f[0] for f in said(result)]
    assert len(result.findings) <= MAX_CLAIMS + 1


def test_phrases_are_compared_as_people_read_them() -> None:
    """Case, width, apostrophes and spacing don't matter."""
    assert normalise(" It\u2019s  \uff24one\n ") == "it's done"


def test_many_phrases_over_many_clauses_are_bounded() -> None:
    """Phrases are looked for a bounded number of times; beyond that the answer was not all read, and that is said."""
    phrases = [f"did{i} it" for i in range(2_000)]
    answer = "no. " * 50_000 + ". ".join(f"{phrase} not" for phrase in phrases)
    claims, is_whole = find_claims(answer, phrases)
    assert not is_whole
    assert len(claims) <= MAX_CLAIMS
    assert find_claims("a " * 400_000, [f"x{i}" for i in range(20_000)]) == ([], False)


def test_a_thousand_tools_may_share_a_phrase() -> None:
    """Tools that declare the same phrase are gathered once each."""
    tools = [{"name": f"t{i}", "side_effecting": True, "completion_phrases": ["all done"]} for i in range(1_000)]
    found = graded("It is all done.", call("t999", "{}", "ok"), tools=tools)
    assert [f.verdict for f in found.findings] == ["performed"]
