"""The claims of a final answer: cut into sentences by rule, into atomic claims by the grading model.

The model may word a claim, not invent one: a claim whose numbers or words the answer does not have is
replaced by its sentence, and a sentence whose numbers no claim took up is a claim itself. One of the
sentences is a control: a model that finds no claim there was talked out of finding any, and then every
sentence is a claim.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

from attest_otel.judge.asking import Asker, closed_object, wrong_count
from attest_otel.judge.boundary import Block
from attest_otel.judge.prompts import EXTRACT, EXTRACT_KIND, EXTRACT_VERSION
from attest_otel.judge.question import Answer

MAX_ANSWER_CHARS = 20_000
MAX_SENTENCES = 80
MAX_SENTENCE_CHARS = 1_500
MAX_CLAIMS = 30
MAX_CLAIM_CHARS = 500
MIN_SHARED_WORDS = 0.5
_TOKENS = 4_096

ClaimKind = Literal["fact", "action"]

_SENTENCE_END = re.compile(r"\n+|(?<=[.!?])[\"')\]]?\s+(?=[^\sa-z])|(?<=[。！？])")  # noqa: RUF001  # the full-width marks end sentences too
_LIST_MARK = re.compile(r"^\s*(?:[-*•#>]+|\d{1,3}[.)])\s+")
_NUMBER = re.compile(r"\d[\d.,:/-]*\d|\d")
_WORD = re.compile(r"\w{3,}")


@dataclass(frozen=True, slots=True)
class Claim:
    """One claim: its words, its kind, and the sentence of the answer it stands in (counted from 0)."""

    text: str
    kind: ClaimKind
    sentence: int


@dataclass(frozen=True, slots=True)
class Claims:
    """What an answer claims; `skipped` and `limit` say why nobody could tell, `left_out` what is beyond the limits."""

    claims: tuple[Claim, ...] = ()
    skipped: str | None = None
    limit: str | None = None
    left_out: str | None = None


def sentences(answer: str) -> list[str]:
    """Return the sentences and lines of an answer, without list marks."""
    parts = (_LIST_MARK.sub("", part).strip() for part in _SENTENCE_END.split(answer[:MAX_ANSWER_CHARS]))
    return [part for part in parts if any(c.isalnum() for c in part)]


async def extract_claims(asker: Asker, answer: str) -> Claims:
    """Return the claims of an answer, in order; one question."""
    found = sentences(answer)
    left_out = "the answer is longer than what is read" if len(answer) > MAX_ANSWER_CHARS or len(found) > MAX_SENTENCES else None
    found = [text[:MAX_SENTENCE_CHARS] for text in found[:MAX_SENTENCES]]
    if not found:
        return Claims(left_out=left_out)
    place = len(answer) % (len(found) + 1)
    control = f"The agent made exactly {wrong_count(asker.number_of_calls, answer)} tool calls in this run."
    shown = [*found[:place], control, *found[place:]]
    ids = [f"S{number + 1}" for number in range(len(shown))]
    block = Block("answer", {"sentences": [{"id": ident, "text": text} for ident, text in zip(ids, shown, strict=True)]})
    reply = await asker.raw(EXTRACT_KIND, EXTRACT_VERSION, EXTRACT, [block], claims_schema(ids), _TOKENS)
    said = read_claims(reply, shown)
    if said is None:
        return Claims(
            skipped=reply.skipped or "the grading model's list of claims could not be read",
            limit=reply.limit or "off_menu",
            left_out=left_out,
        )
    if not any(claim.sentence == place for claim in said):
        return _bounded([Claim(text[:MAX_CLAIM_CHARS], "fact", number) for number, text in enumerate(found)], left_out)
    own = [Claim(c.text, c.kind, c.sentence - (c.sentence > place)) for c in said if c.sentence != place]
    return _bounded(_completed(own, found), left_out)


def claims_schema(ids: Sequence[str]) -> dict[str, Any]:
    """Return the JSON Schema of a list of claims."""
    fields = {
        "sentence": {"type": "string", "enum": list(ids)},
        "claim": {"type": "string"},
        "kind": {"type": "string", "enum": ["fact", "action"]},
    }
    return closed_object({"claims": {"type": "array", "items": closed_object(fields), "maxItems": 3 * MAX_CLAIMS}})


def read_claims(reply: Answer, shown: Sequence[str]) -> list[Claim] | None:
    """Return the claims as the model gave them, in the order of their sentences; None for no list."""
    given = reply.value.get("claims") if reply.value is not None else None
    if not isinstance(given, list):
        return None
    numbers = {f"S{number + 1}": number for number in range(len(shown))}
    found: list[Claim] = []
    for one in given[: 3 * MAX_CLAIMS]:
        number = numbers.get(str(one.get("sentence"))) if isinstance(one, Mapping) else None
        text = one.get("claim") if isinstance(one, Mapping) else None
        if number is not None and isinstance(text, str) and text.strip():
            kind: ClaimKind = "action" if one.get("kind") == "action" else "fact"
            found.append(Claim(" ".join(text.split()), kind, number))
    return sorted(found, key=lambda claim: claim.sentence)


def _completed(claims: Sequence[Claim], found: Sequence[str]) -> list[Claim]:
    """Return the claims held to the answer's own words, and the sentences whose numbers none took up."""
    numbers, words = _numbers(" ".join(found)), _words(" ".join(found))
    by_sentence: dict[int, list[Claim]] = {number: [] for number in range(len(found))}
    for claim in claims:
        text = claim.text if _is_of(claim.text, numbers, words) else found[claim.sentence]
        by_sentence[claim.sentence].append(Claim(text[:MAX_CLAIM_CHARS], claim.kind, claim.sentence))
    for number, own in by_sentence.items():
        taken = _numbers(" ".join(claim.text for claim in own))
        if not found[number].rstrip().endswith("?") and _numbers(found[number]) - taken:
            own.append(Claim(found[number][:MAX_CLAIM_CHARS], "fact", number))
    every = [claim for own in by_sentence.values() for claim in own]
    return list({claim.text.casefold(): claim for claim in reversed(every)}.values())[::-1]


def _bounded(claims: Sequence[Claim], left_out: str | None) -> Claims:
    if len(claims) > MAX_CLAIMS:
        left_out = f"the answer makes {len(claims)} claims, and {MAX_CLAIMS} are checked"
    return Claims(tuple(claims[:MAX_CLAIMS]), left_out=left_out)


def _is_of(claim: str, numbers: set[str], words: set[str]) -> bool:
    own = _words(claim)
    return _numbers(claim) <= numbers and len(own & words) >= MIN_SHARED_WORDS * len(own)


def _numbers(text: str) -> set[str]:
    return {match.replace(",", "") for match in _NUMBER.findall(text)}


def _words(text: str) -> set[str]:
    return {word.casefold() for word in _WORD.findall(text)}
