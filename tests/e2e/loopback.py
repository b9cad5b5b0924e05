"""A small HTTP client for loopback, and waiting for what arrives a moment later."""

from __future__ import annotations

import json
import time
import urllib.error
import urllib.parse
import urllib.request
from collections.abc import Callable, Mapping
from typing import Any, TypeVar

REQUEST_TIMEOUT_SECONDS = 5.0
ARRIVAL_TIMEOUT_SECONDS = 30.0
POLL_SECONDS = 0.1

T = TypeVar("T")

# A proxy named in the environment must not see what is meant for loopback.
_opener = urllib.request.build_opener(urllib.request.ProxyHandler({}))


def answers(url: str) -> bool:
    """Whether a GET is answered with success."""
    try:
        with _opener.open(url, timeout=REQUEST_TIMEOUT_SECONDS) as response:
            return bool(response.status == 200)
    except (urllib.error.URLError, OSError):
        return False


def get_json(url: str, query: Mapping[str, str]) -> Any:
    """The JSON answer to a GET."""
    with _opener.open(f"{url}?{urllib.parse.urlencode(query)}", timeout=REQUEST_TIMEOUT_SECONDS) as response:
        return json.load(response)


def eventually(look: Callable[[], T | None], explain: Callable[[], str]) -> T:
    """What `look` finds, asked again until it is something; after the time limit, AssertionError with `explain()`.

    Between an exporter's flush and a store's answer lie two batches and a queue of other processes, which tell
    nobody when they are done: polling is the only way to know.
    """
    deadline = time.monotonic() + ARRIVAL_TIMEOUT_SECONDS
    while not (found := look()):
        if time.monotonic() > deadline:
            raise AssertionError(f"not there after {ARRIVAL_TIMEOUT_SECONDS:.0f} s\n{explain()}")
        time.sleep(POLL_SECONDS)
    return found
