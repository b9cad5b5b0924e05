"""How long to wait before asking again: exponential, fully jittered, never before the server allows it.

Source: property 37; the Messages API sends `retry-after` (seconds) with 429, HTTP allows a date too.
"""

from __future__ import annotations

import math
import re
from collections.abc import Mapping
from email.utils import parsedate_to_datetime

BASE_SECONDS = 0.5
CAP_SECONDS = 8.0
RETRIED_STATUSES = frozenset({408, 409, 429})
_SECONDS = re.compile(r"\d{1,9}(\.\d{1,9})?", re.ASCII)


def is_retried(status: int, headers: Mapping[str, str]) -> bool:
    """Return whether a request that got this status is worth repeating; the server's `x-should-retry: false` is the last word."""
    if headers.get("x-should-retry") == "false":
        return False
    return status in RETRIED_STATUSES or status >= 500  # noqa: PLR2004  # HTTP's own border


def backoff_seconds(attempt: int, retry_after: float | None, share: float) -> float:
    """Return how long to wait after the attempt with this number, from 0.

    Args:
        attempt: how many attempts failed before this one.
        retry_after: what the server asked for.
        share: a random number from 0 to 1.
    """
    jitter = share * min(CAP_SECONDS, BASE_SECONDS * math.ldexp(1.0, min(attempt, 30)))
    return (retry_after or 0.0) + jitter


def retry_after_seconds(headers: Mapping[str, str]) -> float | None:
    """Return how long the server asks to wait; None where it doesn't say so in a form that HTTP or the API knows."""
    milliseconds = headers.get("retry-after-ms", "")
    if _SECONDS.fullmatch(milliseconds):
        return float(milliseconds) / 1000
    given = headers.get("retry-after", "").strip()
    if _SECONDS.fullmatch(given):
        return float(given)
    return _until(given, headers.get("date", ""))


def _until(date: str, sent: str) -> float | None:
    """Return the seconds from the response's own date, which needs no clock of ours to be right."""
    try:
        return max(0.0, (parsedate_to_datetime(date) - parsedate_to_datetime(sent)).total_seconds())
    except (ValueError, TypeError, OverflowError):
        return None
