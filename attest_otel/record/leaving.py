"""Work that must not be under way when the interpreter ends.

The pattern engine lets other threads run while it searches. A daemon thread of the application that comes
back from a search while the interpreter is being taken down is unwound through C++ code, and the whole
process aborts, whatever its exit code was to be. So the recorder redacts through `run`: once the exit
handlers run, no work is begun, and what was begun is waited for, `WAIT_SECONDS` at most. Thread-safe.
"""

from __future__ import annotations

import atexit
import os
import time
from collections import deque
from collections.abc import Callable
from typing import TypeVar

WAIT_SECONDS = 1.0
POLL_SECONDS = 0.001

_Value = TypeVar("_Value")
_under_way: deque[None] = deque()
_left: list[bool] = []


def run(work: Callable[[], _Value]) -> _Value | None:
    """Do the work and return its value; None, and nothing done, once the process is leaving."""
    _under_way.append(None)
    try:
        return None if _left else work()
    finally:
        _drop_one()


def leave() -> None:
    """Begin no more work, and wait for what is under way."""
    _left.append(True)
    deadline = time.monotonic() + WAIT_SECONDS
    while _under_way and time.monotonic() < deadline:
        time.sleep(POLL_SECONDS)


def _drop_one() -> None:
    try:
        _under_way.pop()
    except IndexError:
        return  # a fork's child has forgotten what its parent had under way


atexit.register(leave)
if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_under_way.clear)
