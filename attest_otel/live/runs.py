"""What the pipeline holds of one run while it lasts, and what it hands over when the run is decided."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any

from opentelemetry.sdk.trace import ReadableSpan
from opentelemetry.trace import SpanContext

from attest_otel.gaps import Gap, write_gap
from attest_otel.read.kinds import conversation_of, response_id_of, run_id_of
from attest_otel.read.span import SpanRecord

MAX_NAMED = 8
MAX_NAME_CHARS = 100


class State(StrEnum):
    """Where a run is. Every hook is handled in every state; spans that come too late are counted.

    open: its root is open. root_ended: the root ended, and something below it is open or, for a
    fragment, its run may still come. queued: handed over, not decided. evaluated: its report is out.
    evicted: it was dropped for a reason that was counted.
    """

    OPEN = "open"
    ROOT_ENDED = "root_ended"
    QUEUED = "queued"
    EVALUATED = "evaluated"
    EVICTED = "evicted"


@dataclass(slots=True, eq=False)
class Node:
    """One span of a run.

    `live` is the span while it is open, `twins` counts further open spans with its id, `records` are
    what ended under that id. Small on purpose: there is one a span.
    """

    key: int
    run: Run
    parent: Node | None
    live: ReadableSpan | None
    twins: int = 0
    content: dict[str, Any] | None = None
    held: int = 0
    cut: tuple[str, ...] = ()
    records: tuple[SpanRecord, ...] = ()
    kept: tuple[ReadableSpan, ...] = ()
    children: list[Node] | None = None


@dataclass(slots=True, eq=False)
class Run:
    """The spans below one root: an agent's run, or all that a local root holds.

    `due` is when a timer acts on it, None for never. `gaps` counts what is missing, by reason.
    `works` counts the spans of models and tools that ended in it.
    """

    root_key: int
    context: SpanContext | None
    is_agent: bool
    since: float
    state: State = State.OPEN
    nodes: dict[int, Node] = field(default_factory=dict)
    open: dict[int, Node] = field(default_factory=dict)
    joins: set[str] = field(default_factory=set)
    is_fragment: bool = False
    works: int = 0
    size: int = 0
    due: float | None = None
    gaps: dict[str, int] = field(default_factory=dict)
    revision: int = 0
    ended_at: float | None = None

    @property
    def is_run(self) -> bool:
        """Whether there is anything to grade: an agent, or the work of a model or a tool."""
        return self.is_agent or self.works > 0

    @property
    def decided(self) -> bool:
        """Whether the run was handed over or dropped."""
        return self.state not in (State.OPEN, State.ROOT_ENDED)

    def miss(self, reason: str) -> None:
        """Note that something is missing from this run."""
        self.gaps[reason] = self.gaps.get(reason, 0) + 1

    def incomplete(self) -> list[str]:
        """Say what is missing: limits first, in a fixed order, then what is open, in the order it started."""
        said = [_gap(reason, count) for reason, count in sorted(self.gaps.items())]
        still = [_name(node) for node in self.open.values()]
        said += [write_gap(Gap.INCOMPLETE, f"still open: {name}") for name in still[:MAX_NAMED]]
        more = len(still) - MAX_NAMED
        return [*said, write_gap(Gap.INCOMPLETE, f"still open: {more} more spans")] if more > 0 else said


@dataclass(frozen=True, slots=True)
class Job:
    """One run to grade: its records in any order, what is missing from them, and about how many bytes it holds."""

    run: Run
    records: tuple[SpanRecord, ...]
    spans: tuple[ReadableSpan, ...]
    incomplete: tuple[str, ...]
    revision: int
    ended_at: float | None
    size: int = 0

    @property
    def unsampled(self) -> bool:
        """Whether the run's root was recorded and not sampled."""
        return self.run.context is not None and not self.run.context.trace_flags.sampled


GAPS: Mapping[str, tuple[Gap, str]] = {
    "max_open_runs": (Gap.INCOMPLETE, "graded before its end: more runs were open than max_open_runs allows"),
    "max_run_bytes": (Gap.TRUNCATED, "{} spans, cut short: the run is bigger than max_run_bytes"),
    "max_run_seconds": (Gap.INCOMPLETE, "graded before its end: it lasted longer than max_run_seconds"),
    "max_spans_per_run": (Gap.INCOMPLETE, "{} spans left out: the run has more than max_spans_per_run"),
    "max_total_bytes": (Gap.TRUNCATED, "{} spans cut short or left out: all runs together are bigger than max_total_bytes"),
    "max_value_bytes": (Gap.TRUNCATED, "{} spans hold values bigger than max_value_bytes"),
    "overload": (Gap.INCOMPLETE, "spans left out: the pipeline could not keep up"),
    "shutdown": (Gap.INCOMPLETE, "graded before its end: the process shut down"),
}


def span_key(context: SpanContext) -> int:
    """Return the number a span is known by: its trace's id and its own."""
    return (context.trace_id << 64) | context.span_id


def join_keys(record: SpanRecord) -> Iterator[str]:
    """Yield the names under which fragments and runs find each other, as the reading room joins them."""
    for word, name_of in (("response", response_id_of), ("run", run_id_of), ("conversation", conversation_of)):
        name = name_of(record)
        if name is not None:
            yield f"{word} {name}"


def subtree(top: Node) -> Iterator[Node]:
    """Yield a node and everything below it, parents first."""
    waiting = [top]
    while waiting:
        node = waiting.pop()
        yield node
        waiting.extend(node.children or ())


def _gap(reason: str, count: int) -> str:
    gap, text = GAPS[reason]
    return write_gap(gap, text.format(count))


def _name(node: Node) -> str:
    name = getattr(node.live, "name", "")
    return name[:MAX_NAME_CHARS] if isinstance(name, str) else ""
