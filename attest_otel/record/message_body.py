"""Read a Messages API body that is one JSON object, and note the raw text of every `tool_use` input."""

from __future__ import annotations

from attest_otel.record.capture_limits import CaptureLimits, log_once
from attest_otel.record.json_cut import (
    TooManyItemsError,
    array_elements,
    document_members,
    object_members,
    string_at,
)
from attest_otel.record.response_notes import ResponseNotes


class BodyReader:
    """Collects a body that is one JSON object; it is read when it is whole."""

    def __init__(self, notes: ResponseNotes, limits: CaptureLimits) -> None:
        self._notes = notes
        self._limits = limits
        self._body = bytearray()

    def feed(self, piece: bytes) -> bool:
        """Take in decoded bytes; False when no more are wanted."""
        if len(self._body) + len(piece) > self._limits.max_response_bytes:
            self._body.clear()
            log_once("a body was longer than max_response_bytes")
            return False
        self._body += piece
        return True

    def end(self, *, whole: bool) -> None:
        """Note the inputs of a whole body; nobody can have acted on a part of one."""
        if not whole:
            return
        try:
            inputs, stop_reason = _inputs_of_message(self._body.decode("utf-8-sig"))
        except TooManyItemsError:
            log_once("a body had an object or array with too many items")
            return
        except (ValueError, RecursionError):
            return  # the application cannot read such a body either
        for call_id, name, text in inputs:
            fits = len(text.encode("utf-8", "surrogatepass")) <= self._limits.max_input_bytes
            self._notes.note(call_id, name, text if fits else None, complete=fits)
        self._notes.settle(stop_reason)

    def give_up(self) -> None:
        """Forget the body."""
        self._body.clear()


def _inputs_of_message(text: str) -> tuple[list[tuple[str, str, str]], str | None]:
    members = document_members(text)
    if string_at(text, members.get("type")) != "message" or "content" not in members:
        return [], None
    blocks = array_elements(text, members["content"][0])
    found = (_input_of_block(text, start) for start, _ in blocks if text[start] == "{")
    return [entry for entry in found if entry is not None], string_at(text, members.get("stop_reason"))


def _input_of_block(text: str, start: int) -> tuple[str, str, str] | None:
    members = object_members(text, start)
    call_id, name = string_at(text, members.get("id")), string_at(text, members.get("name"))
    if string_at(text, members.get("type")) != "tool_use" or call_id is None or name is None:
        return None
    span = members.get("input")
    return None if span is None else (call_id, name, text[span[0] : span[1]])
