"""Texts inside a text: JSON and URL escapes, HTML entities and invisible characters decoded; base64 runs decoded.

A layer remembers where each of its bytes came from, so that what is found in it is taken out of the
original.
"""

from __future__ import annotations

import base64
import binascii
import re
from bisect import bisect_right
from collections.abc import Iterator
from functools import lru_cache

import re2

_ESCAPE = re.compile(
    rb"\\(?:u[dD][89abAB][0-9a-fA-F]{2}\\u[dD][c-fC-F][0-9a-fA-F]{2}|u[0-9a-fA-F]{4}|x[0-9a-fA-F]{2}|[\"'\\/bfnrt])"
    rb"|%[0-9A-Fa-f]{2}|&(?:#x?[0-9a-fA-F]{1,6}|amp|quot|lt|gt|apos);"
    rb"|\xc2\xad|\xcd\x8f|\xd8\x9c|\xe1\xa0[\x8b-\x8f]|\xe1\x85[\x9f\xa0]|\xe2\x80[\x8b-\x8f\xaa-\xae]|\xe2\x81[\x9f-\xaf]"
    rb"|\xe3\x85\xa4|\xef\xb8[\x80-\x8f]|\xef\xbb\xbf|\xef\xbc[\x81-\xbf]|\xef\xbd[\x80-\x9e]|\xf3\xa0[\x80-\x87][\x80-\xbf]|"
    + b"|".join(re.escape(bytes([number])) for number in (*range(9), 11, 12, *range(14, 32), 127))
)
_SIMPLE = {b"n": b"\n", b"r": b"\r", b"t": b"\t", b"b": b"", b"f": b""}
_REPLACED = (
    *((b"\\" + letter, meant) for letter, meant in _SIMPLE.items()),
    (b'\\"', b'"'), (b"\\'", b"'"), (b"\\/", b"/"),
)  # fmt: skip
_ENTITIES = {b"&amp;": b"&", b"&quot;": b'"', b"&lt;": b"<", b"&gt;": b">", b"&apos;": b"'"}
_RUN = re2.compile(rb"[A-Za-z0-9+/_-]{16,}(?:\r?\n[A-Za-z0-9+/_-]{4,})*={0,2}")
_DISGUISE = re2.compile(
    rb"[\x00-\x08\x0b\x0c\x0e-\x1f\x7f\x{ad}\x{34f}\x{61c}\x{115f}\x{1160}\x{180b}-\x{180f}\x{200b}-\x{200f}\x{202a}-\x{202e}"
    rb"\x{205f}-\x{206f}\x{3164}\x{fe00}-\x{fe0f}\x{feff}\x{ff01}-\x{ff5e}\x{e0000}-\x{e01ff}]"
)
"""The characters that are decoded by themselves: those that show nothing, and the full-width ones."""
_READABLE = bytes([*range(32, 127), 0, 9, 10, 13])
MIN_READABLE_SHARE = 0.7
MIN_TEXT_BYTES = 6
PAIR_CHARS = len(r"\ud83d\ude00")


class Layer:
    """What a text says once its escapes are decoded; where each part came from is worked out when asked."""

    def __init__(self, data: bytes) -> None:
        self._source = data
        self.data = _decode_all(data)
        self.changed = self.data != data
        self._here: list[int] = []
        self._there: list[tuple[int, int, bool]] = []

    def back(self, start: int, end: int) -> tuple[int, int]:
        """Return where a part of this layer lies in the text it was decoded from; an escape goes as a whole."""
        if not self._here:
            self._trace()
        first, last = bisect_right(self._here, start) - 1, bisect_right(self._here, end - 1) - 1
        begin, _, whole = self._there[first]
        begins = begin if whole else begin + start - self._here[first]
        begin, stop, whole = self._there[last]
        return begins, stop if whole else begin + end - self._here[last]

    def _trace(self) -> None:
        at = size = 0
        for match in _ESCAPE.finditer(self._source):
            start, end = match.span()
            if start > at:
                self._here.append(size)
                self._there.append((at, start, False))
                size += start - at
            length = len(_decoded(match[0]))
            if length:
                self._here.append(size)
                self._there.append((start, end, True))
                size += length
            at = end
        self._here.append(size)
        self._there.append((at, len(self._source), False))


def _decode_all(data: bytes) -> bytes:
    """Decode every escape; texts with the simple escapes of JSON alone, which are most, without looking at each."""
    if b"%" not in data and b"&" not in data and _DISGUISE.search(data) is None:
        plain = data.replace(b"\\\\", b"\x00")
        if b"\\u" not in plain and b"\\x" not in plain:
            for escape, meant in _REPLACED:
                plain = plain.replace(escape, meant)
            return plain.replace(b"\x00", b"\\")
    return _ESCAPE.sub(lambda match: _decoded(match[0]), data)


def has_escapes(data: bytes) -> bool:
    """Return whether decoding may change anything; cheap."""
    if b"\\" in data or b"%" in data or (b"&" in data and b";" in data):
        return True
    return _DISGUISE.search(data) is not None


def base64_runs(data: bytes) -> Iterator[tuple[int, int, bytes]]:
    """Yield where base64 may stand, and the readable text it holds, at whatever offset it begins."""
    for match in _RUN.finditer(data):
        start, end = match.span()
        run = data[start:end]
        if run.islower() or run.isdigit():
            continue
        yield from ((start, end, text) for text in _texts(run))


def _texts(run: bytes) -> Iterator[bytes]:
    letters = run.translate(_TO_STANDARD, b"\r\n=")
    for offset in range(4):
        part = letters[offset:]
        try:
            text = base64.b64decode(
                part[: len(part) - (len(part) % 4 == 1)] + b"=" * (-len(part) % 4 if len(part) % 4 != 1 else 0)
            )
        except (binascii.Error, ValueError):
            continue
        if len(text) >= MIN_TEXT_BYTES and _is_readable(text):
            yield text


def _is_readable(text: bytes) -> bool:
    if len(text.translate(None, _READABLE)) <= len(text) * (1 - MIN_READABLE_SHARE):
        return True
    try:
        text.decode()
    except UnicodeDecodeError:
        return False
    return True


_TO_STANDARD = bytes.maketrans(b"-_", b"+/")


@lru_cache(maxsize=4096)
def _decoded(escape: bytes) -> bytes:
    first = escape[:1]
    if first == b"\\":
        return _backslash(escape)
    if first == b"%":
        return bytes([int(escape[1:], 16)])
    if first == b"&":
        return _ENTITIES.get(escape) or _character(
            escape[3:-1] if escape[2:3] in b"xX" else escape[2:-1], 16 if escape[2:3] in b"xX" else 10
        )
    if first == b"\xef" and escape[1] in {0xBC, 0xBD}:
        return bytes([ord(escape.decode()) - 0xFEE0])
    return b""


def _backslash(escape: bytes) -> bytes:
    kind = escape[1:2]
    if len(escape) == PAIR_CHARS:
        high, low = int(escape[2:6], 16), int(escape[8:12], 16)
        return chr(0x10000 + ((high - 0xD800) << 10) + low - 0xDC00).encode()
    if kind in {b"u", b"x"}:
        return _character(escape[2:], 16)
    return _SIMPLE.get(kind, kind)


def _character(digits: bytes, base: int) -> bytes:
    try:
        number = int(digits, base)
        return b"" if number < 32 and number not in {9, 10, 13} else chr(number).encode("utf-8", "ignore")  # noqa: PLR2004
    except ValueError:
        return b"?"
