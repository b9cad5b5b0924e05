"""The quiet context and the mark of our own spans, by the names they have in this room."""

from __future__ import annotations

from attest_otel.quiet import QUIET_TRACE, is_own, quiet

__all__ = ["QUIET_TRACE", "is_own", "quiet"]
