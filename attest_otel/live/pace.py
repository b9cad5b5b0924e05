"""How the pipeline's threads give way to the agent's.

A thread of Python that computes keeps the others waiting for the interpreter, five milliseconds by
default: a long time for an event loop. So ours work in short slices and let go in between.
"""

from __future__ import annotations

import time

SLICE_SECONDS = 0.0003
PAUSE_SECONDS = 0.0001  # long enough that a waiting thread does get the interpreter


class Pace:
    """The slices of one thread."""

    def __init__(self) -> None:
        self._began = time.perf_counter()

    def give_way(self) -> None:
        """Let other threads go first, if this slice is used up."""
        if time.perf_counter() - self._began < SLICE_SECONDS:
            return
        time.sleep(PAUSE_SECONDS)
        self._began = time.perf_counter()
