"""Forks: the child starts with nothing of its parent's, and both go on."""

from __future__ import annotations

import os
import signal
import threading

import pytest
from opentelemetry import trace
from opentelemetry.context import Context

from tests.live.helpers import AGENT, WAIT, live, tool

pytestmark = [
    pytest.mark.skipif(not hasattr(os, "fork"), reason="this system has no fork"),
    pytest.mark.filterwarnings("ignore:.*multi-threaded.*fork:DeprecationWarning"),
]


def in_child(action: object) -> int:
    """Run something in a forked child; return its exit status, 0 when it returned and raised nothing."""
    child = os.fork()
    if child == 0:
        signal.alarm(int(WAIT))
        status = 1
        try:
            assert callable(action)
            action()
            status = 0
        finally:
            os._exit(status)
    return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])


def test_the_child_starts_clean_and_works() -> None:
    """A child grades its own runs and none of its parent's; the parent's go out once, from the parent."""
    with live() as pipeline:
        pipeline.run()
        assert pipeline.processor.drain(WAIT)
        root = pipeline.tracer.start_span("agent", context=Context(), attributes=AGENT)
        pipeline.tracer.start_span("execute_tool t", context=trace.set_span_in_context(root), attributes=tool()).end()

        def child() -> None:
            pipeline.reports.clear()
            root.end()
            assert pipeline.processor.health().started == 0
            pipeline.run()
            assert pipeline.processor.drain(WAIT)
            assert len(pipeline.reports) == 1
            assert pipeline.processor.health().evaluated == 1

        assert in_child(child) == 0
        root.end()
        assert pipeline.processor.drain(WAIT)
        assert len(pipeline.reports) == 2


def test_locks_held_at_the_fork_do_not_hang_the_child() -> None:
    """With every lock of the pipeline held while forking, the child still works."""
    with live() as pipeline:
        pipeline.run()
        assert pipeline.processor.drain(WAIT)
        inner = pipeline.processor._pipeline
        with pipeline.processor._closing, inner._waiters._lock:  # a worker that runs holds its place

            def child() -> None:
                root = pipeline.run()
                waiter = pipeline.processor.report_waiter(root.trace_id, root.span_id)
                assert waiter is not None
                assert waiter.wait(WAIT).agent == "a"
                pipeline.processor.shutdown()

            assert in_child(child) == 0


def test_a_fork_before_the_first_span_needs_no_thread() -> None:
    """A processor made in a pre-forking master, where no thread has run, works in every child."""
    before = threading.active_count()
    with live() as pipeline:
        assert threading.active_count() == before

        def child() -> None:
            pipeline.run()
            assert pipeline.processor.drain(WAIT)
            assert len(pipeline.reports) == 1

        assert [in_child(child) for _ in range(3)] == [0, 0, 0]
