"""The file of a recording: JSON Lines, one question a line, added to as answers come and put in order now and then.

A line is `kind`, `prompt_version`, `key` (what was asked, without the random boundary), and `value`, or
`skipped` and `limit` where there was no answer. Where a question stands more than once the last answer
counts; the lack of one never replaces an answer.

What is new is written at the end in one piece, so a process that dies loses nothing that was there, and
several processes may record into one file: each locks it while it writes. `tidy` sorts what all of them
wrote, one line a question, so that the same answers are the same bytes; the file is replaced whole, so a
reader never sees half of it. It holds quotes of runs, so only its owner may read it.
"""

from __future__ import annotations

import json
import os
import sys
import tempfile
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from attest_otel.errors import ConfigError
from attest_otel.formats import strict_json

if sys.platform != "win32":
    import fcntl

MAX_FILE_BYTES = 64_000_000
OWNER_ONLY = 0o600
LOCK_TRIES = 200
LOCK_PAUSE_SECONDS = 0.05

Name = tuple[str, str, str]
Line = dict[str, Any]


def read_recording(path: Path) -> dict[Name, Line]:
    """Return what a recording holds.

    Raises:
        ConfigError: names the file and the line.
    """
    try:
        if not path.is_file():
            raise ConfigError(f"{path}: expected a file, the recording of a grading model")
        if path.stat().st_size > MAX_FILE_BYTES:
            raise ConfigError(f"{path}: a recording may have {MAX_FILE_BYTES} bytes, this has {path.stat().st_size}")
        texts = path.read_text(encoding="utf-8").split("\n")
    except (OSError, UnicodeDecodeError) as error:
        raise ConfigError(f"{path}: the recording of the grading model can't be read: {_why(error)}") from None
    lines: dict[Name, Line] = {}
    for number, text in enumerate(texts, 1):
        if text.strip():
            name, line = _parsed(text, f"{path}:{number}")
            if not is_lack(line) or is_lack(lines.get(name)):
                lines[name] = line
    return lines


def add_lines(path: Path, lines: Mapping[Name, Line]) -> tuple[int, int]:
    """Write lines at the end of a recording; return its size before and after, in bytes.

    Raises:
        ConfigError: they can't be written; the file is as it was.
    """
    data = _bytes(lines)
    with _told(path), _locked(path) as handle:
        before = os.fstat(handle).st_size
        if before and os.pread(handle, 1, before - 1) != b"\n":
            data = b"\n" + data
        if before + len(data) > MAX_FILE_BYTES:
            raise ConfigError(f"{path}: the recording is full: it may have {MAX_FILE_BYTES} bytes")
        os.fchmod(handle, OWNER_ONLY)
        if os.write(handle, data) != len(data):
            os.ftruncate(handle, before)
            raise ConfigError(f"{path}: the recording of the grading model can't be written: no space is left for it")
        return before, before + len(data)


def tidy(path: Path) -> int:
    """Put a recording in order, one line a question, unless it is; return its size in bytes.

    Raises:
        ConfigError: it can't be read or written; the file is as it was.
    """
    with _told(path), _locked(path) as handle:
        data = _bytes(read_recording(path))
        if os.fstat(handle).st_size != len(data) or path.read_bytes() != data:
            _replace(path, data)
        return len(data)


def is_lack(line: Line | None) -> bool:
    """Return whether a line, or that there is none, is no answer."""
    return line is None or line.get("value") is None


def _bytes(lines: Mapping[Name, Line]) -> bytes:
    return "".join(f"{_text(name, lines[name])}\n" for name in sorted(lines)).encode("ascii")


def _replace(path: Path, data: bytes) -> None:
    handle, temporary = tempfile.mkstemp(prefix=f".{path.name}.", dir=path.parent)
    try:
        with os.fdopen(handle, "wb") as file:
            file.write(data)
        Path(temporary).replace(path)
    except BaseException:
        Path(temporary).unlink(missing_ok=True)
        raise


@contextmanager
def _told(path: Path) -> Iterator[None]:
    try:
        yield
    except OSError as error:
        raise ConfigError(f"{path}: the recording of the grading model can't be written: {_why(error)}") from None


@contextmanager
def _locked(path: Path) -> Iterator[int]:
    """Lend the file, made where there is none, for writing at its end; nobody else who locks it writes meanwhile."""
    handle = _opened(path)
    try:
        yield handle
    finally:
        _unlock(handle)
        os.close(handle)


def _opened(path: Path) -> int:
    for _ in range(LOCK_TRIES):
        handle = os.open(path, os.O_RDWR | os.O_APPEND | os.O_CREAT, OWNER_ONLY)
        if _lock(handle) and _is_at(handle, path):
            return handle
        os.close(handle)
        time.sleep(LOCK_PAUSE_SECONDS)
    raise ConfigError(f"{path}: the recording is locked by another process")


def _lock(handle: int) -> bool:
    if sys.platform == "win32":
        return True
    try:
        fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    return True


def _unlock(handle: int) -> None:
    """Give the lock up here: a child that was forked meanwhile has the same open file, and would keep it."""
    if sys.platform != "win32":
        fcntl.flock(handle, fcntl.LOCK_UN)


def _is_at(handle: int, path: Path) -> bool:
    """Return whether the file that was locked is still the one at the path: another process may have replaced it."""
    try:
        return os.path.samestat(os.fstat(handle), path.stat())
    except FileNotFoundError:
        return False


def _text(name: Name, line: Line) -> str:
    kind, version, key = name
    return json.dumps({"kind": kind, "prompt_version": version, "key": key, **line}, separators=(", ", ": "))


def _parsed(text: str, where: str) -> tuple[Name, Line]:
    parsed = strict_json.parse(text)
    if parsed.problem is not None or not isinstance(parsed.value, dict):
        raise ConfigError(
            f"{where}: expected one JSON object, the record of one question: {parsed.reason or 'it is something else'}"
        )
    data: dict[str, Any] = json.loads(text)
    for field in ("kind", "prompt_version", "key"):
        if not isinstance(data.get(field), str):
            raise ConfigError(f"{where}: {field}: expected text")
    if not isinstance(data.get("value"), dict) and not (
        isinstance(data.get("skipped"), str) and isinstance(data.get("limit"), str)
    ):
        raise ConfigError(f"{where}: expected value, the answer as an object, or skipped and limit, both text")
    return (data["kind"], data["prompt_version"], data["key"]), {
        name: data[name] for name in ("value", "skipped", "limit") if name in data
    }


def _why(error: Exception) -> str:
    return error.strerror or type(error).__name__ if isinstance(error, OSError) else "it is no UTF-8 text"
