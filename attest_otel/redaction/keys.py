"""Values that are secret because of their name: `"password": "…"`, `api_key=…`, `Authorization: …`, `--token …`.

A value is a quoted text, an object or list, or a bare word; of a header or a cookie it is the rest of
the line. Words that are no value (true, false, null) stay.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator

import re2

from attest_otel.redaction.patterns import Spot

_LONG = (
    "password|passwort|kennwort|passwd|passphrase|passcode|pwd|secret|secret[_ -]?key|secret[_ -]?access[_ -]?key|api[_ -]?key|"
    "access[_ -]?key|private[_ -]?key|signing[_ -]?key|encryption[_ -]?key|account[_ -]?key|subscription[_ -]?key|token|authorization|"
    "cookie|credentials?|client[_ -]?assertion|social[_ -]?security(?:[_ -]?(?:number|no|num))?|card[_ -]?(?:number|no|num)|"
    "sessionid|phpsessid|jsessionid"
)
_SHORT = "ssn|pin|pin[_-]code|otp|cvv2?|cvc2?|csc|iban|auth|x-auth|pass|sid|mfa[_-]?code|one[_-]?time[_-]?code|tax[_-]?id"
_NOT_SECRET = (
    b"page",
    b"next",
    b"continuation",
    b"pagination",
    b"cursor",
    b"sync",
    b"max",
    b"min",
    b"eos",
    b"bos",
    b"pad",
    b"per",
    b"first",
    b"last",
)
_SEPARATOR = r"\\*[\"']?\s{0,8}(?:=>|[:=])\s{0,8}"
_REST_OF_LINE = re.compile(rb"(?i)(?:authorization|cookie)")
_STOPS = re.compile(rb"[\s,;&\"'<>\\)\]}]")
_LINE_STOPS = re.compile(rb"[\r\n\"'<>\\]|\\n")
_WORDS = frozenset({b"true", b"false", b"null", b"none", b"undefined", b"nil"})
_OPEN, _CLOSE = b"{[", b"}]"
_STRUCTURE = re.compile(rb'"(?:[^"\\]|\\.)*"|[{}\[\]]', re.DOTALL)


class KeyNames:
    """Finds the values of keys whose names say secret, the user's own names included."""

    def __init__(self, more: Iterable[str] = ()) -> None:
        own = "".join(f"|{re.escape(name).replace('_', '[_ -]?')}" for name in more if name)
        name = rf"(?:{_LONG}|(?:\b|_)(?:{_SHORT}{own}))"
        self.shape = (
            rf"(?i:{name}\d*{_SEPARATOR}|--[\w-]*(?:{_LONG})\s{{1,8}}|<[\w:.-]*{name}>|"
            rf"\\*[\"'](?:[\w.-]*{name})\\*[\"']\s{{0,8}},\s{{0,8}}(?:\\*[\"']value\\*[\"']\s{{0,8}}:\s{{0,8}})?\\*[\"'])"
        )
        self._pattern = re2.compile(self.shape.encode())

    def find(self, data: bytes) -> Iterator[Spot]:
        """Yield the values, without their quotes."""
        position = 0
        for match in self._pattern.finditer(data):
            if match.start() < position or self._harmless(data, match.start()):
                continue
            name = data[match.start() : match.end()]
            start, end = _value(data, match.end(), whole_line=_REST_OF_LINE.search(name) is not None)
            if end > start and data[start:end].lower() not in _WORDS:
                yield Spot(start, end, "secret")
                position = end

    def _harmless(self, data: bytes, start: int) -> bool:
        """Return whether the key is a cursor or a count: `next_page_token`."""
        return data[max(0, start - 16) : start].rstrip(b"_-. ").lower().endswith(_NOT_SECRET)


def _value(data: bytes, start: int, *, whole_line: bool) -> tuple[int, int]:
    """Return where the value that begins here lies."""
    if data[start - 1 : start] in {b'"', b"'"}:
        before = data[max(0, start - 9) : start - 1]
        return _quoted(data, start - 1, len(before) - len(before.rstrip(b"\\")))
    slashes = len(data[start : start + 8]) - len(data[start : start + 8].lstrip(b"\\"))
    first = data[start + slashes : start + slashes + 1]
    if first in {b'"', b"'"}:
        return _quoted(data, start + slashes, slashes)
    if first and first in _OPEN and not slashes:
        return start, _structure_end(data, start)
    match = (_LINE_STOPS if whole_line else _STOPS).search(data, start)
    end = match.start() if match is not None else len(data)
    return start, start + len(data[start:end].rstrip(b" "))


def _quoted(data: bytes, quote: int, slashes: int) -> tuple[int, int]:
    """Return where the text after a quotation mark ends: at the same mark behind as many backslashes."""
    mark = data[quote : quote + 1]
    position = quote + 1
    while (found := data.find(mark, position)) >= 0:
        before = data[max(quote + 1, found - 16) : found]
        behind = len(before) - len(before.rstrip(b"\\"))
        if behind == slashes or (slashes == 0 and behind % 2 == 0):
            return quote + 1, found - min(behind, slashes)
        position = found + 1
    return quote + 1, len(data)


def _structure_end(data: bytes, start: int) -> int:
    """Return where an object or list ends, or the text where it doesn't."""
    depth = 0
    for match in _STRUCTURE.finditer(data, start):
        here = match[0]
        depth += (here in {b"{", b"["}) - (here in {b"}", b"]"})
        if depth == 0:
            return match.end()
    return len(data)
