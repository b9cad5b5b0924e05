"""The state machine of runs: starts and ends of spans in, runs to grade out.

Only the worker's thread touches a buffer; the time is an argument. A run is the subtree of a top-most
agent span, or else all that a local root holds, by the reading room's own mark of what a span is.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any

from opentelemetry.sdk.trace import ReadableSpan

from attest_otel import attributes as names
from attest_otel.config import AttestConfig
from attest_otel.live.deciding import Decider
from attest_otel.live.faults import Counts
from attest_otel.live.hops import Hops, open_parent_of_hop
from attest_otel.live.own_spans import OwnSpans, has_our_shape
from attest_otel.live.runs import Node, Run, State, join_keys, span_key, subtree
from attest_otel.live.sizes import cut_record, cut_text, record_size, span_within, text_size
from attest_otel.read.kinds import kind_of
from attest_otel.read.span import SpanRecord, from_sdk

SMALL_VALUE_BYTES = 256
MAX_IGNORED = 10_000
MAX_AGENTS = 100
_WORK = frozenset({"chat", "tool"})


class Buffer:
    """Open and recently decided runs, within the limits of the settings.

    Args:
        config: the settings.
        quiet_trace: the id of the trace that holds what foreign code records while it works for us.
    """

    def __init__(self, config: AttestConfig, quiet_trace: int = 0) -> None:
        self._limits = config.limits
        self._keep_spans = config.export.unsampled != "none"
        self._quiet_trace = quiet_trace
        self._index: dict[int, Node] = {}
        self._ignored: dict[int, Run | None] = {}
        self._own = OwnSpans()
        self._full: dict[int, Run] = {}
        self._agents: dict[str | None, bool] = {}
        self.on_big: Callable[[], None] = _nothing
        self.last_big: float | None = None
        self.counts = Counts("late", "unknown", "duplicate", "left_out", "revised")
        self.runs = Decider(config.limits, self._index, self.counts)
        self._hops = Hops(self.runs)

    def knows(self, key: int) -> bool:
        """Return whether a span belongs to a run that is open or remembered; may be asked from any thread."""
        return key in self._index or key in self.runs.memory

    def own(self, key: int, _now: float) -> None:
        """A span started that this package made."""
        self._own.add(key, sure=True)

    def start(self, span: ReadableSpan, now: float) -> None:
        """A span started."""
        context = span.context
        if context is None:
            return
        key, above = span_key(context), _above(span) or open_parent_of_hop(span, self._index)
        if context.trace_id == self._quiet_trace:
            self._ignore(key)
        elif has_our_shape(span) and not self._is_open(above):
            self._own.add(key, sure=False)
        elif above in self._ignored and (self._ignored[above] is not None or kind_of(from_sdk(span)) != "agent"):
            self._ignore(key, self._ignored[above])
        elif key in self._index:
            self._start_again(self._index[key], span)
        else:
            self._place(span, key, above, now)

    def end(self, span: ReadableSpan, now: float, cut: tuple[str, ...] = ()) -> None:
        """A span ended; `cut` names the attributes there was no room for on the way here."""
        if span.context is None:
            return
        key = span_key(span.context)
        if key in self._own:
            if self._own.end(key, span):
                return
            self._place(span, key, _above(span), now)
        node = self._index.get(key)
        if node is None:
            self._end_unknown(key)
        elif node.live is None:
            self.counts.add("duplicate")
        else:
            self._note_cut(node, cut, "max_total_bytes")
            self._store(node, span, now)
            self._close(node, span, now)

    def content(self, key: int, attributes: Mapping[str, Any], cut: tuple[str, ...] = ()) -> None:
        """Keep the full values our recorder handed over for a span that is open; `cut` as for `end`."""
        node = self._index.get(key)
        if node is None or node.live is None:
            return
        self._note_cut(node, cut, "max_total_bytes")
        kept = dict(node.content or {})
        for name, value in attributes.items():
            kept[name] = cut_text(value, self._limits.max_value_bytes) if type(value) is str else value
            if kept[name] is not value:
                self._note_cut(node, (name,), "max_value_bytes")
        size = sum(text_size(value) for value in kept.values() if type(value) is str)
        self.runs.grow(node.run, size - node.held)
        node.content, node.held = kept, size

    def root_of(self, key: int) -> int | None:
        """Return the key of the root of the run that a span belongs to, None where it isn't held."""
        node = self._index.get(key)
        if node is not None:
            return node.run.root_key
        return key if key in self.runs.memory else None

    def take_agents(self) -> list[str | None]:
        """Return the agents whose first run began since the last time, None for those without a name; bounded."""
        fresh = [name for name, taken in self._agents.items() if not taken]
        self._agents.update(dict.fromkeys(fresh, True))
        return fresh

    def lost(self, trace_id: int, now: float) -> None:
        """Decide the open runs of a trace whose further spans are left out before they come here."""
        for run in list(self.runs.open.values()):
            if run.root_key >> 64 == trace_id:
                run.miss("overload")
                self.runs.decide(run, now)

    def _is_open(self, key: int | None) -> bool:
        """Return whether a span is part of a run that is not decided: no span of ours lies below one."""
        node = self._index.get(key) if key is not None else None
        return node is not None and not node.run.decided

    def _ignore(self, key: int, full: Run | None = None) -> None:
        """Leave a span and what comes below it alone; a run it is left out of says so."""
        if full is not None:
            full.miss("max_spans_per_run")
            self.counts.add("left_out")
        self._ignored[key] = full
        if len(self._ignored) > MAX_IGNORED:
            del self._ignored[next(iter(self._ignored))]

    def _start_again(self, node: Node, span: ReadableSpan) -> None:
        """Two spans share an id, or one was announced twice."""
        self.counts.add("duplicate")
        if node.live is None:
            node.live = span
            node.run.open[node.key] = node
        elif node.live is not span:
            node.twins += 1

    def _place(self, span: ReadableSpan, key: int, above: int | None, now: float) -> None:
        parent = self._index.get(above) if above is not None else None
        if parent is not None and parent.run.is_agent and parent.run.state is State.OPEN:
            self._join(parent, span, key)
            return
        record = from_sdk(span)
        is_agent = kind_of(record) == "agent"
        if parent is not None and not is_agent:
            self._join(parent, span, key)
        elif not is_agent and above is not None and (above in self.runs.memory or above >> 64 in self._full):
            self._leave_over(above, key)
        else:
            self._begin(span, record, key, now)

    def _leave_over(self, above: int, key: int) -> None:
        """Leave out a span whose parent is the root of a run that was let go, or was left out of a full run."""
        if above in self.runs.memory:
            self.counts.add("late")
        self._ignore(key, None if above in self.runs.memory else self._full.get(above >> 64))

    def _begin(self, span: ReadableSpan, record: SpanRecord, key: int, now: float) -> None:
        kind = kind_of(record)
        if kind == "agent":
            self._note_agent(record)
        run = Run(key, span.context, kind == "agent", now)
        run.is_fragment = kind in _WORK
        run.nodes[key] = run.open[key] = self._index[key] = Node(key, run, None, span)
        self.runs.note_joins(run, join_keys(record))
        self.runs.add(run, now)

    def _note_agent(self, record: SpanRecord) -> None:
        given = record.attributes.get(names.AGENT_NAME)
        name = given if isinstance(given, str) and len(self._agents) < MAX_AGENTS else None
        self._agents.setdefault(name, False)

    def _join(self, parent: Node, span: ReadableSpan, key: int) -> None:
        run = parent.run
        if len(run.nodes) >= self._limits.max_spans_per_run:
            self._full[key >> 64] = run
            self._ignore(key, run)
            return
        node = Node(key, run, parent, span)
        run.nodes[key] = run.open[key] = self._index[key] = node
        if not run.is_agent:
            parent.children = parent.children or []
            parent.children.append(node)

    def _end_unknown(self, key: int) -> None:
        if key in self._ignored:
            del self._ignored[key]
        else:
            self.counts.add("unknown")

    def _store(self, node: Node, span: ReadableSpan, now: float) -> None:
        run = node.run
        record = from_sdk(span, node.content)
        if self._is_big(record):
            self.last_big = now
            self.on_big()
        if node.cut:
            record = replace(record, cut=tuple(dict.fromkeys((*record.cut, *node.cut))))
        kept = cut_record(record, self._limits.max_value_bytes)
        if kept is not record:
            run.miss("max_value_bytes")
        keep = self._keep_spans and not kept.sampled
        size = record_size(kept) * (2 if keep and node.content else 1)
        room, limit = self.runs.room(run, now)
        largest = self._limits.max_value_bytes
        if size > room + node.held:
            largest = SMALL_VALUE_BYTES
            kept = cut_record(kept, largest)
            size = record_size(kept) * (2 if keep and node.content else 1)
            run.miss(limit)
        node.records = (*node.records, kept)
        if keep:
            node.kept = (*node.kept, *span_within(span, largest))
        self.runs.grow(run, size - node.held)
        node.content, node.held = None, 0

    def _note_cut(self, node: Node, cut: tuple[str, ...], reason: str) -> None:
        if cut:
            node.cut = (*node.cut, *cut)
            node.run.miss(reason)

    def _is_big(self, record: SpanRecord) -> bool:
        limit = self._limits.max_value_bytes
        return any(
            type(value) is str and len(value) > limit
            for attributes in (record.attributes, *(event.attributes for event in record.events))
            for value in attributes.values()
        )

    def _close(self, node: Node, span: ReadableSpan, now: float) -> None:
        if node.twins:
            node.twins -= 1
            return
        node.live = None
        node.run.open.pop(node.key, None)
        if node.run.decided:
            self.runs.late(node.run, now)
            return
        kind = kind_of(node.records[-1])
        if kind == "agent" and not node.run.is_agent:
            self._split_off(node, span, now)
        run = node.run
        if kind in _WORK:
            run.works += 1
            if run.works == 1 and not run.is_agent:
                self._agents.setdefault(None, False)
        if kind != "other":
            self.runs.note_joins(run, join_keys(node.records[-1]))
        if kind == "chat":
            self._hops.chat_ended(run, node.records[-1])
        if node.key == run.root_key:
            run.ended_at = now
        root = run.nodes.get(run.root_key)
        if root is not None and root.live is None:
            self._full.pop(run.root_key >> 64, None)
            self.runs.root_ended(run, now)

    def _split_off(self, top: Node, span: ReadableSpan, now: float) -> None:
        """Make a run of its own of a span that shows only at its end that it is an agent's."""
        self._note_agent(top.records[-1])
        old = top.run
        if top.key == old.root_key:
            old.is_agent = True
            old.is_fragment = False
            return
        run = Run(top.key, span.context, True, old.since)
        for node in subtree(top):
            old.nodes.pop(node.key, None)
            if old.open.pop(node.key, None) is not None:
                run.open[node.key] = node
            run.nodes[node.key] = node
            node.run = run
        records = [record for node in run.nodes.values() for record in node.records]
        run.size, run.works = sum(map(record_size, records)), sum(kind_of(record) in _WORK for record in records)
        old.size, old.works = old.size - run.size, old.works - run.works
        if top.parent is not None and top.parent.children is not None:
            top.parent.children.remove(top)
        top.parent = None
        self.runs.add(run, now)


def _above(span: ReadableSpan) -> int | None:
    """Return the key of the span's parent in this process."""
    parent = span.parent
    return span_key(parent) if parent is not None and not parent.is_remote else None


def _nothing() -> None:
    pass
