"""Take secrets and personal data out of text before it leaves the process.

Applied to everything that is shown: spans, events, logs, reports, judge prompts. First redact, then
cut, then clean of control characters, so that a cut never leaves half a secret. A redactor that fails
drops the value. Source: property 31.
"""

from __future__ import annotations

from attest_otel.redaction.redactor import FAILED, Hook, Redactor
from attest_otel.redaction.screen import clean, cut

__all__ = ["FAILED", "Hook", "Redactor", "clean", "cut"]
