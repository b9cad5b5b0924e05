"""The memory of decided runs: bounded, so that late spans find their run and waiters its report."""

from __future__ import annotations

from collections import OrderedDict

from attest_otel.config import Limits
from attest_otel.live.runs import Node, Run

MAX_RETAINED_SPANS = 2_000


class DecidedRuns:
    """Runs whose report is out or on its way, oldest first.

    The youngest keep their spans, within a number of spans and an eighth of all bytes, so that a late
    span can lead to a revision; older ones keep their report; the oldest are forgotten.
    """

    def __init__(self, limits: Limits, index: dict[int, Node]) -> None:
        self._limits = limits
        self._index = index
        self._runs: OrderedDict[int, Run] = OrderedDict()
        self._retained: OrderedDict[int, Run] = OrderedDict()
        self._spans = 0
        self._bytes = 0

    def __contains__(self, root_key: int) -> bool:
        return root_key in self._runs

    def get(self, root_key: int) -> Run | None:
        """Return a decided run that is remembered."""
        return self._runs.get(root_key)

    def add(self, run: Run) -> None:
        """Remember a run from when it is handed over."""
        self._runs[run.root_key] = run

    def keep(self, run: Run) -> int:
        """Keep a graded run's spans for late ones to join; return how many bytes were let go to make room."""
        if not run.nodes:
            return 0
        if run.root_key not in self._retained:
            self._retained[run.root_key] = run
            self._spans += len(run.nodes)
            self._bytes += run.size
        freed = 0
        while self._retained and (self._spans > MAX_RETAINED_SPANS or self._bytes > self._limits.max_total_bytes // 8):
            freed += self.release(next(iter(self._retained.values())))
        while len(self._runs) > self._limits.max_decided_runs:
            _, oldest = self._runs.popitem(last=False)
            freed += self.release(oldest)
        return freed

    def release(self, run: Run) -> int:
        """Let go of a run's spans; return how many bytes that frees."""
        if self._retained.pop(run.root_key, None) is not None:
            self._spans -= len(run.nodes)
            self._bytes -= run.size
        for key, node in run.nodes.items():
            if self._index.get(key) is node:
                del self._index[key]
        freed, run.size, run.due = run.size, 0, None
        run.nodes, run.open = {}, {}
        return freed

    def release_all(self) -> int:
        """Let go of the spans of every decided run that is graded."""
        return sum(self.release(run) for run in list(self._retained.values()))
