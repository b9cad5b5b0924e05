"""What a `MessagesServer` answers: values that a script is made of.

A script is a list of answers, given in order, or a function from the request's JSON to an answer.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal

MAX_DELAY_SECONDS = 120.0


@dataclass(frozen=True, slots=True)
class Text:
    """A block of text, a structured output's JSON too."""

    text: str


@dataclass(frozen=True, slots=True)
class ToolUse:
    """A tool call whose input is put into the body as it stands: `4200.0`, `1E2`, duplicate keys survive.

    `id` None lets the server number it (`toolu_0001`, ...). A blank `input_text` is a stream without
    pieces; in a plain body, where something must stand, `{}`.
    """

    name: str
    input_text: str = "{}"
    id: str | None = None


@dataclass(frozen=True, slots=True)
class RawBlock:
    """Any other content block, as JSON text; streamed whole in its `content_block_start`."""

    json_text: str


Block = Text | ToolUse | RawBlock


@dataclass(frozen=True, slots=True)
class Wire:
    """How an answer travels.

    Attributes:
        delay_seconds: wait before the first byte; ends early when the server closes.
        pause_seconds: wait between two writes of a body, so between the events of a stream.
        encoding: the Content-Encoding of the body.
        chunk_bytes: write the encoded body in pieces of this size, which may cut characters and lines.
        cut_after_bytes: close the connection after this much of the encoded body.
        line_end: what ends the lines of a stream.
    """

    delay_seconds: float = 0.0
    pause_seconds: float = 0.0
    encoding: Literal["identity", "gzip", "deflate"] = "identity"
    chunk_bytes: int | None = None
    cut_after_bytes: int | None = None
    line_end: Literal["\n", "\r\n", "\r"] = "\n"

    def __post_init__(self) -> None:
        for name in ("delay_seconds", "pause_seconds"):
            if not 0 <= getattr(self, name) <= MAX_DELAY_SECONDS:
                raise ValueError(f"{name} must be between 0 and {MAX_DELAY_SECONDS} s: {getattr(self, name)}")
        if self.chunk_bytes is not None and self.chunk_bytes < 1:
            raise ValueError(f"chunk_bytes must be at least 1: {self.chunk_bytes}")


@dataclass(frozen=True, slots=True)
class Reply:
    """A message of the model; sent as a stream when the request asked for one.

    Attributes:
        blocks: the content, in order; a string stands for a `Text`, and one block may stand alone.
        stop_reason: None means `tool_use` where there is a `ToolUse`, else `end_turn`.
        input_tokens, output_tokens: the usage it reports.
        model, id: None means the request's model, and a number.
        delta_chars: how many characters each streamed delta carries; several sizes take turns.
        stream_error: in a stream, sent as an `error` event in place of the message's end; otherwise the
            answer itself.
        wire: how it travels.
    """

    blocks: Sequence[Block | str] | Block | str
    stop_reason: str | None = None
    input_tokens: int = 10
    output_tokens: int = 10
    model: str | None = None
    id: str | None = None
    delta_chars: int | Sequence[int] = 16
    stream_error: Failure | None = None
    wire: Wire = field(default_factory=Wire)

    def __post_init__(self) -> None:
        if min(self.delta_sizes, default=0) < 1:
            raise ValueError(f"delta_chars must be at least 1: {self.delta_chars}")

    @property
    def content(self) -> tuple[Block, ...]:
        """The blocks, strings made `Text`."""
        blocks = [self.blocks] if isinstance(self.blocks, Block | str) else self.blocks
        return tuple(Text(block) if isinstance(block, str) else block for block in blocks)

    @property
    def delta_sizes(self) -> tuple[int, ...]:
        """The sizes that the streamed deltas take turns in, in characters."""
        return (self.delta_chars,) if isinstance(self.delta_chars, int) else tuple(self.delta_chars)

    @property
    def reason(self) -> str:
        """The stop reason that is sent."""
        if self.stop_reason is not None:
            return self.stop_reason
        return "tool_use" if any(isinstance(block, ToolUse) for block in self.content) else "end_turn"


@dataclass(frozen=True, slots=True)
class Failure:
    """An error of the API, in its own JSON form.

    Attributes:
        status: the HTTP status: 400 to 599.
        message: what it says.
        error_type: None means the API's name for the status, such as `rate_limit_error` for 429.
        headers: sent too, such as `{"retry-after": "1"}`.
        wire: how it travels.
    """

    status: int
    message: str = "scripted failure"
    error_type: str | None = None
    headers: Mapping[str, str] = field(default_factory=dict)
    wire: Wire = field(default_factory=Wire)

    @property
    def type_name(self) -> str:
        """The error's type as the API calls it."""
        return self.error_type or _ERROR_TYPES.get(self.status, "api_error")


@dataclass(frozen=True, slots=True)
class RawReply:
    """Any body at all: malformed JSON, an HTML page, a stream of one's own making."""

    body: str | bytes
    status: int = 200
    content_type: str = "application/json"
    headers: Mapping[str, str] = field(default_factory=dict)
    wire: Wire = field(default_factory=Wire)


Answer = Reply | Failure | RawReply
Script = Iterable[Answer | str] | Callable[[dict[str, Any]], Answer | str]

_ERROR_TYPES = {
    400: "invalid_request_error",
    401: "authentication_error",
    403: "permission_error",
    404: "not_found_error",
    413: "request_too_large",
    429: "rate_limit_error",
    500: "api_error",
    504: "timeout_error",
    529: "overloaded_error",
}
