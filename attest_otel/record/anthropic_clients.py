"""The client classes behind `anthropic_http`; importing this module imports anthropic.

They override `send`, the one public method through which the SDK and httpx's own verbs make every
request: transports, proxies and mounts stay as they are. A body that httpx has read is taken from the
response; a streamed one is watched chunk by chunk on its way, before content decoding.
"""

from __future__ import annotations

import sys
from collections.abc import AsyncGenerator, AsyncIterator, Iterator
from typing import TYPE_CHECKING, Any

import anthropic

from attest_otel.record.capture_limits import log_fault_once
from attest_otel.record.content_decoding import decoder_for
from attest_otel.record.message_request import forces_one_tool, results_given
from attest_otel.record.note_stores import store_for_notes
from attest_otel.record.provider_bytes import ProviderBytes
from attest_otel.record.tool_inputs import ToolInputWatcher

if TYPE_CHECKING:
    import httpx2 as httpx
else:
    # anthropic is built on httpx2, its older versions on httpx; the streams must be of the same kind.
    _BASE = next(cls for cls in anthropic.DefaultHttpxClient.__mro__ if cls.__name__ == "Client")
    httpx = sys.modules[_BASE.__module__.partition(".")[0]]

MESSAGES_PATH = "/v1/messages"


class NotingClient(anthropic.DefaultHttpxClient):
    """anthropic's default client; what it does to a request and a response is unchanged."""

    def send(self, request: httpx.Request, **kwargs: Any) -> httpx.Response:
        """Send the request and watch the response's body for tool inputs."""
        store = _store(request)
        response = super().send(request, **kwargs)
        watcher = _watch(request, response, store)
        if watcher is not None and isinstance(response.stream, httpx.SyncByteStream):
            response.stream = _WatchedStream(response.stream, watcher)
        return response


class AsyncNotingClient(anthropic.DefaultAsyncHttpxClient):
    """The asynchronous twin of `NotingClient`."""

    async def send(self, request: httpx.Request, **kwargs: Any) -> httpx.Response:
        """Send the request and watch the response's body for tool inputs."""
        store = _store(request)
        response = await super().send(request, **kwargs)
        watcher = _watch(request, response, store)
        if watcher is not None and isinstance(response.stream, httpx.AsyncByteStream):
            response.stream = _WatchedAsyncStream(response.stream, watcher)
        return response


def _store(request: httpx.Request) -> ProviderBytes | None:
    """Return the store of the run that sends a request, and say there which calls the request answers."""
    try:
        store = store_for_notes()
        if len(store) and _asks_for_message(request):
            store.sent(results_given(request.content))
    except Exception as fault:  # noqa: BLE001 - nothing of ours may reach the application
        log_fault_once("before a request", fault)
        return None
    else:
        return store


def _watch(request: httpx.Request, response: httpx.Response, store: ProviderBytes | None) -> ToolInputWatcher | None:
    """Return a watcher for a body that is still to come; note a body that was read already."""
    try:
        if store is None or not _is_message(request, response):
            return None
        if response.is_closed:
            _note_read_body(request, response, store)
            return None
        decode = decoder_for(response.headers.get("content-encoding", ""))
        return None if decode is None else ToolInputWatcher(store, decode, forced=lambda: forces_one_tool(request.content))
    except Exception as fault:  # noqa: BLE001 - nothing of ours may reach the application
        log_fault_once("while looking at a response", fault)
        return None


def _is_message(request: httpx.Request, response: httpx.Response) -> bool:
    return _asks_for_message(request) and response.is_success


def _asks_for_message(request: httpx.Request) -> bool:
    return request.method == "POST" and request.url.path.rstrip("/").endswith(MESSAGES_PATH)


def _note_read_body(request: httpx.Request, response: httpx.Response, store: ProviderBytes) -> None:
    decode = decoder_for("")
    if decode is not None:
        watcher = ToolInputWatcher(store, decode, forced=lambda: forces_one_tool(request.content))
        watcher.feed(response.content)
        watcher.finish()


class _WatchedStream(httpx.SyncByteStream):
    """Hands on a response's body, each chunk at once and as it is."""

    def __init__(self, stream: httpx.SyncByteStream, watcher: ToolInputWatcher) -> None:
        self._stream = stream
        self._watcher = watcher

    def __getattr__(self, name: str) -> Any:
        return getattr(self._stream, name)  # httpx reads `elapsed` here, anthropic its observer

    def __iter__(self) -> Iterator[bytes]:
        for chunk in self._stream:
            self._watcher.feed(chunk)
            yield chunk
        self._watcher.finish()

    def close(self) -> None:
        try:
            self._stream.close()
        finally:
            self._watcher.abandon()


class _WatchedAsyncStream(httpx.AsyncByteStream):
    """The asynchronous twin of `_WatchedStream`."""

    def __init__(self, stream: httpx.AsyncByteStream, watcher: ToolInputWatcher) -> None:
        self._stream = stream
        self._watcher = watcher

    def __getattr__(self, name: str) -> Any:
        return getattr(self._stream, name)

    async def __aiter__(self) -> AsyncIterator[bytes]:
        chunks = aiter(self._stream)
        try:
            async for chunk in chunks:
                self._watcher.feed(chunk)
                yield chunk
            self._watcher.finish()
        finally:
            if isinstance(chunks, AsyncGenerator):
                await chunks.aclose()

    async def aclose(self) -> None:
        try:
            await self._stream.aclose()
        finally:
            self._watcher.abandon()
