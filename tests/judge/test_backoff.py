"""How long to wait before asking again."""

from __future__ import annotations

import pytest

from attest_otel.judge.backoff import backoff_seconds, is_retried, retry_after_seconds

SENT = "Tue, 01 Dec 2026 10:00:00 GMT"


@pytest.mark.parametrize(
    ("status", "retried"),
    [
        (408, True),
        (409, True),
        (429, True),
        (500, True),
        (503, True),
        (529, True),
        (400, False),
        (401, False),
        (403, False),
        (404, False),
        (413, False),
    ],
)
def test_which_statuses_are_asked_again(status: int, retried: bool) -> None:
    """What may pass by itself: 408, 409, 429 and the server's own faults; unless the server says no."""
    assert is_retried(status, {}) is retried
    assert is_retried(status, {"x-should-retry": "false"}) is False


@pytest.mark.parametrize(
    ("headers", "seconds"),
    [
        ({}, None),
        ({"retry-after": "7"}, 7.0),
        ({"retry-after": "0.25"}, 0.25),
        ({"retry-after": " 7 "}, 7.0),
        ({"retry-after-ms": "1500", "retry-after": "9"}, 1.5),
        ({"retry-after": "Tue, 01 Dec 2026 10:00:20 GMT", "date": SENT}, 20.0),
        ({"retry-after": "Tue, 01 Dec 2026 09:00:00 GMT", "date": SENT}, 0.0),
        ({"retry-after": "Tue, 01 Dec 2026 10:00:20 GMT"}, None),
        ({"retry-after": "-5"}, None),
        ({"retry-after": "nan"}, None),
        ({"retry-after": "inf"}, None),
        ({"retry-after": "1e9"}, None),
        ({"retry-after": "soon", "date": "never"}, None),
        ({"retry-after": "9" * 5000}, None),
        ({"retry-after": "٣"}, None),
    ],
)
def test_what_the_server_asks_for(headers: dict[str, str], seconds: float | None) -> None:
    """Seconds, milliseconds, or a date against the response's own; anything else is not said."""
    assert retry_after_seconds(headers) == seconds


def test_full_jitter_grows_to_a_cap() -> None:
    """From nothing to 0.5, 1, 2, 4, 8, 8 s; never before what the server asks."""
    assert [backoff_seconds(n, None, 1.0) for n in range(6)] == [0.5, 1.0, 2.0, 4.0, 8.0, 8.0]
    assert [backoff_seconds(n, None, 0.0) for n in range(3)] == [0.0, 0.0, 0.0]
    assert backoff_seconds(0, 7.0, 0.0) == 7.0
    assert backoff_seconds(1, 7.0, 0.5) == 7.5
    assert backoff_seconds(10**9, None, 1.0) == 8.0
