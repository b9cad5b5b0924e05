"""Did a call take effect? Succeeded, failed, or unknown: an answer that never came is not a failure.

`unknown` is a call without a recorded outcome, and an error that says the answer was lost: a time-out, a
connection that broke, a process that was killed, and the HTTP statuses that leave the request's fate
open (408, 499, 500, 502, 504, 520 to 524). Every other error is a refusal: nothing was done. A refused
connection, a 503 or a 429 never reached the tool's work and count as refusals.
"""

from __future__ import annotations

import re

from attest_otel.checks.side_effects import Effect
from attest_otel.checks.view import Call

MAX_SCANNED_CHARS = 2_000
_KILLED = frozenset({124, 137, 143})
_LOST_TYPES = (
    "timeout", "timedout", "deadline", "cancelled", "canceled", "interrupt", "connectionreset", "connectionaborted", "brokenpipe",
    "remoteprotocol", "readerror", "incompleteread", "remotedisconnected", "serverdisconnected", "streamclosed", "closedresource",
)  # fmt: skip
_NEVER_SENT_TYPES = ("connecttimeout", "connectiontimeout", "pooltimeout", "connectionrefused", "connecterror")
_LOST_STATUS = frozenset({"408", "499", "500", "502", "504", "520", "521", "522", "523", "524"})
_LOST_TEXT = re.compile(
    r"tim(?:ed|e)[ -]?out|etimedout|deadline[ _]exceeded|econnreset|socket hang up|broken pipe|unexpected eof|incomplete read"
    r"|connection (?:was |has been )?(?:reset|lost|closed|aborted|dropped|interrupted|terminated|broken)|lost connection"
    r"|(?:remote end|server) (?:closed|disconnected)|no response|(?:response|reply) (?:was )?lost|bad gateway|internal server error"
    r"|\b(?:http|status|status_code|statuscode|code)\W{1,4}(?:408|499|500|502|504|52[0-4])\b"
    r"|\b(?:error|upstream)\W{1,3}(?:408|499|502|504|52[0-4])\b"
)
_NEVER_SENT_TEXT = re.compile(r"connect(?:ion)? tim(?:ed|e)[ -]?out|(?:connection|econn) ?refused|timeout must|invalid timeout")


def effect_of(call: Call) -> Effect:
    """Return whether a call took effect, as far as its record can tell."""
    is_error = call.outcome.is_error
    if is_error is False:
        return "succeeded"
    if is_error is None or _answer_was_lost(call):
        return "unknown"
    return "failed"


def _answer_was_lost(call: Call) -> bool:
    record = call.call
    kind = (record.error_type or "").casefold().replace("_", "").replace(" ", "")
    if any(word in kind for word in _NEVER_SENT_TYPES):
        return False
    if kind in _LOST_STATUS or any(word in kind for word in _LOST_TYPES):
        return True
    if record.exit_code is not None and (record.exit_code in _KILLED or record.exit_code < 0):
        return True
    text = _ends(record.output or "").casefold()
    return _LOST_TEXT.search(text) is not None and _NEVER_SENT_TEXT.search(text) is None


def _ends(text: str) -> str:
    if len(text) <= MAX_SCANNED_CHARS:
        return text
    half = MAX_SCANNED_CHARS // 2
    return f"{text[:half]}\n{text[-half:]}"
