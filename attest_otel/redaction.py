"""Take secrets and personal data out of text before it leaves the process.

Applied to everything that is shown: spans, events, logs, reports, judge prompts. First redact, then
cut, then clean of control characters, so that a cut never leaves half a secret. A redactor that fails
drops the value. Source: property 31.
"""

from __future__ import annotations

import re
from collections.abc import Callable

from attest_otel.config import RedactionConfig

Hook = Callable[[str], str]

FAILED = "[redaction failed]"
_CONTROL = re.compile(r"[\x00-\x08\x0b-\x1f\x7f-\x9f\u2028\u2029\u202a-\u202e\u2066-\u2069]")


class Redactor:
    """Replaces what looks like a secret with `[redacted:kind]`; thread-safe, linear in the text."""

    def __init__(self, config: RedactionConfig | None = None, *, hook: Hook | None = None) -> None:
        self._enabled = (config or RedactionConfig()).enabled
        self._hook = hook

    def redact(self, text: str) -> str:
        """Return the text without secrets; never raises."""
        if not self._enabled:
            return text
        try:
            return self._hook(text) if self._hook else text
        except Exception:  # noqa: BLE001  # what can't be cleaned isn't shown
            return FAILED

    def show(self, text: str, limit: int) -> str:
        """Return the text as a person's screen may have it: redacted, cut to `limit` characters, cleaned."""
        return clean(cut(self.redact(text), limit))


def cut(text: str, limit: int) -> str:
    """Return the text, or its beginning with a mark where it is longer than `limit` characters."""
    return text if len(text) <= limit else text[: max(0, limit - 1)] + "…"


def clean(text: str) -> str:
    """Return the text with control characters, line separators and direction overrides made visible."""
    return _CONTROL.sub(lambda match: f"\\u{ord(match[0]):04x}", text)
