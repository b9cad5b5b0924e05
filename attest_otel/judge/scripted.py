"""A grading model from a table, for tests and examples: truthful where its author is, and right about the controls.

    def answer(kind, item):                       # one item of one question -> answer, or answer and quote
        return ("supported", "charge CH-77") if kind == "faithfulness.factual" else "in_scope"

    with MessagesServer(scripted_replies(answer)) as server: ...

`scripted_replies` speaks the Messages API's JSON, so the real client and its budgets are what is tested.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

from attest_otel.judge.prompts import EXTRACT, EXTRACT_KIND, PROMPTS, Prompt

Said = tuple[str, str] | str
Table = Callable[[str, Mapping[str, Any]], Said]
ClaimKind = Callable[[str], str]

_BLOCK = re.compile(r'<data-[^ >]+ kind="(\w+)"(?: id="(\w+)")?(?: complete="false")?>\n(.*)\n</data-')
_WRONG_COUNT = re.compile(r"\d+")
_CONTROL = re.compile(r"The agent made exactly \d+ tool calls in this run\.")


def read_blocks(user: str) -> list[tuple[str, str, Any]]:
    """Return the blocks of a question: kind, id (or blank), data."""
    return [(kind, ident, json.loads(data)) for kind, ident, data in _BLOCK.findall(user)]


def read_items(user: str) -> list[tuple[str, dict[str, Any]]]:
    """Return the items of a question: id and fields."""
    return [(ident, data) for kind, ident, data in read_blocks(user) if kind == "item"]


def every_sentence_a_fact(_sentence: str) -> str:
    """Say of every sentence of an answer that it is a claim of kind "fact"."""
    return "fact"


def scripted_value(kind: str, user: str, table: Table, claim_kind: ClaimKind = every_sentence_a_fact) -> dict[str, Any]:
    """Return the answer to a question: each item's from the table, the control's as it is known.

    A question for claims is answered with each sentence as one claim; `claim_kind` says of a sentence
    whether it is a "fact", an "action" or "none".
    """
    if kind == EXTRACT_KIND:
        return {"claims": list(_claims(read_blocks(user), claim_kind))}
    prompt = next(prompt for prompt in PROMPTS if prompt.kind == kind)
    return {"answers": [_answer(prompt, ident, item, table) for ident, item in read_items(user)]}


def scripted_replies(table: Table, claim_kind: ClaimKind = every_sentence_a_fact) -> Callable[[Mapping[str, Any]], str]:
    """Return a function from a Messages request to the reply's text, for a loopback server.

    Raises (when called):
        ValueError: the request is no question of ours.
    """

    def reply(request: Mapping[str, Any]) -> str:
        system, user = (
            _texts(request.get("system")),
            "".join(_texts(m.get("content")) for m in request.get("messages", ())),
        )
        return json.dumps(scripted_value(question_kind(system), user, table, claim_kind))

    return reply


def question_kind(system: str) -> str:
    """Return which question a system prompt asks (ValueError for none of ours)."""
    kinds = {EXTRACT: EXTRACT_KIND, **{prompt.system: prompt.kind for prompt in PROMPTS}}
    found = next((kind for text, kind in kinds.items() if text in system), None)
    if found is None:
        raise ValueError("the system prompt is none of the grading model's questions")
    return found


def is_control(prompt: Prompt, item: Mapping[str, Any]) -> bool:
    """Return whether an item is a prompt's control, whatever wrong number it carries."""
    return _plain(item) == _plain(
        {k: v.replace("{wrong_count}", "0") if isinstance(v, str) else v for k, v in prompt.control.items()}
    )


def _answer(prompt: Prompt, ident: str, item: Mapping[str, Any], table: Table) -> dict[str, Any]:
    said = prompt.control_answer if is_control(prompt, item) else table(prompt.kind, item)
    answer, quote = (said, "") if isinstance(said, str) else said
    return {"item": ident, "answer": answer, "reason": f"Scripted: {answer}.", "quote": quote}


def _claims(blocks: Sequence[tuple[str, str, Any]], claim_kind: ClaimKind) -> Iterator[dict[str, Any]]:
    for _, _, data in blocks:
        for sentence in data["sentences"]:
            is_control = _CONTROL.fullmatch(sentence["text"]) is not None
            said = "fact" if is_control else claim_kind(sentence["text"])
            if said != "none":
                yield {"sentence": sentence["id"], "claim": sentence["text"], "kind": said}


def _texts(content: Any) -> str:
    if isinstance(content, str):
        return content
    parts = content if isinstance(content, list) else []
    return "\n".join(str(part.get("text", "")) for part in parts if isinstance(part, Mapping))


def _plain(item: Mapping[str, Any]) -> str:
    return _WRONG_COUNT.sub("0", json.dumps(item, sort_keys=True))
