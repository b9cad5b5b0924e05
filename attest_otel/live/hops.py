"""Calls seen twice, whose second span is not below the first: they join its run, as the reading room does it for files.

A model call: the SDK's own span of a request, in a trace of its own, and the span around it that has the
content. The inner one ends first and says nothing of whose it is; it waits for the outer one. A tool call: the
span of a protocol's server in its client's process. Only the worker's thread touches this; bounded.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Mapping

from opentelemetry.sdk.trace import ReadableSpan

from attest_otel.live.deciding import Decider
from attest_otel.live.runs import Node, Run, span_key
from attest_otel.read.fragments import has_content
from attest_otel.read.kinds import kind_of
from attest_otel.read.model_calls import is_hop_of
from attest_otel.read.span import SpanRecord, from_sdk

MAX_WAITING = 64


class Hops:
    """The last model calls without content that ended alone, each with the run it was found to belong to."""

    def __init__(self, runs: Decider) -> None:
        self._runs = runs
        self._waiting: OrderedDict[int, tuple[Run, SpanRecord, Run | None]] = OrderedDict()

    def chat_ended(self, run: Run, record: SpanRecord) -> None:
        """Note the end of a model call: one that waits for its run, or one that others wait for."""
        if has_content(record):
            self._claim(run, record)
        elif run.is_fragment and len(run.nodes) == 1 and self._runs.has_runs:
            self._waiting[run.root_key] = (run, record, None)
            self._runs.note_joins(run, [_join(run)])
            if len(self._waiting) > MAX_WAITING:
                self._waiting.popitem(last=False)

    def _claim(self, run: Run, record: SpanRecord) -> None:
        """Give the run those that lie within this model call; what lies within those of two runs is nobody's."""
        for key, (hop, inner, owner) in list(self._waiting.items()):
            if hop.decided or not hop.nodes:
                self._waiting.pop(key, None)
            elif owner is not run and inner.trace_id != record.trace_id and is_hop_of(inner, record):
                self._waiting[key] = (hop, inner, run)
                if owner is None:
                    self._runs.note_joins(run, [_join(hop)])
                else:
                    hop.joins.discard(_join(hop))


def open_parent_of_hop(span: ReadableSpan, index: Mapping[int, Node]) -> int | None:
    """Return the key of a tool span's remote parent where that is a span of an open run of this process."""
    parent = span.parent
    node = index.get(span_key(parent)) if parent is not None and parent.is_remote else None
    if node is None or node.run.decided or kind_of(from_sdk(span)) != "tool":
        return None
    return node.key


def _join(hop: Run) -> str:
    return f"hop {hop.root_key:048x}"
