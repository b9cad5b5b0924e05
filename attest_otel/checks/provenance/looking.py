"""Is an asked value there, in any of the ways a text can put it? What the user said counts twice: as text, and as meant.

First the cheap question, whether the value stands in the text in a usual spelling. Only for one that doesn't:
whether it can have been worked out, grouped otherwise (a phone number, an IBAN), or meant by a day's name.
"""

from __future__ import annotations

import re
from decimal import Decimal
from functools import cached_property

from attest_otel.checks.provenance.asked_values import Asked
from attest_otel.checks.provenance.dates import date_in_digits, date_in_number, is_relative, spellings_of_date
from attest_otel.checks.provenance.grounding import Evidence, spellings_of_number
from attest_otel.checks.provenance.quantities import is_computed, shares, stated

MAX_MEANT_CHARS = 100_000
MIN_GROUPED_DIGITS = 7
MIN_BARE_DIGITS = 5
_COUNTRY_DIGITS = 3
_MIN_LOCAL_DIGITS = 9
_MIN_EPOCH = 10**9
_PREFIXED = re.compile(r"#|[A-Za-z]{1,8}[-_#]?(?=\d)")
_INFLECTED = re.compile("[\u0400-\u04ff]")
_MIN_STEM_CHARS = 3
_ENDING_CHARS = 2
_NUMBER = re.compile(r"-?\d{1,15}(?:\.\d{1,4})?")
_SEPARATORS = re.compile(r"[^0-9a-z]+")


class Looking:
    """Looks for values in evidence; made of what the user said, in lower case, of which the beginning is read for what is meant."""

    def __init__(self, user: str) -> None:
        self._user = user[:MAX_MEANT_CHARS]

    def explains(self, clean: Evidence, asked: Asked) -> bool:
        """Return whether text of good standing explains a value."""
        return stands_in(clean, asked) or self._is_meant(clean, asked)

    def _is_meant(self, clean: Evidence, asked: Asked) -> bool:
        if asked.kind == "number":
            return self._is_number_meant(clean, asked.value)
        if asked.kind == "date":
            return self._speaks_of_days
        if asked.kind == "words":
            return _INFLECTED.search(asked.parts[0]) is not None and all(
                map(self._says_inflected, asked.parts[0].lower().split())
            )
        if asked.kind == "identifier":
            day = date_in_digits(asked.parts[0])
            if day is not None and (self._speaks_of_days or any(map(clean.holds, spellings_of_date(day)))):
                return True
            if _NUMBER.fullmatch(asked.parts[0]) and any(map(clean.holds, spellings_of_number(Decimal(asked.parts[0])))):
                return True
            return _holds_bare(clean, asked.parts[0]) or _holds_grouped(clean, asked.parts[0])
        if asked.kind == "text":
            return all(clean.holds(part) or _holds_bare(clean, part) or _holds_grouped(clean, part) for part in asked.parts)
        return False

    def _is_number_meant(self, clean: Evidence, value: float) -> bool:
        wanted = Decimal(f"{abs(Decimal(str(value))):f}")
        forms = (wanted, wanted / 100)
        if not self._stated.isdisjoint(forms) or not clean.field_sums().isdisjoint(forms):
            return True
        parts_of_one = [*self._shares, *clean.recent_shares()]
        if is_computed(wanted, clean.recent_numbers(), sorted(clean.field_sums()), parts_of_one, self._user):
            return True
        if wanted < _MIN_EPOCH and date_in_digits(str(value)) is None:
            return _holds_grouped(clean, str(value))
        day = date_in_number(wanted)
        if day is not None and (self._speaks_of_days or any(map(clean.holds, spellings_of_date(day)))):
            return True
        return _holds_grouped(clean, str(value))

    def _says_inflected(self, word: str) -> bool:
        stem = word[: max(_MIN_STEM_CHARS, len(word) - _ENDING_CHARS)]
        return any(said.startswith(stem) for said in self._said)

    @cached_property
    def _said(self) -> list[str]:
        return re.findall(r"\w+", self._user)

    @cached_property
    def _speaks_of_days(self) -> bool:
        return is_relative(self._user)

    @cached_property
    def _stated(self) -> set[Decimal]:
        return stated(self._user)

    @cached_property
    def _shares(self) -> list[Decimal]:
        return shares(self._user)


def stands_in(evidence: Evidence, asked: Asked) -> bool:
    """Return whether a value stands in text, in a usual spelling."""
    if asked.kind == "number":
        return any(map(evidence.holds, spellings_of_number(asked.value)))
    if asked.kind == "date":
        return any(map(evidence.holds, spellings_of_date(asked.parts[0]) or asked.parts))
    if asked.kind == "words":
        return evidence.holds_words(asked.parts[0])
    return all(map(evidence.holds, asked.parts))


def _holds_bare(evidence: Evidence, text: str) -> bool:
    """Whether an identifier stands there without the letters before its digits (`448192` for `ORD-448192`)."""
    prefix = _PREFIXED.match(text)
    bare = text[prefix.end() :] if prefix is not None else ""
    return bare.isdigit() and len(bare) >= MIN_BARE_DIGITS and evidence.holds(bare)


def _holds_grouped(evidence: Evidence, text: str) -> bool:
    """Whether a long number stands there in groups: a phone number (also without its country code), an IBAN, a card."""
    bare = _SEPARATORS.sub("", text.lower())
    if sum(char.isdigit() for char in bare) < max(MIN_GROUPED_DIGITS, 0.6 * len(bare)):
        return False
    if evidence.holds_grouped(bare):
        return True
    local = [bare[skip:] for skip in range(1, _COUNTRY_DIGITS + 1)] if text.startswith(("+", "00")) and bare.isdigit() else []
    return any(len(part) >= _MIN_LOCAL_DIGITS and evidence.holds_grouped(part) for part in local)
