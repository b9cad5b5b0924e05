"""What the model asked for, what ran and what came back -> one list of calls, in order.

Ids repeat in real runs, so a call is its place. Results come from the tool's span, else from the
messages of the turns that follow, up to the next use of the id. Where ids say nothing the order does,
and where their number differs it is said that nobody can tell.
"""

from __future__ import annotations

from bisect import bisect_right
from collections import defaultdict
from collections.abc import Set as AbstractSet
from dataclasses import dataclass

from attest_otel.read.facts import ToolResult
from attest_otel.read.matching import PairedCall, id_kind, match_runs
from attest_otel.read.model_calls import ModelCall
from attest_otel.read.tool_runs import ToolRun


@dataclass(frozen=True, slots=True)
class Pairing:
    """All calls of a run in order, and the results that belong to none of them."""

    calls: list[PairedCall]
    orphans: list[ToolResult]


def pair(turns: list[ModelCall], runs: list[ToolRun], guests: AbstractSet[str] = frozenset()) -> Pairing:
    """Pair requests with executions and results; `guests` are the traces that are here by a conversation's name alone."""
    _add_lost_requests(turns)
    asked = [PairedCall(turn, place, request) for turn in turns for place, request in enumerate(turn.requests)]
    unmatched = match_runs(asked, runs, guests)
    used = _find_results(asked, turns)
    starts = [turn.facts.span.start_ns for turn in turns]
    calls = asked + [PairedCall(_turn_before(run, turns, starts), 0, None, run) for run in unmatched]
    calls.sort(key=_order)
    return Pairing(calls, _orphans(turns, asked, used))


def _order(call: PairedCall) -> tuple[int, int, int, int, str]:
    index = -1 if call.turn is None else call.turn.index
    if call.request is not None or call.run is None:
        return (index, 0, call.position, 0, "")
    return (index, 1, 0, call.run.span.start_ns, call.run.span.span_id)


def _turn_before(run: ToolRun, turns: list[ModelCall], starts: list[int]) -> ModelCall | None:
    position = bisect_right(starts, run.span.start_ns)
    return turns[position - 1] if position else None


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
        shown = {call.call_id for call in block}
        if None not in known and None not in shown and len(shown) == len(block) and known.keys() <= shown:
            before.requests = [known.get(call.call_id, call) for call in block]


def _find_results(asked: list[PairedCall], turns: list[ModelCall]) -> set[str]:
    """Look up, for each call without an output, what the following turns show; return the odd ids that were used."""
    by_turn: dict[int, list[PairedCall]] = defaultdict(list)
    for call in asked:
        if call.turn is not None:
            by_turn[call.turn.index].append(call)
    shown = _Shown(turns)
    next_use = _next_uses(by_turn, len(turns) - 1)
    following = _following(turns)
    used: set[str] = set()
    for index, calls in by_turn.items():
        _by_id(calls, index, next_use, shown)
        open_calls = [call for call in calls if call.run is None or call.run.execution.output is None]
        if open_calls and len(open_calls) == len(calls) and all(call.result is None and not call.ambiguous for call in calls):
            used |= _by_position(calls, following.get(index))
    return used


class _Shown:
    """The results that model calls were given: for each call id the turns that show it, in order."""

    def __init__(self, turns: list[ModelCall]) -> None:
        self._turns: dict[str, list[int]] = defaultdict(list)
        self._results: dict[tuple[str, int], list[ToolResult]] = defaultdict(list)
        for turn in turns:
            for message in turn.inputs:
                for result in message.results:
                    if result.call_id is not None:
                        self._add(result.call_id, turn.index, result)

    def first(self, call_id: str, after: int, until: int) -> list[ToolResult]:
        """Return what the first turn later than `after`, and not later than `until`, shows for this id."""
        turns = self._turns.get(call_id, [])
        position = bisect_right(turns, after)
        if position == len(turns) or turns[position] > until:
            return []
        return self._results[call_id, turns[position]]

    def _add(self, call_id: str, index: int, result: ToolResult) -> None:
        if index not in self._turns[call_id][-1:]:
            self._turns[call_id].append(index)
        self._results[call_id, index].append(result)


def _next_uses(by_turn: dict[int, list[PairedCall]], last: int) -> dict[tuple[str, int], int]:
    """Return, for each id and turn, up to which turn its results can still be those of that turn."""
    found: dict[tuple[str, int], int] = {}
    upcoming: dict[str, int] = {}
    for index in sorted(by_turn, reverse=True):
        ids = {call.request.call_id for call in by_turn[index] if call.request is not None and call.request.call_id is not None}
        for call_id in ids:
            found[call_id, index] = upcoming.get(call_id, last)
            upcoming[call_id] = index
    return found


def _following(turns: list[ModelCall]) -> dict[int, ModelCall]:
    """Return, for each turn, the next one of the same agent's span."""
    found: dict[int, ModelCall] = {}
    upcoming: dict[str | None, ModelCall] = {}
    for turn in reversed(turns):
        if turn.owner in upcoming:
            found[turn.index] = upcoming[turn.owner]
        upcoming[turn.owner] = turn
    return found


def _by_id(calls: list[PairedCall], index: int, next_use: dict[tuple[str, int], int], shown: _Shown) -> None:
    groups: dict[str, list[PairedCall]] = defaultdict(list)
    for call in calls:
        if call.request is not None and call.request.call_id is not None:
            groups[call.request.call_id].append(call)
    for call_id, same in groups.items():
        found = shown.first(call_id, index, next_use[call_id, index])
        if found and len(found) >= len(same):
            for call, result in zip(same, found[-len(same) :], strict=True):
                call.result = result
        elif found:
            for call in same:
                call.ambiguous = True


def _by_position(calls: list[PairedCall], following: ModelCall | None) -> set[str]:
    """Pair results whose ids say nothing, by their order; where their number differs it is anybody's guess."""
    if following is None:
        return set()
    block: list[ToolResult] = []
    for message in reversed(following.inputs):
        if message.role == "assistant" or message.calls:
            break
        block[:0] = message.results
    kinds = {id_kind(call.request.call_id) for call in calls if call.request is not None}
    block = [result for result in block if result.call_id is None or id_kind(result.call_id) not in kinds]
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
    """Return results of calls that no turn asked for; what an agent's first turn was given belongs to earlier runs."""
    known: set[str | None] = {call.request.call_id for call in asked if call.request is not None} | used
    known |= {call.run.execution.call_id for call in asked if call.run is not None}
    owners: set[str | None] = set()
    found: dict[str, ToolResult] = {}
    for turn in turns:
        results = [result for message in turn.inputs for result in message.results]
        if turn.owner not in owners:
            owners.add(turn.owner)
            known |= {result.call_id for result in results}
        for result in results:
            if result.call_id is not None and result.call_id not in known:
                found.setdefault(result.call_id, result)
    return list(found.values())
