"""The scripted server speaks the Messages API to the real client, and leaves nothing behind."""

from __future__ import annotations

import gzip
import http.client
import json
import subprocess
import sys
import threading
import time
from typing import Any

import anthropic
import httpx2
import pytest

from attest_otel.testing import (
    Answer,
    Failure,
    MessagesServer,
    RawBlock,
    RawReply,
    Reply,
    Script,
    Text,
    ToolUse,
    Wire,
)

ASK: dict[str, Any] = {
    "model": "some-model",
    "max_tokens": 50,
    "messages": [{"role": "user", "content": "q"}],
}


def client_of(server: MessagesServer, **kwargs: Any) -> anthropic.Anthropic:
    """Return the real client, bound to the server."""
    http_client = anthropic.DefaultHttpxClient(trust_env=False)
    settings = {"max_retries": 0, "api_key": "a-secret-key", **kwargs}
    return anthropic.Anthropic(base_url=server.base_url, http_client=http_client, **settings)


def post(server: MessagesServer, body: str, path: str = "/v1/messages") -> tuple[int, dict[str, str], bytes]:
    """Post a body with the standard library and return status, headers and body."""
    connection = http.client.HTTPConnection(server.base_url.removeprefix("http://"), timeout=20)
    try:
        connection.request("POST", path, body.encode(), {"content-type": "application/json"})
        response = connection.getresponse()
        return (
            response.status,
            {name.lower(): value for name, value in response.getheaders()},
            response.read(),
        )
    finally:
        connection.close()


def ask(script: Script, *, stream: bool, **kwargs: Any) -> Any:
    """Return the message that the real client makes of a script's first answer."""
    with MessagesServer(script) as server, client_of(server, **kwargs) as client:
        if not stream:
            return client.messages.create(**ASK)
        with client.messages.stream(**ASK) as events:
            return events.get_final_message()


both = pytest.mark.parametrize("stream", [False, True])


@both
def test_a_reply_is_the_message_of_the_real_client(stream: bool) -> None:
    """Blocks, ids, stop reason, usage and model are the script's."""
    reply = Reply(
        ["Let me see. é😀", ToolUse("look", '{"q": "é\\u00e9"}', "call-1"), ToolUse("look", "{}")],
        input_tokens=7,
        output_tokens=3,
        id="msg_x",
    )
    message = ask([reply], stream=stream)
    assert [block.type for block in message.content] == ["text", "tool_use", "tool_use"]
    assert message.content[0].text == "Let me see. é😀"
    assert (message.content[1].id, message.content[1].input) == ("call-1", {"q": "éé"})
    assert message.content[2].id == "toolu_0001_2"
    assert (message.id, message.model, message.role) == ("msg_x", "some-model", "assistant")
    assert message.stop_reason == "tool_use"
    assert (message.usage.input_tokens, message.usage.output_tokens) == (7, 3)


@both
@pytest.mark.parametrize(
    ("reply", "reason"),
    [
        (Reply("x"), "end_turn"),
        (Reply([ToolUse("f")]), "tool_use"),
        (Reply("x", stop_reason="max_tokens"), "max_tokens"),
    ],
)
def test_the_stop_reason_follows_the_blocks_unless_given(reply: Reply, reason: str, stream: bool) -> None:
    """A tool call stops for the tool."""
    assert ask([reply], stream=stream).stop_reason == reason


@both
def test_a_plain_string_is_a_reply(stream: bool) -> None:
    """The shortest script is a text, given or returned."""
    assert ask(["hello"], stream=stream).content[0].text == "hello"
    assert ask(lambda _: "hello", stream=stream).content[0].text == "hello"


def test_an_input_stands_in_the_body_verbatim() -> None:
    """Number spelling, spacing and duplicate keys survive."""
    text = '{ "amount_cents":4200.0,"a":1E2,"a":NaN }'
    with MessagesServer([Reply([ToolUse("f", text)])]) as server:
        assert f'"input":{text}}}'.encode() in post(server, "{}")[2]


def pieces_of(reply: Reply) -> list[str]:
    """Return the pieces of the input that a stream is made of."""
    with MessagesServer([reply]) as server:
        body = post(server, '{"stream": true}')[2].decode()
    events = [json.loads(line.removeprefix("data: ")) for line in body.splitlines() if line.startswith("data: ")]
    return [event["delta"]["partial_json"] for event in events if "partial_json" in event.get("delta", {})]


@pytest.mark.parametrize(
    ("sizes", "pieces"),
    [
        (100, ['{"e":"\\u00e9"}']),
        (7, ['{"e":"\\', 'u00e9"}']),
        ([1, 5], ["{", '"e":"', "\\", "u00e9", '"', "}"]),
    ],
)
def test_deltas_are_cut_at_the_given_sizes(sizes: Any, pieces: list[str]) -> None:
    """Also inside an escape."""
    assert pieces_of(Reply([ToolUse("f", '{"e":"\\u00e9"}')], delta_chars=sizes)) == pieces


def test_a_blank_input_has_no_pieces() -> None:
    """In a plain body, where something must stand, it is {}."""
    assert pieces_of(Reply([ToolUse("f", "")])) == []
    assert ask([Reply([ToolUse("f", "")])], stream=False).content[0].input == {}


def test_a_stream_has_the_apis_events_in_order() -> None:
    """As documented, with a ping after the first block's start."""
    with MessagesServer([Reply([Text("abc"), ToolUse("f")], delta_chars=2)]) as server:
        status, headers, body = post(server, '{"stream": true}')
    names = [line.removeprefix("event: ") for line in body.decode().splitlines() if line.startswith("event: ")]
    assert (status, headers["content-type"]) == (200, "text/event-stream; charset=utf-8")
    assert names == [
        "message_start",
        "content_block_start",
        "ping",
        "content_block_delta",
        "content_block_delta",
        "content_block_stop",
        "content_block_start",
        "content_block_delta",
        "content_block_stop",
        "message_delta",
        "message_stop",
    ]


@both
@pytest.mark.parametrize(
    "wire",
    [
        Wire(chunk_bytes=1),
        Wire(encoding="gzip"),
        Wire(encoding="gzip", chunk_bytes=3),
        Wire(encoding="deflate"),
        Wire(line_end="\r\n"),
        Wire(line_end="\r", chunk_bytes=2),
        Wire(delay_seconds=0.001, pause_seconds=0.001),
    ],
)
def test_the_way_of_travel_changes_nothing(wire: Wire, stream: bool) -> None:
    """Chunks inside characters, compression and line ends give the same message."""
    message = ask([Reply(["é😀", ToolUse("f", '{"e": "é😀"}')], wire=wire)], stream=stream)
    assert (message.content[0].text, message.content[1].input) == ("é😀", {"e": "é😀"})


def test_a_compressed_body_is_marked_and_compressed() -> None:
    """The header and the bytes agree."""
    with MessagesServer([Reply("x", wire=Wire(encoding="gzip"))]) as server:
        _, headers, body = post(server, "{}")
    assert headers["content-encoding"] == "gzip"
    assert json.loads(gzip.decompress(body))["content"][0]["text"] == "x"


def test_a_compressed_stream_can_be_read_event_by_event() -> None:
    """Each event is flushed through the compressor: nothing waits for the end of the stream."""
    reply = Reply("abc", wire=Wire(encoding="gzip", pause_seconds=60))
    with MessagesServer([reply]) as server, client_of(server) as client:
        events = client.messages.create(**ASK, stream=True)
        assert next(events).type == "message_start"
        events.close()


@pytest.mark.parametrize(
    ("status", "name", "error"),
    [
        (400, "invalid_request_error", anthropic.BadRequestError),
        (401, "authentication_error", anthropic.AuthenticationError),
        (404, "not_found_error", anthropic.NotFoundError),
        (429, "rate_limit_error", anthropic.RateLimitError),
        (500, "api_error", anthropic.InternalServerError),
        (529, "overloaded_error", anthropic.InternalServerError),
        (418, "api_error", anthropic.APIStatusError),
    ],
)
@both
def test_a_failure_is_the_sdks_own_error(status: int, name: str, error: type[Exception], stream: bool) -> None:
    """With the API's name for it, the given message and headers."""
    with pytest.raises(error) as raised:
        ask([Failure(status, "no luck", headers={"retry-after": "7"})], stream=stream)
    assert isinstance(raised.value, anthropic.APIStatusError)
    assert raised.value.body == {"type": "error", "error": {"type": name, "message": "no luck"}}
    assert raised.value.response.headers["retry-after"] == "7"


def test_the_client_retries_a_429_as_it_is_told() -> None:
    """The SDK's own retry finds the next answer of the script."""
    script: list[Answer] = [Failure(429, headers={"retry-after-ms": "1"}), Reply("ok")]
    assert ask(script, stream=False, max_retries=1).content[0].text == "ok"


@both
def test_an_error_in_the_middle_of_a_stream(stream: bool) -> None:
    """The stream has begun with status 200; the error is an event of it."""
    with pytest.raises(anthropic.APIStatusError, match="overloaded_error"):
        ask([Reply("abc", stream_error=Failure(529))], stream=stream)


@both
@pytest.mark.parametrize("cut", [0, 1, 100])
def test_a_cut_body_is_a_lost_connection(cut: int, stream: bool) -> None:
    """The client sees the connection end inside the body."""
    with pytest.raises((httpx2.RemoteProtocolError, anthropic.APIConnectionError)):
        ask([Reply("abc" * 50, wire=Wire(cut_after_bytes=cut))], stream=stream)


def test_a_raw_reply_can_be_anything() -> None:
    """Malformed JSON, another content type, bytes."""
    with MessagesServer([RawReply('{"type": "mess'), RawReply(b"\xff", 502, "text/html", {"x-a": "b"})]) as server:
        assert post(server, "{}")[2] == b'{"type": "mess'
        status, headers, body = post(server, "{}")
    assert (status, headers["content-type"], headers["x-a"], body) == (502, "text/html", "b", b"\xff")


@both
def test_a_raw_block_passes_through(stream: bool) -> None:
    """Kinds of blocks that the script has no value for can be given as JSON."""
    block = RawBlock('{"type":"thinking","thinking":"hm","signature":"s"}')
    assert ask([Reply([block, "x"])], stream=stream).content[0].thinking == "hm"


def test_a_function_sees_the_request() -> None:
    """What is answered may depend on what was asked."""
    message = ask(lambda request: request["messages"][-1]["content"].upper(), stream=False)
    assert message.content[0].text == "Q"


def test_a_function_that_raises_is_an_answer_that_says_so() -> None:
    """The fault of a script reaches the client as an error with its text."""
    with pytest.raises(anthropic.BadRequestError, match="the script raised KeyError: 'absent'"):
        ask(lambda request: request["absent"], stream=False)


def test_a_script_that_is_used_up_says_so() -> None:
    """The error names the request that had no answer."""
    with MessagesServer([Reply("only one")]) as server, client_of(server) as client:
        client.messages.create(**ASK)
        with pytest.raises(anthropic.BadRequestError, match="no answer left for request 2"):
            client.messages.create(**ASK)


def test_requests_are_kept_without_secrets() -> None:
    """Path, headers and JSON can be asserted; keys are replaced."""
    with MessagesServer(["x"]) as server, client_of(server) as client:
        client.messages.create(**ASK)
        [request] = server.requests
    assert (request.method, request.path, request.json) == ("POST", "/v1/messages", ASK)
    assert "anthropic-version" in request.headers
    assert "a-secret-key" not in repr(request)


def test_only_the_latest_requests_are_kept() -> None:
    """A long demo holds no memory without bound."""
    with MessagesServer(lambda _: "x", max_kept_requests=2) as server:
        for number in range(4):
            post(server, json.dumps({"n": number}))
        assert [request.json for request in server.requests] == [{"n": 2}, {"n": 3}]


def test_counting_tokens_uses_no_answer() -> None:
    """The script's answers are for messages."""
    with MessagesServer(["x"]) as server, client_of(server) as client:
        assert client.messages.count_tokens(model="m", messages=ASK["messages"]).input_tokens == 10
        assert client.messages.create(**ASK).content[0].type == "text"


@pytest.mark.parametrize("body", ["", "[]", "{", '{"a":' + "[" * 100_000])
def test_a_request_without_a_json_object_is_refused(body: str) -> None:
    """As the API does, and the server lives on."""
    with MessagesServer(["x"]) as server:
        assert post(server, body)[0] == 400
        assert post(server, "{}")[0] == 200


def test_other_paths_are_not_found() -> None:
    """Only what is scripted is there."""
    with MessagesServer(["x"]) as server:
        status, _, body = post(server, "{}", "/v1/complete")
    assert (status, json.loads(body)["error"]["type"]) == (404, "not_found_error")


def test_a_request_over_the_limit_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    """Nothing is read into memory without bound."""
    monkeypatch.setattr("attest_otel.testing.loopback_http.MAX_REQUEST_BYTES", 10)
    with MessagesServer(["x"]) as server:
        assert post(server, '{"long": true}')[0] == 413


def test_a_client_that_times_out_is_not_the_servers_fault() -> None:
    """The client's own error, then the server closes without waiting for the delay."""
    with pytest.raises(anthropic.APITimeoutError):
        ask([Reply("late", wire=Wire(delay_seconds=60))], stream=False, timeout=0.05)


@pytest.mark.parametrize("wire", [Wire(delay_seconds=60), Wire(pause_seconds=60)])
def test_closing_ends_delays_connections_and_threads(wire: Wire) -> None:
    """With requests waiting and idle connections open, close returns at once and leaves no thread."""
    before = set(threading.enumerate())
    errors: list[BaseException] = []
    with MessagesServer(lambda _: Reply("x" * 100, wire=wire)) as server, client_of(server) as client:

        def ask_and_fail() -> None:
            try:
                client.messages.create(**ASK, stream=True).__next__()
                list(client.messages.create(**ASK, stream=True))
            except (anthropic.APIConnectionError, httpx2.HTTPError) as error:
                errors.append(error)

        threads = [threading.Thread(target=ask_and_fail) for _ in range(3)]
        for thread in threads:
            thread.start()
        idle = http.client.HTTPConnection(server.base_url.removeprefix("http://"), timeout=20)
        idle.request("POST", "/v1/none", b"{}")
        idle.getresponse().read()
        while len(server.requests) < 4:
            threads[0].join(0.01)
        started = time.monotonic()
        server.close()
        took = time.monotonic() - started
        for thread in threads:
            thread.join()
        idle.close()
    assert len(errors) == 3
    assert took < 5
    assert set(threading.enumerate()) <= before


def test_a_server_lives_once() -> None:
    """Closing twice is closing once, starting twice is an error that says so."""
    server = MessagesServer(["x"])
    with pytest.raises(RuntimeError, match="not running"):
        _ = server.base_url
    with server, pytest.raises(RuntimeError, match="started once"):
        server.start()
    server.close()
    with pytest.raises(RuntimeError, match="started once"):
        server.start()


def test_it_listens_on_loopback_only() -> None:
    """Nobody else can reach it."""
    with MessagesServer() as server:
        assert server.base_url.startswith("http://127.0.0.1:")


@pytest.mark.parametrize(
    "make",
    [
        lambda: Wire(delay_seconds=-1),
        lambda: Wire(pause_seconds=1000),
        lambda: Wire(chunk_bytes=0),
        lambda: Reply("x", delta_chars=0),
        lambda: Reply("x", delta_chars=[]),
    ],
)
def test_impossible_values_are_refused(make: Any) -> None:
    """When they are made, not when they are sent."""
    with pytest.raises(ValueError, match="must be"):
        make()


def test_only_the_standard_library_is_imported() -> None:
    """The server costs nothing to import where nothing else is installed."""
    code = (
        "import sys; before = set(sys.modules); import attest_otel; package = set(sys.modules)\n"
        "import attest_otel.testing\n"
        "names = {name.partition('.')[0] for name in set(sys.modules) - package} - sys.stdlib_module_names\n"
        "print(sorted(names - {'attest_otel'}))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True, timeout=50)
    assert done.stdout.strip() == "[]"


@pytest.mark.parametrize("block", [Text("hi"), ToolUse("t", "{}"), RawBlock('{"type": "text", "text": "hi"}')])
def test_one_block_may_stand_alone(block: Any) -> None:
    """A reply of one block needs no list around it."""
    assert Reply(block).content == (block,) == Reply([block]).content
