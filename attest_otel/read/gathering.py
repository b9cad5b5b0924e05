"""The runs of one file, gathered in input order: run records at once, spans when their run can be whole."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

from attest_otel.errors import RunFileError
from attest_otel.read.build import build_trajectory
from attest_otel.read.documents import Document
from attest_otel.read.otlp import spans_of_events, with_events
from attest_otel.read.runs import split_runs
from attest_otel.read.span import SpanEvent, SpanRecord
from attest_otel.trajectory import Trajectory

MAX_GATHERED_SPANS = 200_000
MAX_GATHERED_ITEMS = 10_000


@dataclass(frozen=True, slots=True)
class ReadResult:
    """One run that was read, or one thing that could not be: exactly one of `run` and `error` is set.

    `line` is where the run, or its first span, stands in the file.
    """

    path: Path
    line: int | None
    run: Trajectory | None = None
    error: RunFileError | None = None


class Gathered:
    """What was read of one file and not delivered yet."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._items: list[ReadResult] = []
        self._spans: list[SpanRecord] = []
        self._lines: dict[tuple[str, str], int] = {}
        self._events: dict[tuple[str, str], list[SpanEvent]] = defaultdict(list)
        self._seen_spans = 0
        self._delivered = 0

    def add(self, line: int | None, parse: Callable[[], Document]) -> None:
        """Read one document of the file; a failure becomes a result."""
        try:
            document = parse()
        except RunFileError as error:
            self._items.append(ReadResult(self._path, line, error=error))
            return
        if document.run is not None:
            self._items.append(ReadResult(self._path, line, run=document.run))
        for span in document.spans:
            self._lines.setdefault((span.trace_id, span.span_id), line or 1)
        self._spans.extend(document.spans)
        self._seen_spans += len(document.spans)
        for key, events in document.events.items():
            self._events[key].extend(events)
        self._items.extend(ReadResult(self._path, line, error=RunFileError(remark)) for remark in document.remarks)

    def fail(self, line: int | None, message: str) -> None:
        """Note that something could not be read."""
        self._items.append(ReadResult(self._path, line, error=RunFileError(message)))

    def ready(self) -> Iterator[ReadResult]:
        """Yield what need not wait any longer."""
        if not self._spans and not self._events:
            yield from self._take()
        elif len(self._spans) >= MAX_GATHERED_SPANS or len(self._items) >= MAX_GATHERED_ITEMS:
            yield from self._settle()

    def finish(self) -> Iterator[ReadResult]:
        """Yield everything that is left; a file that held nothing to grade says so."""
        yield from self._settle()
        if not self._delivered:
            what = (
                f"{self._seen_spans} spans, no model or tool call among them" if self._seen_spans else "no span and no run record"
            )
            yield ReadResult(self._path, None, error=RunFileError(f"{self._path}: holds no run: {what}"))

    def _settle(self) -> Iterator[ReadResult]:
        known = {(span.trace_id, span.span_id) for span in self._spans}
        spans = with_events(self._spans, self._events)
        spans += spans_of_events({key: events for key, events in self._events.items() if key not in known})
        for found in split_runs(spans):
            line = min(self._lines.get((s.trace_id, s.span_id), 1) for s in found.spans)
            self._items.append(ReadResult(self._path, line, run=build_trajectory(found.root, found.spans)))
        self._items.sort(key=lambda item: item.line or 0)
        self._spans, self._lines = [], {}
        self._events = defaultdict(list)
        yield from self._take()

    def _take(self) -> Iterator[ReadResult]:
        items, self._items = self._items, []
        self._delivered += len(items)
        yield from items
