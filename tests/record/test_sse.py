"""Server-sent events are split alike however their bytes are cut."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from attest_otel.record.sse import OVERSIZED, EventStream, OversizedEvent


def read(*chunks: bytes, max_event_bytes: int = 1000) -> list[bytes | OversizedEvent]:
    """Feed chunks and collect the events."""
    stream = EventStream(max_event_bytes)
    return [event for chunk in chunks for event in stream.feed(chunk)]


@pytest.mark.parametrize(
    ("text", "events"),
    [
        (b"data: x\n\n", [b"x"]),
        (b"data:x\n\n", [b"x"]),
        (b"data:  x\n\n", [b" x"]),
        (b"data: x\r\n\r\n", [b"x"]),
        (b"data: x\r\r", [b"x"]),
        (b"data: x\n\ndata: y\n\n", [b"x", b"y"]),
        (b"data: x\ndata: y\n\n", [b"x\ny"]),
        (b"data: x\r\ndata: y\r\n\r\n", [b"x\ny"]),
        (b"data: x\rdata: y\n\rdata: z\r\r\n", [b"x\ny", b"z"]),
        (b"data\ndata\n\n", [b"\n"]),
        (b"event: ping\ndata: {}\nid: 1\nretry: 5\n\n", [b"{}"]),
        (b": comment\n\n", []),
        (b"database: x\n\n", []),
        (b"event: x\n\n", []),
        (b"\n\n\n", []),
        (b"\xef\xbb\xbfdata: x\n\n", [b"x"]),
        (b"data: x\n", []),
        (b"data: \xe2\x80\xa8\x0b\x1c\n\n", [b"\xe2\x80\xa8\x0b\x1c"]),
    ],
)
def test_lines_become_events(text: bytes, events: list[bytes]) -> None:
    """The rules of the WHATWG standard, case by case, whole and byte by byte."""
    assert read(text) == events
    assert read(*(text[at : at + 1] for at in range(len(text)))) == events


def test_an_event_ends_with_its_empty_line() -> None:
    """Nothing waits for a byte after the event, not even for the LF of a CRLF."""
    stream = EventStream(100)
    assert list(stream.feed(b"data: x\r\n\r")) == [b"x"]
    assert list(stream.feed(b"\ndata: y\r\n\r\n")) == [b"y"]


@pytest.mark.parametrize("text", [b"data: " + b"x" * 200, b"data: " + b"x" * 60 + b"\ndata: " + b"x" * 60])
def test_an_oversized_event_is_said_and_the_next_is_read(text: bytes) -> None:
    """Memory is bounded by the limit, the loss is visible, and the stream goes on."""
    events = read(*(bytes([byte]) for byte in text + b"\n\ndata: y\n\n"), max_event_bytes=100)
    assert events == [OVERSIZED, b"y"]


alphabet = st.sampled_from(
    [b"data: x", b"data", b":", b" ", b"x", b"\r", b"\n", b"\r\n", "é".encode(), b"event", b"\xef\xbb\xbf"]
)


@settings(deadline=None)
@given(st.lists(alphabet, max_size=40).map(b"".join), st.data())
def test_any_cut_gives_the_same_events(text: bytes, data: st.DataObject) -> None:
    """Where chunks begin and end makes no difference."""
    cuts = sorted(data.draw(st.lists(st.integers(0, len(text)), max_size=8)))
    chunks = [text[start:end] for start, end in zip([0, *cuts], [*cuts, len(text)], strict=True)]
    assert read(*chunks) == read(text)
