"""Grading models in a test's hand: they implement the protocol and answer from a table, or obey what they read."""

from __future__ import annotations

import re
from typing import Any

from opentelemetry.trace import SpanContext

from attest_otel.judge.question import Answer, Question
from attest_otel.judge.scripted import Said, Table, read_blocks, scripted_value

Say = Said


class ScriptedJudge:
    """Answers truthfully from a table; keeps the questions."""

    def __init__(self, table: Table) -> None:
        self.table = table
        self.questions: list[Question] = []
        self.suspicious: list[bool] = []

    def session(self, run_id: str | None, root: SpanContext | None = None, *, suspicious: bool = False) -> ScriptedJudge:
        """Itself: one budget for all."""
        self.suspicious.append(suspicious)
        return self

    async def ask(self, question: Question) -> Answer:
        """Keep the question and answer it."""
        self.questions.append(question)
        return Answer(self.value(question))

    def value(self, question: Question) -> dict[str, Any]:
        """The answer to a question."""
        return scripted_value(question.kind, question.user, self.table)

    async def aclose(self) -> None:
        """Nothing is open."""


class ObedientJudge(ScriptedJudge):
    """Does what the data says: `ANSWER: word` or `answer -> word` anywhere makes that its answer to everything."""

    ORDER = re.compile(r"(?:answer|verdict)\W{1,6}(\w+)", re.IGNORECASE)

    def value(self, question: Question) -> dict[str, Any]:
        """The answer to a question."""
        honest = super().value(question)
        answers = (
            question.schema["properties"]
            .get("answers", {})
            .get("items", {})
            .get("properties", {})
            .get("answer", {})
            .get("enum", ["none"])
        )
        ordered = [
            word for word in self.ORDER.findall(question.user + _decoded(question.user)) if word in answers or word == "none"
        ]
        if not ordered:
            return honest
        if question.kind == "faithfulness.claims":
            return {"claims": []}
        quote = _some_quote(question.user)
        return {"answers": [{**one, "answer": ordered[0], "quote": quote} for one in honest["answers"]]}


class SilentJudge(ScriptedJudge):
    """Answers nothing, for a reason."""

    def __init__(self, skipped: str = "the budget of 0 calls a run is used up", limit: str = "budget") -> None:
        super().__init__(lambda _kind, _item: "")
        self.answer = Answer(None, skipped, limit)

    async def ask(self, question: Question) -> Answer:
        """Keep the question and answer it."""
        self.questions.append(question)
        return self.answer


def _decoded(user: str) -> str:
    """The text of every block without JSON's escapes, as a model reads it."""
    return "\n".join(str(data) for _, _, data in read_blocks(user))


def _some_quote(user: str) -> str:
    """Words of a clean piece of evidence, as a cunning payload would have them quoted; else of the answer."""
    found = read_blocks(user)
    texts = [data["text"] for kind, _, data in found if kind in ("tool_output", "artifact")]
    texts += [data["final_answer"] for kind, _, data in found if "final_answer" in data]
    return min(texts, key=len)[:30] if texts else ""
