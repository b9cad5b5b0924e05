"""Turn a scripted answer into the bytes that the Messages API would send for it.

Source: Anthropic's Messages API, "Create a message" and "Streaming messages".
"""

from __future__ import annotations

import gzip
import json
import zlib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from itertools import cycle
from typing import Any

from attest_otel.testing.script import Answer, Block, Failure, RawReply, Reply, Text, ToolUse, Wire

JSON_TYPE = "application/json"
STREAM_TYPE = "text/event-stream; charset=utf-8"


@dataclass(frozen=True, slots=True)
class Rendered:
    """One HTTP response: the body in the pieces it is written in, encoded, before any cut."""

    status: int
    content_type: str
    writes: tuple[bytes, ...]
    streamed: bool
    wire: Wire
    headers: Mapping[str, str] = field(default_factory=dict)


def render(answer: Answer, request: Mapping[str, Any], number: int) -> Rendered:
    """Return the response to a request.

    Args:
        answer: what the script says.
        request: the request's JSON; its `model` is echoed, its `stream` decides the form of a `Reply`.
        number: the answer's number, from which ids are made.
    """
    if isinstance(answer, RawReply):
        body = answer.body.encode() if isinstance(answer.body, str) else answer.body
        streamed = answer.content_type.startswith("text/event-stream")
        return _rendered(answer, answer.status, answer.content_type, [body], answer.headers, streamed=streamed)
    if isinstance(answer, Failure):
        return _rendered(answer, answer.status, JSON_TYPE, [_failure_body(answer).encode()], answer.headers)
    model = answer.model or str(request.get("model", "scripted-model"))
    if request.get("stream") is True:
        end = answer.wire.line_end
        events = [_event(text, end) for text in _stream(answer, model, number)]
        return _rendered(answer, 200, STREAM_TYPE, events, {}, streamed=True)
    if answer.stream_error is not None:
        return render(answer.stream_error, request, number)
    return _rendered(answer, 200, JSON_TYPE, [_body(answer, model, number).encode()], {})


def _rendered(
    answer: Answer,
    status: int,
    content_type: str,
    writes: list[bytes],
    headers: Mapping[str, str],
    *,
    streamed: bool = False,
) -> Rendered:
    pieces = list(_encoded(writes, answer.wire.encoding))
    size = answer.wire.chunk_bytes
    if size is not None:
        whole = b"".join(pieces)
        pieces = [whole[at : at + size] for at in range(0, len(whole), size)]
    return Rendered(status, content_type, tuple(pieces), streamed, answer.wire, headers)


def _encoded(writes: list[bytes], encoding: str) -> Iterator[bytes]:
    """Encode each write so that it can be decoded when it arrives, as servers flush streams."""
    if encoding == "identity":
        yield from writes
        return
    if encoding == "gzip" and len(writes) == 1:
        yield gzip.compress(writes[0], mtime=0)
        return
    state = zlib.compressobj(wbits=zlib.MAX_WBITS | 16 if encoding == "gzip" else zlib.MAX_WBITS)
    for write in writes:
        yield state.compress(write) + state.flush(zlib.Z_SYNC_FLUSH)
    yield state.flush()


def _failure_body(failure: Failure) -> str:
    return _json({"type": "error", "error": {"type": failure.type_name, "message": failure.message}})


def _body(reply: Reply, model: str, number: int) -> str:
    blocks = ",".join(_block(block, call_id) for block, call_id in _with_ids(reply, number))
    head = _message_head(reply, model, number)
    stop = f'"stop_reason":{_json(reply.reason)},"stop_sequence":null'
    return f'{head},"content":[{blocks}],{stop},"usage":{_usage(reply, reply.output_tokens)}}}'


def _message_head(reply: Reply, model: str, number: int) -> str:
    message_id = reply.id or f"msg_{number:04d}"
    return f'{{"id":{_json(message_id)},"type":"message","role":"assistant","model":{_json(model)}'


def _usage(reply: Reply, output_tokens: int) -> str:
    return _json({"input_tokens": reply.input_tokens, "output_tokens": output_tokens})


def _with_ids(reply: Reply, number: int) -> Iterator[tuple[Block, str]]:
    for index, block in enumerate(reply.content):
        given = block.id if isinstance(block, ToolUse) else None
        suffix = f"_{index}" if index else ""
        yield block, given if given is not None else f"toolu_{number:04d}{suffix}"


def _block(block: Block, call_id: str) -> str:
    if isinstance(block, Text):
        return _json({"type": "text", "text": block.text})
    if isinstance(block, ToolUse):
        return _tool_use(block, call_id, block.input_text if block.input_text.strip() else "{}")
    return block.json_text


def _tool_use(block: ToolUse, call_id: str, input_text: str) -> str:
    return f'{{"type":"tool_use","id":{_json(call_id)},"name":{_json(block.name)},"input":{input_text}}}'


def _stream(reply: Reply, model: str, number: int) -> Iterator[str]:
    head = _message_head(reply, model, number)
    stop = '"stop_reason":null,"stop_sequence":null'
    yield (f'{{"type":"message_start","message":{head},"content":[],{stop},"usage":{_usage(reply, 1)}}}}}')
    for index, (block, call_id) in enumerate(_with_ids(reply, number)):
        yield f'{{"type":"content_block_start","index":{index},"content_block":{_started(block, call_id)}}}'
        if index == 0:
            yield '{"type":"ping"}'
        for delta in _deltas(block, reply):
            yield f'{{"type":"content_block_delta","index":{index},"delta":{_json(delta)}}}'
        yield f'{{"type":"content_block_stop","index":{index}}}'
    if reply.stream_error is not None:
        yield _failure_body(reply.stream_error)
        return
    end = _json({"stop_reason": reply.reason, "stop_sequence": None})
    yield f'{{"type":"message_delta","delta":{end},"usage":{_usage(reply, reply.output_tokens)}}}'
    yield '{"type":"message_stop"}'


def _started(block: Block, call_id: str) -> str:
    if isinstance(block, Text):
        return _json({"type": "text", "text": ""})
    return _tool_use(block, call_id, "{}") if isinstance(block, ToolUse) else block.json_text


def _deltas(block: Block, reply: Reply) -> Iterator[dict[str, str]]:
    if isinstance(block, Text):
        for piece in _cut(block.text, reply.delta_sizes):
            yield {"type": "text_delta", "text": piece}
    elif isinstance(block, ToolUse):
        for piece in _cut(block.input_text, reply.delta_sizes):
            yield {"type": "input_json_delta", "partial_json": piece}


def _cut(text: str, sizes: tuple[int, ...]) -> Iterator[str]:
    at = 0
    for size in cycle(sizes):
        if at >= len(text):
            return
        yield text[at : at + size]
        at += size


def _event(data: str, line_end: str) -> bytes:
    name = json.loads(data)["type"]
    return f"event: {name}{line_end}data: {data}{line_end}{line_end}".encode()


def _json(value: object) -> str:
    return json.dumps(value, ensure_ascii=False, separators=(",", ":"))
