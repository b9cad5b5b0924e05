"""Which request of the model an execution belongs to, in constant time each.

An execution takes the free request of the latest turn that started before it; where times don't tell,
the first free one. It is looked up by id, then by name and arguments, then by name alone, and each
time among the requests of its own agent's span first.
"""

from __future__ import annotations

from collections import defaultdict, deque
from collections.abc import Callable, Iterable
from collections.abc import Set as AbstractSet
from dataclasses import dataclass
from functools import partial

from attest_otel.formats import strict_json
from attest_otel.read.facts import Arguments, Request, ToolResult
from attest_otel.read.model_calls import ModelCall
from attest_otel.read.tool_runs import ToolRun
from attest_otel.read.values import NOT_JSON


@dataclass(slots=True)
class PairedCall:
    """One call of the run: asked for, run, or both; `result` is what a later message shows of it."""

    turn: ModelCall | None
    position: int
    request: Request | None
    run: ToolRun | None = None
    result: ToolResult | None = None
    ambiguous: bool = False


Key = tuple[str, ...]


def match_runs(asked: list[PairedCall], runs: list[ToolRun], guests: AbstractSet[str] = frozenset()) -> list[ToolRun]:
    """Give each execution to a request; return those that nobody asked for.

    Args:
        asked: the requests, in the order of their turns.
        runs: the executions, in the order of their starts.
        guests: the traces whose requests a name alone gives to none but their own executions.
    """
    left = runs
    by_name = partial(_request_names, guests=guests), partial(_run_names, guests=guests)
    for of_request, of_run in ((_request_ids, _run_ids), (_request_arguments, _run_arguments), by_name):
        if left:
            left = _match([call for call in asked if call.run is None], left, of_request, of_run)
    return left


def id_kind(call_id: str | None) -> str:
    """Return which of OpenAI's two kinds of ids this is (`call_…` of a call, `fc_…` of its item), or none of them."""
    if call_id is None:
        return "none"
    head = call_id.partition("_")[0]
    return head if head in {"call", "fc"} else "other"


def _match(
    asked: list[PairedCall],
    runs: list[ToolRun],
    of_request: Callable[[PairedCall], Iterable[Key]],
    of_run: Callable[[ToolRun], Iterable[Key]],
) -> list[ToolRun]:
    if not asked:
        return runs
    queues: dict[Key, _Queue] = defaultdict(_Queue)
    for call in asked:
        for key in of_request(call):
            queues[key].add(call)
    left: list[ToolRun] = []
    for run in runs:
        found = (queues[key].take(run.span.start_ns) for key in of_run(run) if key in queues)
        taken = next(filter(None, found), None)
        if taken is None:
            left.append(run)
        else:
            taken.run = run
    return left


class _Queue:
    """Requests of one key, in order of their turns; the latest turn that began before a time is served first."""

    def __init__(self) -> None:
        self._coming: deque[deque[PairedCall]] = deque()
        self._begun: list[deque[PairedCall]] = []

    def add(self, call: PairedCall) -> None:
        if self._coming and _same_span(self._coming[-1][-1], call):
            self._coming[-1].append(call)
        else:
            self._coming.append(deque([call]))

    def take(self, start_ns: int) -> PairedCall | None:
        while self._coming and (not self._coming[0] or _start(self._coming[0][0]) < start_ns):
            self._begun.append(self._coming.popleft())
        while self._begun:
            call = _first_free(self._begun[-1])
            if call is not None:
                return call
            self._begun.pop()
        while self._coming:
            call = _first_free(self._coming[0])
            if call is not None:
                return call
            self._coming.popleft()
        return None


def _same_span(a: PairedCall, b: PairedCall) -> bool:
    """Return whether one span tells of two calls: nothing but their order says then which came first."""
    return a.turn is b.turn or (a.turn is not None and b.turn is not None and a.turn.facts.span is b.turn.facts.span)


def _start(call: PairedCall) -> int:
    return call.turn.facts.span.start_ns if call.turn is not None else 0


def _first_free(group: deque[PairedCall]) -> PairedCall | None:
    while group:
        call = group.popleft()
        if call.run is None:
            return call
    return None


def _owner(call: PairedCall) -> str:
    return (call.turn.owner if call.turn is not None else None) or ""


def _request_ids(call: PairedCall) -> list[Key]:
    request = call.request
    if request is None or request.call_id is None:
        return []
    return [("own", _owner(call), request.call_id, request.name), ("any", request.call_id, request.name), ("id", request.call_id)]


def _run_ids(run: ToolRun) -> list[Key]:
    call_id, name = run.execution.call_id, run.execution.name
    return [] if call_id is None else [("own", run.owner or "", call_id, name), ("any", call_id, name), ("id", call_id)]


def _request_arguments(call: PairedCall) -> list[Key]:
    if call.request is None or (arguments := _key(call.request.arguments)) is None:
        return []
    name, kind = call.request.name, id_kind(call.request.call_id)
    return [("own", _owner(call), name, kind, arguments), ("any", name, kind, arguments)]


def _run_arguments(run: ToolRun) -> list[Key]:
    arguments = _key(run.execution.arguments)
    if arguments is None:
        return []
    name, kinds = run.execution.name, _other_kinds(run)
    return [("own", run.owner or "", name, kind, arguments) for kind in kinds] + [
        ("any", name, kind, arguments) for kind in kinds
    ]


def _request_names(call: PairedCall, *, guests: AbstractSet[str]) -> list[Key]:
    if call.request is None:
        return []
    name, kind = call.request.name, id_kind(call.request.call_id)
    if call.turn is not None and call.turn.facts.span.trace_id in guests:
        return [("guest", name, kind)]
    return [("own", _owner(call), name, kind), ("any", name, kind)]


def _run_names(run: ToolRun, *, guests: AbstractSet[str]) -> list[Key]:
    name, kinds = run.execution.name, _other_kinds(run)
    keys: list[Key] = [("own", run.owner or "", name, kind) for kind in kinds] + [("any", name, kind) for kind in kinds]
    return keys + [("guest", name, kind) for kind in kinds] if run.span.trace_id in guests else keys


def _other_kinds(run: ToolRun) -> list[str]:
    """Two ids of one kind that differ name different calls; any other pair may be one call."""
    own = id_kind(run.execution.call_id)
    return [kind for kind in ("call", "fc", "other", "none") if own == "none" or kind != own]


def _key(arguments: Arguments) -> str | None:
    """Return one text for all spellings of these arguments; None where they are not known."""
    if arguments.fidelity == "absent":
        return None
    value = arguments.parsed
    return f"text:{arguments.raw}" if value is NOT_JSON else strict_json.canonical(value or {})
