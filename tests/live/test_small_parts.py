"""The small parts of the pipeline: sizes and cuts, counting and logging faults, admission, conversations, health."""

from __future__ import annotations

import logging
import threading
from collections import deque
from typing import Any

import pytest
from opentelemetry.sdk.trace import ReadableSpan
from opentelemetry.trace import SpanContext

from attest_otel.checks.side_effects import SideEffect
from attest_otel.live.admission import FIRST_MARK, SECOND_MARK, Admission
from attest_otel.live.conversations import MAX_EFFECTS, Conversations
from attest_otel.live.faults import Counter, FaultLog
from attest_otel.live.sizes import cut_record, cut_text, record_size, value_size
from attest_otel.read.span import SpanEvent, SpanRecord
from tests.live.helpers import AGENT, WAIT, Clock, live, together


def record(**attributes: Any) -> SpanRecord:
    """Return a span record with some attributes."""
    return SpanRecord("1", "2", None, False, "name", 1, 2, attributes=attributes)


@pytest.mark.parametrize("text", ["x" * 10_000, "é" * 10_000, "漢" * 10_000, "\ud800" * 10_000])
def test_a_cut_text_says_what_it_was(text: str) -> None:
    """Head, tail, length and hash of a text stay, in about the bytes allowed, whatever its characters."""
    cut = cut_text(text, 1_000)
    assert cut.startswith(text[:16])
    assert cut.endswith(text[-16:])
    assert "10000 characters, sha256 " in cut
    assert value_size(cut) < 2_000
    assert cut_text(cut[:100], 1_000) == cut[:100]


def test_cutting_names_what_was_cut() -> None:
    """Texts and structures beyond the limit are cut and named, those of events too; a small record stays itself."""
    small = record(a="b")
    assert cut_record(small, 100) is small
    big = record(a="x" * 500, b={"k": ["y" * 500]}, c=1)
    cut = cut_record(
        SpanRecord("1", "2", None, False, "n", 1, 2, attributes=big.attributes, events=(SpanEvent("e", 1, {"d": "z" * 500}),)),
        200,
    )
    assert cut.cut == ("a", "b", "d")
    assert cut.attributes["c"] == 1
    assert "not kept" in cut.attributes["b"]
    assert record_size(cut) < record_size(big)


def test_counting_from_many_threads_loses_nothing() -> None:
    """A counter counts every call of every thread."""
    counter = Counter()

    def count() -> None:
        for _ in range(2_000):
            counter.add()

    together(*[count] * 8)
    assert counter.value == 16_000


def test_the_same_fault_is_logged_once_a_window(caplog: pytest.LogCaptureFixture) -> None:
    """10,000 times the same fault are one line a minute, all counted, and the error's own text is in none."""
    clock = Clock()
    faults = FaultLog(clock)
    with caplog.at_level(logging.WARNING, logger="attest_otel"):
        for _ in range(10_000):
            faults.say("kind", "it went wrong", ValueError("a secret"))
        clock.now += 61
        faults.say("kind", "it went wrong", ValueError("a secret"))
    assert len(caplog.records) == 2
    assert faults.counts.read() == {"kind": 10_001}
    assert "secret" not in caplog.text


def span(trace_id: int, *, root: bool, run: bool = False) -> ReadableSpan:
    """Return a span of a trace, its root or a child, that shows a run or does not."""
    parent = None if root else SpanContext(trace_id, 1, is_remote=False)
    return ReadableSpan("s", context=SpanContext(trace_id, 2, is_remote=False), parent=parent, attributes=AGENT if run else {})


def test_admission_turns_whole_traces_away_and_counts_runs_once() -> None:
    """Beyond the first mark new traces are left out whole, beyond the second begun ones too; plain traces are no runs."""
    lost: list[int] = []
    admission, log = Admission(lost.append), deque[Any]()
    assert admission.start(span(1, root=True), log)
    log.extend(range(FIRST_MARK))
    assert admission.start(span(1, root=False), log)
    assert not admission.start(span(2, root=True, run=True), log)
    assert not admission.start(span(2, root=False, run=True), log)
    assert not admission.start(span(3, root=True), log)
    assert admission.dropped_runs.value == 1
    log.clear()
    assert not admission.end(span(2, root=False, run=True))
    assert not admission.end(span(2, root=True, run=True))
    assert admission.start(span(2, root=True, run=True), log)
    log.extend(range(SECOND_MARK))
    assert not admission.start(span(1, root=False, run=True), log)
    assert lost == [1]
    assert admission.dropped_runs.value == 1
    admission.close()
    assert not admission.start(span(9, root=True), deque())
    assert not admission.end(span(9, root=True))


def test_conversations_are_bounded_and_revisions_replace() -> None:
    """A conversation remembers its runs' last effects; a revision takes its run's place; old conversations go."""
    memory = Conversations(2)

    def effect(run_id: str, step: int = 0) -> SideEffect:
        return SideEffect("t", "k", None, "succeeded", run_id, step)

    memory.add("c1", "r1", (effect("r1"),))
    memory.add("c1", "r2", (effect("r2"),))
    memory.add("c1", "r1", (effect("r1", 5),))
    assert [(e.run_id, e.step) for e in memory.of("c1")] == [("r2", 0), ("r1", 5)]
    memory.add("c1", "r3", tuple(effect("r3", n) for n in range(500)))
    assert len(memory.of("c1")) == MAX_EFFECTS
    memory.add("c2", "r", (effect("r"),))
    memory.add("c3", "r", (effect("r"),))
    assert memory.of("c1") == ()
    assert memory.of(None) == ()


def test_health_is_visible_from_the_start() -> None:
    """Before the first run every counter of the pipeline's own health is there with 0."""
    with live() as pipeline:
        runs = pipeline.metric("attest.processor.runs")
        assert {dict(key)["attest.state"] for key in runs} == {"started", "evaluated", "unsampled", "dropped"}
        assert set(runs.values()) == {0}
        for name in (
            "attest.processor.late_spans",
            "attest.processor.queue.size",
            "attest.processor.open_runs",
            "attest.processor.bytes",
        ):
            assert list(pipeline.metric(name).values()) == [0]


def test_health_tells_a_stuck_pipeline() -> None:
    """When runs wait and nothing is evaluated for the time a run may take, health says stuck."""
    release = threading.Event()
    with live({"limits": {"evaluation_deadline_seconds": 0.05}}, on_report=lambda _: release.wait(WAIT)) as pipeline:
        assert pipeline.processor.health().stuck is False
        pipeline.run()
        assert pipeline.processor.force_flush(200) is False
        health = pipeline.processor.health()
        assert health.stuck is True
        assert health.queue_size > 0
        release.set()
        assert pipeline.processor.drain(WAIT)
        assert pipeline.processor.health().stuck is False
