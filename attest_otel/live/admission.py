"""What the hooks do when the worker can't keep up: whole traces are turned away, and each run counted once.

Below the first mark everything is taken. Between the marks, runs that began go on and new ones are
turned away. Above the second, whatever comes is turned away, and the runs it belonged to say so.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable
from typing import Any

from opentelemetry.sdk.trace import ReadableSpan

from attest_otel import attributes as names
from attest_otel.live.faults import Counter

FIRST_MARK = 32_768
SECOND_MARK = 65_536
MAX_TRACES = 10_000
CLOSED = -1
MEASURING = -2
FULL = -3

_MARKS = (names.OPERATION_NAME, "openinference.span.kind", "traceloop.span.kind", "ai.operationId", names.TOOL_NAME)


class Admission:
    """Remembers the traces that were turned away.

    `traces` says of each whether its run was counted; while it is empty, hooks needn't ask. `cut_short`
    are those of which a part was taken before. Every change is one step under the interpreter's lock.
    """

    def __init__(self, on_lost: Callable[[int], None]) -> None:
        self.dropped_runs = Counter()
        self.dropped_spans = Counter()
        self._on_lost = on_lost
        self.traces: dict[int, bool] = {}
        self.cut_short: dict[int, None] = {}

    def close(self) -> None:
        """Turn everything away from here on, uncounted."""
        self.traces[CLOSED] = True

    def open(self) -> None:
        """Take what comes again."""
        self.traces.pop(CLOSED, None)

    def measure(self, on: bool) -> None:
        """Have hooks ask about every span, since some are big; or no longer."""
        if on:
            self.traces[MEASURING] = True
        else:
            self.traces.pop(MEASURING, None)

    def fill(self, on: bool) -> None:
        """Turn runs away at their start, since no more can wait for their verdict; or no longer."""
        if on:
            self.traces[FULL] = True
        else:
            self.traces.pop(FULL, None)

    @property
    def measuring(self) -> bool:
        """Whether hooks measure what they take."""
        return MEASURING in self.traces

    @property
    def closed(self) -> bool:
        """Whether everything is turned away."""
        return CLOSED in self.traces

    def left_out(self, trace_id: int) -> bool:
        """Return whether a trace was turned away from its start on."""
        return trace_id in self.traces and trace_id not in self.cut_short

    def start(self, span: ReadableSpan, log: deque[Any]) -> bool:
        """Return whether a span that starts is taken."""
        context, parent = span.context, span.parent
        if context is None or self.closed:
            return False
        waiting, trace_id = len(log), context.trace_id
        if trace_id not in self.traces:
            is_root = parent is None or parent.is_remote
            mark = FIRST_MARK if FULL not in self.traces else 0
            if waiting < (mark if is_root else SECOND_MARK):
                return True
            self._turn_away(trace_id, is_root=is_root)
        self._count(trace_id, span)
        return False

    def end(self, span: ReadableSpan) -> bool:
        """Return whether a span that ended is taken."""
        context, parent = span.context, span.parent
        if context is None or self.closed:
            return False
        if context.trace_id not in self.traces:
            return True
        self._count(context.trace_id, span)
        if parent is None or parent.is_remote:
            self.traces.pop(context.trace_id, None)
        return False

    def _turn_away(self, trace_id: int, *, is_root: bool) -> None:
        self.traces[trace_id] = not is_root
        if not is_root:
            self.cut_short[trace_id] = None
            self._on_lost(trace_id)
        while len(self.cut_short) > MAX_TRACES:
            self.cut_short.pop(next(iter(self.cut_short.copy())), None)
        while len(self.traces) > MAX_TRACES:
            self.traces.pop(next(key for key in self.traces.copy() if key >= 0), None)

    def _count(self, trace_id: int, span: ReadableSpan) -> None:
        """Count the span, and its run the first time something in the trace shows that there is one."""
        self.dropped_spans.add()
        given = span.attributes or {}
        if self.traces.get(trace_id) is False and any(name in given for name in _MARKS):
            self.traces[trace_id] = True
            self.dropped_runs.add()
