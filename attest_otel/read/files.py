"""Run files and trace files -> run records, streamed, with errors that name file, line and field.

What a file is is told by its content: one JSON document, or one a line. Spans of one trace may be
spread over the lines of a file, so spans are gathered up to a bound and split into runs at the end of
the file; where the bound is reached earlier, the runs gathered until then go out first. Log records
beside their spans (`x.logs.json` beside `x.json`, when both are given) are read together. Whatever a
path names, reading it ends: sizes are bounded, and a file that grows is read as it was when it was opened.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import BinaryIO

from attest_otel.errors import RunFileError
from attest_otel.read.documents import EXPECTED, parse_document
from attest_otel.read.gathering import Gathered, ReadResult
from attest_otel.read.opening import open_input
from attest_otel.read.sources import Source, sources

__all__ = ["MAX_DOCUMENT_BYTES", "MAX_LINE_BYTES", "ReadResult", "read_runs"]

MAX_LINE_BYTES = 64 * 1024 * 1024
MAX_DOCUMENT_BYTES = 256 * 1024 * 1024
MAX_SKIPPED_BYTES = 1024 * 1024 * 1024
_SKIPPED_BYTES = 1024 * 1024
_BOM = b"\xef\xbb\xbf"

Progress = Callable[[int, int], None]


def read_runs(
    paths: Iterable[str | Path], on_progress: Progress | None = None, on_wait: Callable[[Path], None] | None = None
) -> Iterator[ReadResult]:
    """Read runs from files, pipes and directories, in input order; good runs beside bad ones are still delivered.

    Args:
        paths: run records (.json, .jsonl), OTLP JSON or Jaeger JSON, told apart by content; of a
            directory its *.json and *.jsonl files, by name; `-` is standard input.
        on_progress: called with bytes read so far and bytes in all.
        on_wait: called once with the path of a pipe or a terminal from which nothing comes.

    Yields:
        One result a run, and one for each thing that could not be read. Nothing is raised for bad
        input.
    """
    found = sources(paths)
    progress = _Progress(on_progress, sum(source.size for source in found))
    for source in found:
        if source.error is not None:
            yield ReadResult(source.path, None, error=RunFileError(source.error))
        else:
            yield from _read_source(source, progress, on_wait)


class _Progress:
    def __init__(self, callback: Progress | None, total: int) -> None:
        self._callback = callback
        self._total = total
        self._done = 0

    def add(self, count: int) -> None:
        self._done += count
        if self._callback is not None:
            self._callback(self._done, max(self._total, self._done))


def _read_source(source: Source, progress: _Progress, on_wait: Callable[[Path], None] | None) -> Iterator[ReadResult]:
    gathered = Gathered(source.path)
    files = [source.path] if source.logs is None else [source.logs, source.path]
    for path in files:
        try:
            opened, size = open_input(path, on_wait)
            with opened as file:
                for chunk in _documents(_Lines(file, path, progress, size)):
                    if chunk.error is not None:
                        gathered.fail(chunk.line, chunk.error)
                    else:
                        read = partial(parse_document, chunk.text, str(path), first_line=chunk.line or 1, one_line=chunk.one_line)
                        gathered.add(chunk.line, read)
                    yield from gathered.ready()
        except OSError as error:
            gathered.fail(None, f"{path}: cannot be read: {error.strerror or error}")
    yield from gathered.finish()


@dataclass(frozen=True, slots=True)
class _Chunk:
    """One document's text, or why it cannot be read."""

    text: str
    line: int | None
    one_line: bool = False
    error: str | None = None


def _documents(lines: _Lines) -> Iterator[_Chunk]:
    """Cut a file into documents: lines where each line is one, else the whole."""
    first = lines.next()
    if first is None:
        yield _Chunk("", None, error=f"{lines.path}: is empty; expected {EXPECTED}")
        return
    of_lines = lines.path.suffix == ".jsonl"
    second = lines.next() if first.error is None or of_lines else None
    if second is None:
        yield first
    elif of_lines or _is_whole(first.text) or _is_whole(second.text):
        lines.forget()
        yield replace(first, one_line=True)
        following: _Chunk | None = second
        while following is not None:
            yield replace(following, one_line=True)
            following = lines.next()
    else:
        yield lines.everything()


def _is_whole(line: str) -> bool:
    """Return whether a line looks like a whole document: an object or a list from end to end."""
    text = line.strip()
    return len(text) > 1 and (text[0], text[-1]) in {("{", "}"), ("[", "]")} and text[1:].lstrip()[:1] in '"}{]['


class _Lines:
    """The lines of a file that hold something, bounded in length; `size` is where the file ended when it was opened.

    What was read is kept until it is clear that lines are documents: a pipe can't be read again.
    """

    def __init__(self, file: BinaryIO, path: Path, progress: _Progress, size: int | None = None) -> None:
        self._file = file
        self.path = path
        self._progress = progress
        self._number = 0
        self._left = size
        self._kept: list[bytes] | None = []
        self._kept_bytes = 0
        self._inside_line = False

    def next(self) -> _Chunk | None:
        """Return the next line that isn't blank; None at the end of the file."""
        if self._inside_line and not self._skip_rest():
            self._left = 0
            return self._fault(f"the line is longer than {MAX_SKIPPED_BYTES} bytes; what follows it is not read", self._number)
        while self._left is None or self._left > 0:
            line = self._take(self._file.readline(MAX_LINE_BYTES + 1))
            if not line:
                return None
            self._number += 1
            if len(line) > MAX_LINE_BYTES:
                self._inside_line = not line.endswith(b"\n")
                return self._fault(f"the line is longer than {MAX_LINE_BYTES} bytes", self._number)
            chunk = self._decoded(line.removeprefix(_BOM) if self._number == 1 else line, self._number)
            if chunk.error is not None or chunk.text.strip():
                return chunk
        return None

    def forget(self) -> None:
        """Keep nothing of what was read: lines are documents."""
        self._kept = None

    def everything(self) -> _Chunk:
        """Return the whole file, whatever was read of it before."""
        already = b"".join(self._kept or ())
        data = already + self._take(self._file.read(max(MAX_DOCUMENT_BYTES + 1 - len(already), 0)))
        if self._kept_bytes > MAX_DOCUMENT_BYTES:
            return self._fault(f"the document is larger than {MAX_DOCUMENT_BYTES} bytes; write one run a line", None)
        return self._decoded(data.removeprefix(_BOM), 1)

    def _take(self, data: bytes) -> bytes:
        self._progress.add(len(data))
        if self._left is not None:
            self._left -= len(data)
        if self._kept is not None:
            self._kept_bytes += len(data)
            if self._kept_bytes <= MAX_DOCUMENT_BYTES:
                self._kept.append(data)
        return data

    def _skip_rest(self) -> bool:
        """Skip what is left of a line; return whether it ends within the bound."""
        self._inside_line = False
        skipped = 0
        while skipped <= MAX_SKIPPED_BYTES:
            part = self._take(self._file.readline(_SKIPPED_BYTES))
            if not part or part.endswith(b"\n"):
                return True
            skipped += len(part)
        return False

    def _decoded(self, data: bytes, number: int) -> _Chunk:
        if b"\x00" in data:
            return self._fault(f"is binary, not JSON text; expected {EXPECTED}", number)
        try:
            return _Chunk(data.decode("utf-8").rstrip("\r\n"), number)
        except UnicodeDecodeError as error:
            return self._fault(f"is not UTF-8 text (byte {error.start})", number + data.count(b"\n", 0, error.start))

    def _fault(self, message: str, number: int | None) -> _Chunk:
        place = self.path if number is None else f"{self.path}:{number}"
        return _Chunk("", number, error=f"{place}: {message}")
