"""Split a byte stream of server-sent events into the data of each event, however the bytes are cut.

Source: the WHATWG HTML standard, "Interpreting an event stream": lines end in LF, CR or CRLF, several
`data` lines join with LF, an empty line ends the event, an event without that empty line is not one.
Only `data` is kept; the Messages API repeats the event's name inside it.
"""

from __future__ import annotations

from collections.abc import Iterator

_CR = b"\r"
_LF = b"\n"
_BOM = b"\xef\xbb\xbf"


class OversizedEvent:
    """Stands for an event whose data was longer than the limit and was thrown away."""


OVERSIZED = OversizedEvent()


class EventStream:
    """Feed it bytes as they come; it yields each finished event's data, or `OVERSIZED`.

    Args:
        max_event_bytes: how much of one event, or of one unfinished line, may be held.
    """

    def __init__(self, max_event_bytes: int) -> None:
        self._max_event_bytes = max_event_bytes
        self._line = bytearray()
        self._data = bytearray()
        self._has_data = False
        self._oversized = False
        self._line_oversized = False
        self._after_cr = False
        self._first_line = True

    def feed(self, chunk: bytes) -> Iterator[bytes | OversizedEvent]:
        """Take in one chunk and yield the data of every event that it finishes."""
        for part in chunk.splitlines(keepends=True):
            piece = part
            if self._after_cr and piece == _LF:
                self._after_cr = False
                continue
            self._after_cr = piece.endswith(_CR)
            ended = piece.endswith((_LF, _CR))
            self._extend_line(piece.rstrip(b"\r\n") if ended else piece)
            if ended:
                yield from self._end_line()

    def _extend_line(self, piece: bytes) -> None:
        if len(self._line) + len(self._data) + len(piece) > self._max_event_bytes:
            self._line_oversized = True
            self._line.clear()
        elif not self._line_oversized:
            self._line += piece

    def _end_line(self) -> Iterator[bytes | OversizedEvent]:
        line = bytes(self._line).removeprefix(_BOM) if self._first_line else bytes(self._line)
        self._first_line = False
        self._oversized |= self._line_oversized
        empty = not line and not self._line_oversized
        self._line_oversized = False
        self._line.clear()
        if empty:
            yield from self._end_event()
        elif line.startswith(b"data:") or line == b"data":
            self._add_data(line)

    def _add_data(self, line: bytes) -> None:
        if self._has_data:
            self._data += _LF
        self._has_data = True
        self._data += line.removeprefix(b"data").removeprefix(b":").removeprefix(b" ")

    def _end_event(self) -> Iterator[bytes | OversizedEvent]:
        if self._oversized:
            yield OVERSIZED
        elif self._has_data:
            yield bytes(self._data)
        self._data.clear()
        self._has_data = False
        self._oversized = False
