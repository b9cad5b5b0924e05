"""Run files and trace files -> run records, streamed, with errors that name file, line and field.

What a file is is told by its content: one JSON document, or one a line. Spans of one trace may be
spread over the lines of a file, so spans are gathered up to a bound and split into runs at the end of
the file; where the bound is reached earlier, the runs gathered until then go out first. Log records
beside their spans (`x.logs.json` beside `x.json`, when both are given) are read together.
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

__all__ = ["MAX_DOCUMENT_BYTES", "MAX_LINE_BYTES", "ReadResult", "read_runs"]

MAX_LINE_BYTES = 64 * 1024 * 1024
MAX_DOCUMENT_BYTES = 256 * 1024 * 1024
_SKIPPED_BYTES = 1024 * 1024
_BOM = b"\xef\xbb\xbf"
_LOGS = ".logs.json"

Progress = Callable[[int, int], None]


def read_runs(paths: Iterable[str | Path], on_progress: Progress | None = None) -> Iterator[ReadResult]:
    """Read runs from files and directories, in input order; good runs beside bad ones are still delivered.

    Args:
        paths: run records (.json, .jsonl), OTLP JSON or Jaeger JSON, told apart by content; of a
            directory its *.json and *.jsonl files, by name.
        on_progress: called with bytes read so far and bytes in all.

    Yields:
        One result a run, and one for each thing that could not be read. Nothing is raised for bad
        input.
    """
    sources = _sources(paths)
    progress = _Progress(on_progress, sum(source.size for source in sources))
    for source in sources:
        if source.error is not None:
            yield ReadResult(source.path, None, error=RunFileError(source.error))
        else:
            yield from _read_source(source, progress)


@dataclass(frozen=True, slots=True)
class _Source:
    path: Path
    size: int = 0
    logs: Path | None = None
    error: str | None = None


class _Progress:
    def __init__(self, callback: Progress | None, total: int) -> None:
        self._callback = callback
        self._total = total
        self._done = 0

    def add(self, count: int) -> None:
        self._done += count
        if self._callback is not None:
            self._callback(self._done, max(self._total, self._done))


def _sources(paths: Iterable[str | Path]) -> list[_Source]:
    found: list[_Source] = []
    for path in map(Path, paths):
        if path.is_dir():
            inside = sorted(p for p in path.iterdir() if p.suffix in {".json", ".jsonl"} and p.is_file())
            found.extend(map(_source, inside))
            if not inside:
                found.append(_Source(path, error=f"{path}: holds no .json or .jsonl file"))
        else:
            found.append(_source(path))
    return _paired(found)


def _source(path: Path) -> _Source:
    try:
        return _Source(path, path.stat().st_size)
    except OSError as error:
        return _Source(path, error=f"{path}: cannot be read: {error.strerror or error}")


def _paired(sources: list[_Source]) -> list[_Source]:
    """Put a file of log records with the file of spans it belongs to."""
    by_path = {source.path: source for source in sources if source.error is None}
    taken: set[Path] = set()
    found: list[_Source] = []
    for source in sources:
        logs = source.path.with_name(source.path.name.removesuffix(".json") + _LOGS)
        if source.path.name.endswith(".json") and not source.path.name.endswith(_LOGS) and logs in by_path:
            taken.add(logs)
            source = _Source(source.path, source.size, logs, source.error)  # noqa: PLW2901
        found.append(source)
    return [source for source in found if source.path not in taken]


def _read_source(source: _Source, progress: _Progress) -> Iterator[ReadResult]:
    gathered = Gathered(source.path)
    files = [source.path] if source.logs is None else [source.logs, source.path]
    for path in files:
        try:
            with path.open("rb") as file:
                for chunk in _documents(_Lines(file, path, progress)):
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
    second = lines.next() if first.error is None else None
    if second is None:
        yield first
    elif lines.path.suffix == ".jsonl" or _is_whole(first.text) or _is_whole(second.text):
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
    """The lines of a file that hold something, bounded in length."""

    def __init__(self, file: BinaryIO, path: Path, progress: _Progress) -> None:
        self._file = file
        self.path = path
        self._progress = progress
        self._number = 0

    def next(self) -> _Chunk | None:
        """Return the next line that isn't blank; None at the end of the file."""
        while True:
            line = self._file.readline(MAX_LINE_BYTES + 1)
            if not line:
                return None
            self._number += 1
            self._progress.add(len(line))
            if len(line) > MAX_LINE_BYTES:
                self._skip_rest(line)
                return self._fault(f"the line is longer than {MAX_LINE_BYTES} bytes", self._number)
            chunk = self._decoded(line.removeprefix(_BOM) if self._number == 1 else line, self._number)
            if chunk.error is not None or chunk.text.strip():
                return chunk

    def everything(self) -> _Chunk:
        """Return the whole file, whatever was read of it before."""
        already = self._file.tell()
        self._file.seek(0)
        data = self._file.read(MAX_DOCUMENT_BYTES + 1)
        self._progress.add(max(0, len(data) - already))
        if len(data) > MAX_DOCUMENT_BYTES:
            return self._fault(f"the document is larger than {MAX_DOCUMENT_BYTES} bytes; write one run a line", None)
        return self._decoded(data.removeprefix(_BOM), 1)

    def _skip_rest(self, line: bytes) -> None:
        while line and not line.endswith(b"\n"):
            line = self._file.readline(_SKIPPED_BYTES)
            self._progress.add(len(line))

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
