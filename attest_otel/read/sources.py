"""What the paths a person named stand for: files and pipes to read, in input order, with what cannot be read.

A directory stands for its *.json and *.jsonl files, by name; `-` for standard input. A file of log
records goes with the file of spans it belongs to.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace
from pathlib import Path

STANDARD_INPUT = Path("/dev/stdin")
_LOGS = ".logs.json"


@dataclass(frozen=True, slots=True)
class Source:
    """One file to read, with the log records beside it, or why it cannot be read; `size` is 0 where nobody knows it."""

    path: Path
    size: int = 0
    logs: Path | None = None
    error: str | None = None


def sources(paths: Iterable[str | Path]) -> list[Source]:
    """Return the files that paths stand for, in input order."""
    found: list[Source] = []
    for path in map(Path, paths):
        try:
            found.extend(_inside(path) if path.is_dir() else [_source(path)])
        except OSError as error:
            found.append(_unreadable(path, error))
    return _paired(found)


def _inside(folder: Path) -> list[Source]:
    inside = sorted(p for p in folder.iterdir() if p.suffix in {".json", ".jsonl"} and p.is_file())
    return list(map(_source, inside)) or [Source(folder, error=f"{folder}: holds no .json or .jsonl file")]


def _source(path: Path) -> Source:
    if path == Path("-") and not path.exists():
        path = STANDARD_INPUT
    try:
        return Source(path, path.stat().st_size)
    except OSError as error:
        return _unreadable(path, error)


def _unreadable(path: Path, error: OSError) -> Source:
    return Source(path, error=f"{path}: cannot be read: {error.strerror or error}")


def _paired(found: list[Source]) -> list[Source]:
    """Put a file of log records with the file of spans it belongs to."""
    readable = {source.path for source in found if source.error is None}
    logs_of = {path: path.with_name(path.name.removesuffix(".json") + _LOGS) for path in readable if _may_have_logs(path)}
    taken = {logs for logs in logs_of.values() if logs in readable}
    return [
        replace(source, logs=logs) if (logs := logs_of.get(source.path)) in taken and source.error is None else source
        for source in found
        if source.path not in taken
    ]


def _may_have_logs(path: Path) -> bool:
    return path.name.endswith(".json") and not path.name.endswith(_LOGS)
