"""Opening a file that a person named, so that reading it ends, or says what it waits for.

A regular file is read up to where it ended when it was opened: one that grows meanwhile is not followed.
A pipe or a terminal is read as far as it goes, and while nothing comes that is said once. A device that
never ends, a disk or a socket is refused.
"""

from __future__ import annotations

import io
import os
import select
import stat
from collections.abc import Callable
from pathlib import Path
from typing import BinaryIO

from attest_otel.formats.text_files import open_handle

WAIT_SECONDS = 2.0


def open_input(path: Path, on_wait: Callable[[Path], None] | None = None) -> tuple[BinaryIO, int | None]:
    """Open a file for reading.

    Args:
        path: a regular file, a pipe or a terminal.
        on_wait: called once with the path when nothing came for `WAIT_SECONDS`; the wait goes on.

    Returns:
        The file, and how many bytes it held; None where that cannot be known.

    Raises:
        OSError: it cannot be opened, or is of a kind that cannot be read.
    """
    if os.name != "posix":
        return path.open("rb"), path.stat().st_size or None
    handle, status = open_handle(path)  # a pipe that nobody writes to opens all the same
    if stat.S_ISREG(status.st_mode):
        return os.fdopen(handle, "rb"), status.st_size or None
    return io.BufferedReader(_Waiting(handle, path, on_wait)), None


class _Waiting(io.RawIOBase):
    """A pipe or a terminal that says so when nothing comes."""

    def __init__(self, handle: int, path: Path, on_wait: Callable[[Path], None] | None) -> None:
        self._file = io.FileIO(handle)
        self._path = path
        self._on_wait = on_wait
        self._poll = select.poll()
        self._poll.register(handle, select.POLLIN)

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: memoryview) -> int | None:  # type: ignore[override]
        if not self._poll.poll(WAIT_SECONDS * 1000):
            if self._on_wait is not None:
                self._on_wait(self._path)
                self._on_wait = None
            self._poll.poll()
        return self._file.readinto(buffer)

    def close(self) -> None:
        self._file.close()
        super().close()
