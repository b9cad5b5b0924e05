"""Text as a person's screen may have it: no longer than asked, with nothing in it that a terminal obeys."""

from __future__ import annotations

import re

_CONTROL = re.compile(
    "[\x00-\x08\x0a-\x1f\x7f-\x9f\xad\u061c\u180e\u200b-\u200f\u2028\u2029\u202a-\u202e\u2060-\u206f\ufeff\ufff9-\ufffb\ud800-\udfff"
    "\U000e0000-\U000e007f]"
)


def cut(text: str, limit: int) -> str:
    """Return the text, or its beginning with a mark where it is longer than `limit` characters."""
    return text if len(text) <= limit else text[: max(0, limit - 1)] + "…"


def clean(text: str) -> str:
    """Return the text with control and invisible characters, line separators and direction overrides made visible."""
    return _CONTROL.sub(lambda match: f"\\u{ord(match[0]):04x}", text)
