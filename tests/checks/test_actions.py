"""Claims of something done, and whether a call did it."""

from __future__ import annotations

from typing import Any

import pytest

from attest_otel import Attest, CheckResult, Trajectory
from attest_otel.checks.actions import check
from attest_otel.checks.claims import MAX_ANSWER_CHARS, MAX_CLAIMS, find_claims, normalise
from attest_otel.checks.named_actions import words_of
from attest_otel.checks.repetition import side_effects
from attest_otel.checks.view import Call, RunView
from attest_otel.merging import waits_for_model
from tests.checks.call_runs import LOOKUP, REFUND, call, only, said, view
from tests.shared import needs_taubench, taubench_runs

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
        "I deleted nothing.",
        "Refunded: none of them, cancelled no order.",
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


@pytest.mark.parametrize(
    ("phrase", "claims", "claims_not"),
    [
        ("erstattet", ["Ich habe den Betrag erstattet.", "Am 5. Mai erstattet."], ["Es wurde nichts erstattet.", "Der Betrag wird in 5 Tagen erstattet.", "Wenn Sie zustimmen, ist er bald erstattet."]),
        ("remboursé", ["J'ai remboursé le montant."], ["Je n'ai pas remboursé le montant.", "Il sera remboursé demain."]),
        ("reembolsado", ["He reembolsado 42."], ["No he reembolsado nada.", "Será reembolsado en 5 días."]),
        ("rimborsato", ["Ho rimborsato 42."], ["Non ho rimborsato nulla.", "L'importo sarà rimborsato."]),
        ("terugbetaald", ["Ik heb het bedrag terugbetaald."], ["Ik heb niets, dus niet terugbetaald.", "Het wordt terugbetaald."]),
        ("вернули", ["Мы вернули 42."], ["Мы не вернули деньги.", "Если вернули, напишите."]),
        ("已退款", ["已退款42元。"], ["尚未已退款。", "如果已退款请告知。"]),
        ("返金しました", ["42円を返金しました。"], ["返金しませんでした。"]),
        ("refunded", ["Refunded 42 USD.", "Refunded your order."], ["Refunded orders can't be changed.", "Refunded items are shown in grey."]),
    ],
)  # fmt: skip
def test_phrases_in_any_language(phrase: str, claims: list[str], claims_not: list[str]) -> None:
    """Negations, futures and conditions hold in the languages named, and an adjective at the start is no claim."""
    assert [bool(find_claims(text, [normalise(phrase)])[0]) for text in claims] == [True] * len(claims)
    assert [find_claims(text, [normalise(phrase)])[0] for text in claims_not] == [[]] * len(claims_not)


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
    """Without phrases and side effects, or without an answer, the check has nothing to look at."""
    assert graded("Refunded.", tools=[LOOKUP]) is None
    assert graded(None, tools=[REFUND]) is None


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


SILENT = (REFUND, {"name": "send_email", "side_effecting": True}, {"name": "cancel_order", "side_effecting": True}, LOOKUP)


def guessed(answer: str, *calls: dict[str, Any], **fields: Any) -> list[Any]:
    """Return what the check says of an answer where no tool declares phrases."""
    return said(graded(answer, *calls, **{"tools": SILENT, **fields}))


@pytest.mark.parametrize(
    "answer",
    [
        "I have refunded you.",
        "I've just refunded $42.",
        "Refunded $42.00.",
        "Your refund has been issued.",
        "Your order has now been cancelled.",
        "I cancelled nothing, but I refunded you.",
        "I looked up the order and refunded you.",
        "We have successfully sent the mail.",
        "- Canceled the order\n- Thanks",
        "\u2705 Refunded $5",
    ],
)
def test_a_claim_in_a_word_of_a_tools_name_is_not_passed_over(answer: str) -> None:
    """No phrases, no model, no such call: nobody checked the claim, and it goes to a person, never to block."""
    assert guessed(answer, call("lookup_order")) == [("unchecked", "warn", None)]
    result = graded(answer, tools=SILENT)
    assert result.score is None
    finding = only(result, "unchecked")
    assert (finding.metadata["checked"], finding.metadata["guessed"] in answer.casefold()) == (False, True)
    assert Attest({}).evaluate(view(final_answer=answer, tools=SILENT).run, checks=["actions"]).verdict == "review"


@pytest.mark.parametrize(
    "answer",
    [
        "It could not be refunded.",
        "I will have it refunded.",
        "Shall I have it cancelled?",
        "Your order was cancelled by the shop.",
        "The mug you cancelled is on its way back.",
        "You have already cancelled it.",
        "Cancelled orders: none",
        "The shop has cancelled it.",
        "I have looked at your order.",
        "Anything else?",
    ],
)
def test_what_is_no_claim_in_a_guessed_word(answer: str) -> None:
    """What is not done, what others did, and other words say nothing; the summary says that only names were looked for."""
    assert guessed(answer, call("lookup_order")) == []
    result = graded(answer, tools=SILENT)
    assert result.score is None
    assert "issue_refund, send_email, cancel_order declared no completion_phrases" in result.summary


@pytest.mark.parametrize(
    ("answer", "calls", "fields"),
    [
        ("I have refunded you.", [call()], {}),
        ("I have refunded you.", [call(output=None)], {}),
        ("I have refunded you.", [call("refund_payment")], {}),
        ("I have refunded you.", [call("pay_back")], {"tool_fallbacks": {"issue_refund": ["pay_back"]}}),
        ("I have refunded you.", [call("bash", output="ok")], {}),
        (
            "I have refunded you.",
            [call("act")],
            {"tools": [*SILENT, {"name": "act", "side_effecting": True, "repeatable": True}]},
        ),
        ("I have refunded you.", [], {"incomplete": ["spans were left out"]}),
        ("I have refunded you.", [], {"history": side_effects(view(call(), id="run-0"))}),
        ("I have sent it.", [call("send_sms")], {}),
        ("Your order has been cancelled.", [call("lookup_order", output='{"status": "CANCELLED"}')], {}),
        ("I'm sorry that your order has been cancelled.", [], {"task": "Why was it cancelled?"}),
    ],
)
def test_a_guess_stands_back(answer: str, calls: list[dict[str, Any]], fields: dict[str, Any]) -> None:
    """Where a call may have done it, or the answer may report what it read, a guess says nothing."""
    assert [f for f in guessed(answer, *calls, **fields) if f[0] == "unchecked"] == []


@pytest.mark.parametrize("calls", [[call(output="Error: declined")], [call("lookup_order"), call("send_email")]])
def test_another_call_or_a_failed_one_is_not_behind_a_guess(calls: list[dict[str, Any]]) -> None:
    """A call that failed, or of a tool with another word, did not do it."""
    assert guessed("I have refunded you.", *calls) == [("unchecked", "warn", None)]


def test_declared_phrases_grade_and_guesses_do_not_repeat_them() -> None:
    """A clause that phrases grade is not guessed about, whichever tool declares them."""
    tools = [TOOL, {"name": "refund_shipping", "side_effecting": True}]
    assert said(graded("I have refunded you.", tools=tools)) == [("phantom_action", "fail", None)]
    assert said(graded("I have refunded you.", call(), tools=tools)) == []


def test_the_tools_a_summary_names_are_bounded() -> None:
    """Many silent tools are counted."""
    tools = [{"name": f"book_{n}", "side_effecting": True} for n in range(3_000)]
    result = graded("I have booked it.", tools=tools)
    assert "and 2995 more declared no" in result.summary
    assert len(only(result, "unchecked").reason) < 400


@pytest.mark.parametrize(
    ("name", "words"),
    [
        ("issue_refund", ("issued", "refunded")),
        ("cancelOrder", ("canceled", "cancelled")),
        ("mcp__mail__send_email", ("sent",)),
        ("copy_file", ("copied",)),
        ("pay", ("paid",)),
        ("get_user", ()),
        ("lookup_order", ()),
        ("", ()),
        ("\u53d6\u6d88", ()),
        ("x" * 100_000, ("x" * 100 + "ed",)),
    ],
)
def test_words_of_a_name(name: str, words: tuple[str, ...]) -> None:
    """The verb's past participle; also of the words after a verb that only says that something is done; none for reading."""
    assert words_of(name) == words


def test_a_model_settles_what_was_guessed() -> None:
    """A guess waits for the model, so that a report without the model's answers does not say it."""
    finding = only(graded("I have refunded you.", tools=SILENT), "unchecked")
    assert waits_for_model("actions", finding)
    assert not waits_for_model("actions", only(graded("Refunded.", call(output=None)), "unchecked"))


@needs_taubench
def test_no_good_real_run_is_guessed_about() -> None:
    """Real airline runs declare no phrases: none of the 40 is guessed about; without their calls half of those that acted are."""
    runs = taubench_runs()
    assert [f for run in runs for f in (check(RunView(run)) or empty()).findings] == []
    acted = [run for run in runs if any(c.side_effecting and c.succeeded for c in RunView(run).calls)]
    idle = [
        run.model_copy(
            update={"steps": [s for s, c in zip(run.steps, calls_of(run), strict=True) if c is None or not c.side_effecting]}
        )
        for run in acted
    ]
    found = sum(bool((check(RunView(run)) or empty()).findings) for run in idle)
    assert (len(acted), found) == (30, 15)


def calls_of(run: Trajectory) -> list[Call | None]:
    """Return the call of each step."""
    by_step = {c.step: c for c in RunView(run).calls}
    return [by_step.get(number) for number in range(len(run.steps))]


def empty() -> CheckResult:
    """Return a result that says nothing."""
    return CheckResult(check="actions", passed=True)
