"""The tools that ran in one run, each counted once: a protocol's hops and two instrumentations are one call.

A tool span inside a tool span is the same call if the ids, or the name and the arguments, agree, and
an MCP hop always is when its name does. Two side by side are, if id and name agree and their times meet.
"""

from __future__ import annotations

from collections.abc import Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass, replace

from attest_otel.formats import strict_json
from attest_otel.read.facts import NEARNESS, Arguments, Execution, SpanFacts
from attest_otel.read.model_calls import owner_of
from attest_otel.read.span import SpanRecord
from attest_otel.read.tree import Tree, overlap
from attest_otel.read.values import NOT_JSON

_MERGED_TOOLS = "(merged tools)"
_SIBLINGS_LOOKED_AT = 64


@dataclass(slots=True)
class ToolRun:
    """One tool that ran, and the span that shows it best; `in_model_call`: a client ran it itself, within one request."""

    span: SpanRecord
    execution: Execution
    owner: str | None
    in_model_call: bool = False


def tool_runs(facts: Sequence[SpanFacts], tree: Tree, guests: AbstractSet[str] = frozenset()) -> list[ToolRun]:
    """Return the tools that ran, in the order of their starts; of two spans of a call, one of a trace in `guests` never leads."""
    by_id = {(f.span.trace_id, f.span.span_id): f for f in facts}
    runs: list[ToolRun] = []
    index: dict[tuple[str, str], int] = {}
    for fact in facts:
        execution = fact.execution
        if execution is None or execution.name == _MERGED_TOOLS:
            continue
        twin = _enclosing_run(fact, execution, tree, by_id, runs, index)
        if twin is None:
            twin = _sibling_run(fact, execution, runs)
        if twin is None:
            twin = len(runs)
            inside = _is_in_model_call(fact, tree, by_id)
            runs.append(ToolRun(fact.span, execution, owner_of(fact.span, tree, by_id)[0], inside))
        else:
            runs[twin] = _joined_runs(runs[twin], fact.span, execution, guests)
        index[fact.span.trace_id, fact.span.span_id] = twin
    return runs


def _is_in_model_call(fact: SpanFacts, tree: Tree, by_id: dict[tuple[str, str], SpanFacts]) -> bool:
    """Return whether the nearest span above that means something is a model call: Google's client calls tools inside one."""
    above = (by_id.get((span.trace_id, span.span_id)) for span in tree.ancestors(fact.span))
    return next((other.kind for other in above if other is not None and other.kind != "other"), None) == "chat"


def _enclosing_run(
    fact: SpanFacts,
    execution: Execution,
    tree: Tree,
    by_id: dict[tuple[str, str], SpanFacts],
    runs: list[ToolRun],
    index: dict[tuple[str, str], int],
) -> int | None:
    for above in tree.ancestors(fact.span):
        other = by_id.get((above.trace_id, above.span_id))
        if other is None or other.kind == "other":
            continue
        place = index.get((above.trace_id, above.span_id))
        if other.kind != "tool" or place is None:
            return None
        return place if _same_call(runs[place].execution, execution) else None
    return None


def _sibling_run(fact: SpanFacts, execution: Execution, runs: list[ToolRun]) -> int | None:
    """Find another instrumentation's span of the same call: same id, same name, at the same time."""
    if execution.call_id is None:
        return None
    for place in range(len(runs) - 1, max(-1, len(runs) - 1 - _SIBLINGS_LOOKED_AT), -1):
        other = runs[place]
        if (
            other.execution.call_id == execution.call_id
            and other.execution.name == execution.name
            and other.span.scope != fact.span.scope
            and overlap(other.span, fact.span)
        ):
            return place
    return None


def _same_call(outer: Execution, inner: Execution) -> bool:
    named_alike = outer.name == inner.name or (
        inner.mcp and outer.name.endswith((f"_{inner.name}", f".{inner.name}", f"-{inner.name}"))
    )
    if not named_alike:
        return False
    if inner.mcp or (outer.call_id is not None and outer.call_id == inner.call_id):
        return True
    if outer.call_id is not None and inner.call_id is not None:
        return False
    return equal_arguments(outer.arguments, inner.arguments)


def equal_arguments(a: Arguments, b: Arguments) -> bool:
    """Return whether two sources can mean the same arguments; absent ones can mean any."""
    if a.fidelity == "absent" or b.fidelity == "absent":
        return True
    left, right = a.parsed, b.parsed
    if left is NOT_JSON or right is NOT_JSON:
        return a.raw == b.raw
    return strict_json.equal(left or {}, right or {})


def _joined_runs(run: ToolRun, span: SpanRecord, inner: Execution, guests: AbstractSet[str]) -> ToolRun:
    """Join two spans of one tool call; the outer one's result stands, what it doesn't say comes from the inner one."""
    outer = run.execution
    outer_is_guest, inner_is_guest = run.span.trace_id in guests, span.trace_id in guests
    lead = inner.own and not outer.own if outer_is_guest is inner_is_guest else outer_is_guest
    first, second = (inner, outer) if lead else (outer, inner)
    nearer = second.arguments if NEARNESS[second.arguments.fidelity] < NEARNESS[first.arguments.fidelity] else first.arguments
    joined = replace(
        first,
        call_id=first.call_id or second.call_id,
        arguments=nearer,
        received=first.received if first.received is not None else second.received,
        output=first.output if first.output is not None else second.output,
        is_error=first.is_error if first.is_error is not None else second.is_error,
        error_type=first.error_type or second.error_type,
        error_message=first.error_message or second.error_message,
        exit_code=first.exit_code if first.exit_code is not None else second.exit_code,
        turn=first.turn if first.turn is not None else second.turn,
        recorded=first.recorded or second.recorded,
        artifacts=first.artifacts or second.artifacts,
        own=first.own or second.own,
        mcp=first.mcp and second.mcp,
    )
    return ToolRun(span if lead else run.span, joined, run.owner, run.in_model_call)
