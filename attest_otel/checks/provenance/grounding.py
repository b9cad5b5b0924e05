"""Is a value there in a body of text? The evidence of a run, and the ways a value can be spelled.

Words (runs of letters, digits and underscores) are kept in a set: a value of one word is looked up. A
value of several words needs all of them, and, unless one of them is an identifier in itself, also side
by side in the text. Numbers are looked for across units and formats (4200, 4,200, 4.200,00, 42.00,
$42). Accents and full-width forms are spelling, and so is white space between scripts. Text grows by `add`, in the order the agent saw it.
Searching is counted in characters; beyond the limit `holds` raises, it never says no.
"""

from __future__ import annotations

import re
import unicodedata
from decimal import Decimal
from functools import lru_cache

from attest_otel.checks.provenance.quantities import field_sums, shares

MAX_SEARCHED_CHARS = 134_217_728
MAX_RECENT_CHARS = 20_000
MAX_RECENT_NUMBERS = 24
MAX_RECENT_SHARES = 16
MAX_NUMBER_DIGITS = 30
MIN_IDENTIFIER_CHARS = 5

_WORDS = bytes(c if chr(c).isalnum() or c == ord("_") or c > 127 else 32 for c in bytes(range(256)).lower())  # noqa: PLR2004
_ESCAPE = re.compile(r"\\(?:u([0-9a-f]{4})|([nrt])|([\"/\\]))")
_DIGIT = re.compile(r"[0-9]")
_NUMBER = re.compile(r"\d{1,12}(?:[.,]\d{1,2})?")
_WIDE = "\u0e00-\u0eff\u2e80-\ud7af\uf900-\ufaff"
_EDGE = re.compile(rf"(?<=[0-9a-z_])(?=[{_WIDE}])|(?<=[{_WIDE}])(?=[0-9a-z_])")
_NO_WORD = re.compile(r"[^\w\x00-\x7f]+")
_UMLAUTS = str.maketrans({"ä": "ae", "ö": "oe", "ü": "ue", "ø": "oe", "å": "aa", "æ": "ae"})
_GROUPING = str.maketrans("", "", " \t-./()+'\u00a0\u202f\u2009\u2019")


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
        self._unsummed: list[str] = []
        self._sums: set[Decimal] = set()
        self._shares: list[Decimal] = []
        self._grouped: list[str] = []
        self._grouped_of: list[str] = []
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
        self._unsummed.append(text.lower())
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
        low = spelling.lower()
        words = words_of(low)
        if not words or not self._has_all(words):
            return not low.isascii() and any(map(self.holds, _plainer(low)))
        if len(words) == 1 and spelling.isalnum():
            return True
        return len(words) == 1 or self._side_by_side(low, words)

    def holds_words(self, text: str) -> bool:
        """Return whether every word of a text stands somewhere."""
        low = text.lower()
        return self._has_all(words_of(low)) or (not low.isascii() and any(map(self.holds_words, _plainer(low))))

    def holds_grouped(self, bare: str) -> bool:
        """Return whether letters and digits stand in the text one after the other, whatever separates their groups."""
        if not any(self._has_all([bare[:length].encode()]) for length in range(1, len(bare) + 1)):
            return False
        known = dict(zip(map(id, self._grouped_of), self._grouped, strict=True))
        self._grouped = [known.get(id(chunk)) or chunk.translate(_GROUPING) for chunk in self._chunks]
        self._grouped_of = list(self._chunks)
        for chunk in self._grouped:
            self._spend(len(chunk) + 64)
            at = chunk.find(bare)
            while at >= 0:
                if not chunk[max(0, at - 1) : at].isdigit() and not chunk[at + len(bare) : at + len(bare) + 1].isdigit():
                    return True
                at = chunk.find(bare, at + 1)
        return False

    def field_sums(self) -> set[Decimal]:
        """Return the sums of the fields of what was added, a text at a time."""
        self._read_figures()
        return self._sums

    def recent_shares(self) -> list[Decimal]:
        """Return the last shares of one that the text speaks of."""
        self._read_figures()
        return self._shares

    def recent_numbers(self) -> list[Decimal]:
        """Return the last distinct numbers from ten on, newest first."""
        for low in self._unnumbered:
            for match in _NUMBER.finditer(low, max(0, len(low) - MAX_RECENT_CHARS)):
                number = Decimal(match[0].replace(",", "."))
                if number >= 10:  # noqa: PLR2004
                    self._numbers.pop(number, None)
                    self._numbers[number] = self._numbered + match.end()
            self._numbered += len(low)
            while len(self._numbers) > MAX_RECENT_NUMBERS:
                del self._numbers[next(iter(self._numbers))]
        self._unnumbered.clear()
        return [number for number, end in reversed(self._numbers.items()) if end > self._numbered - MAX_RECENT_CHARS]

    def _read_figures(self) -> None:
        for low in self._unsummed:
            recent = low[-MAX_RECENT_CHARS:]
            self._sums |= field_sums(recent)
            self._shares = [*shares(recent), *self._shares][:MAX_RECENT_SHARES]
        self._unsummed.clear()

    def _spend(self, chars: int) -> None:
        self._left -= chars
        if self._left < 0:
            raise SearchLimitError

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
            self._spend(len(chunk) + 64)
            if spelling in chunk:
                self._found.add(spelling)
                return True
        return False


def words_of(low: str) -> list[bytes]:
    """Return the words of a lower-case text."""
    if not low.isascii():
        low = _EDGE.sub(" ", _NO_WORD.sub(" ", low))
    return low.encode("utf-8", "surrogatepass").translate(_WORDS).split()


def is_identifier(word: str) -> bool:
    """Return whether a word can hardly stand for anything but one thing: five characters and a digit among them."""
    return len(word) >= MIN_IDENTIFIER_CHARS and has_digit(word)


def has_digit(text: str) -> bool:
    """Return whether one of the characters is a digit, in any script."""
    return _DIGIT.search(text) is not None or (not text.isascii() and any(map(str.isdigit, text)))


def spellings_of_number(number: float | Decimal) -> list[str]:
    """Return how a text may write a number: as it is, grouped, in hundredths or in hundreds of it."""
    exact = Decimal(str(number)) if isinstance(number, float) else Decimal(number)
    if not exact.is_finite() or exact.adjusted() > MAX_NUMBER_DIGITS or exact.adjusted() < -MAX_NUMBER_DIGITS:
        return [str(number)]
    exact = abs(exact)
    return list(dict.fromkeys(form for value in (exact, exact / 100, exact * 100) for form in _number_forms(value)))


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
    if "\\" in low:
        low = f"{low}\n{_ESCAPE.sub(_unescape, low)}"
    return low if low.isascii() or (plain := _without_accents(low)) == low else f"{low}\n{plain}"


def _plainer(low: str) -> list[str]:
    """Return how a text is written where accents and umlauts are not at hand."""
    return [form for form in dict.fromkeys((_without_accents(low), _without_accents(low.translate(_UMLAUTS)))) if form != low]


def _without_accents(low: str) -> str:
    return "".join(char for char in unicodedata.normalize("NFKD", low) if not unicodedata.combining(char)).replace("ß", "ss")


def _unescape(match: re.Match[str]) -> str:
    if match[1]:
        return chr(int(match[1], 16)).lower()
    return match[3] or " "


@lru_cache(maxsize=16)
def _shared_words(text: str) -> tuple[str, frozenset[bytes]]:
    low = _plain(text)
    return low, frozenset(words_of(low))
