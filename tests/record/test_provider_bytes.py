"""The store of raw tool inputs: queues by call id and name, bounds, and which store is asked."""

from __future__ import annotations

import contextvars
import gc
import os
import sys
import threading

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from attest_otel.record import provider_bytes
from attest_otel.record.note_stores import current_store, store_for_notes, take, use_store
from attest_otel.record.noted_inputs import NotedInput
from attest_otel.record.provider_bytes import ProviderBytes


def texts(store: ProviderBytes, call_id: str = "a", name: str = "f") -> list[str | None]:
    """Take everything that waits under one call id and name."""
    taken = []
    while (noted := store.take(call_id, name)) is not None:
        taken.append(noted.text)
    return taken


def test_take_consumes_the_oldest_first() -> None:
    """A repeated id hands out its notes in the order they came, each once."""
    store = ProviderBytes()
    for text in ("1", "2", "1"):
        store.note("a", "f", text, complete=True)
    assert texts(store) == ["1", "2", "1"]
    assert store.take("a", "f") is None


def test_ids_and_names_queue_apart() -> None:
    """The same id under another name, or another id, is another queue."""
    store = ProviderBytes()
    store.note("a", "f", "1", complete=True)
    store.note("a", "g", "2", complete=True)
    store.note("b", "f", "3", complete=True)
    assert (texts(store, "b", "f"), texts(store, "a", "g"), texts(store, "a", "f")) == (["3"], ["2"], ["1"])


def test_a_complete_note_goes_before_an_older_cut_one() -> None:
    """A stream that was cut and asked again leaves no stale beginning in the queue."""
    store = ProviderBytes()
    store.note("a", "f", '{"amou', complete=False)
    store.note("a", "f", '{"amount":1}', complete=True)
    assert store.take("a", "f") == NotedInput('{"amount":1}', complete=True)
    assert len(store) == 0


def test_an_attempt_that_was_thrown_away_goes_after_a_later_one_of_its_id() -> None:
    """A whole input of an answer that was cut, and asked for again under the same id: the later text is the call's."""
    store = ProviderBytes()
    store.note("a", "f", "1", complete=True)
    store.sent(())
    store.settle([store.note("a", "f", "2", complete=True)])
    assert store.take("a", "f") == NotedInput("2", complete=True)
    assert len(store) == 0
    store.note("a", "f", "3", complete=True)
    store.sent(())
    assert texts(store) == ["3"]


def test_a_cut_note_alone_is_handed_out() -> None:
    """An application that acts on a part still finds what was received."""
    store = ProviderBytes()
    store.note("a", "f", '{"amou', complete=False)
    assert store.take("a", "f") == NotedInput('{"amou', complete=False)


def test_an_input_that_was_not_kept_holds_its_place() -> None:
    """A call over the limit is noted as not captured, and the next call's text is not taken for it."""
    store = ProviderBytes()
    store.note("a", "f", None, complete=False)
    store.note("a", "f", "2", complete=True)
    assert texts(store) == [None, "2"]
    assert store.uncaptured == 1


def test_matches_picks_the_call_it_belongs_to() -> None:
    """Of several texts under one id, the one that the handler's arguments came from is taken."""
    store = ProviderBytes()
    for text in ("1", "2", "3"):
        store.note("a", "f", text, complete=True)
    noted = store.take("a", "f", lambda text: text == "2")
    assert noted == NotedInput("2", complete=True)
    assert texts(store) == ["1", "3"]


def test_a_fault_in_matches_means_no() -> None:
    """A text that cannot be compared is not the one; nothing is raised."""

    def matches(text: str) -> bool:
        return bool(10 // (int(text) - 1))

    store = ProviderBytes()
    for text in ("1", "2", "3"):
        store.note("a", "f", text, complete=True)
    assert store.take("a", "f", matches) == NotedInput("2", complete=True)
    assert store.take_by_name("f", matches) == NotedInput("3", complete=True)


def test_differing_texts_that_nothing_tells_apart_are_ambiguous() -> None:
    """Nobody can say whose text it is, now or for those that stay."""
    store = ProviderBytes()
    store.note("a", "f", "1", complete=True)
    store.note("a", "f", "2", complete=True)
    first, second = store.take("a", "f"), store.take("a", "f", lambda _: False)
    assert first is not None
    assert second is not None
    assert (first.ambiguous, second.ambiguous) == (True, True)
    store.note("a", "f", "3", complete=True)
    assert store.take("a", "f") == NotedInput("3", complete=True)


def test_equal_texts_are_not_ambiguous() -> None:
    """Where all candidates say the same, any of them is right."""
    store = ProviderBytes()
    store.note("a", "f", "1", complete=True)
    store.note("a", "f", "1", complete=True)
    assert store.take("a", "f") == NotedInput("1", complete=True)


def test_the_oldest_leaves_over_the_entry_limit() -> None:
    """Over the limit the oldest note goes, and is counted."""
    store = ProviderBytes(max_entries=2)
    for text in ("1", "2", "3"):
        store.note("a", "f", text, complete=True)
    assert store.evicted == 1
    assert texts(store) == ["2", "3"]


def test_the_oldest_leave_over_the_byte_limit() -> None:
    """Memory counts, not only the number of notes."""
    store = ProviderBytes(max_bytes=3000)
    for number in range(5):
        store.note(f"id{number}", "f", "x" * 1000, complete=True)
    assert [store.take(f"id{number}", "f") is not None for number in range(5)] == [False] * 3 + [True] * 2
    assert store.evicted == 3


def test_a_note_larger_than_the_store_is_not_captured() -> None:
    """One giant input doesn't push out everything else."""
    store = ProviderBytes(max_bytes=1000)
    store.note("b", "f", "1", complete=True)
    store.note("a", "f", "x" * 2000, complete=True)
    assert texts(store) == [None]
    assert texts(store, "b") == ["1"]


@settings(deadline=None)
@given(
    st.lists(
        st.tuples(st.sampled_from(["note", "take"]), st.sampled_from("ab"), st.sampled_from("fg")),
        max_size=60,
    )
)
def test_any_order_keeps_the_books(steps: list[tuple[str, str, str]]) -> None:
    """Whatever is noted and taken, the store stays within its limit and holds exactly what it was given."""
    store = ProviderBytes(max_entries=5)
    waiting: list[tuple[str, str, str]] = []
    for number, (step, call_id, name) in enumerate(steps):
        if step == "note":
            store.note(call_id, name, str(number), complete=True)
            waiting = [*waiting, (call_id, name, str(number))][-5:]
        else:
            expected = next((entry for entry in waiting if entry[:2] == (call_id, name)), None)
            noted = store.take(call_id, name)
            assert (None if noted is None else noted.text) == (None if expected is None else expected[2])
            waiting = [entry for entry in waiting if entry != expected]
        assert len(store) == len(waiting)
    assert store._bytes == sum(sum(map(sys.getsizeof, entry)) for entry in waiting)


def test_many_threads_take_each_note_once() -> None:
    """Concurrent notes and takes lose nothing and hand nothing out twice."""
    store = ProviderBytes()
    taken: list[str | None] = []

    def work(base: int) -> None:
        for number in range(100):
            store.note("a", "f", str(base + number), complete=True)
            noted = store.take("a", "f")
            taken.append(noted.text if noted is not None else "lost")

    threads = [threading.Thread(target=work, args=(base,)) for base in (0, 1000, 2000, 3000)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    expected = sorted(str(base + number) for base in (0, 1000, 2000, 3000) for number in range(100))
    assert sorted(text or "" for text in taken + texts(store)) == expected


def test_no_lock_is_held_while_matches_runs() -> None:
    """The caller's function may use the store from another thread without a standstill."""
    store = ProviderBytes()
    store.note("a", "f", "1", complete=True)
    store.note("a", "f", "2", complete=True)
    free: list[bool] = []

    def matches(_: str) -> bool:
        thread = threading.Thread(target=lambda: free.append(store.take("b", "f") is None))
        thread.start()
        thread.join(5)
        return True

    assert store.take("a", "f", matches) is not None
    assert free == [True]


def test_a_note_made_inside_the_store_does_not_hang() -> None:
    """Garbage collection inside the store may close a response, which notes on the same thread."""
    store = ProviderBytes()
    with store._lock:
        store.note("a", "f", "1", complete=True)
    assert texts(store) == ["1"]


@pytest.mark.parametrize(
    ("noted", "received", "taken"),
    [
        (["1", "2"], "2", "2"),
        (["1"], "rewritten", "1"),
        (["1", "2"], "rewritten", None),
        ([None], "1", None),
        ([], "1", None),
    ],
)
def test_without_an_id_the_text_or_being_alone_decides(noted: list[str | None], received: str, taken: str | None) -> None:
    """A dispatcher that is not told the id gets the note that fits, or the only one there is."""
    store = ProviderBytes()
    for number, text in enumerate(noted):
        store.note(f"id{number}", "f", text, complete=text is not None)
        store.note(f"id{number}", "other", "rewritten", complete=True)
    found = store.take_by_name("f", lambda text: text == received)
    assert (None if found is None else found.text) == taken


class NotesWhenCollected:
    """Garbage in a cycle, like an abandoned response, that notes when it is collected."""

    def __init__(self, store: ProviderBytes) -> None:
        self.store = store
        self.me = self

    def __del__(self) -> None:
        self.store.note("a", "f", "late", complete=True)


def test_collections_at_any_moment_keep_the_books() -> None:
    """However often garbage is collected inside the store, nothing raises and the limits hold."""
    store = ProviderBytes(max_entries=3)
    threshold = gc.get_threshold()
    gc.set_threshold(1)
    try:
        for number in range(500):
            NotesWhenCollected(store)
            store.note("a", "f", str(number), complete=True)
            store.take("a", "f")
            store.take_by_name("f", lambda text: text == "late")
    finally:
        gc.set_threshold(*threshold)
    gc.collect()
    texts(store)
    assert (len(store), store._bytes, store._queues) == (0, 0, {})


@pytest.mark.skipif(not hasattr(os, "fork"), reason="no fork on this system")
@pytest.mark.filterwarnings("ignore::DeprecationWarning")
def test_a_lock_held_at_a_fork_does_not_hang_the_child() -> None:
    """The child of a fork gets fresh locks."""
    store = ProviderBytes()
    held, done = threading.Event(), threading.Event()

    def hold() -> None:
        with store._lock:
            held.set()
            done.wait(20)

    thread = threading.Thread(target=hold)
    thread.start()
    held.wait(20)
    child = os.fork()
    if child == 0:
        free = store._lock.acquire(timeout=5)
        os._exit(0 if free else 1)
    status = os.waitpid(child, 0)[1]
    done.set()
    thread.join()
    assert status == 0


def test_the_current_store_comes_first_then_the_fallback() -> None:
    """A run's own notes are taken before those that were made where no run was visible."""
    store_for_notes().note("only-here", "f", "outside", complete=True)
    with use_store(ProviderBytes()) as own:
        store_for_notes().note("only-here", "f", "inside", complete=True)
        taken = [take("only-here", "f", lambda text: True, own) for _ in range(3)]
    assert [noted.text if noted else None for noted in taken] == ["inside", "outside", None]


def test_runs_do_not_see_each_others_notes() -> None:
    """The same id in two runs is two calls."""
    with use_store(ProviderBytes()):
        store_for_notes().note("a", "two-runs", "1", complete=True)
    with use_store(ProviderBytes()) as own:
        assert take("a", "two-runs", lambda text: True, own) is None


def test_use_store_restores_the_context() -> None:
    """After the block the context is as it was, also when the block raised."""
    before = contextvars.copy_context()
    with pytest.raises(KeyError), use_store(ProviderBytes()):
        raise KeyError
    assert current_store.get() is before.get(current_store)


def test_a_block_left_in_another_context_raises_nothing() -> None:
    """A run that is opened in one context and closed in another closes quietly."""
    block = use_store(ProviderBytes())
    contextvars.copy_context().run(block.__enter__)
    block.__exit__(None, None, None)


def test_stores_are_not_kept_alive() -> None:
    """A run's store goes when its run goes."""
    before = len(provider_bytes._stores)
    ProviderBytes()
    gc.collect()
    assert len(provider_bytes._stores) <= before
