"""Read a Messages API body that is a stream of events, and note the joined text of every `tool_use` input.

Source of the event order: Anthropic's Messages API, "Streaming messages". `ping` and events of unknown
types are passed over; a message's end closes blocks that were not closed by themselves.
"""

from __future__ import annotations

import io
import json
from dataclasses import dataclass, field
from typing import Any

from attest_otel.record.capture_limits import CaptureLimits
from attest_otel.record.json_cut import document_members, object_members
from attest_otel.record.response_notes import ResponseNotes
from attest_otel.record.sse import EventStream, OversizedEvent


@dataclass(slots=True)
class _OpenInput:
    call_id: str
    name: str
    initial: str
    pieces: io.StringIO = field(default_factory=io.StringIO)
    size: int = 0
    captured: bool = True
    damaged: bool = False

    def text(self) -> str:
        return _whole(self.pieces.getvalue()) or self.initial


class StreamReader:
    """Joins the pieces of each content block of an event stream."""

    def __init__(self, notes: ResponseNotes, limits: CaptureLimits) -> None:
        self._notes = notes
        self._limits = limits
        self._events = EventStream(limits.max_event_bytes)
        self._open: dict[int, _OpenInput] = {}
        self._seen = 0
        self._held = 0
        self._stop_reason: str | None = None

    def feed(self, piece: bytes) -> bool:
        """Take in decoded bytes; False when no more are wanted."""
        self._seen += len(piece)
        if self._seen > self._limits.max_stream_bytes:
            self.give_up()
            return False
        for event in self._events.feed(piece):
            self._handle(event)
        return True

    def end(self, *, whole: bool) -> None:
        """Note every input that is still open as incomplete, with its text so far."""
        for index in list(self._open):
            self._note(index, finished=False)

    def give_up(self) -> None:
        """Note every input that is still open as not captured."""
        self._lose()
        self.end(whole=False)

    def _handle(self, data: bytes | OversizedEvent) -> None:
        if isinstance(data, OversizedEvent):
            self._lose()
            return
        if not any(word in data for word in _WORDS):
            return
        try:
            event = json.loads(data)
        except (ValueError, RecursionError):
            self._damage()
            return
        if isinstance(event, dict):
            self._handle_event(event, data)

    def _handle_event(self, event: dict[str, Any], data: bytes) -> None:
        index = event.get("index")
        match event.get("type"):
            case "content_block_start" if isinstance(index, int):
                self._start(index, event.get("content_block"), data)
            case "content_block_delta" if isinstance(index, int):
                self._extend(index, event.get("delta"))
            case "content_block_stop" if isinstance(index, int):
                self._note(index, finished=True)
            case "message_delta":
                self._stop(event.get("delta"))
            case "message_stop":
                for open_index in list(self._open):
                    self._note(open_index, finished=True)
                self._notes.settle(self._stop_reason)

    def _start(self, index: int, block: object, data: bytes) -> None:
        self._note(index, finished=False)
        if not isinstance(block, dict) or block.get("type") != "tool_use":
            return
        call_id, name = block.get("id"), block.get("name")
        if not isinstance(call_id, str) or not isinstance(name, str):
            return
        if len(self._open) >= self._limits.max_open_inputs:
            self._notes.note(call_id, name, None, complete=False)
            return
        initial = _initial_input(data) if block.get("input") else ""
        captured = len(initial) <= self._limits.max_input_bytes
        self._open[index] = _OpenInput(call_id, name, initial if captured else "", captured=captured)

    def _stop(self, delta: object) -> None:
        """Take in why the model stopped: what it asked for until then stands."""
        reason = delta.get("stop_reason") if isinstance(delta, dict) else None
        if isinstance(reason, str):
            self._stop_reason = reason
            self._notes.settle(reason)

    def _extend(self, index: int, delta: object) -> None:
        entry = self._open.get(index)
        if entry is None or not isinstance(delta, dict) or delta.get("type") != "input_json_delta":
            return
        piece = delta.get("partial_json")
        if not isinstance(piece, str):
            entry.damaged = True
        elif entry.captured:
            self._keep(entry, piece)

    def _keep(self, entry: _OpenInput, piece: str) -> None:
        size = len(piece.encode("utf-8", "surrogatepass"))
        entry.size += size
        self._held += size
        if entry.size > self._limits.max_input_bytes or self._held > self._limits.max_response_bytes:
            self._forget(entry)
        else:
            entry.pieces.write(piece)

    def _forget(self, entry: _OpenInput) -> None:
        entry.captured = False
        entry.pieces = io.StringIO()
        self._held -= entry.size
        entry.size = 0

    def _note(self, index: int, *, finished: bool) -> None:
        entry = self._open.pop(index, None)
        if entry is None:
            return
        self._held -= entry.size
        text = entry.text() if entry.captured else None
        complete = finished and entry.captured and not entry.damaged
        self._notes.note(entry.call_id, entry.name, text, complete=complete)

    def _damage(self) -> None:
        for entry in self._open.values():
            entry.damaged = True

    def _lose(self) -> None:
        for entry in self._open.values():
            self._forget(entry)


_WORDS = (b"input_json_delta", b"content_block_start", b"content_block_stop", b"message_delta", b"message_stop")


def _initial_input(data: bytes) -> str:
    """Cut out the input that some servers give whole in the block's start, in place of pieces."""
    text = data.decode("utf-8")
    block = object_members(text, document_members(text)["content_block"][0])
    start, end = block["input"]
    return text[start:end]


def _whole(text: str) -> str:
    """Make a surrogate pair that was cut in two pieces one character again."""
    try:
        text.encode("utf-8")
    except UnicodeEncodeError:
        return text.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "surrogatepass")
    return text
