"""Follow the body of one Messages API response and note the raw text of every `tool_use` input.

A body is either one JSON object or a stream of events; its first character tells. Of JSON the input is
cut out; of a stream the `input_json_delta` pieces of each content block are joined. Nothing is raised:
a fault ends the watching of that response, is logged once a process, and never shows content.
"""

from __future__ import annotations

from collections.abc import Callable

from attest_otel.record.capture_limits import CaptureLimits, log_fault_once
from attest_otel.record.content_decoding import Decode
from attest_otel.record.message_body import BodyReader
from attest_otel.record.message_stream import StreamReader
from attest_otel.record.provider_bytes import ProviderBytes
from attest_otel.record.response_notes import ResponseNotes


class ToolInputWatcher:
    """Takes in the chunks of one response body as they arrive; no method ever raises an Exception.

    Args:
        store: where the inputs are noted.
        decode: undoes the body's content encoding.
        limits: how much may be held.
        forced: whether the request left the model no other choice than one tool.
    """

    def __init__(
        self,
        store: ProviderBytes,
        decode: Decode,
        limits: CaptureLimits | None = None,
        *,
        forced: Callable[[], bool] | None = None,
    ) -> None:
        self._notes = ResponseNotes(store, forced)
        self._decode = decode
        self._limits = limits if limits is not None else CaptureLimits()
        self._reader: BodyReader | StreamReader | None = None
        self._ended = False

    def feed(self, chunk: bytes) -> None:
        """Take in the next chunk as it came over the wire."""
        if self._ended:
            return
        try:
            for piece in self._decode(chunk):
                if not self._feed_reader(piece):
                    self._ended = True
                    return
        except Exception as fault:  # noqa: BLE001 - nothing of ours may reach the application
            self._give_up("while reading a body", fault)

    def finish(self) -> None:
        """Say that the body has come to its own end."""
        self._end(whole=True)

    def abandon(self) -> None:
        """Say that no more will be read: closed by the application or cut. After `finish` it does nothing."""
        self._end(whole=False)

    def _feed_reader(self, piece: bytes) -> bool:
        if self._reader is None:
            start = piece.removeprefix(b"\xef\xbb\xbf").lstrip()
            if not start:
                return True
            reader = BodyReader if start.startswith(b"{") else StreamReader
            self._reader = reader(self._notes, self._limits)
        return self._reader.feed(piece)

    def _end(self, *, whole: bool) -> None:
        if self._ended:
            return
        self._ended = True
        try:
            if self._reader is not None:
                self._reader.end(whole=whole)
        except Exception as fault:  # noqa: BLE001 - nothing of ours may reach the application
            self._give_up("at the end of a body", fault)

    def _give_up(self, where: str, fault: Exception) -> None:
        self._ended = True
        log_fault_once(where, fault)
        try:
            if self._reader is not None:
                self._reader.give_up()
        except Exception as second:  # noqa: BLE001 - nothing of ours may reach the application
            log_fault_once("while giving up a body", second)
