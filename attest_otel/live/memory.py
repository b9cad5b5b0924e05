"""The memory of decided runs: bounded, so that late spans find their run.

Few runs are kept whole: what is alive costs the agent's threads time whenever garbage is collected.
"""

from __future__ import annotations

from collections import OrderedDict

from attest_otel.config import Limits
from attest_otel.live.runs import Node, Run

MAX_WHOLE_RUNS = 32
MAX_WHOLE_SPANS = 500
MAX_UNFINISHED_SPANS = 2_000


class DecidedRuns:
    """Runs whose report is out or on its way, oldest first.

    Runs that were decided with spans still open keep their spans longest, the last complete ones for a
    while, so that a late span can lead to a revision; both within an eighth of all bytes. Of older
    runs only the name is known, so that their late spans are told from runs of their own.
    """

    def __init__(self, limits: Limits, index: dict[int, Node]) -> None:
        self._limits = limits
        self._index = index
        self._runs: OrderedDict[int, Run | None] = OrderedDict()
        self._complete = _Pool(MAX_WHOLE_RUNS, MAX_WHOLE_SPANS, limits.max_total_bytes // 8)
        self._unfinished = _Pool(limits.max_decided_runs, MAX_UNFINISHED_SPANS, limits.max_total_bytes // 8)

    def __contains__(self, root_key: int) -> bool:
        return root_key in self._runs

    def get(self, root_key: int) -> Run | None:
        """Return a decided run that is held whole or on its way."""
        return self._runs.get(root_key)

    def add(self, run: Run) -> None:
        """Remember a run from when it is handed over."""
        self._runs[run.root_key] = run

    def keep(self, run: Run) -> list[Run]:
        """Keep a graded run whole; return the runs that must be let go for it."""
        if not run.nodes:
            return []
        self._complete.remove(run)
        self._unfinished.remove(run)
        pool = self._unfinished if run.open and not run.revision else self._complete
        pool.add(run)
        surplus = pool.surplus()
        while len(self._runs) > self._limits.max_decided_runs:
            _, oldest = self._runs.popitem(last=False)
            if oldest is not None:
                surplus.append(oldest)
        return surplus

    def release(self, run: Run) -> int:
        """Let go of a run's spans; return how many bytes that frees."""
        self._complete.remove(run)
        self._unfinished.remove(run)
        if run.root_key in self._runs:
            self._runs[run.root_key] = None
        for key, node in run.nodes.items():
            if self._index.get(key) is node:
                del self._index[key]
        freed, run.size, run.due = run.size, 0, None
        run.nodes, run.open = {}, {}
        return freed

    def whole(self) -> list[Run]:
        """Return the graded runs that are held whole."""
        return [*self._complete.runs.values(), *self._unfinished.runs.values()]


class _Pool:
    """Runs within three bounds, oldest first."""

    def __init__(self, max_runs: int, max_spans: int, max_bytes: int) -> None:
        self._max = (max_runs, max_spans, max_bytes)
        self._spans = self._bytes = 0
        self.runs: OrderedDict[int, Run] = OrderedDict()
        self._sizes: dict[int, tuple[int, int]] = {}

    def add(self, run: Run) -> None:
        self.runs[run.root_key] = run
        self._sizes[run.root_key] = spans, size = len(run.nodes), run.size
        self._spans += spans
        self._bytes += size

    def remove(self, run: Run) -> None:
        if self.runs.get(run.root_key) is run:
            del self.runs[run.root_key]
            spans, size = self._sizes.pop(run.root_key)
            self._spans -= spans
            self._bytes -= size

    def surplus(self) -> list[Run]:
        """Take out and return the oldest runs beyond the bounds."""
        found: list[Run] = []
        while len(self.runs) > self._max[0] or self._spans > self._max[1] or self._bytes > self._max[2]:
            run = next(iter(self.runs.values()))
            self.remove(run)
            found.append(run)
        return found
