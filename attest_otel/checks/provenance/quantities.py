"""Can a number have been worked out? From numbers seen lately, or from how the user put it.

A sum, difference or small multiple of two numbers; a share in per cent of one; the sum of one field over the
entries of a result; a part of one where the user speaks of parts (half, split, each); thousands and millions
(`1.5k`), number words, and hours and days in smaller units (`2 hours` for 120 minutes).
"""

# ruff: noqa: SIM905  # lists of words
from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from decimal import ROUND_HALF_UP, Decimal
from itertools import islice, pairwise

MAX_STATED = 200
MAX_SHARES = 16
MAX_FIELD_SUMS = 200
MAX_MULTIPLE = 10
MAX_PARTS = 12
MAX_TOTALS = 50
_CENT = Decimal("0.01")

_AMOUNT = r"(?<![\d.,])(\d{1,9}(?:[.,]\d{1,3})?)"
_SCALED = re.compile(
    rf"{_AMOUNT}[ ]?(?:(k|thousand|tausend|mille|mila|mil|тыс\w*|千)|(m|mn|mio|million\w*|millón|millones|milioni|milhões|миллион\w*|млн)|(bn|billion\w*|milliarden?|миллиард\w*)|(lakh)|(crore)|(万|萬|만)|(億|亿|억))(?![a-z])"
)
_SCALES = (10**3, 10**6, 10**9, 10**5, 10**7, 10**4, 10**8)
_WORD_SCALES = {"hundred": 100, "thousand": 1_000, "million": 1_000_000}
_UNITS = re.compile(
    rf"(?:{_AMOUNT}|\b(half an|an?|one|two|three|four|five|six|seven|eight|nine|ten|ein\w*|eine?|une?|un[ao]?))[ -]?"
    r"(?:(hours?|hrs?|h|stunden?|heures?|horas?|or[ae]|uur|час\w*|小时|小時|時間|시간)|(minutes?|mins?|min|minuten?|minutos?|minuti|минут\w*|分钟|分鐘|分|분)|(days?|tage?n?|jours?|días?|dias?|giorn[oi]|dagen|дн\w+|天|日間|일)|(weeks?|wochen?|semaines?|semanas?|settiman[ae]|weken|недел\w+|周|週|주))(?![a-z])"
)
_SECONDS = (3_600, 60, 86_400, 604_800)
_SMALLER = (1, 60, 3_600, 86_400)
_NUMBER_WORDS = {
    word: number
    for number, word in enumerate(
        "zero one two three four five six seven eight nine ten eleven twelve thirteen fourteen fifteen sixteen seventeen eighteen nineteen".split()
    )
} | {word: 10 * number for number, word in enumerate("twenty thirty forty fifty sixty seventy eighty ninety".split(), 2)}
_WORDS = re.compile(
    rf"\b(?:{'|'.join(_NUMBER_WORDS)}|dozen)\b(?:[ -](?:{'|'.join(_NUMBER_WORDS)}|hundred|thousand|million|dozen)\b)*"
)
_SHARE = re.compile(r"(\d{1,3}(?:[.,]\d{1,4})?)\s?(?:%|percent|per cent|prozent|pour ?cent|por ?cent\w*|per ?cento|процент\w*)")
_SHARE_FIELD = re.compile(
    r"\"[a-z_]{0,40}(?:percent|pct|rate|discount|fee|share|ratio|tax|vat|tip)[a-z_]{0,20}\"\s*:\s*\"?(\d{1,3}(?:\.\d{1,4})?)\b"
)
_FIELD = re.compile(r"\"([a-z_][\w.-]{0,60})\"\s*:\s*\"?(-?\d{1,12}(?:\.\d{1,4})?)\b")
_PARTS = re.compile(
    r"\b(?:half|halve|third|thirds|quarters?|split|divide\w*|each|equally|evenly|per person|share|instal?lments?|hälfte|halb\w*|teile\w*|jeweils|moitié|partage\w*|chacun\w*|mitad|divid\w*|cada|metà|metade|пополам|половин\w*)\b|一半|平分|半分|절반"
)


def stated(text: str) -> set[Decimal]:
    """Return the numbers that a lower-case text states in other words than figures, at most `MAX_STATED` of each kind."""
    found = {amount * scale for amount, scale in islice(_scaled(text), MAX_STATED)}
    for seconds in islice(_durations(text), MAX_STATED):
        found.update(seconds * 1_000 if unit == 0 else seconds / unit for unit in (0, *_SMALLER))
    return found | set(islice(_in_words(text), MAX_STATED))


def shares(text: str) -> list[Decimal]:
    """Return the shares of one that a lower-case text speaks of: 15% and a `discount_rate` of 0.15 are 0.15."""
    found: dict[Decimal, None] = {}
    for expression in (_SHARE, _SHARE_FIELD):
        for match in expression.finditer(text):
            number = _decimal(match[1])
            found[number if expression is _SHARE_FIELD and number < 1 else number / 100] = None
            if len(found) >= MAX_SHARES:
                break
    return [share for share in found if 0 < share <= 1]


def field_sums(text: str) -> set[Decimal]:
    """Return, for each numeric field that stands more than once in a lower-case text, the sum of its values."""
    values: dict[str, list[Decimal]] = defaultdict(list)
    for match in _FIELD.finditer(text):
        values[match[1]].append(Decimal(match[2]))
        if len(values) > MAX_FIELD_SUMS:
            break
    return {sum(numbers, Decimal(0)) for numbers in values.values() if len(numbers) > 1}


def is_computed(
    wanted: Decimal, numbers: Sequence[Decimal], totals: Iterable[Decimal], parts_of_one: Iterable[Decimal], user: str
) -> bool:
    """Return whether a number follows from numbers seen lately, newest first, by one step of arithmetic.

    Args:
        wanted: the number, without its sign.
        numbers: what was seen.
        totals: sums of fields, of which a share or a part may be wanted.
        parts_of_one: the shares spoken of.
        user: what the user said, in lower case: parts count where it speaks of them.
    """
    seen = set(numbers)
    for number in numbers:
        if wanted - number in seen or wanted + number in seen:
            return True
        if any(number * factor == wanted for factor in range(2, MAX_MULTIPLE + 1)):
            return True
    if any(sum(pair) == wanted for pair in pairwise(numbers)):
        return True
    whole = [*numbers, *islice(totals, MAX_TOTALS)]
    for share in parts_of_one:
        if any(_near(wanted, number * factor) for number in whole for factor in (share, 1 - share, 1 + share)):
            return True
    if _PARTS.search(user) is None:
        return False
    return any(_near(wanted, number / parts) for number in whole for parts in range(2, MAX_PARTS + 1))


def _near(wanted: Decimal, exact: Decimal) -> bool:
    """Whether a number is the exact one, in its own unit or in hundredths of it; amounts of money are rounded to the cent."""
    if wanted in (exact, exact / 100):
        return True
    if wanted == wanted.to_integral_value():
        return (exact * 100).to_integral_value(ROUND_HALF_UP) == wanted
    return exact.quantize(_CENT, ROUND_HALF_UP) == wanted


def _scaled(text: str) -> Iterator[tuple[Decimal, int]]:
    for match in _SCALED.finditer(text):
        yield _decimal(match[1]), next(scale for scale, unit in zip(_SCALES, match.groups()[1:], strict=True) if unit)


def _durations(text: str) -> Iterator[Decimal]:
    for match in _UNITS.finditer(text):
        word = match[2]
        amount = _decimal(match[1]) if match[1] else Decimal("0.5") if word == "half an" else Decimal(_NUMBER_WORDS.get(word, 1))
        yield amount * next(seconds for seconds, unit in zip(_SECONDS, match.groups()[2:], strict=True) if unit)


def _in_words(text: str) -> Iterator[Decimal]:
    for match in _WORDS.finditer(text):
        total = part = 0
        for word in re.split(r"[ -]", match[0]):
            if word in _NUMBER_WORDS:
                part += _NUMBER_WORDS[word]
            elif word in ("dozen", "hundred"):
                part = max(part, 1) * (12 if word == "dozen" else 100)
            else:
                total, part = total + max(part, 1) * _WORD_SCALES[word], 0
        yield Decimal(total + part)


def _decimal(text: str) -> Decimal:
    return Decimal(text.replace(",", "."))
