"""Reading a small text file that a person named: bounded, and once where it can be read only once.

A pipe, a process substitution say, is read to its end and remembered, since errors look up their line in
the text. A device is refused, and a pipe that nobody writes to is an error after a while.
"""

from __future__ import annotations

import errno
import os
import select
import stat
from collections import OrderedDict
from pathlib import Path

from attest_otel.errors import ConfigError

WAIT_SECONDS = 10.0
MAX_REMEMBERED = 8
_CHUNK_BYTES = 64 * 1024

_pipes: OrderedDict[Path, bytes] = OrderedDict()


def read_text(path: Path, max_bytes: int) -> str:
    """Return a file's text, UTF-8.

    Raises:
        ConfigError: it holds more than `max_bytes`.
        OSError: it can't be read, or is of a kind that can't be.
        UnicodeDecodeError: it is no UTF-8 text.
    """
    data = _read(path, max_bytes)
    if len(data) > max_bytes:
        size = f"has {path.stat().st_size} bytes" if path.is_file() else "is too long"
        raise ConfigError(f"{path}: {size}; at most {max_bytes} are read")
    return data.decode("utf-8")


def check_kind(handle: int) -> os.stat_result:
    """Return the status of an open file.

    Raises:
        OSError: it is no regular file, pipe or terminal, nor the empty device.
    """
    status = os.fstat(handle)
    mode = status.st_mode
    if stat.S_ISREG(mode) or stat.S_ISFIFO(mode) or os.isatty(handle):
        return status
    if stat.S_ISCHR(mode) and status.st_rdev == Path(os.devnull).stat().st_rdev:
        return status
    if stat.S_ISDIR(mode):
        raise OSError(errno.EISDIR, os.strerror(errno.EISDIR))
    raise OSError(errno.EINVAL, "it is a device; expected a file or a pipe")


def open_handle(path: Path) -> tuple[int, os.stat_result]:
    """Open a file for reading without waiting for a pipe's writer; return its descriptor and its status (OSError)."""
    handle = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)
    try:
        status = check_kind(handle)
        os.set_blocking(handle, True)
    except BaseException:
        os.close(handle)
        raise
    return handle, status


def _read(path: Path, max_bytes: int) -> bytes:
    if os.name != "posix":
        with path.open("rb") as file:
            return file.read(max_bytes + 1)
    handle, status = open_handle(path)
    with os.fdopen(handle, "rb") as file:
        return file.read(max_bytes + 1) if stat.S_ISREG(status.st_mode) else _read_once(path, handle, max_bytes)


def _read_once(path: Path, handle: int, max_bytes: int) -> bytes:
    """Read a pipe to its end; one that was read before and holds nothing is what it was."""
    known = _pipes.get(path)
    data = b""
    while len(data) <= max_bytes:
        if not select.select([handle], [], [], WAIT_SECONDS if known is None or data else 0)[0]:
            if known is not None and not data:
                return known
            raise OSError(errno.ETIMEDOUT, f"nothing was written to it for {WAIT_SECONDS:g} s")
        part = os.read(handle, _CHUNK_BYTES)
        if not part:
            break
        data += part
    if not data and known is not None:
        return known
    _pipes[path] = data
    while len(_pipes) > MAX_REMEMBERED:
        _pipes.popitem(last=False)
    return data
