"""A text without what was found in it: `[redacted:kind]` in its place, and JSON stays JSON.

A bare value of a JSON text (a number, an object) becomes a quoted text, quoted as deep as the JSON it
stands in is escaped.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator

from attest_otel.redaction.patterns import Spot

LOOK_BACK_BYTES = 4_096

_MARKER = re.compile(rb"\[redacted:[a-z0-9_]{1,32}\]")


def write(data: bytes, spots: Iterable[Spot]) -> bytes | None:
    """Return the text with every spot replaced; None where it was JSON and can't be written so that it stays JSON.

    What is a replacement already stays.
    """
    merged = list(_merged(data, spots))
    if not merged:
        return data
    bare = [_is_bare(data, spot) for spot in merged]
    written = _written(data, merged, bare, deeper=0)
    if data[:64].lstrip()[:1] not in {b"{", b"[", b'"'} or not _is_json(data) or _is_json(written):
        return written
    for attempt in (_written(data, merged, bare, deeper=1), _written(data, merged, [False] * len(bare), deeper=0)):
        if _is_json(attempt):
            return attempt
    return None


def _merged(data: bytes, spots: Iterable[Spot]) -> Iterator[Spot]:
    markers = [match.span() for match in _MARKER.finditer(data)] if b"[redacted:" in data else []
    last: Spot | None = None
    number = 0
    for spot in sorted(spots, key=lambda one: (one.start, -one.end)):
        while number < len(markers) and markers[number][1] <= spot.start:
            number += 1
        if number < len(markers) and markers[number][0] <= spot.start and spot.end <= markers[number][1] + 1:
            continue
        if last is not None and spot.start < last.end:
            last = last._replace(end=max(last.end, spot.end))
        else:
            if last is not None:
                yield last
            last = spot
    if last is not None:
        yield last


def _written(data: bytes, spots: list[Spot], bare: list[bool], *, deeper: int) -> bytes:
    pieces: list[bytes] = []
    at = 0
    for spot, quoted in zip(spots, bare, strict=True):
        mark = b"[redacted:" + spot.kind.encode() + b"]"
        quote = _quote_before(data, spot.start, deeper) if quoted else b""
        pieces += (data[at : spot.start], quote, mark, quote)
        at = spot.end
    pieces.append(data[at:])
    return b"".join(pieces)


def _is_bare(data: bytes, spot: Spot) -> bool:
    """Return whether the whole of an unquoted JSON value is to be replaced."""
    before = data[max(0, spot.start - 64) : spot.start].rstrip()[-1:]
    after = data[spot.end : spot.end + 64].lstrip()[:1]
    if not before and not after:
        return data[:1].isdigit()
    return before in {b":", b",", b"["} and after in {b",", b"]", b"}"} and data[:64].lstrip()[:1] in {b"{", b"[", b'"'}


def _quote_before(data: bytes, position: int, deeper: int) -> bytes:
    """Return a quotation mark escaped as the nearest one before it, or one level deeper."""
    mark = data.rfind(b'"', max(0, position - LOOK_BACK_BYTES), position)
    before = data[max(0, mark - 64) : mark] if mark > 0 else b""
    slashes = len(before) - len(before.rstrip(b"\\"))
    for _ in range(deeper):
        slashes = slashes * 2 + 1
    return b"\\" * slashes + b'"'


def _is_json(data: bytes) -> bool:
    try:
        json.loads(data.decode("utf-8", "surrogatepass"))
    except (ValueError, RecursionError):
        return False
    return True
