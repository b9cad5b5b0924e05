"""Claims in words that nobody declared: guessed from the names of the tools.

`issue_refund` gives `issued` and `refunded`, `cancel_order` `cancelled` and `canceled`, `send_email` `sent`.
The first word of a name is taken as its verb; where it is one that only says that something is done
(issue, make, create ...), the words after it count too. Verbs of reading (get, check, search ...) give none.

A guess is good enough to say that nobody checked a claim, never to call it false. It counts where the
answer says that the agent did it (`I have refunded`) or that it is done (`has been refunded`, `Refunded
$42`), and not where it reports how things stand: what the user did (`the seat you booked`), and, unless
the agent speaks of itself, a word that a tool's output or the user used first.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from functools import lru_cache
from itertools import chain

from attest_otel.checks.claims import MAX_LOOK_BACK_CHARS, Claim, find_claims, normalise
from attest_otel.checks.view import Call, RunView
from attest_otel.findings import Finding, excerpt, make_finding

NAME = "actions"
MAX_TOOLS = 1_000
MAX_SAID_CHARS = 1_000_000
MAX_NAME_CHARS = 100
MAX_WORDS = 6
MAX_HEADING_CHARS = 40
MIN_VERB_CHARS = 3

_WORD = re.compile(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+")
_LIGHT = frozenset({
    "issue", "make", "create", "do", "process", "perform", "submit", "execute", "request", "initiate", "start", "trigger", "run",
    "handle", "apply", "add", "place", "give",
})  # fmt: skip
_ANYTHING = frozenset({
    "bash", "shell", "terminal", "command", "commands", "execute", "exec", "run", "python", "code", "script", "computer", "browser",
    "sql", "http", "invoke",
})  # fmt: skip
_IRREGULAR = {
    "send": "sent", "write": "written", "pay": "paid", "make": "made", "buy": "bought", "give": "given", "build": "built",
    "sell": "sold", "withdraw": "withdrawn", "do": "done", "undo": "undone", "hold": "held", "take": "taken", "rebuild": "rebuilt",
    "resend": "resent", "freeze": "frozen", "forward": "forwarded",
}  # fmt: skip
_SILENT = frozenset({
    "get", "set", "put", "run", "cut", "let", "read", "find", "list", "mcp", "api", "tool", "functions", "check", "search", "look",
    "lookup", "view", "verify", "review", "fetch", "query", "show", "validate", "calculate", "compute", "think", "analyze",
    "compare", "describe", "count",
})  # fmt: skip
_DOUBLED = frozenset({
    "cancel", "submit", "transfer", "refer", "ship", "drop", "stop", "plan", "ban", "pin", "tag", "flag", "label", "commit",
    "permit", "equip", "swap", "scan",
})  # fmt: skip
_ADVERBS = r"(?: (?:just|now|also|already|successfully|then|gone ahead and))*"
_BY_THE_USER = re.compile(rf"\byou(?:'ve| have| had)?{_ADVERBS} \Z")
_BY_THE_AGENT = re.compile(rf"\b(?:i|we)(?:'ve| have)?{_ADVERBS} (?:[^?]* and{_ADVERBS} )?\Z")
_FIRST = re.compile(r"\A[\s*_>#\-\d.)\"'(:\u2022\u2705]*\Z")
_DONE = re.compile(
    rf"(?:\b(?:(?:has|have)(?: now| just)? been|(?:is|are) now){_ADVERBS}|\bsuccessfully) (?:[^?]* and{_ADVERBS} )?\Z"
)


def guessed_claims(
    view: RunView, tools: Sequence[str], calls: Mapping[str, Sequence[Call]], judged: Sequence[str]
) -> list[Finding]:
    """Return a finding for each claim, in a word of these tools' names, that no call of such a tool is behind.

    Args:
        view: the run; one that is incomplete may lack the call, which `coverage` says.
        tools: the tools that declare no phrases.
        calls: the run's calls by tool.
        judged: the clauses that were graded by phrases that tools declare.
    """
    answer = view.run.final_answer or ""
    words = {} if view.run.incomplete else _words_in(answer, tools)
    if not words:
        return []
    did = _Done(view, calls)
    open_words = [word for word, makers in words.items() if not did.may_be(word, makers)]
    claims = [claim for claim in find_claims(answer, open_words)[0] if claim.sentence not in judged]
    reported = _reported(view, {claim.phrase for claim in claims}) if claims else set()
    unread = {claim.sentence: claim for claim in claims if says_done(claim, reported=claim.phrase in reported)}
    return [_unread(claim, words[claim.phrase]) for claim in unread.values()]


def _words_in(answer: str, tools: Sequence[str]) -> dict[str, list[str]]:
    """Return the words of the tools' names that stand in an answer, each with its tools."""
    text = answer.casefold()
    words: dict[str, list[str]] = {}
    for tool in tools[:MAX_TOOLS]:
        for word in words_of(tool):
            if word in words or word in text:
                words.setdefault(word, []).append(tool)
    return words


class _Done:
    """What calls worked, here or in an earlier run of the conversation, or may have."""

    def __init__(self, view: RunView, calls: Mapping[str, Sequence[Call]]) -> None:
        worked = {name: made[0] for name, made in calls.items() if any(call.outcome.is_error is not True for call in made)}
        earlier = {effect.tool for effect in view.history if effect.outcome != "failed"}
        self._names = earlier.union(worked)
        self._words = {word for name in self._names for word in words_of(name)}
        self._anything = any(map(_does_anything, worked.values()))
        self._fallbacks = view.tool_fallbacks

    def may_be(self, word: str, tools: Sequence[str]) -> bool:
        """Return whether one of the tools, a fallback, another tool whose name holds the word, or a shell may have done it."""
        if self._anything or word in self._words:
            return True
        return any(name in self._names for tool in tools for name in self._fallbacks.get(tool, ()))


def _does_anything(call: Call) -> bool:
    if call.side_effecting is False:
        return False
    tool = call.tool
    if tool is not None and (tool.repeatable or tool.retry_scope == "arguments"):
        return True
    return not _ANYTHING.isdisjoint(_words(_short(call.name)))


def _reported(view: RunView, words: set[str]) -> set[str]:
    """Return the words that a tool's output or the user used, in the first `MAX_SAID_CHARS` characters of all of it."""
    found: set[str] = set()
    left = MAX_SAID_CHARS
    for text in chain(view.user_words, (call.call.output for call in view.calls)):
        if text and left > 0:
            said = text[:left].casefold()
            left -= len(said)
            found.update(word for word in words if word in said)
    return found


def _unread(claim: Claim, tools: Sequence[str]) -> Finding:
    tool = excerpt(tools[0], MAX_NAME_CHARS)
    reason = (
        f"The answer seems to say that {tool} did its work ({claim.phrase!r}), and no call of it succeeded; it declares no "
        "completion_phrases, so whether this is a claim was not checked."
    )
    metadata = {"checked": False, "guessed": claim.phrase, "tools": list(tools[:MAX_WORDS])}
    return make_finding(
        NAME, "warn", "unchecked", reason, subject=tools[0], evidence=claim.sentence, key=claim.sentence, metadata=metadata
    )


def words_of(name: str) -> tuple[str, ...]:
    """Return the words that say that a tool of this name did its work; none where its name holds no verb to guess."""
    return _words_of(_short(name))


def says_done(claim: Claim, *, reported: bool) -> bool:
    """Return whether a clause says that the agent did it, or that it is done and nobody `reported` it before."""
    before, _, after = normalise(claim.sentence + "|").partition(claim.phrase)
    before = before[-MAX_LOOK_BACK_CHARS:]
    if _BY_THE_USER.search(before):
        return False
    if _BY_THE_AGENT.search(before):
        return True
    is_heading = ":" in after[:MAX_HEADING_CHARS]
    return not reported and bool(_DONE.search(before) or (_FIRST.match(before) and not is_heading))


def _short(name: str) -> str:
    return name.rpartition("__")[2][:MAX_NAME_CHARS]


def _words(name: str) -> list[str]:
    return [word.casefold() for word in _WORD.findall(name)][:MAX_WORDS]


@lru_cache(maxsize=4_096)
def _words_of(name: str) -> tuple[str, ...]:
    words = _words(name)
    verbs = words[:1]
    if words and words[0] in _LIGHT:
        verbs += words[1:]
    return tuple(dict.fromkeys(done for verb in verbs for done in _done(verb)))


def _done(verb: str) -> list[str]:
    """Return the past participles of a verb: one, or two where people spell it both ways."""
    if verb in _SILENT or (len(verb) < MIN_VERB_CHARS and verb not in _IRREGULAR):
        return []
    if verb in _IRREGULAR:
        return [_IRREGULAR[verb]]
    if verb.endswith("e"):
        return [f"{verb}d"]
    if verb.endswith("y") and verb[-2:-1] not in "aeiou":
        return [f"{verb[:-1]}ied"]
    return [f"{verb}ed", f"{verb}{verb[-1]}ed"] if verb in _DOUBLED else [f"{verb}ed"]
