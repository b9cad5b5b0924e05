"""The tree that the spans of a run make: parents, paths of agents, what lies under what.

Total on cycles, missing parents and duplicate ids; the order is fixed by start and id alone.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from attest_otel.read.span import SpanRecord

MAX_PATH = 256
Key = tuple[str, str]


def ordered(spans: Iterable[SpanRecord]) -> list[SpanRecord]:
    """Return each span once, in its fixed order; of two with one id the one that says more stands."""
    best: dict[Key, SpanRecord] = {}
    for span in spans:
        key = (span.trace_id, span.span_id)
        known = best.get(key)
        if known is None or (known is not span and _weight(span) > _weight(known)):
            best[key] = span
    return sorted(best.values(), key=_order)


class Tree:
    """Parents of spans, by trace and span id."""

    def __init__(self, spans: Sequence[SpanRecord]) -> None:
        self._spans = {(span.trace_id, span.span_id): span for span in spans}
        self._roots: dict[Key, SpanRecord] = {}

    def parent(self, span: SpanRecord) -> SpanRecord | None:
        """Return the span's parent, where it is among these spans."""
        if span.parent_id is None or span.parent_id == span.span_id:
            return None
        return self._spans.get((span.trace_id, span.parent_id))

    def ancestors(self, span: SpanRecord) -> list[SpanRecord]:
        """Return the spans above this one, nearest first; a cycle is walked once."""
        found: list[SpanRecord] = []
        seen = {span.span_id}
        above = self.parent(span)
        while above is not None and above.span_id not in seen and len(found) < MAX_PATH:
            found.append(above)
            seen.add(above.span_id)
            above = self.parent(above)
        return found

    def root(self, span: SpanRecord) -> SpanRecord:
        """Return the top of the tree this span is in; in a cycle the span that is first in order."""
        path: list[SpanRecord] = []
        seen: set[Key] = set()
        top = span
        while True:
            key = (top.trace_id, top.span_id)
            known = self._roots.get(key)
            if known is not None:
                top = known
                break
            if key in seen:
                top = min(path[_index(path, key) :], key=_order)
                break
            seen.add(key)
            path.append(top)
            above = self.parent(top)
            if above is None:
                break
            top = above
        for walked in path:
            self._roots[walked.trace_id, walked.span_id] = top
        return top


def overlap(a: SpanRecord, b: SpanRecord) -> bool:
    """Return whether the times of two spans meet; an open one meets everything."""
    if a.end_ns is None or b.end_ns is None:
        return True
    return a.start_ns <= b.end_ns and b.start_ns <= a.end_ns


def _index(path: list[SpanRecord], key: Key) -> int:
    return next(i for i, span in enumerate(path) if (span.trace_id, span.span_id) == key)


def _order(span: SpanRecord) -> tuple[int, str, str]:
    return (span.start_ns, span.span_id, span.trace_id)


def _weight(span: SpanRecord) -> tuple[bool, int, int, str]:
    return (
        span.end_ns is not None,
        len(span.attributes) + len(span.events),
        span.end_ns or 0,
        repr(sorted(span.attributes, key=str)),
    )
