"""The runs that are open in this process, so that a call from a thread that knows of no run finds its own.

A thread pool inherits no context: its calls would be runs of nobody, and the agent's run would look as if
it had made none. But the run's store has the tool inputs that the model emitted in it. So a call that no
run is known for belongs to the one open run that noted its id, or its name and text; of two that could be,
neither has it. Runs are held weakly; there is no lock, and nothing is kept across a fork.
"""

from __future__ import annotations

import itertools
import os
import weakref
from collections.abc import Callable
from typing import TYPE_CHECKING

from attest_otel.record.note_stores import fallback_store, is_known
from attest_otel.record.tool_requests import AskedCall

if TYPE_CHECKING:
    from attest_otel.record.agent_run import AgentRun

MAX_OPEN_RUNS = 4096
MAX_COMPARED_RUNS = 256

_open: dict[int, weakref.ref[AgentRun]] = {}
_numbers = itertools.count()


def opened(run: AgentRun) -> Callable[[], None]:
    """Let calls find a run once something is noted in it; return what closes it. Over `MAX_OPEN_RUNS` it is not found."""
    number = next(_numbers)
    held, store = weakref.ref(run, lambda _: _forget(number)), run.requests.store

    def heard() -> None:
        if len(_open) < MAX_OPEN_RUNS:
            _open[number] = held

    def close() -> None:
        store.on_first_note = None
        _forget(number)

    store.on_first_note = heard
    return close


def find(asked: AskedCall, *, surely: bool) -> AgentRun | None:
    """Return the one open run whose model asked for a call.

    Args:
        asked: the call.
        surely: both id and text must be the run's, for a call that may as well belong elsewhere;
            otherwise an id is enough, or for a call without a known id the tool's name and the text, where
            at most `MAX_COMPARED_RUNS` are open.
    """
    runs = _runs() if _open and asked.problem is None else []
    if not runs or _waits_in_fallback(asked):
        return None
    knowing = _knowing(runs, asked)
    if len(knowing) == 1 and not surely:
        return knowing[0]
    if surely or knowing:
        return _only([run for run in knowing if _has_text(run, asked)])
    return _only([run for run in runs if _has_text(run, asked)]) if len(runs) <= MAX_COMPARED_RUNS else None


def _knowing(runs: list[AgentRun], asked: AskedCall) -> list[AgentRun]:
    call_id, name = asked.call_id, asked.name
    if call_id is None:
        return []
    return [run for run in runs if run.requests.store.may_know(call_id) and is_known(call_id, name, run.requests.store)]


def _has_text(run: AgentRun, asked: AskedCall) -> bool:
    return run.requests.store.waits(asked.name, asked.matches)


def _only(runs: list[AgentRun]) -> AgentRun | None:
    return runs[0] if len(runs) == 1 else None


def _waits_in_fallback(asked: AskedCall) -> bool:
    """Return whether a model call of no run asked for this."""
    if asked.call_id is not None and is_known(asked.call_id, asked.name, fallback_store):
        return True
    return bool(len(fallback_store)) and fallback_store.waits(asked.name, asked.matches)


def _runs() -> list[AgentRun]:
    return [run for ref in list(_open.values()) if (run := ref()) is not None]


def _forget(number: int) -> None:
    _open.pop(number, None)


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_open.clear)
