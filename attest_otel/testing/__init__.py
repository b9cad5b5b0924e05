"""Parts for testing agents offline: a server that speaks the Anthropic Messages API from a script."""

from __future__ import annotations

from attest_otel.testing.loopback_http import RecordedRequest
from attest_otel.testing.messages_server import MessagesServer
from attest_otel.testing.script import (
    Answer,
    Block,
    Failure,
    RawBlock,
    RawReply,
    Reply,
    Script,
    Text,
    ToolUse,
    Wire,
)

__all__ = [
    "Answer",
    "Block",
    "Failure",
    "MessagesServer",
    "RawBlock",
    "RawReply",
    "RecordedRequest",
    "Reply",
    "Script",
    "Text",
    "ToolUse",
    "Wire",
]
