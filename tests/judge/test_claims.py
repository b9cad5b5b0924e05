"""Claims: worded by the model, held to the answer."""

from __future__ import annotations

from typing import Any

import anyio
import pytest

from attest_otel.judge.asking import Asker
from attest_otel.judge.claims import MAX_CLAIMS, Claims, extract_claims, sentences
from attest_otel.judge.question import Question
from attest_otel.judge.scripted import read_blocks
from tests.judge.scripted import ScriptedJudge, SilentJudge


class Extractor(ScriptedJudge):
    """Gives a list of claims for each sentence of the answer; the control is a claim as it stands."""

    def __init__(self, by_sentence: dict[str, list[str]], *, mind_control: bool = True) -> None:
        super().__init__(lambda _k, _i: "")
        self.by_sentence = by_sentence
        self.mind_control = mind_control

    def value(self, question: Question) -> dict[str, Any]:
        """The claims of the sentences shown."""
        found = []
        for one in read_blocks(question.user)[0][2]["sentences"]:
            control = "tool calls in this run" in one["text"]
            texts = self.by_sentence.get(one["text"], [one["text"]] if control and self.mind_control else [])
            found += [{"sentence": one["id"], "claim": text, "kind": "action"} for text in texts]
        return {"claims": found}


def claims(answer: str, judge: ScriptedJudge) -> Claims:
    """The claims found with a judge."""
    return anyio.run(extract_claims, Asker(judge, 4), answer)


@pytest.mark.parametrize(
    ("answer", "expected"),
    [
        ("One. Two! Three?", ["One.", "Two!", "Three?"]),
        ("- a thing\n- b thing\n\n1. c", ["a thing", "b thing", "c"]),
        ("It costs $18.00 today. Done.", ["It costs $18.00 today.", "Done."]),
        ("完了しました。次へ。", ["完了しました。", "次へ。"]),
        ("e.g. this stays", ["e.g. this stays"]),
        ("---\n***", []),
        ("", []),
    ],
)
def test_sentences(answer: str, expected: list[str]) -> None:
    """Sentences and lines, without list marks."""
    assert sentences(answer) == expected


def test_atomic_claims_are_taken() -> None:
    """A sentence may hold several claims, in their order."""
    found = claims(
        "Order 7 shipped and cost 5 euro.",
        Extractor({"Order 7 shipped and cost 5 euro.": ["Order 7 shipped.", "Order 7 cost 5 euro."]}),
    )
    assert [(c.text, c.kind, c.sentence) for c in found.claims] == [
        ("Order 7 shipped.", "action", 0),
        ("Order 7 cost 5 euro.", "action", 0),
    ]


@pytest.mark.parametrize("invented", ["Order 7 cost 9 euro.", "Everything about this is entirely wonderful."])
def test_an_invented_claim_is_its_sentence(invented: str) -> None:
    """Numbers or words that the answer does not have are not graded in its name."""
    said = "Order 7 cost 5 euro."
    assert [c.text for c in claims(said, Extractor({said: [invented]})).claims] == [said]


def test_a_number_nobody_took_up_is_a_claim() -> None:
    """A sentence with a number can't be passed over; a question can."""
    found = claims("Hello. The total is 42 euro. Shall I wait 5 minutes?", Extractor({}))
    assert [c.text for c in found.claims] == ["The total is 42 euro."]


def test_a_passed_over_control_makes_every_sentence_a_claim() -> None:
    """A model that was talked out of finding claims does not decide what is graded."""
    found = claims("The order has shipped. Have a nice day.", Extractor({}, mind_control=False))
    assert [c.text for c in found.claims] == ["The order has shipped.", "Have a nice day."]


def test_the_control_is_not_a_claim() -> None:
    """No claim is about the control, wherever it stood."""
    for length in range(1, 8):
        answer = " ".join(f"Thing {n} is done." for n in range(length))
        found = claims(answer, Extractor({f"Thing {n} is done.": [f"Thing {n} is done."] for n in range(length)}))
        assert [(c.text, c.sentence) for c in found.claims] == [(f"Thing {n} is done.", n) for n in range(length)]


def test_claims_beyond_the_limit_are_said() -> None:
    """The first ones are checked; that there are more is said."""
    answer = " ".join(f"Thing {n} is done." for n in range(MAX_CLAIMS + 5))
    found = claims(answer, Extractor({}))
    assert len(found.claims) == MAX_CLAIMS
    assert found.left_out is not None


def test_no_answer_is_no_claims_with_the_limit() -> None:
    """A question that could not be asked says which limit stopped it."""
    found = claims("Order 7 shipped.", SilentJudge())
    assert (found.claims, found.limit) == ((), "budget")
