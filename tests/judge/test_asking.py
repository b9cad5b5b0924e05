"""Closed answers: one for each item, each on the menu, and a control that must be right."""

from __future__ import annotations

from typing import Any

import anyio
import pytest
from hypothesis import given
from hypothesis import strategies as st

from attest_otel.judge.asking import MAX_ITEMS, Asker, Reply, answers_schema, read_replies
from attest_otel.judge.claims import read_claims
from attest_otel.judge.prompts import ANSWER_READING, PROMPT_VERSIONS, PROMPTS, ROLE
from attest_otel.judge.question import Answer, Question
from attest_otel.judge.scripted import read_items
from tests.judge.scripted import ScriptedJudge, SilentJudge

ITEM = {"tool": "t", "error": "e", "final_answer": "a"}
ANSWERS = ("yes", "no")


def one(**fields: Any) -> dict[str, Any]:
    """One answer as the model gives it."""
    return {"item": "I1", "answer": "yes", "reason": "r", "quote": "q", **fields}


def replies(asker: Asker, items: int = 1) -> list[Reply]:
    """What the asker makes of so many items."""
    return anyio.run(asker.ask, ANSWER_READING, (), [{**ITEM, "n": n} for n in range(items)])


@pytest.mark.parametrize(
    "value",
    [
        {"answers": []},
        {"answers": [one(item="I2")]},
        {"answers": [one(), one(answer="no")]},
        {"answers": [one(), one()]},
        {"answers": [one(answer="maybe")]},
        {"answers": [one(answer=None)]},
        {"answers": ["yes"]},
        {"answers": "yes"},
        {},
    ],
)
def test_off_the_menu_is_no_answer(value: dict[str, Any]) -> None:
    """Missing, double, unknown or malformed answers leave the item unanswered."""
    reply = read_replies(Answer(value), ANSWERS, ["I1"])[0]
    assert reply.answer is None
    assert reply.limit == "off_menu"


def test_a_fitting_answer_is_read() -> None:
    """Answer, reason and quote of an item."""
    assert read_replies(Answer({"answers": [one()]}), ANSWERS, ["I1"]) == [Reply("yes", "r", "q")]


def test_a_skipped_question_says_why() -> None:
    """Every item of a question that was not asked carries the limit."""
    found = replies(Asker(SilentJudge()), 3)
    assert {(reply.answer, reply.limit) for reply in found} == {(None, "budget")}
    assert "budget" in found[0].why


def test_items_go_in_batches_with_a_control_each() -> None:
    """No question holds more than its share of items, and each holds one control."""
    judge = ScriptedJudge(lambda _kind, _item: "silent")
    assert [reply.answer for reply in replies(Asker(judge), 25)] == ["silent"] * 25
    sizes = [len(read_items(question.user)) for question in judge.questions]
    assert sizes == [MAX_ITEMS + 1, MAX_ITEMS + 1, 6]


def test_items_keep_their_order_around_the_control() -> None:
    """The control's place never shifts an answer to another item."""
    judge = ScriptedJudge(lambda _kind, item: "silent" if item["n"] % 2 else "claimed_success")
    for count in range(1, 12):
        got = [reply.answer for reply in replies(Asker(judge), count)]
        assert got == ["silent" if n % 2 else "claimed_success" for n in range(count)]


class WrongControl(ScriptedJudge):
    """Gets every control wrong, or only those that stand with text of the run."""

    def __init__(self, always: bool) -> None:
        super().__init__(lambda _kind, _item: "silent")
        self.always = always

    def value(self, question: Question) -> dict[str, Any]:
        """The answer to a question."""
        value = super().value(question)
        if self.always or len(value["answers"]) > 1:
            value["answers"] = [{**answer, "answer": "silent"} for answer in value["answers"]]
        return value


@pytest.mark.parametrize(("always", "steered"), [(True, []), (False, ["tool_use.answer"])])
def test_a_wrong_control_voids_the_question(always: bool, steered: list[str]) -> None:
    """Nothing counts; and the model is called steered only if it knows better without the run's text."""
    asker = Asker(WrongControl(always))
    assert [(reply.answer, reply.limit) for reply in replies(asker, 2)] == [(None, "off_menu")] * 2
    assert asker.steered == steered


def test_the_same_questions_have_the_same_keys() -> None:
    """Keys, and all but the boundary, are the same each time."""
    first, second = ScriptedJudge(lambda _k, _i: "silent"), ScriptedJudge(lambda _k, _i: "silent")
    replies(Asker(first), 3)
    replies(Asker(second), 3)
    assert [q.key for q in first.questions] == [q.key for q in second.questions]
    assert [q.user for q in first.questions] != [q.user for q in second.questions]


def test_a_boundary_can_be_given() -> None:
    """With a given boundary the whole question is the same each time."""
    judges = [ScriptedJudge(lambda _k, _i: "silent") for _ in range(2)]
    for judge in judges:
        replies(Asker(judge, boundary=lambda: "fixed"), 3)
    assert judges[0].questions == judges[1].questions


def test_the_schema_is_closed() -> None:
    """Only the ids and the answers of the question fit."""
    schema = answers_schema(ANSWERS, ["I1"])
    item = schema["properties"]["answers"]["items"]
    assert item["additionalProperties"] is schema["additionalProperties"] is False
    assert item["properties"]["answer"]["enum"] == ["yes", "no"]
    assert schema["properties"]["answers"]["maxItems"] == 1


@pytest.mark.parametrize("prompt", PROMPTS, ids=lambda prompt: prompt.kind)
def test_each_prompt_knows_its_control(prompt: Any) -> None:
    """The control's answer is one of the question's, and the version belongs to the wording."""
    assert prompt.control_answer in prompt.answers
    assert PROMPT_VERSIONS[prompt.kind] == prompt.version
    assert len(set(PROMPT_VERSIONS.values())) == len(PROMPT_VERSIONS)


def test_a_new_wording_is_a_new_version() -> None:
    """One word more changes the version."""
    assert type(ROLE)(ROLE.kind, ROLE.task + " Please.", ROLE.answers, ROLE.control, ROLE.control_answer).version != ROLE.version


ANYTHING = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(),
    lambda inner: (
        st.lists(inner)
        | st.dictionaries(st.text() | st.sampled_from(["answers", "claims", "item", "answer", "sentence", "claim"]), inner)
    ),
    max_leaves=12,
)


@given(value=st.dictionaries(st.sampled_from(["answers", "claims", "x"]), ANYTHING))
def test_no_answer_of_a_model_raises(value: dict[str, Any]) -> None:
    """Whatever JSON a model gives, reading it is total and stays on the menu."""
    assert all(reply.answer in (None, *ANSWERS) for reply in read_replies(Answer(value), ANSWERS, ["I1", "I2"]))
    assert all(claim.text for claim in read_claims(Answer(value), ["a", "b"]) or ())
