"""Which sentences of an answer say that something was done, in the words a tool declares?

A phrase is found case-folded, in NFKC, blind to spacing, on word boundaries. It counts as a claim when
its clause states it as done. These do not count, because a false alarm here blocks a good run:

- questions, and anything after a negation (not, n't, no, never, unable, failed to, without ...) or just before
  one (`refunded nothing`);
- what is yet to come or only possible: a future, a modal, a condition, a wish, an instruction, an
  infinitive before the phrase (will, can, would, if, once, please, to, going to ...);
- what had happened before (already, previously) and what holds in general (`refunds are issued within
  5 days`): `are` and `get` before the phrase count only beside your, now or both;
- the phrase as an adjective (`your cancelled order`, `Refunded orders can't be changed`).

The same holds of negations, futures and conditions in German, French, Spanish, Italian, Portuguese, Dutch, Polish,
Russian and Chinese: a tool may declare its phrases in any language.

A clause ends with its sentence, a semicolon, a dash, a line, or at but, however, although, though, so
and instead. Commas and `and` don't end it: a negation reaches over them, by at most
`MAX_LOOK_BACK_CHARS` characters, and from the line that introduces a list into its items.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterable, Iterator
from dataclasses import dataclass

MAX_ANSWER_CHARS = 1_000_000
MAX_CLAIMS = 50
MAX_PLACES = 2_000
MAX_PHRASE_CHARS = 200
MAX_SEARCHES = 1_000_000
_CHARS_A_SEARCH = 1_000

MAX_LOOK_BACK_CHARS = 300
MAX_LOOK_AHEAD_CHARS = 60

_CLAUSE_END = re.compile(
    r"(?<!\n\d)(?<!\n\d\d)[.!?]+(?=[\s\"')\]*_]|\Z)|[\u3002\uff01\uff1f;]|\n\s*\n|\n(?=\s*(?:[-*\u2022]|\d{1,2}[.)])\s)"
    r"|\s[\u2013\u2014-]+\s|\u2014|\b(?:but|however|although|though|so|instead)\b",
    re.IGNORECASE,
)
_SENTENCE_ENDS = frozenset(".!?\n;\u3002\uff01\uff1f")
_QUESTION = frozenset("?\uff1f")
_ITEM = re.compile(r"\s*(?:[-*\u2022]|\d{1,2}[.)])\s")
_SPACE = re.compile(r"\s+")
_NEGATED = re.compile(
    r"\b(?:not(?! only)|no(?! (?:problem|worries))|never|none|nothing|neither|nor|cannot|unable|without|unsuccessful\w*|fail(?:ed|s|ure)?"
    r"|declin\w+|refus\w+|den(?:y|ied)|yet to|nobody|hardly|rather than|instead of|prevent\w*"
    r"|nicht(?! nur)|kein\w*|nichts|niemals|ohne|weder|pas|jamais|rien|sans|aucune?|nunca|nada|ning[uú]n\w*|nulla|non(?!-)|não|nem|sem|niet|geen|nooit|zonder|nie|nic|не|нет|ничего|ни)\b|n't\b"
    r"|(?:没有|沒有|未|无法|無法|不能|不会|不會|不可)[^\uff0c\u3002\u3001,]{0,8}\Z"
)
_UNREAL = re.compile(
    r"\b(?:will|won't|would|shall|should|can(?! (?:confirm|see))|could|may|might|must|if|once|when|whenever|until|unless|before|after|whether|in case"
    r"|going to|about to|need(?:s|ed)? to|have to|has to|want(?:s|ed)? to|like to|try(?:ing)? to|let me|let's|please|ready to|to be|to have"
    r"|in order to|plan(?:s|ning)? to|able to|to get|be|eligible|pending"
    r"|already|previously|earlier|originally|in the past"
    r"|wird|werden|würde\w*|kann|könn\w+|soll\w*|muss|müss\w+|möchte\w*|wenn|falls|sobald|bevor|bitte|sera|seront|serez|serait|pourr\w+|peut|peuvent|lorsque|quand|une fois|veuillez|devra\w*"
    r"|será\w*|podrá\w*|puede\w*|cuando|una vez|sería\w*|debe\w*|sarà|saranno|verrà|verranno|può|possono|quando|una volta|serão|pode\w*|assim que|zal|zullen|wordt|worden|kunnen|zodra|zostanie|będzie|może|jeśli|gdy"
    r"|будет|будут|может|могут|если|когда)\b|'ll\b|'d\b"
    r"|(?:如果|若|一旦|将|將|请|請|即将)[^\uff0c\u3002\u3001,]{0,8}\Z"
)
_GENERAL = re.compile(r"\b(?:are|get|gets|being)$")
_OF_THIS_CASE = re.compile(r"\b(?:your|now|both)\b")
_DETERMINER = re.compile(r"\b(?:the|a|an|any|your|this|that|these|those|each|every|my|our|their|of|for|to)$")
_NOTHING_NEXT = re.compile(r":? (?:nothing|none|neither|no)\b")
_RULE_NEXT = re.compile(
    r"[ ](?!(?:and|your|the|you|it|to|for)\b)[a-z]+s?(?: [a-z]+){0,2}? (?:can|can't|cannot|may|will|won't|must|should|are|aren't|do|don't)\b"
)
_NOUN_NEXT = re.compile(r"[ ][^\W\d]")
_OPENING = " *_>-\"'("
_WIDE = re.compile("[\u0e00-\u0eff\u2e80-\ud7af\uf900-\ufaff]")
_APOSTROPHES = str.maketrans({"\u2019": "'", "\u02bc": "'", "\u2018": "'", "\u00a0": " "})


@dataclass(frozen=True, slots=True)
class Claim:
    """One phrase that an answer states as done, and its sentence."""

    phrase: str
    sentence: str


def find_claims(answer: str, phrases: Iterable[str]) -> tuple[list[Claim], bool]:
    """Return the claims an answer makes with these phrases, in its order, and whether all of it was read.

    At most `MAX_ANSWER_CHARS` characters, `MAX_PLACES` places where a phrase stands and `MAX_CLAIMS` claims
    are looked at, and at most `MAX_SEARCHES` times is a phrase looked for in a thousand characters. The phrases must be as `normalise` returns them.
    """
    read = answer[:MAX_ANSWER_CHARS]
    declared = list(phrases)
    if not declared:
        return [], len(read) == len(answer)
    text = normalise(read)
    left = MAX_SEARCHES // _cost(text)
    wanted = [phrase for phrase in declared[:left] if phrase in text]
    is_whole = len(read) == len(answer) and len(declared) <= left
    found: list[Claim] = []
    if not wanted:
        return found, is_whole
    places, searches = 0, MAX_SEARCHES
    for clause, header in _statements(f"\n{read}"):
        plain = normalise(clause)
        searches -= len(wanted) * _cost(plain)
        if searches < 0:
            return found, False
        for phrase in wanted:
            times = plain.count(phrase)
            places += times
            if places > MAX_PLACES or len(found) >= MAX_CLAIMS:
                return found, False
            if times and _claims(plain, phrase, header):
                found.append(Claim(phrase, clause.strip()))
    return found, is_whole


def normalise(text: str) -> str:
    """Return text as phrases are compared: NFKC, case-folded, plain apostrophes, single spaces."""
    folded = text.casefold() if text.isascii() else unicodedata.normalize("NFKC", text).casefold()
    return _SPACE.sub(" ", folded.translate(_APOSTROPHES)).strip()


def _cost(text: str) -> int:
    return 1 + len(text) // _CHARS_A_SEARCH


def _statements(text: str) -> Iterator[tuple[str, str]]:
    """Yield the clauses that ask nothing; an item of a list comes with the line that introduces the list."""
    header = ""
    for clause, is_question in _clauses(text):
        item = _ITEM.match(clause)
        if clause.strip() and item is None:
            header = normalise(clause[-MAX_LOOK_BACK_CHARS:]) if clause.rstrip(" *_\n").endswith(":") else ""
        if not is_question:
            yield clause, header if item is not None else ""


def _clauses(text: str) -> Iterator[tuple[str, bool]]:
    """Cut a text into clauses; each with whether its sentence is a question."""
    start = 0
    waiting: list[str] = []
    for end in _CLAUSE_END.finditer(text):
        waiting.append(text[start : end.start()])
        start = end.start() if end[0] == "\n" else end.end()
        if end[0][0] in _SENTENCE_ENDS:
            asked = not _QUESTION.isdisjoint(end[0])
            yield from ((clause, asked) for clause in waiting)
            waiting.clear()
    waiting.append(text[start:])
    yield from ((clause, False) for clause in waiting)


def _claims(clause: str, phrase: str, header: str) -> bool:
    """Return whether a clause states the phrase as done, at any of its places."""
    at = clause.find(phrase)
    while at >= 0:
        before = f"{header} {clause[max(0, at - MAX_LOOK_BACK_CHARS) : at]}".strip()
        if _is_word(clause, at, phrase) and _is_stated(before, phrase, clause[at + len(phrase) :][:MAX_LOOK_AHEAD_CHARS]):
            return True
        at = clause.find(phrase, at + 1)
    return False


def _is_word(clause: str, at: int, phrase: str) -> bool:
    before, after = clause[at - 1 : at], clause[at + len(phrase) : at + len(phrase) + 1]
    return not _is_within(before, phrase[0]) and not _is_within(after, phrase[-1])


def _is_within(outside: str, edge: str) -> bool:
    """Return whether a phrase's first or last character goes on outside it; scripts without spaces have no words to go on."""
    return bool(outside) and edge.isalnum() and (outside.isalnum() or outside in "_-") and _WIDE.match(edge) is None


def _is_stated(before: str, phrase: str, after: str) -> bool:
    if _NEGATED.search(before) or _UNREAL.search(before) or _NOTHING_NEXT.match(after):
        return False
    if not before.strip(_OPENING) and _RULE_NEXT.match(after):
        return False
    if _GENERAL.search(before) and not _OF_THIS_CASE.search(before):
        return False
    return " " in phrase or not (_DETERMINER.search(before) and _NOUN_NEXT.match(after))
