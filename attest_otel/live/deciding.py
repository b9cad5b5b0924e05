"""When a run is handed over: complete, by a timer, or pushed out by a limit; fragments find their run here.

Only the worker's thread touches this; the time is an argument.
"""

from __future__ import annotations

from collections.abc import Iterable

from opentelemetry.sdk.trace import ReadableSpan

from attest_otel.config import Limits
from attest_otel.live.faults import Counts
from attest_otel.live.memory import DecidedRuns
from attest_otel.live.runs import Job, Node, Run, State
from attest_otel.read.span import SpanRecord, from_sdk


class Decider:
    """Holds the open runs, their timers, and the jobs that are ready."""

    def __init__(self, limits: Limits, index: dict[int, Node], counts: Counts) -> None:
        self._limits = limits
        self._index = index
        self._counts = counts
        self.memory = DecidedRuns(limits, index)
        self.open: dict[int, Run] = {}
        self.size = 0
        self._timed: dict[int, Run] = {}
        self._by_join: dict[str, Run] = {}
        self._fragments: dict[int, Run] = {}
        self._ready: list[Job] = []

    @property
    def has_runs(self) -> bool:
        """Whether a run is open that is more than a fragment."""
        return len(self.open) > len(self._fragments)

    def take_ready(self) -> list[Job]:
        """Return the runs to grade, once, in the order they were decided."""
        ready, self._ready = self._ready, []
        return ready

    def add(self, run: Run, now: float) -> None:
        """Hold a new run; the oldest leaves where there are too many."""
        self.open[run.root_key] = run
        if run.is_fragment:
            self._fragments[run.root_key] = run
        while len(self.open) > self._limits.max_open_runs:
            self._push_out(next(iter(self.open.values())), "max_open_runs", now)

    def note_joins(self, run: Run, joins: Iterable[str]) -> None:
        """Note the names under which fragments find this run."""
        for join in joins:
            run.joins.add(join)
            if not run.is_fragment:
                self._by_join[join] = run

    def root_ended(self, run: Run, now: float) -> None:
        """Hand over a run whose root has ended, when nothing of it is open; else set its timer."""
        if run.open or (run.is_fragment and run.joins) or self._open_fragments_of(run):
            run.state = State.ROOT_ENDED
            if run.due is None:
                run.due = now + self._limits.grace_seconds
                self._timed[run.root_key] = run
            if run.is_fragment and not run.open:
                self._decide_waiting(run, now)
        else:
            self.decide(run, now)

    def late(self, run: Run, now: float) -> None:
        """A span of a decided run ended: one revision, when all that was open has ended or at the end of the grace."""
        self._counts.add("late")
        if run.state is State.EVICTED or run.revision or not run.nodes:
            return
        if run.open:
            run.due = run.due if run.due is not None else now + self._limits.grace_seconds
            self._timed[run.root_key] = run
        else:
            self._revise(run)

    def tick(self, now: float) -> float | None:
        """Act on what is due; return when to come again, None for never."""
        for run in [run for run in self._timed.values() if run.due is None or run.due <= now]:
            self._act(run, now)
        while self.open and (run := next(iter(self.open.values()))).since + self._limits.max_run_seconds <= now:
            self._push_out(run, "max_run_seconds", now)
        times = [run.due for run in self._timed.values() if run.due is not None]
        times += [run.since + self._limits.max_run_seconds for run in self.open.values()][:1]
        return min(times, default=None)

    def decide(self, run: Run, now: float) -> None:
        """Hand over a run as it stands."""
        self.open.pop(run.root_key, None)
        self._timed.pop(run.root_key, None)
        self._fragments.pop(run.root_key, None)
        run.due = None
        if not run.is_run:
            self._let_go(run)
            return
        for fragment in self._fragments_of(run):
            self._absorb(run, fragment)
        run.state = State.QUEUED
        run.ended_at = run.ended_at if run.ended_at is not None else now
        self.memory.add(run)
        self._ready.append(_job(run))

    def decide_all(self, reason: str, now: float) -> None:
        """Hand over every open run, and every revision that waits."""
        for run in list(self.open.values()):
            if run.state is State.OPEN:
                run.miss(reason)
            if run.root_key in self.open:
                self.decide(run, now)
        for run in list(self._timed.values()):
            self._act(run, now)

    def done(self, run: Run, state: State) -> None:
        """A run that was handed over is graded, or dropped."""
        run.state = state
        for one in self.memory.keep(run) if state is State.EVALUATED else [run]:
            self._let_go(one)

    def grow(self, run: Run, size: int) -> None:
        """Count what a run holds."""
        run.size += size
        self.size += size

    def room(self, run: Run, now: float) -> tuple[int, str]:
        """Return how many bytes a run may still take, and which limit says so.

        Where all bytes are taken, graded runs are let go, then the biggest open run is pushed out; a
        run within its fair share isn't cut for what others took.
        """
        own = self._limits.max_run_bytes - run.size
        if self.size > self._limits.max_total_bytes:
            for one in self.memory.whole():
                self._let_go(one)
        if self.size > self._limits.max_total_bytes:
            biggest = max(self.open.values(), key=lambda one: one.size, default=run)
            if biggest is not run and biggest.size > run.size:
                self._push_out(biggest, "max_total_bytes", now)
        fair = self._limits.max_total_bytes // (2 * max(len(self.open), 1))
        left = max(self._limits.max_total_bytes - self.size, fair - run.size)
        return (own, "max_run_bytes") if own <= left else (left, "max_total_bytes")

    def _push_out(self, run: Run, reason: str, now: float) -> None:
        run.miss(reason)
        self._counts.add(reason)
        self.decide(run, now)

    def _act(self, run: Run, now: float) -> None:
        if self._timed.get(run.root_key) is not run:
            return
        if run.decided:
            self._revise(run)
        elif run.is_fragment and not run.open and self._waits_for_run(run):
            run.due = now + self._limits.grace_seconds
        else:
            self.decide(run, now)

    def _revise(self, run: Run) -> None:
        self._timed.pop(run.root_key, None)
        run.due = None
        if run.nodes and not run.revision and run.state is not State.EVICTED:
            run.revision = 1
            self._counts.add("revised")
            self._ready.append(_job(run))

    def _waits_for_run(self, fragment: Run) -> bool:
        return any(join in self._by_join and not self._by_join[join].decided for join in fragment.joins)

    def _fragments_of(self, run: Run) -> list[Run]:
        if not run.joins:
            return []
        fragments = [one for one in self._fragments.values() if one.is_fragment and one is not run]
        return [one for one in fragments if not one.joins.isdisjoint(run.joins)]

    def _open_fragments_of(self, run: Run) -> bool:
        """Return whether a fragment that names this run has spans open."""
        return not run.is_fragment and any(one.open for one in self._fragments_of(run))

    def _decide_waiting(self, fragment: Run, now: float) -> None:
        """Hand over the run that waited for this fragment alone."""
        for join in sorted(fragment.joins):
            run = self._by_join.get(join)
            if run is not None and run.state is State.ROOT_ENDED and not run.open and not self._open_fragments_of(run):
                self.decide(run, now)
                return

    def _absorb(self, run: Run, fragment: Run) -> None:
        self.open.pop(fragment.root_key, None)
        self._timed.pop(fragment.root_key, None)
        self._fragments.pop(fragment.root_key, None)
        for key, node in fragment.nodes.items():
            node.run = run
            run.nodes[key] = node
        run.open.update(fragment.open)
        for reason in fragment.gaps:
            run.miss(reason)
        run.size += fragment.size
        run.works += fragment.works
        fragment.nodes, fragment.open, fragment.size = {}, {}, 0

    def _let_go(self, run: Run) -> None:
        self.size -= self.memory.release(run)
        self._timed.pop(run.root_key, None)
        for join in run.joins:
            if self._by_join.get(join) is run:
                del self._by_join[join]


def _job(run: Run) -> Job:
    records = [record for node in run.nodes.values() for record in node.records]
    spans: list[ReadableSpan] = [span for node in run.nodes.values() for span in node.kept]
    return Job(run, (*records, *_open_above(run)), tuple(spans), tuple(run.incomplete()), run.revision, run.ended_at, run.size)


def _open_above(run: Run) -> list[SpanRecord]:
    """Return records of the open spans that the run's shape needs: its root, and what ended spans are below of."""
    needed: dict[int, Node] = {}
    waiting = [node for node in run.nodes.values() if node.records or node.key == run.root_key]
    while waiting:
        node = waiting.pop()
        if node.live is not None:
            needed[node.key] = node
        if node.parent is not None and node.parent.live is not None and node.parent.key not in needed:
            waiting.append(node.parent)
    return [from_sdk(node.live, node.content) for node in needed.values() if node.live is not None]
