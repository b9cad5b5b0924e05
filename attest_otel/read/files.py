"""Run files and trace files -> run records, streamed, with errors that name file, line and field."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path

from attest_otel.errors import RunFileError
from attest_otel.trajectory import Trajectory


@dataclass(frozen=True, slots=True)
class ReadResult:
    """One run that was read, or one thing that could not be: exactly one of `run` and `error` is set."""

    path: Path
    line: int | None
    run: Trajectory | None = None
    error: RunFileError | None = None


Progress = Callable[[int, int], None]


def read_runs(paths: Iterable[str | Path], on_progress: Progress | None = None) -> Iterator[ReadResult]:
    """Read runs from files and directories, in input order.

    Args:
        paths: run records (.json, .jsonl), OTLP JSON or Jaeger JSON, told apart by content; of a
            directory its *.json and *.jsonl files, by name.
        on_progress: called with bytes read so far and bytes in all.
    """
    raise NotImplementedError
