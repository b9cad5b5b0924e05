"""What the model asked for and what ran -> one list of calls, in order.

Ids repeat in real runs, so a call is its place: an execution belongs to the latest turn before it
that asked for its id; without an id, to the turn that asked for its name and arguments. Results come
from the tool's span, else from the messages of the turns that follow, up to the next use of the id.
"""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass

from attest_otel.read.facts import Request, ToolResult
from attest_otel.read.model_calls import ModelCall
from attest_otel.read.tool_runs import ToolRun, equal_arguments


@dataclass(slots=True)
class PairedCall:
    """One call of the run: asked for, run, or both; `result` is what a later message shows of it."""

    turn: ModelCall | None
    position: int
    request: Request | None
    run: ToolRun | None = None
    result: ToolResult | None = None
    ambiguous: bool = False


@dataclass(frozen=True, slots=True)
class Pairing:
    """All calls of a run in order, and the results that belong to none of them."""

    calls: list[PairedCall]
    orphans: list[ToolResult]


def pair(turns: list[ModelCall], runs: list[ToolRun]) -> Pairing:
    """Pair requests with executions and results."""
    _add_lost_requests(turns)
    asked = [PairedCall(turn, place, request) for turn in turns for place, request in enumerate(turn.requests)]
    unmatched = _match_runs(asked, turns, runs)
    used = _find_results(asked, turns)
    calls = asked + [PairedCall(_turn_before(run, turns), 0, None, run) for run in unmatched]
    calls.sort(key=_order)
    return Pairing(calls, _orphans(turns, asked, used))


def _order(call: PairedCall) -> tuple[int, int, int, int, str]:
    index = -1 if call.turn is None else call.turn.index
    if call.request is not None or call.run is None:
        return (index, 0, call.position, 0, "")
    return (index, 1, 0, call.run.span.start_ns, call.run.span.span_id)


def _turn_before(run: ToolRun, turns: list[ModelCall]) -> ModelCall | None:
    found = None
    for turn in turns:
        if turn.facts.span.start_ns <= run.span.start_ns:
            found = turn
    return found


def _add_lost_requests(turns: list[ModelCall]) -> None:
    """Add calls that a model call's own output lacks and the next one's history shows."""
    previous: dict[str | None, ModelCall] = {}
    for turn in turns:
        before = previous.get(turn.owner)
        previous[turn.owner] = turn
        if before is None or before.facts.outputs is None or len(turn.inputs) <= len(before.inputs):
            continue
        block = [call for message in turn.inputs[len(before.inputs) :] for call in message.calls]
        if len(block) <= len(before.requests):
            continue
        known = {request.call_id: request for request in before.requests}
        if None in known or any(call.call_id is None for call in block):
            continue
        if known.keys() <= {call.call_id for call in block}:
            before.requests = [known.get(call.call_id, call) for call in block]


def _match_runs(asked: list[PairedCall], turns: list[ModelCall], runs: list[ToolRun]) -> list[ToolRun]:
    """Give each execution to a request; return those that nobody asked for."""
    by_id: dict[str, list[PairedCall]] = defaultdict(list)
    by_name: dict[str, list[PairedCall]] = defaultdict(list)
    for call in asked:
        if call.request is not None:
            by_name[call.request.name].append(call)
            if call.request.call_id is not None:
                by_id[call.request.call_id].append(call)
    left: list[ToolRun] = []
    for run in runs:
        call_id = run.execution.call_id
        match = _choose(run, [c for c in by_id.get(call_id, ()) if c.request is not None and _alike(c, run)]) if call_id is not None else None
        if match is None:
            left.append(run)
        else:
            match.run = run
    unmatched: list[ToolRun] = []
    for run in left:
        match = _choose_by_name(run, by_name.get(run.execution.name, []))
        if match is None:
            unmatched.append(run)
        else:
            match.run = run
    return unmatched


def _alike(call: PairedCall, run: ToolRun) -> bool:
    return call.request is not None and (call.request.name == run.execution.name or run.execution.name.endswith(call.request.name))


def _choose(run: ToolRun, candidates: list[PairedCall]) -> PairedCall | None:
    """Choose the free request of the latest turn that came before; where times don't tell, the first free one."""
    free = [call for call in candidates if call.run is None]
    same_owner = [call for call in free if call.turn is not None and call.turn.owner == run.owner]
    free = same_owner or free
    if len(free) < 2:  # noqa: PLR2004
        return free[0] if free else None
    before = [c for c in free if c.turn is not None and c.turn.facts.span.start_ns < run.span.start_ns]
    if not before:
        return free[0]
    latest = before[-1].turn
    return next(c for c in before if c.turn is latest)


def _choose_by_name(run: ToolRun, candidates: list[PairedCall]) -> PairedCall | None:
    call_id = run.execution.call_id
    free = [c for c in candidates if c.run is None and c.request is not None and not (call_id and c.request.call_id and _same_kind(call_id, c.request.call_id))]
    equal = [c for c in free if c.request is not None and equal_arguments(c.request.arguments, run.execution.arguments)]
    return _choose(run, equal) or _choose(run, free)


def _same_kind(a: str, b: str) -> bool:
    """Return whether two ids that differ are of one kind (`call_…`): then they name different calls."""
    return a.partition("_")[0] == b.partition("_")[0]


def _find_results(asked: list[PairedCall], turns: list[ModelCall]) -> set[str]:
    """Look up, for each call, what the following turns show as its result; return the ids of results used."""
    by_turn: dict[int, list[PairedCall]] = defaultdict(list)
    next_use: dict[tuple[str, int], int] = {}
    uses: dict[str, list[int]] = defaultdict(list)
    for call in asked:
        if call.turn is not None and call.request is not None:
            by_turn[call.turn.index].append(call)
            if call.request.call_id is not None and call.turn.index not in uses[call.request.call_id][-1:]:
                uses[call.request.call_id].append(call.turn.index)
    for call_id, indexes in uses.items():
        for here, there in zip(indexes, [*indexes[1:], len(turns) - 1], strict=True):
            next_use[call_id, here] = there
    results = [_results_of(turn) for turn in turns]
    used: set[str] = set()
    for index, calls in sorted(by_turn.items()):
        _by_id(calls, index, next_use, results)
        if all(call.result is None and not call.ambiguous for call in calls):
            used |= _by_position(calls, index, turns)
    return used


@dataclass(frozen=True, slots=True)
class _Shown:
    """The results one model call was given, by call id."""

    by_id: dict[str, list[ToolResult]]


def _results_of(turn: ModelCall) -> _Shown:
    by_id: dict[str, list[ToolResult]] = defaultdict(list)
    for message in turn.inputs:
        for result in message.results:
            if result.call_id is not None:
                by_id[result.call_id].append(result)
    return _Shown(dict(by_id))


def _by_id(calls: list[PairedCall], index: int, next_use: dict[tuple[str, int], int], results: list[_Shown]) -> None:
    groups: dict[str, list[PairedCall]] = defaultdict(list)
    for call in calls:
        if call.request is not None and call.request.call_id is not None:
            groups[call.request.call_id].append(call)
    for call_id, same in groups.items():
        for later in range(index + 1, min(next_use[call_id, index], len(results) - 1) + 1):
            found = results[later].by_id.get(call_id)
            if not found:
                continue
            if len(found) >= len(same):
                for call, result in zip(same, found[-len(same) :], strict=True):
                    call.result = result
            else:
                for call in same:
                    call.ambiguous = True
            break


def _by_position(calls: list[PairedCall], index: int, turns: list[ModelCall]) -> set[str]:
    """Pair results whose ids say nothing, by their order; where their number differs it is anybody's guess."""
    owner = turns[index].owner
    following = next((turn for turn in turns[index + 1 :] if turn.owner == owner), None)
    if following is None:
        return set()
    block: list[ToolResult] = []
    for message in reversed(following.inputs):
        if message.role == "assistant" or message.calls:
            break
        block[:0] = message.results
    asked = [call.request.call_id for call in calls if call.request is not None and call.request.call_id is not None]
    block = [r for r in block if r.call_id is None or not any(_same_kind(r.call_id, known) for known in asked)]
    if len(block) == len(calls):
        for call, result in zip(calls, block, strict=True):
            call.result = result
    elif block and all(result.call_id is None for result in block):
        for call in calls:
            call.ambiguous = True
    else:
        return set()
    return {result.call_id for result in block if result.call_id is not None}


def _orphans(turns: list[ModelCall], asked: list[PairedCall], used: set[str]) -> list[ToolResult]:
    """Return results of calls that no turn asked for; what the first turn was given belongs to earlier runs."""
    known = {call.request.call_id for call in asked if call.request is not None} | used
    known |= {call.run.execution.call_id for call in asked if call.run is not None}
    first: set[str | None] = set()
    owners: set[str | None] = set()
    found: dict[str, ToolResult] = {}
    for turn in turns:
        ids = [result for message in turn.inputs for result in message.results if result.call_id is not None]
        if turn.owner not in owners:
            owners.add(turn.owner)
            first |= {result.call_id for result in ids}
            continue
        for result in ids:
            if result.call_id is not None and result.call_id not in known and result.call_id not in first:
                found.setdefault(result.call_id, result)
    return list(found.values())
