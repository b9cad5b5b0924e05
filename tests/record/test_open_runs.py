"""Finding the run of a call that knows of none: nothing is kept, nothing is held, and nothing crosses a fork."""

from __future__ import annotations

import gc
import os
import threading
import weakref
from collections.abc import Iterator
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from attest_otel.record import note_stores, open_runs
from attest_otel.record.agent_run import AgentRun, agent_run
from attest_otel.record.dispatcher import traced_dispatcher
from attest_otel.record.provider_bytes import ProviderBytes
from attest_otel.record.tool_requests import AskedCall
from tests.live.helpers import WAIT, together
from tests.reliability.helpers import recorded


@pytest.fixture(autouse=True)
def _recorder(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """A recorder with spans, no other test's runs, and a fallback of this test."""
    before = dict(open_runs._open)
    open_runs._open.clear()
    fallback = ProviderBytes()
    for module in (note_stores, open_runs):
        monkeypatch.setattr(module, "fallback_store", fallback)
    with recorded():
        yield
    open_runs._open.clear()
    open_runs._open.update(before)


def opened(*notes: tuple[str, str, str]) -> AgentRun:
    """Return an open run with these (id, name, text) noted; the context is as it was before."""
    run = agent_run("a", task="t")
    run.__enter__()
    run._current.close()
    for call_id, name, text in notes:
        run.requests.store.note(call_id, name, text, complete=True)
    return run


ASKED = AskedCall("f", {"n": 1}, "x")
SAME = ("x", "f", '{"n": 1.0}')


@pytest.mark.parametrize(
    ("first", "second", "asked", "surely", "found"),
    [
        (SAME, ("y", "f", "{}"), ASKED, False, 0),
        (SAME, ("y", "f", "{}"), ASKED, True, 0),
        (("x", "f", "{}"), ("y", "f", '{"n": 1}'), ASKED, False, 0),
        (("x", "f", "{}"), ("y", "f", "{}"), ASKED, True, None),
        (("x", "f", "{}"), ("x", "f", '{"n": 1}'), ASKED, False, 1),
        (SAME, SAME, ASKED, False, None),
        (("x", "f", "{}"), ("x", "f", "[]"), ASKED, False, None),
        (("x", "g", "{}"), ("y", "g", "{}"), ASKED, False, 0),
        (("y", "g", "{}"), ("z", "g", "{}"), ASKED, False, None),
        (SAME, ("y", "f", "{}"), AskedCall("f", {"n": 1}), False, 0),
        (SAME, ("y", "f", "{}"), AskedCall("f", {"n": 1}), True, None),
        (SAME, ("y", "f", '{"n": 1}'), AskedCall("f", {"n": 1}), False, None),
        (SAME, ("y", "f", "{}"), AskedCall("f", {"n": 2}), False, None),
        (SAME, ("y", "f", "{}"), AskedCall("f", '{"n":1}'), False, 0),
        (("x", "f", "broken"), ("y", "f", "broken, too"), AskedCall("f", "broken"), False, 0),
        (("x", "f", ""), ("y", "f", "[]"), AskedCall("f"), False, 0),
        (SAME, ("y", "f", "{}"), AskedCall("f", {"n": 1}, "job-1"), False, 0),
        (SAME, ("y", "f", "{}"), AskedCall("unknown", problem="of no known form"), False, None),
    ],
)
def test_whose_call_it_is(first: Any, second: Any, asked: AskedCall, surely: bool, found: int | None) -> None:
    """The id, else the text; both where another place is as likely; of two that could be, neither."""
    runs = [opened(first), opened(second)]
    expected = None if found is None else runs[found]
    assert open_runs.find(asked, surely=surely) is expected


@pytest.mark.parametrize("asked", [ASKED, AskedCall("f", {"n": 1})])
def test_a_call_that_a_model_call_of_no_run_asked_for_is_nobodys(asked: AskedCall) -> None:
    """Where the model was called in a thread that knew of no run, its tools are of no run either."""
    run = opened(SAME)
    assert open_runs.find(asked, surely=False) is run
    note_stores.fallback_store.note(*SAME, complete=True)
    assert open_runs.find(asked, surely=False) is None


def test_a_run_is_found_from_its_start_to_its_end() -> None:
    """And no longer, though it is still there."""
    run = opened(SAME)
    assert open_runs.find(ASKED, surely=False) is run
    run.__exit__(None, None, None)
    assert open_runs.find(ASKED, surely=False) is None
    assert open_runs._open == {}


def test_a_run_that_is_never_ended_is_not_kept() -> None:
    """An abandoned run goes when nothing else holds it, and so does its place."""
    gone = weakref.ref(opened(SAME))
    gc.collect()
    assert gone() is None
    assert open_runs._open == {}


def test_a_run_that_has_ended_is_kept_by_nothing() -> None:
    """Neither its context, nor its calls' spans, nor the pipeline hold it or its noted inputs."""
    with agent_run("a", task="t") as run:
        traced_dispatcher(lambda name, arguments: "fine")("f", "{}")
    gone = weakref.ref(run), weakref.ref(run.requests.store)
    del run
    gc.collect()
    assert [ref() for ref in gone] == [None, None]


def test_the_number_of_runs_is_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    """Over the limit a run is not found, and goes as any other."""
    monkeypatch.setattr(open_runs, "MAX_OPEN_RUNS", 1)
    first, second = opened(SAME), opened(("y", "f", "{}"))
    assert open_runs.find(AskedCall("f", {}, "y"), surely=False) is None
    assert open_runs.find(ASKED, surely=False) is first
    second.__exit__(None, None, None)
    assert len(open_runs._open) == 1


def test_texts_of_too_many_runs_are_not_compared(monkeypatch: pytest.MonkeyPatch) -> None:
    """An id is found among any number of runs; without one, a call is not held against more of them than are compared in time."""
    monkeypatch.setattr(open_runs, "MAX_COMPARED_RUNS", 1)
    runs = [opened(SAME)]
    assert open_runs.find(AskedCall("f", {"n": 1}), surely=False) is runs[0]
    runs.append(opened(("y", "f", "{}")))
    assert open_runs.find(AskedCall("f", {"n": 1}), surely=False) is None
    assert open_runs.find(ASKED, surely=False) is runs[0]


def test_no_lock_is_held_while_arguments_are_compared() -> None:
    """Comparing runs code of the application's values; other threads go on meanwhile."""
    run = opened(SAME)
    passed: list[bool] = []

    class Slow(dict[str, int]):
        """A value that another thread's note must not wait for."""

        def __eq__(self, other: object) -> bool:
            return False

        __hash__ = None

        def items(self) -> Any:
            noted = threading.Thread(target=run.requests.store.note, args=("z", "g", "{}", True))
            noted.start()
            noted.join(WAIT)
            passed.append(not noted.is_alive())
            return super().items()

        keys = items

    open_runs.find(AskedCall("f", Slow(n=1)), surely=False)
    assert passed
    assert all(passed)


def test_runs_come_and_go_while_calls_are_looked_for() -> None:
    """In many threads at once: a run that stays is always found, and nothing is raised."""
    stays = opened(SAME)
    found: list[AgentRun | None] = []

    def come_and_go() -> None:
        for _ in range(50):
            opened(("y", "f", "{}")).__exit__(None, None, None)

    def look() -> None:
        for _ in range(200):
            found.append(open_runs.find(ASKED, surely=False))
            found.append(open_runs.find(AskedCall("f", {"n": 1}), surely=False))

    together(come_and_go, look, come_and_go, look)
    assert {id(run) for run in found} == {id(stays)}


@pytest.mark.skipif(not hasattr(os, "fork"), reason="there is no fork here")
@pytest.mark.filterwarnings("ignore:.*fork.*:DeprecationWarning")
def test_runs_of_the_parent_are_not_found_in_a_child() -> None:
    """A forked child can't end its parent's runs, so its calls are not put below them."""
    run = opened(SAME)
    child = os.fork()
    if child == 0:
        os._exit(0 if open_runs.find(ASKED, surely=False) is None else 1)
    assert os.waitpid(child, 0)[1] == 0
    assert open_runs.find(ASKED, surely=False) is run


@given(st.lists(st.tuples(st.sampled_from(["note", "take", "sent"]), st.sampled_from("abc"), st.sampled_from("fg")), max_size=40))
@settings(max_examples=100)
def test_what_is_left_is_what_was_noted_and_not_taken(steps: list[tuple[str, str, str]]) -> None:
    """In any order of whole notes, takes and requests: as many are left as were noted and not taken, and answered ones say so."""
    store = ProviderBytes()
    waiting: list[tuple[tuple[str, str], bool]] = []
    for step, call_id, name in steps:
        if step == "note":
            store.settle([store.note(call_id, name, "{}", complete=True)])
            waiting.append(((call_id, name), False))
        elif step == "take" and store.take(call_id, name) is not None:
            waiting.remove(next(one for one in waiting if one[0] == (call_id, name)))
        elif step == "sent":
            store.sent({call_id})
            waiting = [(key, answered or key[0] == call_id) for key, answered in waiting]
    assert [(note.key, note.answered) for note in store.left()] == waiting
