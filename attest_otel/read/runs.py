"""Which spans make one run: spans of any number of traces -> runs.

A run is the subtree of a top-most agent span, of whatever convention. Where a local root has none
below it, the root itself is the run, if it holds any model or tool span. Model and tool spans outside
of every run are fragments, see `read.fragments`. Source: DESIGN 5, and the bugs of real pipelines D04,
D06, D14.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable

from attest_otel.read.facts import Kind
from attest_otel.read.fragments import Group, RunSpans, joined, key_of
from attest_otel.read.kinds import is_ours, kind_of
from attest_otel.read.span import SpanRecord
from attest_otel.read.tree import Key, Tree, ordered

__all__ = ["RunSpans", "split_runs"]


def split_runs(spans: Iterable[SpanRecord]) -> list[RunSpans]:
    """Group spans into runs, in the order of their starts; the same for every order of arrival."""
    sorted_spans = _without_ours(ordered(spans))
    tree = Tree(sorted_spans)
    kinds = {key_of(span): kind_of(span) for span in sorted_spans}
    groups, outside = _by_agent(sorted_spans, tree, kinds)
    runs = list(groups.values())
    fragments: list[list[SpanRecord]] = []
    for members in _by_local_root(outside, tree).values():
        if not any(kinds[key_of(span)] in {"chat", "tool"} for span in members):
            continue
        root = tree.root(members[0])
        if kinds[key_of(root)] == "other" and key_of(root) in {key_of(m) for m in members}:
            runs.append(Group(root, members))
        else:
            fragments.append(members)
    runs.extend(joined(fragments, runs, kinds))
    finished = [group.finish() for group in runs if group.members]
    return sorted(finished, key=lambda run: (run.spans[0].start_ns, run.spans[0].span_id, run.spans[0].trace_id))


def _without_ours(spans: list[SpanRecord]) -> list[SpanRecord]:
    """Leave out the spans this package made; one that others lie below stays, so that they keep their place."""
    parents = {(span.trace_id, span.parent_id) for span in spans}
    return [span for span in spans if not is_ours(span) or key_of(span) in parents]


def _by_agent(spans: list[SpanRecord], tree: Tree, kinds: dict[Key, Kind]) -> tuple[dict[Key, Group], list[SpanRecord]]:
    """Put every span under its top-most agent span; return those groups and what lies under none."""
    top: dict[Key, SpanRecord | None] = {}
    groups: dict[Key, Group] = {}
    outside: list[SpanRecord] = []
    for span in spans:
        agent = _top_agent(span, tree, kinds, top)
        if agent is None:
            outside.append(span)
        else:
            groups.setdefault(key_of(agent), Group(agent, [])).members.append(span)
    return groups, outside


def _top_agent(span: SpanRecord, tree: Tree, kinds: dict[Key, Kind], known: dict[Key, SpanRecord | None]) -> SpanRecord | None:
    path: list[SpanRecord] = []
    seen: set[Key] = set()
    above: SpanRecord | None = span
    while above is not None and key_of(above) not in known and key_of(above) not in seen:
        seen.add(key_of(above))
        path.append(above)
        above = tree.parent(above)
    in_cycle = above is not None and key_of(above) in seen
    found = None if above is None or in_cycle else known[key_of(above)]
    if in_cycle:
        found = next((s for s in ordered(path) if kinds[key_of(s)] == "agent"), None)
    for walked in reversed(path):
        if kinds[key_of(walked)] == "agent" and (found is None or _began_after(walked, found)):
            found = walked
        known[key_of(walked)] = found
    return found


def _began_after(agent: SpanRecord, run: SpanRecord) -> bool:
    """Return whether an agent began when the run above was over: its context was never detached (D06)."""
    return run.end_ns is not None and agent.start_ns > run.end_ns


def _by_local_root(spans: list[SpanRecord], tree: Tree) -> dict[Key, list[SpanRecord]]:
    groups: dict[Key, list[SpanRecord]] = defaultdict(list)
    for span in spans:
        groups[key_of(tree.root(span))].append(span)
    return groups
