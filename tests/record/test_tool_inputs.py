"""The raw text of every tool input is found in a body, however it travels, and nothing is raised."""

from __future__ import annotations

import itertools
import json
import logging
from collections.abc import Iterable, Iterator
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from attest_otel.record import capture_limits
from attest_otel.record.capture_limits import CaptureLimits
from attest_otel.record.content_decoding import decoder_for
from attest_otel.record.noted_inputs import NotedInput
from attest_otel.record.provider_bytes import ProviderBytes
from attest_otel.record.tool_inputs import ToolInputWatcher
from attest_otel.testing import Reply, ToolUse, Wire
from attest_otel.testing.render import render

HARD_INPUTS = [
    '{"amount_cents": 4200.0}',
    '{"a":1,"a":2, "b" : 1E2,"c":1e999}',
    '{"n":1234567890123456789012345}',
    '{"e":"\\u00e9 é \\ud83d\\ude00 😀 \\ud800 \\n"}',
    ' { "z":1 , "a":[ ] } ',
    '{"x": NaN, "n": ' + "9" * 5000 + "}",
    "[1]",
    "null",
    '{"}": "\\"]"}',
]


def body_of(reply: Reply, *, stream: bool) -> bytes:
    """Return the bytes that the Messages API would send, encoded as the reply says."""
    return b"".join(render(reply, {"stream": stream}, 1).writes)


def watch(
    chunks: Iterable[bytes], *, encoding: str = "", limits: CaptureLimits | None = None, whole: bool = True
) -> ProviderBytes:
    """Let a watcher read the chunks and return its store."""
    store = ProviderBytes()
    decode = decoder_for(encoding)
    assert decode is not None
    watcher = ToolInputWatcher(store, decode, limits)
    for chunk in chunks:
        watcher.feed(chunk)
    if whole:
        watcher.finish()
    watcher.abandon()
    return store


def event(**data: Any) -> bytes:
    """Return one event of a stream."""
    return f"event: {data['type']}\ndata: {json.dumps(data)}\n\n".encode()


def start(index: int = 0, **block: Any) -> bytes:
    """Return the start of a tool_use block."""
    content = {"type": "tool_use", "id": "a", "name": "f", "input": {}, **block}
    return event(type="content_block_start", index=index, content_block=content)


def piece(text: object, index: int = 0) -> bytes:
    """Return one piece of an input."""
    delta = {"type": "input_json_delta", "partial_json": text}
    return event(type="content_block_delta", index=index, delta=delta)


def stop(index: int = 0) -> bytes:
    """Return the end of a block."""
    return event(type="content_block_stop", index=index)


@pytest.fixture(autouse=True)
def _fresh_log(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(capture_limits, "_said", set())


@pytest.mark.parametrize("text", HARD_INPUTS, ids=range(len(HARD_INPUTS)))
@pytest.mark.parametrize("stream", [False, True])
@pytest.mark.parametrize("encoding", ["identity", "gzip", "deflate"])
def test_an_input_comes_through_to_the_character(text: str, stream: bool, encoding: Any) -> None:
    """Number spelling, duplicate keys, escapes, key order, spacing; plain, streamed and compressed."""
    reply = Reply(["x", ToolUse("f", text, "a")], wire=Wire(encoding=encoding), delta_chars=3)
    expected = text if stream else text.strip()
    store = watch([body_of(reply, stream=stream)], encoding=encoding)
    assert store.take("a", "f") == NotedInput(expected, complete=True)
    assert len(store) == 0


def cut_at(body: bytes, cuts: list[int]) -> Iterator[bytes]:
    """Cut the body at the given places."""
    places = sorted({0, len(body), *(cut % (len(body) + 1) for cut in cuts)})
    return (body[begin:end] for begin, end in itertools.pairwise(places))


@settings(deadline=None)
@given(
    inputs=st.lists(
        st.sampled_from(HARD_INPUTS).filter(lambda text: len(text) < 1000) | st.text(st.characters(exclude_categories=["Cs"])),
        max_size=3,
    ),
    cuts=st.lists(st.integers(0, 100_000), max_size=12),
    sizes=st.lists(st.integers(1, 9), min_size=1, max_size=3),
    line_end=st.sampled_from(["\n", "\r\n", "\r"]),
    encoding=st.sampled_from(["identity", "gzip"]),
)
def test_any_cut_of_a_stream_gives_the_same_notes(
    inputs: list[str], cuts: list[int], sizes: list[int], line_end: Any, encoding: Any
) -> None:
    """Chunk borders inside characters, lines, escapes and compressed blocks make no difference."""
    wire = Wire(encoding=encoding, line_end=line_end)
    blocks = [ToolUse("f", text, "same-id") for text in inputs]
    body = body_of(Reply(["é", *blocks], delta_chars=sizes, wire=wire), stream=True)
    store = watch(cut_at(body, cuts), encoding=encoding)
    taken = [store.take("same-id", "f", lambda text, own=text: text == own) for text in inputs]  # type: ignore[misc]
    assert taken == [NotedInput(text, complete=True) for text in inputs]


@settings(deadline=None)
@given(st.integers(0, 100_000))
def test_a_stream_cut_anywhere_gives_a_true_beginning(cut: int) -> None:
    """A stream that ends inside an input leaves its text so far, marked incomplete; never a wrong text."""
    text = '{"amount_cents": 4200.0, "e": "é"}'
    body = body_of(Reply([ToolUse("f", text, "a")], delta_chars=5), stream=True)
    noted = watch([body[: cut % (len(body) + 1)]], whole=False).take("a", "f")
    if noted is not None:
        assert noted.text is not None
        assert text.startswith(noted.text)
        assert not noted.complete or noted.text == text


def test_an_abandoned_stream_notes_the_text_so_far() -> None:
    """Closing in the middle of an input is not losing it."""
    store = watch([start(), piece('{"amount'), piece('_cents": 42')], whole=False)
    assert store.take("a", "f") == NotedInput('{"amount_cents": 42', complete=False)


def test_an_input_is_noted_when_its_block_ends() -> None:
    """An application that stops reading after the block can dispatch it."""
    store = watch([start(), piece("{}"), stop()], whole=False)
    assert store.take("a", "f") == NotedInput("{}", complete=True)


def test_an_input_without_pieces_is_the_empty_text() -> None:
    """Anthropic means {} by it; the note says what was emitted."""
    assert watch([start(), stop()]).take("a", "f") == NotedInput("", complete=True)
    assert watch([start(), piece(""), stop()]).take("a", "f") == NotedInput("", complete=True)


def test_an_input_given_whole_at_the_start_is_cut_out() -> None:
    """Some servers put the input into the block's start; its spelling survives too."""
    raw = start(input="HERE").replace(b'"HERE"', b'{"n": 4200.0}')
    assert watch([raw, stop()]).take("a", "f") == NotedInput('{"n": 4200.0}', complete=True)
    assert watch([raw, piece("{}"), stop()]).take("a", "f") == NotedInput("{}", complete=True)


def test_interleaved_blocks_are_joined_by_index() -> None:
    """Pieces belong to the block of their index, in any order."""
    chunks = [
        start(0),
        start(1, id="b"),
        piece("[1", 1),
        piece("[0", 0),
        piece("]", 1),
        piece("]", 0),
        stop(1),
        stop(0),
    ]
    store = watch(chunks)
    assert store.take("a", "f") == NotedInput("[0]", complete=True)
    assert store.take("b", "f") == NotedInput("[1]", complete=True)


def test_the_message_end_closes_open_blocks() -> None:
    """A server that leaves out content_block_stop has still said everything."""
    store = watch([start(), piece("{}"), event(type="message_stop")])
    assert store.take("a", "f") == NotedInput("{}", complete=True)


def test_a_block_started_again_leaves_the_first_incomplete() -> None:
    """An index that starts twice never mixes two inputs."""
    store = watch([start(id="a"), piece("{1"), start(id="b"), piece("{}"), stop()])
    assert store.take("a", "f") == NotedInput("{1", complete=False)
    assert store.take("b", "f") == NotedInput("{}", complete=True)


def test_a_surrogate_pair_cut_in_two_is_one_character() -> None:
    """Pieces that divide a character in JSON escapes give the character back."""
    store = watch([start(), piece('"\ud83d'), piece('\ude00"'), stop()])
    assert store.take("a", "f") == NotedInput('"😀"', complete=True)


@pytest.mark.parametrize(
    "noise",
    [
        event(type="ping"),
        event(type="something_new", index=0),
        b": comment\n\n",
        event(type="content_block_delta", index=0, delta={"type": "text_delta", "text": "input_json_delta"}),
        event(type="content_block_delta", index=7, delta={"type": "input_json_delta", "partial_json": "x"}),
        event(type="content_block_delta", index="0", delta={"type": "input_json_delta", "partial_json": "x"}),
        event(type="content_block_delta", index=0, delta="input_json_delta"),
        event(type="content_block_stop", index=None),
        b'data: ["content_block_stop"]\n\n',
    ],
)
def test_other_events_are_passed_over(noise: bytes) -> None:
    """Pings, unknown events and events about something else change nothing."""
    store = watch([start(), noise, piece("{"), noise, piece("}"), noise, stop(), noise])
    assert store.take("a", "f") == NotedInput("{}", complete=True)


@pytest.mark.parametrize(
    "damage",
    [
        b'data: {"type":"content_block_delta", broken\n\n'.replace(b"content_block_delta", b"input_json_delta"),
        b'data: {"type":"input_json_delta", "x":"\xff"}\n\n',
        b'data: {"x":"input_json_delta","n":' + b"9" * 5000 + b"}\n\n",
        b'data: {"x":"input_json_delta","n":' + b"[" * 100_000 + b"\n\n",
        piece(None),
    ],
    ids=["malformed", "not UTF-8", "long integer", "deep", "not a string"],
)
def test_a_damaged_event_makes_the_open_input_incomplete(damage: bytes) -> None:
    """Where a piece may be missing, nobody is told that the text is whole."""
    assert watch([start(), piece("{"), damage, piece("}"), stop()]).take("a", "f") == NotedInput("{}", complete=False)


@pytest.mark.parametrize("kind", ["server_tool_use", "mcp_tool_use", "text", None])
@pytest.mark.parametrize("stream", [False, True])
def test_only_calls_that_the_application_runs_are_noted(kind: str | None, stream: bool) -> None:
    """A tool that the provider runs itself has no dispatch that would take the note."""
    block: dict[str, Any] = {"type": kind, "id": "a", "name": "f", "input": {}}
    plain = json.dumps({"type": "message", "content": [block]}).encode()
    streamed = start(type=kind) + piece("{}") + stop()
    assert len(watch([streamed if stream else plain])) == 0


@pytest.mark.parametrize(
    "body",
    [
        b"",
        b"  ",
        b"<html>",
        b"{}",
        b'{"type":"message","content":[',
        b'{"type":"message","content":7}',
        b'{"type":"message","content":[7,null,{"type":"tool_use"},{"type":"tool_use","id":1,"name":"f","input":{}}]}',
        b'{"type":"message","content":[{"type":"tool_use","id":"a","name":"f"}]}',
        b'{"type":"message","content":[{"type":"tool_use","id":"a","name":"f","input":{}}]} x"',
        b'{"type":"error","content":[{"type":"tool_use","id":"a","name":"f","input":{}}]}',
        b'{"type":"message","x":"\xff","content":[{"type":"tool_use","id":"a","name":"f","input":{}}]}',
        b'{"type":"message","content":' + b"[" * 100_000,
        bytes(range(256)) * 40,
    ],
    ids=range(13),
)
def test_other_bodies_give_no_notes(body: bytes, caplog: pytest.LogCaptureFixture) -> None:
    """What is no message, or no application can parse, notes nothing and is no fault of ours."""
    assert len(watch([body])) == 0
    assert not caplog.records


def test_a_plain_body_that_is_cut_gives_no_notes() -> None:
    """Nobody can act on a part of a JSON body."""
    body = body_of(Reply([ToolUse("f", "{}", "a")]), stream=False)
    assert len(watch([body], whole=False)) == 0


def test_a_plain_body_over_the_limit_is_let_go_and_said_once(caplog: pytest.LogCaptureFixture) -> None:
    """Memory is bounded by max_response_bytes."""
    body = body_of(Reply([ToolUse("f", '{"secret":1}', "a")]), stream=False)
    for _ in range(3):
        assert len(watch([body], limits=CaptureLimits(max_response_bytes=50))) == 0
    assert [record.levelno for record in caplog.records] == [logging.WARNING]
    assert "max_response_bytes" in caplog.text
    assert "secret" not in caplog.text


def test_a_message_of_too_many_blocks_is_let_go_and_said(caplog: pytest.LogCaptureFixture) -> None:
    """Work is bounded by the number of items too."""
    body = json.dumps({"type": "message", "content": [{}] * 5000}).encode()
    assert len(watch([body])) == 0
    assert "too many items" in caplog.text


@pytest.mark.parametrize("stream", [False, True])
def test_an_input_over_the_limit_is_noted_as_not_captured(stream: bool) -> None:
    """The call holds its place; its neighbours keep their text."""
    reply = Reply([ToolUse("f", "[1]", "a"), ToolUse("f", '"' + "é" * 30 + '"', "a"), ToolUse("f", "[2]", "b")])
    store = watch([body_of(reply, stream=stream)], limits=CaptureLimits(max_input_bytes=50))
    assert store.take("a", "f", lambda text: text == "[1]") == NotedInput("[1]", complete=True)
    assert store.take("a", "f") == NotedInput(None, complete=False)
    assert store.take("b", "f") == NotedInput("[2]", complete=True)


def test_a_whole_input_at_the_start_is_limited_too() -> None:
    """There is no way around max_input_bytes."""
    store = watch([start(input={"x": "y" * 99}), stop()], limits=CaptureLimits(max_input_bytes=50))
    assert store.take("a", "f") == NotedInput(None, complete=False)


def test_open_inputs_share_the_response_limit() -> None:
    """Many half-open blocks together hold no more than max_response_bytes, and give it back when they end."""
    limits = CaptureLimits(max_response_bytes=10)
    chunks = [
        start(0),
        start(1, id="b"),
        piece("12345678", 0),
        piece("12345", 1),
        piece("9", 0),
        stop(0),
        stop(1),
    ]
    store = watch([*chunks, start(2, id="c"), piece("1234567890", 2), stop(2)], limits=limits)
    assert store.take("a", "f") == NotedInput("123456789", complete=True)
    assert store.take("b", "f") == NotedInput(None, complete=False)
    assert store.take("c", "f") == NotedInput("1234567890", complete=True)


def test_blocks_over_the_open_limit_are_not_captured() -> None:
    """A stream that opens blocks without end holds only so many."""
    store = watch([start(0), start(1, id="b"), stop(0)], limits=CaptureLimits(max_open_inputs=1))
    assert store.take("b", "f") == NotedInput(None, complete=False)
    assert store.take("a", "f") == NotedInput("", complete=True)


def test_an_oversized_event_loses_the_open_inputs() -> None:
    """A piece that was thrown away makes the input not captured, never silently shorter."""
    chunks = [start(), piece("{"), piece("x" * 500), piece("}"), stop()]
    store = watch(chunks, limits=CaptureLimits(max_event_bytes=200))
    assert store.take("a", "f") == NotedInput(None, complete=False)


def test_a_stream_over_its_limit_is_no_longer_followed() -> None:
    """max_stream_bytes ends the watching, and open inputs are not captured."""
    chunks = [start(), piece("{"), b": noise\n\n" * 100, piece("}"), stop()]
    store = watch(chunks, limits=CaptureLimits(max_stream_bytes=500))
    assert store.take("a", "f") == NotedInput(None, complete=False)


class BrokenStore(ProviderBytes):
    """A store whose every note fails."""

    def note(self, call_id: str, name: str, text: str | None, complete: bool) -> int:
        """Fail as an internal fault would."""
        raise RuntimeError(f"fault with {text}")


@pytest.mark.parametrize("stream", [False, True])
def test_a_fault_is_swallowed_and_logged_once(stream: bool, caplog: pytest.LogCaptureFixture) -> None:
    """Nothing reaches the caller, and the log names the fault without its content."""
    for _ in range(3):
        decode = decoder_for("")
        assert decode is not None
        watcher = ToolInputWatcher(BrokenStore(), decode)
        watcher.feed(body_of(Reply([ToolUse("f", '"content"', "a")]), stream=stream))
        watcher.finish()
        watcher.abandon()
    assert len(caplog.records) == 1
    assert "RuntimeError" in caplog.text
    assert "content" not in caplog.messages[0]


def test_a_broken_encoding_loses_the_open_inputs(caplog: pytest.LogCaptureFixture) -> None:
    """A compressed stream that breaks in the middle is a fault like any other."""
    body = body_of(Reply([ToolUse("f", "[1,2,3]", "a")], delta_chars=1, wire=Wire(encoding="gzip")), stream=True)
    store = watch([body[:200], b"\xff" * 50, body[250:]], encoding="gzip")
    noted = store.take("a", "f")
    assert noted is None or not noted.complete
    assert len(caplog.records) <= 1
