"""Names that people write: what to say of one that stands for nothing, and which one was meant.

`did_you_mean` is a hint beside an error that is certain: it may guess. `slip_of` decides whether a tool's
name in a rule is a misspelling, and a false alarm there sends honest runs to a person, so it is strict:
the tools of an agent may differ from run to run, and a name that nothing resembles is simply a tool this
run does not have. A name is a slip of another one when they differ only

- in case and separators (`issueRefund`, `issue-refund`, `issue_refund`);
- in a prefix that says where a tool comes from (`issue_refund`, `mcp__shop__issue_refund`, `shop.issue_refund`);
- or in words that each have one letter too many, too few, wrong or swapped with its neighbour
  (`isue_refund`). Words of fewer than five letters, another first letter and other digits are no
  slips: `get` and `set`, `load` and `lock`, `lock` and `unlock`, `v1` and `v2` are different tools.

Everything is bounded: a run may declare any number of tools, with names of any length.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from difflib import get_close_matches
from itertools import islice

MAX_COMPARED_NAMES = 1_000
MAX_COMPARED_CHARS = 200
MAX_LISTED_NAMES = 40
MAX_SHOWN_CHARS = 100
MIN_SLIP_CHARS = 5
LIKENESS = 0.6

_WORD = re.compile(r"[A-Z]+(?![a-z])|[A-Z]?[^\W\d_A-Z]+|\d+")
_NOT_LETTERS = re.compile(r"[\W_]+")
_ORIGIN_ENDS = ("__", ".", "/", ":")


def unknown(kind: str, name: str, known: Iterable[str], *, plural: str | None = None) -> str:
    """Say that a name stands for nothing, which one may be meant, and what there is."""
    names = list(known)
    hint = did_you_mean(name, names)
    there = f"the {plural or f'{kind}s'} are {listing(names)}"
    return f"unknown {kind} {shown(name)}{hint}{' T' if hint else '; t'}{there[1:]}"


def did_you_mean(name: str, known: Iterable[str]) -> str:
    """Return `; did you mean 'x'?` for the likest name there is, or nothing where none is like it."""
    names = list(islice(known, MAX_COMPARED_NAMES))
    near = slip_of(name, names) or _likest(name, names)
    return "" if near is None else f"; did you mean {shown(near)}?"


def listing(known: Iterable[str]) -> str:
    """Return the names one after another, the first `MAX_LISTED_NAMES` of them."""
    names = list(known)
    text = ", ".join(_cut(name) for name in names[:MAX_LISTED_NAMES]) or "none"
    left = len(names) - MAX_LISTED_NAMES
    return f"{text}, and {left} more" if left > 0 else text


def shown(name: str) -> str:
    """Return a name in quotes, cut where it is overlong."""
    return repr(_cut(name))


def slip_of(name: str, known: Iterable[str]) -> str | None:
    """Return the name that this one is a misspelling of; None where none is, or it is known itself."""
    if not name or len(name) > MAX_COMPARED_CHARS:
        return None
    compared = list(islice(known, MAX_COMPARED_NAMES))
    if name in compared:
        return None
    plain, tails = _plain(name), tuple(end + name for end in _ORIGIN_ENDS)
    near = [other for other in compared if _may_be(plain, other, tails)]
    return next((other for other in near if _is_slip(name, plain, other, tails)), None)


def _likest(name: str, names: Sequence[str]) -> str | None:
    if len(name) > MAX_COMPARED_CHARS:
        return None
    folded = {other.casefold(): other for other in names if len(other) <= MAX_COMPARED_CHARS}
    near = get_close_matches(name.casefold(), folded, n=1, cutoff=LIKENESS)
    return folded[near[0]] if near else None


def _cut(name: str) -> str:
    return name if len(name) <= MAX_SHOWN_CHARS else f"{name[:MAX_SHOWN_CHARS]}…"


def _may_be(plain: str, other: str, tails: tuple[str, ...]) -> bool:
    """Say no quickly to nearly every name."""
    if not other or len(other) > MAX_COMPARED_CHARS:
        return False
    return other[0].casefold() == plain[:1] or other.endswith(tails)


def _is_slip(name: str, plain: str, other: str, tails: tuple[str, ...]) -> bool:
    if other.endswith(tails) or _plain(other) == plain:
        return True
    words, others = _words(name), _words(other)
    return len(words) == len(others) and all(map(_is_same_word, words, others))


def _plain(name: str) -> str:
    return _NOT_LETTERS.sub("", name).casefold()


def _words(name: str) -> list[str]:
    return [word.casefold() for word in _WORD.findall(name)]


def _is_same_word(word: str, other: str) -> bool:
    if word == other:
        return True
    if word.isdigit() or other.isdigit() or word[0] != other[0] or max(len(word), len(other)) < MIN_SLIP_CHARS:
        return False
    return _is_one_step(*sorted((word, other), key=len))


def _is_one_step(short: str, long: str) -> bool:
    """Return whether one letter added, changed or swapped with its neighbour makes the words equal."""
    start = next((n for n, (a, b) in enumerate(zip(short, long, strict=False)) if a != b), len(short))
    a, b = short[start:], long[start:]
    if len(short) != len(long):
        return len(long) - len(short) == 1 and a == b[1:]
    return a[1:] == b[1:] or (a[:2] == b[1::-1] and a[2:] == b[2:])
