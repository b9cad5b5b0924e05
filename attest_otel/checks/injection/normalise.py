"""Text as an agent reads it, with the way back to where each character stood.

A stranger hides words from filters by spelling them otherwise: full-width or look-alike letters,
characters that show nothing, JSON or percent escapes, numeric entities, tag characters. `normalise`
undoes that on a copy and keeps the offsets, so that a finding can quote the original. Spelling that
needs such characters is left in peace: joined emoji, flags made of tag characters, byte-order marks,
direction marks, Persian and Indic joiners only disappear, they accuse nobody. Linear in the text.
"""

from __future__ import annotations

import re
import unicodedata
from bisect import bisect_right
from dataclasses import dataclass, field
from functools import lru_cache

ESCAPE_KINDS = ("tag_characters", "zero_width", "homoglyphs", "json_escape", "percent_encoding", "entity")

_SPECIAL = re.compile(
    r"(?P<other>[^\x00-\x7f]+)"
    r"|(?P<unicode>(?:\\{1,4}u[0-9a-fA-F]{4})+)"
    r"|(?P<space>\\{1,4}[nrt])"
    r"|(?P<percent>(?:%[2-7][0-9a-fA-F])+)"
    r"|(?P<entity>(?:&#(?:[0-9]{1,7}|[xX][0-9a-fA-F]{1,6});)+)"
)
_CODE = re.compile(r"u([0-9a-fA-F]{4})")
_ENTITY = re.compile(r"#([xX]?)([0-9a-fA-F]+)")
_TAG_FIRST, _TAG_LAST, _TAG_CANCEL, _FLAG = 0xE0000, 0xE007F, "\U000e007f", "\U0001f3f4"
_INVISIBLE = frozenset("\u00ad\u034f\u115f\u1160\u180e\u3164\uffa0") | frozenset(
    map(chr, (*range(0xFE00, 0xFE10), *range(0xE0100, 0xE01F0)))
)
_LOOKALIKES = dict(
    zip(
        "\u0430\u0432\u0435\u043a\u043c\u043d\u043e\u0440\u0441\u0442\u0443\u0445\u0455\u0456\u0458\u0501\u051b\u051d\u04bb"
        "\u03b1\u03b5\u03b9\u03ba\u03bd\u03bf\u03c1\u03c4\u03c5\u03c7\u0261\u026a\u0131\u217c",
        "abekmhopctyxsijdqwhaeikvoptuxgiil",
        strict=True,
    )
)


@dataclass(slots=True)
class Normalised:
    """A normalised copy. `hidden` holds text spelled in tag characters, with its original start and end."""

    text: str = ""
    hidden: list[tuple[str, int, int]] = field(default_factory=list)
    _starts: list[int] = field(default_factory=lambda: [0])
    _segments: list[tuple[int, int, str]] = field(default_factory=lambda: [(0, -1, "")])

    @classmethod
    def plain(cls, text: str) -> Normalised:
        """Return the copy of a text with nothing to decode in it."""
        return cls(text.lower())

    def span(self, start: int, end: int) -> tuple[int, int]:
        """Return where the characters from `start` to `end` stood in the original."""
        first = self._origin(start)[0]
        return first, max(first, self._origin(end - 1)[1]) if end > start else first

    def techniques(self, start: int, end: int) -> set[str]:
        """Return how the characters from `start` to `end` were disguised; empty for plain text."""
        low, high = bisect_right(self._starts, start) - 1, bisect_right(self._starts, max(start, end - 1))
        return {kind for _, _, kind in self._segments[max(low, 0) : high] if kind}

    def _origin(self, position: int) -> tuple[int, int]:
        number = bisect_right(self._starts, position) - 1
        origin, width, _ = self._segments[number]
        if width < 0:
            return origin + position - self._starts[number], origin + position - self._starts[number] + 1
        return origin, origin + width


def normalise(text: str) -> Normalised:
    """Return the lower-case copy of a text in which disguised characters are spelled plainly."""
    builder = _Builder(text)
    position = 0
    for match in _SPECIAL.finditer(text):
        start, end = match.span()
        if start > position:
            builder.plain(position, start)
        builder.special(match.lastgroup or "", match.group(), start, end)
        position = end
    builder.plain(position, len(text))
    return builder.finish()


class _Builder:
    def __init__(self, text: str) -> None:
        self._text = text
        self._pieces: list[str] = []
        self._length = 0
        self._result = Normalised(_starts=[], _segments=[])
        self._tags: list[str] = []
        self._tags_at = (0, 0)
        self._in_flag = False

    def plain(self, start: int, end: int) -> None:
        self._emit(self._text[start:end].lower(), start, -1, "")
        self._end_tags()

    def special(self, group: str, raw: str, start: int, end: int) -> None:
        if group == "other":
            mixed = _is_letter(self._text[start - 1 : start]) or _is_letter(self._text[end : end + 1])
            for offset, char in enumerate(raw):
                self._char(char, start + offset, 1, mixed, "")
            return
        if group != "unicode":
            self._end_tags()
        if group == "space":
            self._emit("\n" if raw[-1] != "t" else "\t", start, end - start, "")
        elif group == "percent":
            self._each(bytes.fromhex(raw.replace("%", "")).decode("ascii"), start, end, "percent_encoding")
        elif group == "entity":
            self._each("".join(_entity(x, digits) for x, digits in _ENTITY.findall(raw)), start, end, "entity")
        else:
            self._each(_from_units(_CODE.findall(raw)), start, end, "json_escape")

    def _each(self, decoded: str, start: int, end: int, kind: str) -> None:
        mixed = _is_letter(self._text[start - 1 : start]) or _is_letter(self._text[end : end + 1])
        for char in decoded:
            self._char(char, start, end - start, mixed, kind)

    def _char(self, char: str, start: int, width: int, mixed: bool, kind: str) -> None:
        code = ord(char)
        if _TAG_FIRST <= code <= _TAG_LAST:
            self._tag(char, start, width)
            return
        self._end_tags()
        self._in_flag = char == _FLAG
        if char.isascii():
            self._emit(char.lower(), start, width, kind if char.isalpha() else "")
            return
        if mixed and char.lower() in _LOOKALIKES:
            self._emit(_LOOKALIKES[char.lower()], start, width, "homoglyphs")
            return
        folded, disguise = _fold(char)
        if not folded and not mixed:
            disguise = ""
        self._emit(folded, start, width if len(folded) != 1 or width != 1 else -1, disguise or (kind if mixed else ""))

    def _tag(self, char: str, start: int, width: int) -> None:
        if self._in_flag:
            self._in_flag = char != _TAG_CANCEL
            return
        if not self._tags:
            self._tags_at = (start, start + width)
        self._tags.append(chr(ord(char) - _TAG_FIRST))
        self._tags_at = (self._tags_at[0], start + width)

    def _end_tags(self) -> None:
        self._in_flag = False
        if self._tags:
            self._result.hidden.append(("".join(c for c in self._tags if c.isprintable()), *self._tags_at))
            self._tags = []

    def _emit(self, out: str, start: int, width: int, kind: str) -> None:
        segments, starts = self._result._segments, self._result._starts  # noqa: SLF001
        if (
            segments
            and width < 0
            and not kind
            and segments[-1][1:] == (-1, "")
            and segments[-1][0] + self._length - starts[-1] == start
        ):
            self._pieces.append(out)
        elif out or kind:
            starts.append(self._length)
            segments.append((start, width, kind))
            self._pieces.append(out)
        self._length += len(out)

    def finish(self) -> Normalised:
        self._end_tags()
        self._result.text = "".join(self._pieces)
        if not self._result._starts:  # noqa: SLF001
            return Normalised(hidden=self._result.hidden)
        return self._result


@lru_cache(maxsize=4096)
def _fold(char: str) -> tuple[str, str]:
    """Return a character's plain spelling, and the disguise it was, if it was one."""
    if char in _INVISIBLE or unicodedata.category(char) in {"Cf", "Cs"} or "\u0300" <= char <= "\u036f":
        return "", "zero_width"
    decomposed = unicodedata.normalize("NFKD", char)
    if decomposed[0].isascii():
        plain = "".join(c for c in decomposed if c.isascii()).lower()
        return plain, "" if unicodedata.normalize("NFC", decomposed) == char else "homoglyphs"
    return unicodedata.normalize("NFKC", char).casefold(), ""


def _is_letter(char: str) -> bool:
    return char.isascii() and char.isalpha()


def _entity(hexadecimal: str, digits: str) -> str:
    try:
        return chr(int(digits, 16 if hexadecimal else 10))
    except (ValueError, OverflowError):
        return ""


def _from_units(units: list[str]) -> str:
    raw = b"".join(int(unit, 16).to_bytes(2, "big") for unit in units)
    return raw.decode("utf-16-be", "replace")
