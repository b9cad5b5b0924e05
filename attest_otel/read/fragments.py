"""Fragments: model and tool spans outside of every run, and the runs they belong to.

A second span of a model call that a run already holds joins it by response id, others join by an explicit
run id or by conversation id; what is left makes runs that nothing stands for. Source: DESIGN 5, and the
bugs of real pipelines D04.
"""

from __future__ import annotations

from bisect import bisect_right
from collections import defaultdict
from collections.abc import Callable
from dataclasses import dataclass

from attest_otel import attributes as names
from attest_otel.read.facts import Kind
from attest_otel.read.kinds import conversation_of, response_id_of, run_id_of
from attest_otel.read.model_calls import is_hop_of
from attest_otel.read.span import SpanRecord
from attest_otel.read.tree import Key, ordered


@dataclass(frozen=True, slots=True)
class RunSpans:
    """The spans of one run in their fixed order.

    `root` stands for the run: its own span, or the local root around it. `orphan`: the run is made of
    fragments that no run could be found for, and `root` is None.
    """

    root: SpanRecord | None
    spans: tuple[SpanRecord, ...]
    orphan: bool = False


@dataclass(slots=True)
class Group:
    """The spans of one run while they are gathered."""

    root: SpanRecord | None
    members: list[SpanRecord]

    def finish(self) -> RunSpans:
        """Return the run."""
        return RunSpans(self.root, tuple(ordered(self.members)), orphan=self.root is None)

    def holds(self, span: SpanRecord) -> bool:
        """Return whether a span was open within the time of this run; one may have started before."""
        first = self.root or self.members[0]
        begun = span.end_ns is None or first.start_ns <= span.end_ns
        return begun and (first.end_ns is None or span.start_ns <= first.end_ns)


def key_of(span: SpanRecord) -> Key:
    """Return what a span is known by."""
    return (span.trace_id, span.span_id)


def joined(fragments: list[list[SpanRecord]], runs: list[Group], kinds: dict[Key, Kind]) -> list[Group]:
    """Give each fragment to the run it belongs to; return the runs made of those that belong to none."""
    if not fragments:
        return []
    by_response = _index(runs, response_id_of)
    by_run = _index(runs, run_id_of)
    by_conversation = _index(runs, conversation_of)
    model_calls = _ModelCalls(runs, kinds)
    alone: dict[tuple[str, str], Group] = {}
    late: list[tuple[Group, list[SpanRecord]]] = []
    for members in fragments:
        found = (
            _find(members, by_response)
            or model_calls.around(members)
            or _find(members, by_run)
            or _find(members, by_conversation, ends_with_run=True)
        )
        if found is not None:
            late.append((found, members))
            continue
        key = _own_key(members)
        alone.setdefault(key, Group(None, [])).members.extend(members)
    for group, members in late:
        group.members.extend(members)
    return _merged_by_response(list(alone.values()))


class _ModelCalls:
    """The model calls with content of all runs, by start, and the runs they belong to."""

    def __init__(self, runs: list[Group], kinds: dict[Key, Kind]) -> None:
        calls = [(s, run) for run in runs for s in run.members if kinds[key_of(s)] == "chat" and has_content(s)]
        calls.sort(key=lambda pair: (pair[0].start_ns, pair[0].span_id))
        self._calls = calls
        self._starts = [call.start_ns for call, _ in calls]
        self._kinds = kinds

    def around(self, members: list[SpanRecord]) -> Group | None:
        """Return the run whose model call this one span without content is a hop of, if there is just one."""
        span = members[0]
        if len(members) != 1 or self._kinds[key_of(span)] != "chat" or has_content(span):
            return None
        end = bisect_right(self._starts, span.start_ns)
        near = self._calls[max(0, end - _LOOKED_AT) : end]
        found = {id(run): run for call, run in near if is_hop_of(span, call)}
        return next(iter(found.values())) if len(found) == 1 else None


def has_content(span: SpanRecord) -> bool:
    """Return whether a model call shows what was said in it."""
    return any(name in span.attributes for name in _CONTENT) or any(event.name.startswith("gen_ai.") for event in span.events)


_LOOKED_AT = 64
_CONTENT = (
    names.INPUT_MESSAGES,
    names.OUTPUT_MESSAGES,
    "input.value",
    "ai.prompt.messages",
    "gen_ai.prompt.0.role",
    "gen_ai.prompt",
    "gen_ai.request.messages",
    "langfuse.observation.input",
)


NameOf = Callable[[SpanRecord], str | None]


@dataclass(frozen=True, slots=True)
class _Index:
    """Runs by a name that their spans give."""

    name_of: NameOf
    groups: dict[str, list[Group]]


def _index(groups: list[Group], name_of: NameOf) -> _Index:
    found: dict[str, list[Group]] = defaultdict(list)
    for group in groups:
        for name in dict.fromkeys(filter(None, map(name_of, group.members))):
            found[name].append(group)
    return _Index(name_of, dict(found))


def _find(members: list[SpanRecord], index: _Index, *, ends_with_run: bool = False) -> Group | None:
    """Return the run that a fragment names; of several the one whose time it lies in, else the last before it.

    A conversation goes on when its run has ended: `ends_with_run` says that what starts then is of a later turn.
    """
    for span in members:
        name = index.name_of(span)
        groups = index.groups.get(name, []) if name is not None else []
        if not groups:
            continue
        within = next((group for group in groups if group.holds(span)), None)
        before = [group for group in groups if (group.root or group.members[0]).start_ns <= span.start_ns]
        if within is None and ends_with_run and before:
            return None
        return within or (before[-1] if before else groups[0])
    return None


def _own_key(members: list[SpanRecord]) -> tuple[str, str]:
    for prefix, name_of in (("run", run_id_of), ("conversation", conversation_of)):
        name = next(filter(None, map(name_of, members)), None)
        if name is not None:
            return (prefix, name)
    first = members[0]
    return (first.trace_id, first.span_id)


def _merged_by_response(groups: list[Group]) -> list[Group]:
    """Put fragments that are two spans of one model call together."""
    by_response: dict[str, Group] = {}
    kept: list[Group] = []
    for group in groups:
        names = list(filter(None, map(response_id_of, group.members)))
        known = next((by_response[name] for name in names if name in by_response), None)
        if known is not None:
            known.members.extend(group.members)
        else:
            kept.append(group)
        for name in names:
            by_response.setdefault(name, known or group)
    return kept
