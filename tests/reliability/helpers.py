"""What the reliability tests share: a pipeline for recorded agents, findings by name, and programs of their own."""

from __future__ import annotations

import os
import subprocess
import sys
import textwrap
import threading
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from typing import Any

from opentelemetry.sdk.trace import ReadableSpan

from attest_otel.findings import Finding
from attest_otel.live.runs import Job
from attest_otel.record import settings
from attest_otel.record.agent_run import agent_run
from attest_otel.record.dispatcher import traced_dispatcher
from attest_otel.report import Report
from attest_otel.trajectory import Trajectory
from tests.live.helpers import WAIT, Live


@contextmanager
def recorded(config: dict[str, Any] | None = None, *, capture: str = "full", **options: Any) -> Iterator[Live]:
    """Run a block with a live pipeline that the recorder writes to, and close both."""
    before = settings._settings
    pipeline = Live({"capture": capture, **(config or {})}, **options)
    try:
        yield pipeline
    finally:
        pipeline.close()
        settings._settings = before


def trajectories(pipeline: Live) -> list[Trajectory]:
    """Return a list that fills with each run as it is rebuilt."""
    found: list[Trajectory] = []
    grader = pipeline.processor._pipeline._grader
    build = grader._build

    def keep(job: Job) -> Trajectory:
        run = build(job)
        found.append(run)
        return run

    grader._build = keep
    return found


class Started(ReadableSpan):
    """A span as `on_start` gets it: not the frozen copy that `on_end` gets."""


def pass_through(pipeline: Live, started: list[Started], ended: Iterable[Started]) -> None:
    """Let spans made by hand start and end in the processor."""
    for span in started:
        pipeline.processor.on_start(span)  # type: ignore[arg-type]
    for span in ended:
        pipeline.processor.on_end(_frozen(span))


def _frozen(span: ReadableSpan) -> ReadableSpan:
    return ReadableSpan(
        span.name,
        context=span.context,
        parent=span.parent,
        attributes=span.attributes,
        start_time=span.start_time,
        end_time=span.end_time,
    )


def findings(report: Report, check: str) -> list[Finding]:
    """Return what one check found."""
    result = report.result(check)
    return [] if result is None else list(result.findings)


def verdicts(report: Report, check: str) -> list[str]:
    """Return the verdicts of one check, sorted."""
    return sorted(finding.verdict for finding in findings(report, check))


def drained(pipeline: Live) -> list[Report]:
    """Wait for every complete run, and return the reports."""
    assert pipeline.processor.drain(WAIT)
    return pipeline.reports


def work(pipeline_name: str = "agent", dispatch: Callable[..., Any] = lambda name, arguments: "fine", *, calls: int = 1) -> Any:
    """Run a small recorded agent, and return what its last call returned."""
    result = None
    with agent_run(pipeline_name, task="do it", allowed_tools=["lookup"]) as run:
        traced = traced_dispatcher(dispatch)
        for _ in range(calls):
            result = traced("lookup", "{}")
        run.final_answer = "done"
    return result


def program(source: str, *arguments: str, **environment: str) -> subprocess.CompletedProcess[str]:
    """Run a program of its own and return how it ended, with what it wrote."""
    return subprocess.run(
        [sys.executable, "-c", textwrap.dedent(source), *arguments],
        env={"PATH": "", "PYTHONPATH": os.pathsep.join(sys.path), **environment},
        capture_output=True,
        text=True,
        timeout=50,
        check=False,
    )


def within(seconds: float, action: Callable[[], Any]) -> Any:
    """Run something in a thread, and return what it returned; fail when it takes longer."""
    result: list[Any] = []

    def run() -> None:
        try:
            result.append(action())
        except BaseException as error:
            result.append(error)

    thread = threading.Thread(target=run, daemon=True)
    thread.start()
    thread.join(seconds)
    assert not thread.is_alive(), f"it hangs: no end within {seconds} s"
    if isinstance(result[0], BaseException):
        raise result[0]
    return result[0]
