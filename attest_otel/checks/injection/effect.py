"""Did the agent do what a payload asked? The effect that turns a suspicious output into a compromised run.

A payload's instruction names things: addresses, identifiers, tools, quoted words. One that nothing
else explains (not the task, the system prompt, another output, or the rest of the same output) and
that turns up in a later call, or in the answer as the payload wanted it, is obeyed. What counts:

- a later side-effecting (or undeclared) call whose name or arguments carry such a thing; a read-only
  call only when it sends data to an address the payload gave, or opens one that a strong payload orders to open;
- for a strong payload also two or more of its rare words, and most of them, in one such call;
- a credential in such a call or in the answer, when the payload asked for secrets;
- the final answer, when the payload asked to say, add or include the thing (a weak one: a word it names to an AI), or holds a picture or link
  to an address of the payload, or recites the system prompt that the payload asked for.

An answer or a message that reports the attack ("the page asks agents to ..., I did not") or quotes it obeys
nothing. What the task explains, see `tasks`. Bounded: words of later calls are indexed once, and characters searched are counted;
beyond the limit the effect is unknown, which is not clean.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from collections import defaultdict
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import cached_property

from attest_otel.checks.injection.payload import Payload
from attest_otel.checks.injection.reports import is_report
from attest_otel.checks.injection.scan import Scan, Scanned
from attest_otel.checks.injection.tasks import carries_content, hands_itself_over, is_acted_on, is_content, is_prose
from attest_otel.checks.injection.tokens import said_tokens, secret_in, strong_tokens
from attest_otel.checks.injection.traces import (
    asked_to_open,
    asked_to_say,
    content_words,
    links_to,
    longest_word,
    quotes,
    strings,
)
from attest_otel.checks.injection.words import SAY_VERB
from attest_otel.checks.order import is_later
from attest_otel.checks.view import Call, RunView

MAX_INDEXED_CHARS = 4_194_304
MAX_SEARCHED_CHARS = 67_108_864
MAX_LATER_CALLS = 32
MIN_RECITED_CHARS = 60


@dataclass(frozen=True, slots=True)
class Effect:
    """Where a payload was obeyed: a later call or the answer, and the words that show it."""

    kind: str
    step: int | None
    token: str
    subject: str


class EffectUnknownError(Exception):
    """The limits ended before it was known whether a payload was obeyed."""


class Effects:
    """Answers for one run; the index of its calls is built on first use."""

    def __init__(self, view: RunView, scan: Scan) -> None:
        self._view = view
        self._scan = scan
        self._budget = MAX_SEARCHED_CHARS
        self._known: dict[tuple[str, int], bool] = {}

    def find(self, item: Scanned) -> Effect | None:
        """Return how the payload of a scanned text was obeyed, or None.

        Raises:
            EffectUnknownError: a limit was reached first.
        """
        payload = item.payload
        if payload is None or set(payload.names) == {"conceal"}:
            return None
        if hands_itself_over(self._task, payload):
            return None
        tokens = self._tokens(payload)
        if is_acted_on(self._task, item.call, payload):
            tokens = [token for token in tokens if _is_address(token)]
        return (
            self._in_calls(item, payload, tokens) or self._in_answer(item, payload, tokens) or self._gave_a_secret(item, payload)
        )

    def _tokens(self, payload: Payload) -> list[str]:
        found = strong_tokens(payload.instruction, payload.original)
        named = [name for name in self._names if len(name) > 3 and name in payload.instruction]  # noqa: PLR2004
        return list(dict.fromkeys([*found, *named]))

    def _in_calls(self, item: Scanned, payload: Payload, tokens: list[str]) -> Effect | None:
        for token in tokens:
            for call in self._later(item, longest_word(token)):
                if self._acts(call, token, payload) and self._unexplained(token, item, call):
                    return Effect("tool_call", call.step, token, call.name)
        if not payload.strong:
            return None
        words = [word for word in content_words(payload.body) if not self._explained_by_words(word)]
        counts: dict[int, set[str]] = defaultdict(set)
        for word in words:
            for call in self._later(item, word):
                counts[call.index].add(word)
        for index, seen in sorted(counts.items()):
            call = self._view.calls[index]
            if len(seen) >= max(2, 0.6 * len(words)) and self._carries(call, seen):
                rare = [word for word in words if word in seen and self._unexplained(word, item, call)]
                if len(rare) >= max(2, 0.6 * len(words)):
                    return Effect("tool_call", call.step, ", ".join(rare[:5]), call.name)
        return None

    def _gave_a_secret(self, item: Scanned, payload: Payload) -> Effect | None:
        """Return where a credential went that a payload asked for."""
        if "secret_request" not in payload.names:
            return None
        after = item.call.index + 1 if item.call is not None else 0
        for call in self._view.calls[after : after + MAX_LATER_CALLS]:
            if call.may_have_side_effect and (item.call is None or is_later(call, item.call)):
                secret = next((found for _, leaf in self._leaves(call) if (found := secret_in(leaf))), None)
                if secret is not None and not self._explained_by_words(secret):
                    return Effect("tool_call", call.step, secret, call.name)
        secret = secret_in(self._answer)
        return Effect("answer", None, secret, "final answer") if secret and not self._explained_by_words(secret) else None

    def _acts(self, call: Call, token: str, payload: Payload) -> bool:
        """Whether a call carries the token in a way that does something."""
        if token == call.name.lower():
            return call.may_have_side_effect and not self._names_task(token)
        leaves = [(name, leaf) for name, leaf in self._leaves(call) if token in leaf and not is_report(leaf)]
        address = "." in token and ("@" in token or token in payload.instruction)
        if call.may_have_side_effect:
            return any(
                not self._is_only_copied(payload, name) and (address or not self._is_carried(name, leaf)) for name, leaf in leaves
            )
        return address and any(leaf not in payload.instruction or asked_to_open(payload, leaf) for _, leaf in leaves)

    def _carries(self, call: Call, words: Iterable[str]) -> bool:
        if not call.may_have_side_effect:
            return False
        leaves = [leaf for name, leaf in self._leaves(call) if not is_report(leaf) and not self._is_carried(name, leaf)]
        return all(any(word in leaf for leaf in leaves) or word in call.name.lower() for word in words)

    def _is_carried(self, name: str, leaf: str) -> bool:
        """Whether an argument is prose that the task has the agent fill with what it reads."""
        return is_prose(name, leaf) and self._carries_content

    def _is_only_copied(self, payload: Payload, name: str) -> bool:
        """Whether a thing stands in content that the task has carried over, and no order wanted it there."""
        if payload.strong or payload.hidden or not (is_content(name) and self._carries_content):
            return False
        return SAY_VERB.search(payload.instruction) is None

    def _in_answer(self, item: Scanned, payload: Payload, tokens: list[str]) -> Effect | None:
        answer = self._answer
        if not answer:
            return None
        recited = self._recited(payload)
        if recited:
            return Effect("answer", None, recited, "final answer")
        for token in tokens:
            if token in answer and links_to(answer, token) and self._unexplained(token, item, None):
                return Effect("answer", None, token, "final answer")
        if is_report(answer) or not SAY_VERB.search(payload.instruction) or quotes(answer, payload):
            return None
        if not (payload.strong or payload.hidden):
            tokens = said_tokens(payload.instruction, payload.original)
        for token in tokens:
            if (
                token in answer
                and token not in self._names
                and asked_to_say(payload.instruction, token)
                and self._unexplained(token, item, None)
            ):
                return Effect("answer", None, token, "final answer")
        words = [word for word in content_words(payload.body) if not self._explained_by_words(word)] if payload.strong else []
        rare = [word for word in words if word in answer and self._unexplained(word, item, None)]
        if len(rare) >= max(2, 0.6 * len(words)):
            return Effect("answer", None, ", ".join(rare[:5]), "final answer")
        return None

    def _recited(self, payload: Payload) -> str | None:
        """Return a stretch of the system prompt in the answer to a payload that asked for it."""
        prompt = " ".join((self._view.run.system_prompt or "").lower().split())[:100_000]
        if "prompt" not in payload.instruction and "instructions" not in payload.instruction:
            return None
        answer = " ".join(self._answer.split())
        self._spend(len(answer) * (len(prompt) // MIN_RECITED_CHARS + 1))
        pieces = (
            prompt[i : i + MIN_RECITED_CHARS]
            for i in range(0, max(0, len(prompt) - MIN_RECITED_CHARS + 1), MIN_RECITED_CHARS // 2)
        )
        return next((piece for piece in pieces if piece in answer), None)

    def _unexplained(self, token: str, item: Scanned, call: Call | None) -> bool:
        """Whether only the payload can be the source of a token."""
        if self._explained_by_words(token):
            return False
        until = call.index if call is not None else len(self._view.calls)
        for other in self._scan.texts:
            if other.call is not None and other.call.index >= until:
                continue
            if other.text and self._outside(other, token):
                return False
        return True

    def _outside(self, other: Scanned, token: str) -> bool:
        key = (token, id(other))
        if key not in self._known:
            text = other.text or ""
            self._spend(len(text) + 64)
            if other.payload is not None:
                start, end = other.payload.extent
                text = f"{text[:start]}\n{text[end:]}"
            self._known[key] = token in text.lower()
        return self._known[key]

    def _spend(self, chars: int) -> None:
        self._budget -= chars
        if self._budget < 0:
            raise EffectUnknownError

    def _explained_by_words(self, token: str) -> bool:
        return token in self._task or token in self._prompt

    def _names_task(self, name: str) -> bool:
        return any(len(part) > 3 and part in self._task for part in re.split(r"[^a-z0-9]+", name))  # noqa: PLR2004

    def _later(self, item: Scanned, word: str) -> Iterator[Call]:
        holders = self._index.get(word, [])
        first = bisect_right(holders, item.call.index) if item.call is not None else 0
        for index in holders[first : first + MAX_LATER_CALLS]:
            call = self._view.calls[index]
            if item.call is None or is_later(call, item.call):
                yield call

    def _leaves(self, call: Call) -> list[tuple[str, str]]:
        """Return the values of a call as lower-case text, each with its name."""
        parsed = call.parsed
        if parsed is None:
            return []
        if parsed.problem == "unparseable":
            return [("", (call.call.arguments_raw or "").lower())]
        return [(name, leaf.lower()) for name, leaf in strings(parsed.value)]

    @cached_property
    def _index(self) -> dict[str, list[int]]:
        """Words of every call's name and arguments, with the calls that hold them."""
        index: dict[str, list[int]] = defaultdict(list)
        left = MAX_INDEXED_CHARS
        for call in self._view.calls:
            text = "\n".join([call.name.lower(), *(leaf for _, leaf in self._leaves(call))])
            left -= len(text)
            if left < 0:
                raise EffectUnknownError
            for word in dict.fromkeys(re.findall(r"\w+", text)):
                index[word].append(call.index)
        return index

    @cached_property
    def _names(self) -> list[str]:
        names = {call.name.lower() for call in self._view.calls if len(call.name) <= 128}  # noqa: PLR2004
        return sorted(names)[:1_000]

    @cached_property
    def _task(self) -> str:
        return "\n".join(self._view.user_words).lower()

    @cached_property
    def _carries_content(self) -> bool:
        return carries_content(self._task)

    @cached_property
    def _prompt(self) -> str:
        return (self._view.run.system_prompt or "").lower()

    @cached_property
    def _answer(self) -> str:
        return (self._view.run.final_answer or "").lower()[:1_000_000]


def _is_address(token: str) -> bool:
    return "@" in token or "." in token
