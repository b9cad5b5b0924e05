"""The quiet context, by the name it has in this room."""

from __future__ import annotations

from attest_otel.quiet import QUIET_TRACE, quiet

__all__ = ["QUIET_TRACE", "quiet"]
