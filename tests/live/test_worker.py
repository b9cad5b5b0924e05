"""The worker's thread: one at a time, whatever is raised where it is started (property 22)."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import pytest

from attest_otel.config import AttestConfig
from attest_otel.live.buffer import Buffer
from attest_otel.live.faults import FaultLog
from attest_otel.live.worker import Worker
from tests.live.helpers import WAIT


class Bench:
    """A worker with nothing to do but commands."""

    def __init__(self) -> None:
        self.faults = FaultLog()
        self.worker = Worker(Buffer(AttestConfig()), lambda _now: None, self.faults)
        self.done: list[str] = []

    def say(self, word: str) -> threading.Event:
        """Have the worker write down a word; the event is set then."""
        said = threading.Event()

        def command(_now: float) -> None:
            self.done.append(word)
            said.set()

        self.worker.call(command)
        return said


@contextmanager
def bench() -> Iterator[Bench]:
    """Run a block with a worker, and stop it."""
    made = Bench()
    yield made
    assert made.worker.stop(WAIT)
    assert made.faults.counts.read() == {}


def interrupt_once(monkeypatch: pytest.MonkeyPatch, *, started: bool) -> None:
    """Have a signal handler raise inside the next start of a thread, after or before there is one."""
    start: Callable[[threading.Thread], None] = threading.Thread.start

    def interrupted(thread: threading.Thread) -> None:
        monkeypatch.undo()
        if started:
            start(thread)
        raise KeyboardInterrupt

    monkeypatch.setattr(threading.Thread, "start", interrupted)


def workers() -> list[threading.Thread]:
    """The worker threads that live."""
    return [thread for thread in threading.enumerate() if thread.name == "attest-worker" and thread.is_alive()]


def test_an_interrupt_after_the_thread_began_makes_no_second_one(monkeypatch: pytest.MonkeyPatch) -> None:
    """The thread that began is the worker: what is in the log is done once, in order."""
    before = len(workers())
    gate, inside = threading.Event(), threading.Event()
    with bench() as made:

        def stand(_now: float) -> None:
            made.done.append("stand")
            inside.set()
            gate.wait(WAIT)

        interrupt_once(monkeypatch, started=True)
        with pytest.raises(KeyboardInterrupt):
            made.worker.call(stand)
        assert inside.wait(WAIT)
        said = made.say("second")
        assert len(workers()) == before + 1
        gate.set()
        assert said.wait(WAIT)
        assert made.done == ["stand", "second"]


def test_an_interrupt_before_the_thread_began_leaves_the_start_to_the_next(monkeypatch: pytest.MonkeyPatch) -> None:
    """Whoever comes next finds a worker to wake, and starts it."""
    with bench() as made:
        interrupt_once(monkeypatch, started=False)
        with pytest.raises(KeyboardInterrupt):
            made.say("first")
        assert made.worker.idle
        assert not made.worker.alive
        assert made.say("second").wait(WAIT)
        assert made.done == ["first", "second"]


def test_an_interrupt_between_steps_of_waking_leaves_a_worker_that_can_be_woken(monkeypatch: pytest.MonkeyPatch) -> None:
    """A signal handler may raise before a thread is even made."""

    def raising(*_args: Any, **_kwargs: Any) -> None:
        raise KeyboardInterrupt

    with bench() as made:
        with monkeypatch.context() as patch:
            patch.setattr(threading, "Thread", raising)
            with pytest.raises(KeyboardInterrupt):
                made.say("first")
        assert made.worker.idle
        assert made.say("second").wait(WAIT)


def test_an_interrupt_is_never_turned_into_an_error(monkeypatch: pytest.MonkeyPatch) -> None:
    """Inside `start` it can break a lock, whose complaint would be swallowed as a fault of ours: the interrupt goes on."""

    def broken(_thread: threading.Thread) -> None:
        try:
            raise KeyboardInterrupt
        finally:
            threading.Lock().release()

    with bench() as made:
        with monkeypatch.context() as patch:
            patch.setattr(threading.Thread, "start", broken)
            with pytest.raises(KeyboardInterrupt):
                made.say("first")
        assert made.say("second").wait(WAIT)


def test_a_second_thread_finds_the_place_taken() -> None:
    """Two threads that start a worker at the same time make one."""
    gate, inside = threading.Event(), threading.Event()
    with bench() as made:

        def stand(_now: float) -> None:
            inside.set()
            gate.wait(WAIT)

        made.worker.call(stand)
        assert inside.wait(WAIT)
        made.worker._run()
        gate.set()
        assert made.say("after").wait(WAIT)
        assert made.worker.alive
