"""One decided run -> its report, in steps that each have a deadline, and out to every sink.

The work runs in a lane's thread. What overran, failed or was never begun is a finding that says so.
"""

from __future__ import annotations

import time
from collections.abc import Awaitable, Callable, Iterable, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Any, Protocol

from attest_otel.checks import run_one, unchecked
from attest_otel.checks.repetition import side_effects
from attest_otel.checks.view import RunView
from attest_otel.config import CheckName
from attest_otel.export.evaluated import BeginSink, Evaluated, Sink
from attest_otel.findings import CheckResult
from attest_otel.gaps import Gap, write_gap
from attest_otel.grader import Attest
from attest_otel.live.conversations import Conversations
from attest_otel.live.lane import Outcome, Step, Work
from attest_otel.live.runs import Job
from attest_otel.merging import merge_results, without_waiting
from attest_otel.read.build import build_trajectory
from attest_otel.read.runs import split_runs
from attest_otel.read.tree import ordered
from attest_otel.report import Report
from attest_otel.trajectory import Trajectory

LATE = "it was not begun: the time for the run was up (limits.evaluation_deadline_seconds)"

ModelChecks = Callable[[Trajectory, Report], Awaitable[Sequence[CheckResult]]]
Build = Callable[[Job], Trajectory]


def rebuild(job: Job) -> Trajectory:
    """Rebuild the run of a job, with what the pipeline knows to be missing; all that it holds is the run's."""
    root_id = f"{job.run.root_key & 0xFFFFFFFFFFFFFFFF:016x}"
    found = split_runs(job.records)
    chosen = next((one for one in found if one.root is not None and one.root.span_id == root_id), found[0] if found else None)
    if chosen is None:
        return bare_run(job)
    run = build_trajectory(chosen.root, ordered(span for one in found for span in one.spans))
    return run.model_copy(update={"incomplete": [*run.incomplete, *job.incomplete]}) if job.incomplete else run


def bare_run(job: Job, reason: str = "the run could not be rebuilt") -> Trajectory:
    """Return a record that says only which run it was and why there is no more."""
    return Trajectory(id=f"{job.run.root_key >> 64:032x}", incomplete=[*job.incomplete, write_gap(Gap.INCOMPLETE, reason)])


@dataclass(slots=True)
class Graded:
    """What grading a job came to so far.

    `first` is True until a report of it went out; `gave_up` says that nothing looked at the run. `view`
    is the run as the checks read it; `sent` are the findings, and `scored` the checks' scores, that went out.
    """

    job: Job
    run: Trajectory
    results: list[CheckResult] = field(default_factory=list)
    seconds: dict[str, float] = field(default_factory=dict)
    report: Report | None = None
    first: bool = True
    gave_up: bool = False
    view: RunView | None = None
    sent: frozenset[str] = frozenset()
    scored: frozenset[str] = frozenset()


class Reader(Protocol):
    """A model that reads graded runs, in its own time."""

    def has_room(self, size: int) -> bool:
        """Return whether a run of about `size` bytes may wait for it."""

    def turned_away(self) -> list[CheckResult]:
        """Return the results of a run there was no room for."""

    def ask(self, graded: Graded) -> None:
        """Queue a run's questions; never blocks."""


class Grader:
    """Grades jobs.

    Args:
        attest: the settings and the policy.
        sinks: where reports go.
        on_graded: called in the lane's thread with each report before the sinks get it; `final` is
            False while a model still reads. False from it keeps the report back.
        on_fault: called with the name of a sink and what went wrong.
        model: what reads graded runs afterwards, None without a model.
    """

    def __init__(
        self,
        attest: Attest,
        sinks: Iterable[Sink],
        *,
        on_graded: Callable[[Graded, bool], bool],
        on_fault: Callable[[str, str], None],
        model: Reader | None = None,
        clock: Callable[[], float] = time.monotonic,
        build: Build = rebuild,
    ) -> None:
        self._attest = attest
        self._limits = attest.config.limits
        self._sinks = tuple(sinks)
        self._conversations = Conversations(self._limits.max_conversations)
        self._on_graded = on_graded
        self._on_fault = on_fault
        self._model = model
        self._clock = clock
        self._build = build

    def begin(self, agent: str | None) -> Work:
        """Tell the sinks that want to know that an agent's first run began."""
        for sink in self._sinks:
            if isinstance(sink, BeginSink):
                yield self._step(f"telling {_name(sink)} of an agent", partial(sink.begin, agent), interrupt=False)

    def grade(self, job: Job) -> Work:
        """Grade one run: rebuild, check, report, send."""
        ends = self._clock() + self._limits.evaluation_deadline_seconds
        built = yield self._step("rebuilding the run", partial(self._build, job))
        graded = Graded(job, built.value if built.fault is None else bare_run(job, f"the run was not rebuilt: {built.fault}"))
        view = yield self._step("reading the run", partial(self._view, graded.run))
        for name in self._attest.deterministic_checks():
            outcome = view
            if view.fault is None:
                late = self._clock() >= ends
                outcome = Outcome(fault=LATE) if late else (yield self._check(view.value, name, ends))
            self._take(graded, name, outcome)
        if view.fault is None:
            graded.view = view.value
            yield self._step("remembering the run", partial(self._remember, view.value))
        if built.fault is not None:
            graded.results.append(unchecked("coverage", f"the run was not rebuilt: {built.fault}"))
        model = self._model if self._model is not None and self._model.has_room(job.size) else None
        if self._model is not None and model is None:
            graded.results = merge_results(graded.results, self._model.turned_away())
        yield from self._send(graded, final=model is None)
        if model is not None:
            graded.job = replace(job, records=())  # what waits for a model holds no more than it needs
            model.ask(graded)

    def finish(self, graded: Graded, added: Sequence[CheckResult]) -> Work:
        """Add what the model found and send everything."""
        graded.results = merge_results(graded.results, added)
        held_back = {r.check for r in graded.results if any(f.id not in graded.sent for f in r.findings)}
        fresh = frozenset(held_back | {r.check for r in added})
        yield from self._send(graded, final=True, fresh=fresh)

    def not_graded(self, job: Job, reason: str) -> Work:
        """Report a run unchecked that there was no time to grade."""
        graded = Graded(job, bare_run(job, reason), [unchecked("coverage", reason)], gave_up=True)
        yield from self._send(graded, final=True)

    def flush_sinks(self, timeout_millis: Callable[[], int], done: Callable[[bool], None]) -> Work:
        """Flush every sink, after all that was queued before."""
        truth = True
        for sink in self._sinks:
            left = timeout_millis()
            outcome = yield Step(f"flushing {_name(sink)}", partial(sink.force_flush, left), max(left / 1000, 0.001))
            truth = truth and outcome.value is not False and outcome.fault is None
        done(truth)

    def _send(self, graded: Graded, *, final: bool, fresh: frozenset[str] | None = None) -> Work:
        job = graded.job
        made = yield self._step("making the report", partial(self._report, graded, final=final))
        report: Report = (
            made.value if made.fault is None else Report(run_id=graded.run.id, results=[unchecked("coverage", str(made.fault))])
        )
        graded.report = report
        if not self._on_graded(graded, final):
            return
        evaluated = Evaluated(
            run=graded.run,
            report=report,
            root=job.run.context,
            lag_seconds=None if job.ended_at is None else max(self._clock() - job.ended_at, 0.0),
            check_seconds=dict(graded.seconds),
            spans=job.spans,
            final=final,
            fresh=fresh,
            sent=graded.sent,
            scored=graded.scored,
        )
        graded.sent |= {finding.id for finding in report.findings()}
        graded.scored |= {check for check, score in report.scores.items() if score is not None}
        for sink in self._sinks:
            outcome = yield self._step(f"sending to {_name(sink)}", partial(sink.emit, evaluated), interrupt=False)
            if outcome.fault is not None:
                self._on_fault(_name(sink), outcome.fault)

    def _view(self, run: Trajectory) -> RunView:
        return replace(self._attest.view(run), history=self._conversations.of(run.conversation_id))

    def _remember(self, view: RunView) -> None:
        self._conversations.add(view.run.conversation_id, view.run.id, side_effects(view))

    def _report(self, graded: Graded, *, final: bool) -> Report:
        results = graded.results if final else without_waiting(graded.results)
        return self._attest.report(graded.run, results, revision=graded.job.revision)

    def _check(self, view: RunView, name: CheckName, ends: float) -> Step:
        left = min(self._limits.check_deadline_seconds, ends - self._clock())
        return Step(f"check {name}", partial(run_one, view, name), left, interrupt=True)

    def _take(self, graded: Graded, name: CheckName, outcome: Outcome) -> None:
        graded.seconds[name] = outcome.seconds
        if outcome.fault is not None:
            graded.results.append(unchecked(name, f"the check did not finish: {outcome.fault}"))
        elif outcome.value is not None:
            graded.results.append(outcome.value)

    def _step(self, name: str, action: Callable[[], Any], *, interrupt: bool = True) -> Step:
        return Step(name, action, self._limits.check_deadline_seconds, interrupt)


def _name(sink: Sink) -> str:
    return type(sink).__name__
