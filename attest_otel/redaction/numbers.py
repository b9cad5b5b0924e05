"""Numbers that name a person's money: payment cards by brand, length and Luhn, bank accounts (IBAN) by mod-97.

Digits may be grouped by spaces or dashes. A number glued to letters, longer than a card, of no card
brand or with a wrong check digit is somebody's order number and stays.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

import re2

from attest_otel.redaction.patterns import Spot

CARD = r"\d(?:(?:[ -]|\x{a0})?\d){12,}"
MIN_CARD_DIGITS, MAX_CARD_DIGITS = 13, 19
LONG_ROW_DIGITS = 200
MIN_GROUP_IN_LONG_ROW = 3

IBAN_LENGTHS = {
    "AD": 24, "AE": 23, "AL": 28, "AT": 20, "AZ": 28, "BA": 20, "BE": 16, "BG": 22, "BH": 22, "BR": 29, "BY": 28, "CH": 21, "CR": 22,
    "CY": 28, "CZ": 24, "DE": 22, "DK": 18, "DO": 28, "EE": 20, "EG": 29, "ES": 24, "FI": 18, "FO": 18, "FR": 27, "GB": 22, "GE": 22,
    "GI": 23, "GL": 18, "GR": 27, "GT": 28, "HR": 21, "HU": 28, "IE": 22, "IL": 23, "IQ": 23, "IS": 26, "IT": 27, "JO": 30, "KW": 30,
    "KZ": 20, "LB": 28, "LC": 32, "LI": 21, "LT": 20, "LU": 20, "LV": 21, "LY": 25, "MC": 27, "MD": 24, "ME": 22, "MK": 19, "MR": 27,
    "MT": 31, "MU": 30, "NL": 18, "NO": 15, "PK": 24, "PL": 28, "PS": 29, "PT": 25, "QA": 29, "RO": 24, "RS": 22, "SA": 24, "SC": 31,
    "SE": 24, "SI": 19, "SK": 24, "SM": 27, "ST": 25, "SV": 28, "TL": 23, "TN": 24, "TR": 26, "UA": 29, "VA": 22, "VG": 24, "XK": 20,
}  # fmt: skip
IBAN = rf"(?i:\b(?:{'|'.join(IBAN_LENGTHS)})\d{{2}}(?:[ -]?[A-Z0-9]){{11}})"

_cards = re2.compile(CARD.encode())
_ibans = re2.compile(IBAN.encode())
_GROUP = re.compile(rb"\d+")
_DOUBLED = (0, 2, 4, 6, 8, 1, 3, 5, 7, 9)


def find_numbers(data: bytes) -> Iterator[Spot]:
    """Yield payment cards and bank accounts."""
    for match in _cards.finditer(data):
        yield from _cards_in(data, *match.span())
    position = 0
    while (match := _ibans.search(data, position)) is not None:
        end = _iban_end(data, match.start())
        if end is not None:
            yield Spot(match.start(), end, "iban")
        position = match.start() + 2 if end is None else end


def luhn(digits: bytes) -> bool:
    """Return whether the last digit checks the others."""
    total = 0
    for number, byte in enumerate(reversed(digits)):
        digit = byte - 48
        total += _DOUBLED[digit] if number % 2 else digit
    return total % 10 == 0


def is_card(digits: bytes) -> bool:
    """Return whether digits are a card of a known brand, with that brand's length and a right check digit."""
    size = len(digits)
    if not MIN_CARD_DIGITS <= size <= MAX_CARD_DIGITS or not b"2" <= digits[:1] <= b"6":
        return False
    return any(size in sizes and low <= int(digits[: len(str(low))]) <= high for low, high, sizes in _BRANDS) and luhn(digits)


_BRANDS: tuple[tuple[int, int, frozenset[int]], ...] = (
    (4, 4, frozenset({13, 16, 19})),
    (51, 55, frozenset({16})),
    (2221, 2720, frozenset({16})),
    (34, 34, frozenset({15})),
    (37, 37, frozenset({15})),
    (300, 305, frozenset({14, 16, 19})),
    (36, 36, frozenset(range(14, 20))),
    (38, 39, frozenset(range(14, 20))),
    (6011, 6011, frozenset(range(16, 20))),
    (644, 659, frozenset(range(16, 20))),
    (3528, 3589, frozenset(range(16, 20))),
    (62, 62, frozenset(range(16, 20))),
    (60, 60, frozenset({16})),
    (50, 50, frozenset(range(13, 20))),
    (56, 58, frozenset(range(13, 20))),
    (63, 63, frozenset(range(16, 20))),
    (67, 67, frozenset(range(13, 20))),
)


def _cards_in(data: bytes, start: int, end: int) -> Iterator[Spot]:
    """Yield the cards in a row of digit groups: each begins and ends with a group."""
    groups = [match.span() for match in _GROUP.finditer(data, start, end)]
    if _glued(data, end):
        groups.pop()
    if groups and _glued(data, start - 1):
        groups.pop(0)
    least = MIN_GROUP_IN_LONG_ROW if end - start > LONG_ROW_DIGITS else 1
    number = 0
    while number < len(groups):
        last = _card_from(data, groups, number, least)
        if last is not None:
            yield Spot(groups[number][0], groups[last][1], "card")
        number = number + 1 if last is None else last + 1


def _card_from(data: bytes, groups: list[tuple[int, int]], first: int, least: int) -> int | None:
    if not 50 <= data[groups[first][0]] <= 54:  # noqa: PLR2004  # no brand begins with another digit than 2 to 6
        return None
    if [end - start for start, end in groups[first : first + 3]] == [8, 4, 4]:
        return None  # the beginning of a UUID
    digits = b""
    for number in range(first, min(first + MAX_CARD_DIGITS, len(groups))):
        start, end = groups[number]
        if end - start < least or len(digits) + end - start > MAX_CARD_DIGITS:
            return None
        digits += data[start:end]
        if len(digits) >= MIN_CARD_DIGITS and is_card(digits):
            return number
    return None


def _glued(data: bytes, position: int) -> bool:
    """Return whether a letter, a digit or the point of a decimal fraction stands here."""
    if not 0 <= position < len(data):
        return False
    here = data[position : position + 1]
    if here == b".":
        beside = data[position - 1 : position] if position else b""
        return beside.isdigit() and data[position + 1 : position + 2].isdigit() and not _ends_row(data, position)
    return here.isalnum() or here == b"_"


def _ends_row(data: bytes, position: int) -> bool:
    """Return whether a point follows a whole number rather than leading a fraction: `4111.00`."""
    before = data[max(0, position - MAX_CARD_DIGITS) : position]
    return len(before) - len(before.rstrip(b"0123456789 -")) >= MIN_CARD_DIGITS


def _iban_end(data: bytes, start: int) -> int | None:
    """Return where the account number that begins here ends, None where it is none."""
    left = IBAN_LENGTHS[data[start : start + 2].decode().upper()]
    letters = bytearray()
    position = start
    while left and position < len(data):
        here = data[position : position + 1]
        position += 1
        if here in {b" ", b"-"}:
            continue
        if not here.isalnum():
            return None
        letters += here.upper()
        left -= 1
    if left or data[position : position + 1].isalnum():
        return None
    turned = letters[4:] + letters[:4]
    return position if int("".join(str(int(chr(byte), 36)) for byte in turned)) % 97 == 1 else None
