"""Puts items before the grading model and reads one closed answer for each.

With the items goes a control whose answer is known, at a place that depends on the content. An item
that is missing, double or off the menu is not answered. A wrong control voids all answers of the
question; then the control is asked alone, without any of the run's text: a model that gets it right
there was steered by what it had read, and `Asker.steered` says by which question. This holds against
text that sways every answer. Text that sways one answer alone and leaves the control be it can't show;
nor text that makes the model refuse or ramble: that is no answer, so `unchecked`, and never a pass.
"""

from __future__ import annotations

import hashlib
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import anyio

from attest_otel.judge.boundary import Block, Boundary, frame, frame_fresh, question_key, random_boundary
from attest_otel.judge.prompts import Prompt
from attest_otel.judge.question import Answer, JudgeSession, Question

MAX_ITEMS = 10
MAX_REASON_CHARS = 400
MAX_QUOTE_CHARS = 1_000
TOKENS_AN_ITEM = 300
OFF_MENU = "off_menu"


@dataclass(frozen=True, slots=True)
class Reply:
    """The answer to one item; None, with the reason and the limit, where there is none."""

    answer: str | None
    reason: str = ""
    quote: str = ""
    skipped: str = ""
    limit: str | None = None

    @property
    def why(self) -> str:
        """Why there is no answer, as a clause for a person."""
        return self.skipped or "the grading model gave no answer"


@dataclass
class Asker:
    """Asks the questions of one run. Not for use from several threads.

    `steered` are the kinds of questions in which text of the run swayed the model.
    """

    session: JudgeSession
    number_of_calls: int = 0
    boundary: Boundary = random_boundary
    steered: list[str] = field(default_factory=list)
    _probed: set[str] = field(default_factory=set)

    async def ask(self, prompt: Prompt, shared: Sequence[Block], items: Sequence[Mapping[str, Any]]) -> list[Reply]:
        """Return a reply for each item, in order; items go in batches."""
        replies: list[Reply] = []
        for start in range(0, len(items), MAX_ITEMS):
            replies += await self._batch(prompt, shared, items[start : start + MAX_ITEMS])
        return replies

    async def ask_each(self, prompt: Prompt, items: Sequence[Mapping[str, Any]]) -> list[Reply]:
        """Return a reply for each item, each asked in a question of its own, several at a time."""
        return await in_order([lambda item=item: self._one(prompt, item) for item in items])  # type: ignore[misc]

    async def raw(
        self,
        kind: str,
        version: str,
        system: str,
        blocks: Sequence[Block],
        schema: Mapping[str, Any],
        max_tokens: int,
    ) -> Answer:
        """Ask a question of another form; a session that breaks its promise and raises gave no answer."""
        key = question_key(kind, version, system, blocks, schema)
        question = Question(kind, version, system, frame_fresh(blocks, self.boundary), schema, key, max_tokens)
        try:
            return await self.session.ask(question)
        except Exception as error:  # noqa: BLE001  # one question must not cost the run the others
            return Answer(None, f"asking the grading model failed: {type(error).__name__}", "error")

    async def note_wrong_control(self, prompt: Prompt) -> None:
        """Find out, once for each kind of question, whether the model is steered: does it get the control right on its own?"""
        if prompt.kind in self._probed:
            return
        self._probed.add(prompt.kind)
        replies, _ = await self._send(prompt, [_calls_only(self.number_of_calls)], [self.control(prompt, prompt.kind)])
        if replies[0].answer == prompt.control_answer:
            self.steered.append(prompt.kind)

    def control(self, prompt: Prompt, seed: str) -> dict[str, Any]:
        """Return a prompt's control item, its wrong number chosen by the content."""
        wrong = str(wrong_count(self.number_of_calls, seed))
        return {k: v.replace("{wrong_count}", wrong) if isinstance(v, str) else v for k, v in prompt.control.items()}

    async def _one(self, prompt: Prompt, item: Mapping[str, Any]) -> Reply:
        return (await self._batch(prompt, (), [item]))[0]

    async def _batch(self, prompt: Prompt, shared: Sequence[Block], items: Sequence[Mapping[str, Any]]) -> list[Reply]:
        seed = frame([*shared, *(Block("item", item) for item in items)], "")
        place = _number(seed, prompt.kind) % (len(items) + 1)
        asked = [*items[:place], self.control(prompt, seed), *items[place:]]
        replies, heard = await self._send(prompt, shared, asked)
        control = replies.pop(place)
        if control.answer == prompt.control_answer or not heard:
            return replies
        await self.note_wrong_control(prompt)
        why = "the grading model got a control question wrong, so its answers count for nothing"
        return [Reply(None, skipped=why, limit=OFF_MENU) for _ in items]

    async def _send(
        self, prompt: Prompt, shared: Sequence[Block], items: Sequence[Mapping[str, Any]]
    ) -> tuple[list[Reply], bool]:
        """Return the replies, and whether the model said anything that fits the question at all."""
        ids = [f"I{number + 1}" for number in range(len(items))]
        blocks = [*shared, *(Block("item", item, ident) for ident, item in zip(ids, items, strict=True))]
        answer = await self.raw(
            prompt.kind,
            prompt.version,
            prompt.system,
            blocks,
            answers_schema(prompt.answers, ids),
            TOKENS_AN_ITEM * (len(ids) + 1),
        )
        return read_replies(answer, prompt.answers, ids), answer.value is not None


def answers_schema(answers: Sequence[str], ids: Sequence[str]) -> dict[str, Any]:
    """Return the JSON Schema of the answers to some items."""
    fields = {
        "item": {"type": "string", "enum": list(ids)},
        "answer": {"type": "string", "enum": list(answers)},
        "reason": {"type": "string"},
        "quote": {"type": "string"},
    }
    item = {"type": "object", "properties": fields, "required": list(fields), "additionalProperties": False}
    return closed_object({"answers": {"type": "array", "items": item, "maxItems": len(ids)}})


def closed_object(properties: Mapping[str, Any]) -> dict[str, Any]:
    """Return the schema of an object with exactly these fields."""
    return {
        "type": "object",
        "properties": dict(properties),
        "required": list(properties),
        "additionalProperties": False,
    }


def read_replies(answer: Answer, answers: Sequence[str], ids: Sequence[str]) -> list[Reply]:
    """Return the reply of each item; never raises, whatever the model said."""
    if answer.value is None:
        return [Reply(None, skipped=answer.skipped or "", limit=answer.limit) for _ in ids]
    given = answer.value.get("answers")
    said = [one for one in given if isinstance(one, Mapping)] if isinstance(given, list) else []
    return [_reply([one for one in said if one.get("item") == ident], answers) for ident in ids]


async def in_order(jobs: Sequence[Callable[[], Awaitable[Reply]]]) -> list[Reply]:
    """Run jobs at the same time and return what they came to, in order."""
    results: list[Reply] = [Reply(None)] * len(jobs)

    async def run(number: int, job: Callable[[], Awaitable[Reply]]) -> None:
        results[number] = await job()

    async with anyio.create_task_group() as group:
        for number, job in enumerate(jobs):
            group.start_soon(run, number, job)
    return results


def wrong_count(number: int, seed: str) -> int:
    """Return a number of calls that is plainly not the run's."""
    return number + 3 + _number(seed, "count") % 7


def _reply(found: Sequence[Mapping[str, Any]], answers: Sequence[str]) -> Reply:
    if len(found) != 1:
        what = "left out" if not found else "answered twice"
        return Reply(None, skipped=f"the grading model {what} this item", limit=OFF_MENU)
    answer, reason, quote = (found[0].get(name) for name in ("answer", "reason", "quote"))
    if not isinstance(answer, str) or answer not in answers:
        return Reply(None, skipped="the grading model's answer is not on the menu", limit=OFF_MENU)
    text = " ".join(reason.split()) if isinstance(reason, str) else ""
    return Reply(answer, text[:MAX_REASON_CHARS], quote[:MAX_QUOTE_CHARS].strip() if isinstance(quote, str) else "")


def _calls_only(number: int) -> Block:
    return Block("calls", {"number_of_calls": number})


def _number(seed: str, salt: str) -> int:
    return int.from_bytes(hashlib.blake2b(f"{salt}\x1f{seed}".encode("utf-8", "surrogatepass"), digest_size=8).digest())
