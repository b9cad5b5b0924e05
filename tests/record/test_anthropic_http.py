"""The real Anthropic client over loopback HTTP: raw inputs are kept, and nothing else changes."""

from __future__ import annotations

import asyncio
import contextvars
import gzip
import subprocess
import sys
import threading
from collections.abc import Iterator
from typing import Any

import anthropic
import httpx2
import pytest

from attest_otel.record import anthropic_clients, anthropic_http, capture_limits
from attest_otel.record.anthropic_http import anthropic_http_client, async_anthropic_http_client
from attest_otel.record.note_stores import fallback_store, use_store
from attest_otel.record.noted_inputs import NotedInput
from attest_otel.record.provider_bytes import ProviderBytes
from attest_otel.record.tool_inputs import ToolInputWatcher
from attest_otel.testing import Answer, Failure, MessagesServer, RawReply, Reply, ToolUse, Wire

HARD_INPUT = '{"amount_cents": 4200.0, "a":1, "a": 1e2,"n":1234567890123456789, "e":"\\u00e9 \\ud83d\\ude00 é"}'
ASK: dict[str, Any] = {"model": "m", "max_tokens": 50, "messages": [{"role": "user", "content": "q"}]}


@pytest.fixture(autouse=True)
def store(monkeypatch: pytest.MonkeyPatch) -> Iterator[ProviderBytes]:
    """Give each test a store of its own and a fresh log."""
    monkeypatch.setattr(capture_limits, "_said", set())
    with use_store(ProviderBytes()) as own:
        yield own


def client_of(server: MessagesServer, *, retries: int = 0, **httpx_kwargs: Any) -> anthropic.Anthropic:
    """Return the real client, bound to the loopback server."""
    http_client = anthropic_http_client(**{"trust_env": False, **httpx_kwargs})
    return anthropic.Anthropic(base_url=server.base_url, api_key="k", max_retries=retries, http_client=http_client)


LONG_INPUT = '{"note": "' + "é" * 20_000 + '"}'
SLOW = Wire(pause_seconds=0.02)  # a stream of minutes, which only closing ends in time


def refund(text: str = HARD_INPUT, call_id: str = "a", **reply: Any) -> Reply:
    """Return a reply with one tool call."""
    return Reply(["One moment.", ToolUse("issue_refund", text, call_id)], **reply)


@pytest.mark.parametrize("stream", [False, True])
@pytest.mark.parametrize("encoding", ["identity", "gzip"])
@pytest.mark.parametrize("chunk_bytes", [None, 1, 11])
def test_the_raw_text_is_noted(store: ProviderBytes, stream: bool, encoding: Any, chunk_bytes: int | None) -> None:
    """To the character, plain, streamed and compressed, while the client's own answer is complete."""
    reply = refund(delta_chars=[1, 4], wire=Wire(encoding=encoding, chunk_bytes=chunk_bytes))
    with MessagesServer([reply]) as server, client_of(server) as client:
        if stream:
            with client.messages.stream(**ASK) as events:
                message: Any = events.get_final_message()
        else:
            message = client.messages.create(**ASK)
    assert message.content[1].input["n"] == 1234567890123456789
    assert message.content[1].input["e"] == "é 😀 é"
    assert store.take("a", "issue_refund") == NotedInput(HARD_INPUT, complete=True)


@pytest.mark.parametrize("stream", [False, True])
@pytest.mark.parametrize("encoding", ["identity", "gzip"])
def test_the_async_client_notes_alike(store: ProviderBytes, stream: bool, encoding: Any) -> None:
    """The asynchronous client keeps the same text."""

    async def ask(base_url: str) -> None:
        async with anthropic.AsyncAnthropic(
            base_url=base_url, api_key="k", http_client=async_anthropic_http_client(trust_env=False)
        ) as client:
            if stream:
                async with client.messages.stream(**ASK) as events:
                    await events.get_final_message()
            else:
                await client.messages.create(**ASK)

    with MessagesServer([refund(wire=Wire(encoding=encoding, chunk_bytes=7))]) as server:
        asyncio.run(ask(server.base_url))
    assert store.take("a", "issue_refund") == NotedInput(HARD_INPUT, complete=True)


def test_parallel_runs_with_equal_ids_stay_apart() -> None:
    """Each task's call notes into its own run's store, though ids and names are the same."""

    async def run(client: anthropic.AsyncAnthropic, text: str) -> str | None:
        with use_store(ProviderBytes()) as own:
            await client.messages.create(**{**ASK, "messages": [{"role": "user", "content": text}]})
            noted = own.take("a", "issue_refund")
            return noted.text if noted is not None else None

    async def all_runs(base_url: str) -> list[str | None]:
        async with anthropic.AsyncAnthropic(
            base_url=base_url, api_key="k", http_client=async_anthropic_http_client(trust_env=False)
        ) as client:
            return await asyncio.gather(*(run(client, f'{{"n": {number}.0}}') for number in range(8)))

    with MessagesServer(lambda request: refund(request["messages"][0]["content"])) as server:
        taken = asyncio.run(all_runs(server.base_url))
    assert taken == [f'{{"n": {number}.0}}' for number in range(8)]


def test_a_thread_that_sees_no_run_notes_in_the_fallback(store: ProviderBytes) -> None:
    """A call made in a pool's thread is found from inside the run."""
    with MessagesServer([refund(call_id="pool")]) as server, client_of(server) as client:
        thread = threading.Thread(target=contextvars.Context().run, args=(lambda: client.messages.create(**ASK),))
        thread.start()
        thread.join()
    assert len(store) == 0
    assert fallback_store.take("pool", "issue_refund") == NotedInput(HARD_INPUT, complete=True)


def test_the_note_is_there_when_the_block_ends(store: ProviderBytes) -> None:
    """An application that dispatches in the middle of the stream finds the text."""
    with MessagesServer([refund()]) as server, client_of(server) as client:
        events = client.messages.create(**ASK, stream=True)
        for event in events:
            if event.type == "content_block_stop" and event.index == 1:
                assert store.take("a", "issue_refund") == NotedInput(HARD_INPUT, complete=True)
                break
        else:
            pytest.fail("the block never ended")
        events.close()


def test_an_abandoned_stream_leaves_its_text_so_far(store: ProviderBytes) -> None:
    """Closing half way notes the beginning as incomplete; the connection is released."""
    with (
        MessagesServer([refund(LONG_INPUT, delta_chars=9, wire=SLOW), Reply("ok")]) as server,
        client_of(server) as client,
    ):
        events = client.messages.create(**ASK, stream=True)
        text = ""
        for event in events:
            if event.type == "content_block_delta" and event.delta.type == "input_json_delta":
                text += event.delta.partial_json
                if len(text) > 20:
                    break
        events.close()
        assert client.messages.create(**ASK).content[0].type == "text"
    noted = store.take("a", "issue_refund")
    assert noted is not None
    assert noted.text is not None
    assert not noted.complete
    assert noted.text.startswith(text)
    assert LONG_INPUT.startswith(noted.text)


def test_an_abandoned_async_stream_leaves_its_text_so_far(store: ProviderBytes) -> None:
    """The same holds for the asynchronous client."""

    async def ask(base_url: str) -> None:
        async with (
            anthropic.AsyncAnthropic(
                base_url=base_url, api_key="k", http_client=async_anthropic_http_client(trust_env=False)
            ) as client,
            await client.messages.create(**ASK, stream=True) as events,
        ):
            async for event in events:
                if event.type == "content_block_delta" and event.delta.type == "input_json_delta":
                    break

    with MessagesServer([refund(LONG_INPUT, delta_chars=9, wire=SLOW)]) as server:
        asyncio.run(ask(server.base_url))
    noted = store.take("a", "issue_refund")
    assert noted is not None
    assert (noted.complete, LONG_INPUT.startswith(noted.text or "?")) == (False, True)


def test_a_connection_cut_in_the_stream_raises_as_without_us(store: ProviderBytes) -> None:
    """The application gets its own error, and the beginning is noted as incomplete."""
    reply = refund(wire=Wire(cut_after_bytes=1000))
    with MessagesServer([reply]) as server, client_of(server) as client:
        events = client.messages.create(**ASK, stream=True)
        with pytest.raises(httpx2.RemoteProtocolError):
            list(events)
    noted = store.take("a", "issue_refund")
    assert noted is not None
    assert not noted.complete


def test_a_retry_takes_the_place_of_a_cut_answer(store: ProviderBytes) -> None:
    """Of an answer that was cut and asked again under the same id, the whole text is taken."""
    script = [refund(wire=Wire(cut_after_bytes=1000)), refund()]
    with MessagesServer(script) as server, client_of(server) as client:
        with pytest.raises(httpx2.RemoteProtocolError):
            list(client.messages.create(**ASK, stream=True))
        list(client.messages.create(**ASK, stream=True))
    assert store.take("a", "issue_refund") == NotedInput(HARD_INPUT, complete=True)
    assert store.take("a", "issue_refund") is None


def test_retries_of_failures_note_once(store: ProviderBytes) -> None:
    """429 and 529 are retried by the SDK as ever; only the answer is noted."""
    quick = {"retry-after-ms": "1"}
    script: list[Answer] = [Failure(429, headers=quick), Failure(529, headers=quick), refund()]
    with MessagesServer(script) as server, client_of(server, retries=2) as client:
        client.messages.create(**ASK)
        assert len(server.requests) == 3
    assert len(store) == 1


def test_repeated_ids_are_taken_in_order(store: ProviderBytes) -> None:
    """Providers reuse ids: each dispatch gets the text of its own call."""
    script = [refund("[1]", "a"), refund("[2]", "a")]
    with MessagesServer(script) as server, client_of(server) as client:
        taken = []
        for _ in script:
            client.messages.create(**ASK)
            taken.append(store.take("a", "issue_refund"))
    assert taken == [NotedInput("[1]", complete=True), NotedInput("[2]", complete=True)]


@pytest.mark.parametrize("stream", [False, True])
def test_the_beta_endpoint_is_watched_too(store: ProviderBytes, stream: bool) -> None:
    """`/v1/messages?beta=true` is the Messages API."""
    with MessagesServer([refund()]) as server, client_of(server) as client:
        if stream:
            list(client.beta.messages.create(**ASK, stream=True))
        else:
            client.beta.messages.create(**ASK)
    assert store.take("a", "issue_refund") == NotedInput(HARD_INPUT, complete=True)


@pytest.mark.parametrize("stream", [False, True])
def test_a_raw_streaming_response_is_watched_too(store: ProviderBytes, stream: bool) -> None:
    """with_streaming_response reads the body itself; the bytes are the same ones."""
    with MessagesServer([refund()]) as server, client_of(server) as client:
        context = client.messages.with_streaming_response.create(**ASK, stream=stream)
        with context as response:
            body = b"".join(response.iter_bytes())
    assert b"issue_refund" in body
    assert store.take("a", "issue_refund") == NotedInput(HARD_INPUT, complete=True)


MESSAGE = b'{"type":"message","content":[{"type":"tool_use","id":"a","name":"f","input":{}}]}'


@pytest.mark.parametrize(
    ("method", "path", "status"),
    [
        ("POST", "/v1/messages/count_tokens", 200),
        ("POST", "/v1/messages/batches", 200),
        ("GET", "/v1/messages/batches/b/results", 200),
        ("GET", "/v1/messages", 200),
        ("POST", "/v1/complete", 200),
        ("POST", "/v1/messages", 400),
        ("POST", "/v1/messages", 529),
    ],
)
def test_other_endpoints_and_errors_are_left_alone(store: ProviderBytes, method: str, path: str, status: int) -> None:
    """Only successful answers of the Messages API are looked at."""
    transport = httpx2.MockTransport(lambda _: httpx2.Response(status, content=MESSAGE))
    with anthropic_http_client(transport=transport) as client:
        assert client.request(method, f"http://x{path}").content == MESSAGE
    assert len(store) == 0


def test_a_path_prefix_of_a_gateway_is_the_same_endpoint(store: ProviderBytes) -> None:
    """Gateways put the API below a path of their own."""
    transport = httpx2.MockTransport(lambda _: httpx2.Response(200, content=MESSAGE))
    with anthropic_http_client(transport=transport) as client:
        client.post("http://x/anthropic/v1/messages")
    assert store.take("a", "f") == NotedInput("{}", complete=True)


class Chunks(httpx2.SyncByteStream):
    """A body in given chunks, which knows whether it was closed."""

    def __init__(self, chunks: list[bytes]) -> None:
        self.chunks = chunks
        self.given = 0
        self.closed = False

    def __iter__(self) -> Iterator[bytes]:
        for chunk in self.chunks:
            self.given += 1
            yield chunk

    def close(self) -> None:
        """Remember it."""
        self.closed = True


def raw_chunks(chunks: list[bytes], **headers: str) -> tuple[list[bytes], list[int], Chunks]:
    """Read a body's raw chunks through the client; also how many had been sent when each arrived."""
    body = Chunks(chunks)
    transport = httpx2.MockTransport(lambda _: httpx2.Response(200, stream=body, headers=headers))
    given = []
    read = []
    with (
        anthropic_http_client(transport=transport) as client,
        client.stream("POST", "http://x/v1/messages") as response,
    ):
        for chunk in response.iter_raw():
            read.append(chunk)
            given.append(body.given)
    return read, given, body


@pytest.mark.parametrize(
    "headers",
    [{}, {"content-encoding": "gzip"}, {"content-encoding": "snappy"}, {"content-type": "text/html"}],
)
def test_every_chunk_is_passed_on_at_once_and_unchanged(headers: dict[str, str]) -> None:
    """Whatever the body is, readable or not, its chunks arrive as they were sent, one for one."""
    chunks = [b"{", b"\xff\x00", b"data: x", b"\n\n", gzip.compress(b"x"), b"}"]
    read, given, body = raw_chunks(chunks, **headers)
    assert read == chunks
    assert given == list(range(1, len(chunks) + 1))
    assert body.closed


def test_an_unknown_encoding_notes_nothing(store: ProviderBytes) -> None:
    """What cannot be decoded is not guessed at."""
    raw_chunks([MESSAGE], **{"content-encoding": "snappy"})
    assert len(store) == 0


def test_the_callers_transport_is_used(store: ProviderBytes) -> None:
    """A given transport makes the requests, and its answers are watched."""
    seen: list[str] = []

    def answer(request: httpx2.Request) -> httpx2.Response:
        seen.append(request.url.path)
        return httpx2.Response(200, content=MESSAGE, headers={"content-type": "application/json"})

    http_client = anthropic_http_client(transport=httpx2.MockTransport(answer))
    with anthropic.Anthropic(api_key="k", base_url="http://x", http_client=http_client) as client:
        client.messages.create(**ASK)
    assert seen == ["/v1/messages"]
    assert store.take("a", "f") == NotedInput("{}", complete=True)


def test_a_hook_that_reads_the_body_hides_nothing(store: ProviderBytes) -> None:
    """A response that an event hook has read is taken from its content."""
    with MessagesServer([refund()]) as server:
        hooks = {"response": [lambda response: response.read()]}
        with client_of(server, event_hooks=hooks) as client:
            list(client.messages.create(**ASK, stream=True))
    assert store.take("a", "issue_refund") == NotedInput(HARD_INPUT, complete=True)


@pytest.mark.parametrize("stream", [False, True])
def test_a_fault_of_ours_leaves_the_answer_whole(
    stream: bool, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    """The application's message is complete though every part of the watching fails."""

    def fail(*_: object, **__: object) -> None:
        raise RuntimeError("inside")

    monkeypatch.setattr(ProviderBytes, "note", fail)
    with MessagesServer([refund(), refund()]) as server, client_of(server) as client:
        for _ in range(2):
            if stream:
                with client.messages.stream(**ASK) as events:
                    message: Any = events.get_final_message()
            else:
                message = client.messages.create(**ASK)
            assert message.content[1].input["amount_cents"] == 4200.0
    assert len([record for record in caplog.records if record.name == "attest_otel.record"]) == 1


@pytest.mark.parametrize("seam", ["decoder_for", "ToolInputWatcher", "_is_message"])
def test_a_fault_before_the_body_leaves_the_answer_whole(seam: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Looking at a response may fail at any seam."""

    def fail(*_: object) -> None:
        raise RuntimeError("inside")

    monkeypatch.setattr(anthropic_clients, seam, fail)
    with MessagesServer([refund(), refund()]) as server, client_of(server) as client:
        assert client.messages.create(**ASK).content[1].type == "tool_use"
        assert len(list(client.messages.create(**ASK, stream=True))) > 5


def test_the_application_can_interrupt_a_read(store: ProviderBytes, monkeypatch: pytest.MonkeyPatch) -> None:
    """KeyboardInterrupt is not a fault to swallow."""

    def interrupt(*_: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(ToolInputWatcher, "feed", interrupt)
    with (
        MessagesServer([refund()]) as server,
        client_of(server) as client,
        pytest.raises(KeyboardInterrupt),
    ):
        list(client.messages.create(**ASK, stream=True))


def test_malformed_answers_fail_as_without_us(store: ProviderBytes) -> None:
    """A body that is no JSON is the SDK's to report."""
    with (
        MessagesServer([RawReply('{"type": "message", ')]) as server,
        client_of(server) as client,
        pytest.raises(ValueError, match="Expecting"),
    ):
        client.messages.create(**ASK)
    assert len(store) == 0


def test_anthropics_defaults_stay() -> None:
    """Time-outs, redirects and connection limits are the SDK's own; the caller's arguments win."""
    with anthropic.DefaultHttpxClient() as default, anthropic_http_client() as ours:
        assert ours.timeout == default.timeout
        assert ours.follow_redirects is default.follow_redirects
        assert type(ours._transport) is type(default._transport)
    with anthropic_http_client(timeout=3.0, headers={"x-a": "b"}) as ours:
        assert ours.timeout == httpx2.Timeout(3.0)
        assert ours.headers["x-a"] == "b"


def test_elapsed_and_the_sdks_own_stream_parts_are_reachable() -> None:
    """Both httpx and the SDK look at attributes of the body; ours hands them through."""
    with MessagesServer([refund()]) as server, client_of(server) as client:
        with client.messages.with_streaming_response.create(**ASK) as response:
            response.read()
        assert response.http_response.elapsed.total_seconds() > 0


def test_a_missing_anthropic_says_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    """The error says what to install."""
    monkeypatch.setitem(sys.modules, "anthropic", None)
    monkeypatch.delitem(sys.modules, "attest_otel.record.anthropic_clients")
    for make in (anthropic_http.anthropic_http_client, anthropic_http.async_anthropic_http_client):
        with pytest.raises(ImportError, match="pip install anthropic"):
            make()


def test_importing_brings_in_neither_anthropic_nor_httpx() -> None:
    """They cost a second; only making a client imports them."""
    code = (
        "import sys, attest_otel.record.anthropic_http, attest_otel.record.provider_bytes, attest_otel.testing\n"
        "print([name for name in ('anthropic', 'httpx', 'httpx2') if name in sys.modules])"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True, timeout=50)
    assert done.stdout.strip() == "[]"
