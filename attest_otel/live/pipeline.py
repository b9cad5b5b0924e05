"""The parts of one processor in one process, put together: worker, buffer, lane, grader, model, waiters."""

from __future__ import annotations

import threading
import time
from collections import deque
from collections.abc import Callable, Iterable, Sequence
from functools import partial

from attest_otel.export.evaluated import Sink
from attest_otel.findings import CheckResult
from attest_otel.grader import Attest
from attest_otel.live.admission import Admission
from attest_otel.live.big_values import MEASURE_SECONDS, BigValues
from attest_otel.live.buffer import Buffer
from attest_otel.live.faults import Counts, FaultLog
from attest_otel.live.grading import Graded, Grader, ModelChecks
from attest_otel.live.health import DROP_REASONS, Health
from attest_otel.live.judging import model_checks_of, names_unchecked
from attest_otel.live.lane import Lane, Work
from attest_otel.live.models import model_loop
from attest_otel.live.runs import Job, State
from attest_otel.live.waiting import ReportWaiter, Waiters
from attest_otel.live.worker import Worker
from attest_otel.quiet import QUIET_TRACE
from attest_otel.report import Report

MAX_ANSWERS = 16
LAST_STEP_SECONDS = 0.05
UNGRADED = "the process shut down before the run was graded"
STOPPED = "the pipeline was shut down"


class Pipeline:
    """From the log of spans to the sinks. Made anew in a fork's child; what is here is never shared with one."""

    def __init__(
        self,
        attest: Attest,
        sinks: Iterable[Sink],
        faults: FaultLog,
        model_checks: ModelChecks | None = None,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._limits = attest.config.limits
        self._faults = faults
        self._clock = clock
        self.buffer = Buffer(attest.config, QUIET_TRACE)
        self.big = BigValues(self._limits.max_value_bytes, self._limits.max_total_bytes // 4)
        self.on_small: Callable[[], None] | None = None
        self.on_full: Callable[[bool], None] | None = None
        self._full = False
        self.worker = Worker(self.buffer, self._on_round, faults, clock)
        self._lane = Lane("attest-checks", faults, clock)
        self._waiters = Waiters()
        self._counts = Counts("started", "evaluated", "unsampled")
        self._dropped = Counts(*DROP_REASONS)
        self._jobs: dict[int, Job] = {}
        self._stopped = self._giving_up = False
        self._answers: deque[tuple[int, Report | str]] = deque(maxlen=MAX_ANSWERS)
        self._last_success: float | None = None
        self._began = self._waiting_since = clock()
        self._model = model_loop(
            model_checks_of(attest, model_checks),
            names_unchecked(attest, model_checks),
            self._limits,
            self._model_answered,
            faults,
        )
        self._grader = Grader(
            attest,
            sinks,
            on_graded=self._on_graded,
            on_fault=self._sink_failed,
            model=self._model,
            clock=clock,
        )

    def waiter(self, key: int) -> ReportWaiter | None:
        """Return a claim on the report of the run that a span is the root of, or None when it isn't held.

        While much waits to be taken in nobody looks for the span here: the worker refuses the claim when it gets there.
        """
        known = self.buffer.knows(key) or self.worker.may_hold(key) or self.buffer.knows(key)  # taken in between the two
        if not known:
            return None
        waiter = self._waiters.add(key)
        if self._stopped:
            waiter.refuse(STOPPED)
        self.worker.call(partial(self._answer_known, key))
        return waiter

    def health(self, admission: Admission) -> Health:
        """Return how the pipeline is."""
        now = self._clock()
        counts, dropped = self._counts.read(), self._dropped.read()
        overload = admission.dropped_runs.value
        idle = self._last_success is None and counts["started"] == 0
        age = None if idle else max(now - (self._last_success or self._began), 0.0)
        waiting = self._lane.pending
        limit = self._limits.evaluation_deadline_seconds
        return Health(
            open_runs=len(self.buffer.runs.open),
            queue_size=waiting,
            bytes=self.buffer.runs.size,
            started=counts["started"] + overload,
            evaluated=counts["evaluated"],
            unsampled=counts["unsampled"],
            dropped={**dropped, "overload": dropped["overload"] + overload},
            faults=self._faults.counts.read(),
            late_spans=self.buffer.counts.read()["late"],
            worker_alive=self.worker.alive,
            last_success_age_seconds=age,
            stuck=waiting > 0 and now - max(self._last_success or self._began, self._waiting_since) > limit,
            stuck_steps=self._lane.stuck,
        )

    def flush(self, timeout: float) -> bool:
        """Wait for the findings of what is complete, then for the sinks, `timeout` seconds in all."""
        if self._lane.is_current:
            return False  # a sink that flushes is itself what would be waited for
        ends = self._clock() + timeout
        done = threading.Event()
        truth: list[bool] = []

        def finished(flushed: bool) -> None:
            truth.append(flushed)
            done.set()

        work = self._grader.flush_sinks(lambda: max(int((ends - self._clock()) * 1000), 0), finished)
        self.worker.call(lambda _now: self._lane_after_ready(work))
        return done.wait(max(timeout, 0.0)) and truth[0]

    def drain(self, timeout: float | None) -> bool:
        """Wait until everything complete is graded, the model's findings included."""
        ends = None if timeout is None else self._clock() + timeout
        while True:
            left = 3600.0 if ends is None else max(ends - self._clock(), 0.0)
            if not self.flush(left):
                return False
            if self._model is None or not self._model.pending:
                return self._lane.pending == 0 or self.flush(left)
            if ends is not None and self._clock() >= ends:
                return False
            time.sleep(0.005)

    def stop(self, timeout: float) -> None:
        """Grade what is open, wait for it, report the rest unchecked, and stop; returns within `timeout` seconds."""
        try:
            self._stop(timeout)
        finally:
            self._stopped = True
            self._waiters.refuse_all(STOPPED)

    def _stop(self, timeout: float) -> None:
        ends = self._clock() + timeout
        handed = threading.Event()

        def hand_over(now: float) -> None:
            self.buffer.runs.decide_all("shutdown", now)
            self._submit_ready(now)
            handed.set()

        if self.worker.alive or self.worker.log:
            self.worker.call(hand_over)
            handed.wait(max(timeout, 0.0) * 0.4)
            self._wait_for_lane(ends - timeout * 0.2)
            self._close_model(ends - timeout * 0.2)
            self._give_up(ends)
        self._lane.close()
        self._lane.halt(min(max(ends - self._clock(), 0.0), LAST_STEP_SECONDS))
        self.worker.stop(max(ends - self._clock(), 0.0))
        self._count_left()

    def _on_round(self, now: float) -> float | None:
        self._submit_ready(now)
        self._tell_full()
        if self.on_small is not None and self.buffer.last_big is not None and now - self.buffer.last_big > MEASURE_SECONDS:
            self.buffer.last_big = None
            self.on_small()
        return self._lane.watch()

    def _tell_full(self) -> None:
        """Have new runs turned away before they cost anything, while the queue is full and until a quarter of it is free."""
        limit = self._limits.max_queue_runs
        full = len(self._jobs) >= (limit * 3 // 4 if self._full else limit)
        if full is not self._full and self.on_full is not None:
            self._full = full
            self.on_full(full)

    def _submit_ready(self, now: float) -> None:
        for agent in self.buffer.take_agents():
            self._lane.submit(self._grader.begin(agent))
        for job in self.buffer.runs.take_ready():
            if job.revision == 0:
                self._counts.add("started")
            if self._giving_up:
                self._drop(job, "shutdown", UNGRADED, now)
            elif len(self._jobs) >= self._limits.max_queue_runs:
                self._drop(job, "queue_full", "the queue of runs is full (limits.max_queue_runs)", now)
            else:
                self._waiting_since = self._waiting_since if self._lane.pending else now
                self._jobs[id(job)] = job
                self._lane.submit(self._grader.grade(job))

    def _drop(self, job: Job, reason: str, message: str, now: float) -> None:
        if job.revision == 0:
            self._dropped.add(reason)
            self._answers.append((job.run.root_key, f"the run was not graded: {message}"))
            self._waiters.refuse(job.run.root_key, f"the run was not graded: {message}")
            self.buffer.runs.done(job.run, State.EVICTED)
        self._faults.say(reason, f"a run was not graded: {message}")

    def _lane_after_ready(self, work: Work) -> None:
        self._submit_ready(self._clock())
        self._lane.submit(work)

    def _on_graded(self, graded: Graded, final: bool) -> bool:
        """Take a report; each run's first goes to whoever takes its job: the lane, or the end of a shutdown."""
        job, report = graded.job, graded.report
        first = self._jobs.pop(id(job), None) is not None
        if report is None or (not first and graded.first):
            return False
        self._answers.append((job.run.root_key, report))
        self._waiters.answer(job.run.root_key, report, final=final or report.verdict == "block")
        if first and graded.gave_up:
            self._dropped.add("shutdown", 1 if job.revision == 0 else 0)
        elif first:
            once = 1 if job.revision == 0 else 0
            self._counts.add("evaluated", once)
            self._counts.add("unsampled", once if job.unsampled else 0)
            self._last_success = self._clock()
            self.worker.call(lambda _now: self.buffer.runs.done(job.run, State.EVALUATED))
        graded.first = False
        return True

    def _model_answered(self, graded: Graded, added: Sequence[CheckResult]) -> None:
        self._lane.submit(self._grader.finish(graded, added))

    def _sink_failed(self, name: str, fault: str) -> None:
        self._faults.say(f"sink {name}", f"{name} did not take a report: {fault}")

    def _answer_known(self, key: int, _now: float) -> None:
        root_key = self.buffer.root_of(key)
        if root_key is None:
            self._waiters.refuse(key, "the run is not held: it was left out, or it holds nothing to grade")
            return
        if root_key != key:
            self._waiters.move(key, root_key)
        key = root_key
        if key not in self.buffer.runs.memory:
            return
        known = next((answer for known, answer in reversed(self._answers.copy()) if known == key), None)
        run = self.buffer.runs.memory.get(key)
        if isinstance(known, Report):
            self._waiters.answer(key, known, final=self._model is None or not self._model.awaits(key) or known.verdict == "block")
        elif known is not None:
            self._waiters.refuse(key, known)
        elif run is None or run.state is not State.QUEUED:
            self._waiters.refuse(key, "the run's report is no longer held: ask for it before the run ends")

    def _wait_for_lane(self, ends: float) -> None:
        while self._lane.pending and self._clock() < ends:
            time.sleep(0.002)

    def _close_model(self, ends: float) -> None:
        """Stop asking the model: what it did not answer is unchecked, and goes out."""
        if self._model is None:
            return
        self._model.close()
        while self._model.pending and self._clock() < ends:
            time.sleep(0.002)
        self._wait_for_lane(ends)

    def _give_up(self, ends: float) -> None:
        """Report unchecked what there was no time to grade; what is stuck is left behind."""
        self._giving_up = True
        self._lane.drop_queued()
        left = list(self._jobs.values())
        if not left:
            return
        self._faults.say("shutdown", f"{len(left)} runs were not graded before shutdown ended and are reported unchecked")
        lane = Lane("attest-last", self._faults, self._clock)
        for job in left:
            lane.submit(self._grader.not_graded(job, UNGRADED))
        while lane.pending and self._clock() < ends:
            lane.watch()
            time.sleep(0.002)
        lane.close()
        lane.halt(LAST_STEP_SECONDS)

    def _count_left(self) -> None:
        """Count what there was no time even to report."""
        for key in list(self._jobs):
            job = self._jobs.pop(key, None)
            if job is not None and job.revision == 0:
                self._dropped.add("shutdown")
