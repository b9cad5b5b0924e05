"""Is a value there in a body of text? The evidence of a run, and the ways a value can be spelled.

Words (runs of letters, digits and underscores) are kept in a set: a value of one word is looked up. A
value of several words needs all of them, and, unless one of them is an identifier in itself, also side
by side in the text. Numbers are looked for across units and formats (4200, 4,200, 4.200,00, 42.00,
$42), dates across orders and month names. Text grows by `add`, in the order the agent saw it.
Searching is counted in characters; beyond the limit `holds` raises, it never says no.
"""

from __future__ import annotations

import re
from datetime import date
from decimal import Decimal
from functools import lru_cache

MAX_SEARCHED_CHARS = 134_217_728
MAX_RECENT_CHARS = 20_000
MAX_RECENT_NUMBERS = 24
MAX_NUMBER_DIGITS = 30
MIN_IDENTIFIER_CHARS = 5

_WORDS = bytes(c if chr(c).isalnum() or c == ord("_") or c > 127 else 32 for c in bytes(range(256)).lower())  # noqa: PLR2004
_ESCAPE = re.compile(r"\\(?:u([0-9a-f]{4})|([nrt])|([\"/\\]))")
_DIGIT = re.compile(r"[0-9]")
_NUMBER = re.compile(r"\d{1,12}(?:[.,]\d{1,2})?")
_DATE = re.compile(r"(\d{4})-(\d{2})-(\d{2})(?:[T ]\d{2}:\d{2}\S{0,20})?")
_MONTHS = (
    "january",
    "february",
    "march",
    "april",
    "may",
    "june",
    "july",
    "august",
    "september",
    "october",
    "november",
    "december",
)


class SearchLimitError(Exception):
    """More characters would have to be searched than a run may cost."""


class Evidence:
    """Text that explains values: the words in it, and the text itself."""

    def __init__(self) -> None:
        self._words: set[bytes] = set()
        self._fixed: frozenset[bytes] = frozenset()
        self._unread: list[str] = []
        self._unnumbered: list[str] = []
        self._numbers: dict[Decimal, int] = {}
        self._numbered = 0
        self._chunks: list[str] = []
        self._found: set[str] = set()
        self._left = MAX_SEARCHED_CHARS

    @property
    def is_empty(self) -> bool:
        """Whether no text was added yet."""
        return not self._chunks

    def add(self, text: str) -> None:
        """Add text that the agent has seen; its words are read when a value is not among those read before."""
        low = _plain(text)
        self._unread.append(low)
        self._unnumbered.append(low)
        self._chunks.append(low)
        while len(self._chunks) > 1 and len(self._chunks[-2]) <= len(self._chunks[-1]):
            last = self._chunks.pop()
            self._chunks[-1] = f"{self._chunks[-1]}\n{last}"

    def add_fixed(self, text: str) -> None:
        """Add text that many runs share (a system prompt): its words are worked out once."""
        low, words = _shared_words(text)
        self._fixed = self._fixed | words if self._fixed else words
        self._unnumbered.append(low)
        self._chunks.append(low)

    def holds(self, spelling: str) -> bool:
        """Return whether a spelling stands in the text, as whole words, whatever its case."""
        words = words_of(spelling.lower())
        if not words or not self._has_all(words):
            return False
        if len(words) == 1 and spelling.isalnum():
            return True
        return len(words) == 1 or self._side_by_side(spelling.lower(), words)

    def holds_words(self, text: str) -> bool:
        """Return whether every word of a text stands somewhere."""
        return self._has_all(words_of(text.lower()))

    def recent_numbers(self) -> list[Decimal]:
        """Return the last distinct numbers above ten, newest first."""
        for low in self._unnumbered:
            for match in _NUMBER.finditer(low, max(0, len(low) - MAX_RECENT_CHARS)):
                number = Decimal(match[0].replace(",", "."))
                if number > 10:  # noqa: PLR2004
                    self._numbers.pop(number, None)
                    self._numbers[number] = self._numbered + match.end()
            self._numbered += len(low)
            while len(self._numbers) > MAX_RECENT_NUMBERS:
                del self._numbers[next(iter(self._numbers))]
        self._unnumbered.clear()
        return [number for number, end in reversed(self._numbers.items()) if end > self._numbered - MAX_RECENT_CHARS]

    def _has_all(self, words: list[bytes]) -> bool:
        missing = [word for word in words if word not in self._words and word not in self._fixed]
        if missing and self._unread:
            for low in self._unread:
                self._words.update(words_of(low))
            self._unread.clear()
            return self._words.issuperset(missing)
        return not missing

    def _side_by_side(self, spelling: str, words: list[bytes]) -> bool:
        if "@" not in spelling and "/" not in spelling and any(is_identifier(word.decode("utf-8", "replace")) for word in words):
            return True
        if spelling in self._found:
            return True
        for chunk in reversed(self._chunks):
            self._left -= len(chunk) + 64
            if self._left < 0:
                raise SearchLimitError
            if spelling in chunk:
                self._found.add(spelling)
                return True
        return False


def words_of(low: str) -> list[bytes]:
    """Return the words of a lower-case text."""
    return low.encode("utf-8", "surrogatepass").translate(_WORDS).split()


def is_identifier(word: str) -> bool:
    """Return whether a word can hardly stand for anything but one thing: five characters and a digit among them."""
    return len(word) >= MIN_IDENTIFIER_CHARS and has_digit(word)


def has_digit(text: str) -> bool:
    """Return whether one of the characters is a digit, in any script."""
    return _DIGIT.search(text) is not None or (not text.isascii() and any(map(str.isdigit, text)))


def spellings_of_number(number: float) -> list[str]:
    """Return how a text may write a number: as it is, grouped, in hundredths or in hundreds of it."""
    exact = Decimal(str(number)) if isinstance(number, float) else Decimal(number)
    if not exact.is_finite() or exact.adjusted() > MAX_NUMBER_DIGITS or exact.adjusted() < -MAX_NUMBER_DIGITS:
        return [str(number)]
    exact = abs(exact)
    return list(dict.fromkeys(form for value in (exact, exact / 100, exact * 100) for form in _number_forms(value)))


@lru_cache(maxsize=1024)
def spellings_of_date(text: str) -> tuple[str, ...]:
    """Return how a text may write an ISO date; empty when the value is none."""
    match = _DATE.fullmatch(text)
    if match is None:
        return ()
    try:
        day = date(int(match[1]), int(match[2]), int(match[3]))
    except ValueError:
        return ()
    y, m, d = day.year, day.month, day.day
    numeric = [
        f"{d:02}.{m:02}.{y}",
        f"{d}.{m}.{y}",
        f"{m:02}/{d:02}/{y}",
        f"{m}/{d}/{y}",
        f"{d:02}/{m:02}/{y}",
        f"{d}/{m}/{y}",
        f"{y}/{m:02}/{d:02}",
        f"{y}{m:02}{d:02}",
        f"{m}/{d}",
        f"{m:02}/{d:02}",
        f"{d}.{m}.",
    ]
    suffix = "th" if 10 < d < 20 else {1: "st", 2: "nd", 3: "rd"}.get(d % 10, "th")  # noqa: PLR2004
    named = [
        form
        for month in (_MONTHS[m - 1], _MONTHS[m - 1][:3])
        for n in (str(d), f"{d}{suffix}", f"{d:02}")
        for form in (f"{month} {n}", f"{month}. {n}", f"{month} the {n}", f"{n} {month}", f"{n} of {month}", f"{n}. {month}")
    ]
    return (f"{y}-{m:02}-{d:02}", *numeric, *named)


def _number_forms(value: Decimal) -> list[str]:
    normal = value.normalize()
    plain = f"{normal:f}"
    if normal == normal.to_integral_value():
        return [
            plain,
            f"{int(normal):,}",
            f"{int(normal):,}".replace(",", "."),
            f"{int(normal):,}".replace(",", " "),
            f"{int(normal):,}".replace(",", "'"),
        ]
    if -normal.as_tuple().exponent > 6:  # type: ignore[operator]  # noqa: PLR2004
        return [plain]
    cents = f"{normal:.2f}"
    return [
        plain,
        plain.replace(".", ","),
        cents,
        cents.replace(".", ","),
        f"{normal:,.2f}",
        f"{normal:,.2f}".translate(str.maketrans(",.", ".,")),
    ]


def _plain(text: str) -> str:
    low = text.lower()
    if "\\" not in low:
        return low
    return f"{low}\n{_ESCAPE.sub(_unescape, low)}"


def _unescape(match: re.Match[str]) -> str:
    if match[1]:
        return chr(int(match[1], 16)).lower()
    return match[3] or " "


@lru_cache(maxsize=16)
def _shared_words(text: str) -> tuple[str, frozenset[bytes]]:
    low = _plain(text)
    return low, frozenset(words_of(low))
