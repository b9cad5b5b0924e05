"""Which spans make one run: spans of any number of traces -> runs."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from attest_otel.read.span import SpanRecord


@dataclass(frozen=True, slots=True)
class RunSpans:
    """The spans of one run in their fixed order; `root` stands for the run, `orphan` says that nothing does."""

    root: SpanRecord | None
    spans: tuple[SpanRecord, ...]
    orphan: bool = False


def split_runs(spans: Iterable[SpanRecord]) -> list[RunSpans]:
    """Group spans into runs, in the order of their starts; the same for every order of arrival."""
    raise NotImplementedError
