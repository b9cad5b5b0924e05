"""Model calls and tool runs of one run, each counted once, with who belongs to whom.

Two instrumentations may show one model call, and a protocol's hops one tool call: spans are not
calls. A model call inside a model call is the same one; so are two of one response id from different
scopes. A tool span inside a tool span is the same call if the ids, or the name and the arguments,
agree, and an MCP hop always is when its name does.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace

from attest_otel import attributes as names
from attest_otel import strict_json
from attest_otel.read.facts import Arguments, Execution, Message, Request, SpanFacts
from attest_otel.read.span import SpanRecord
from attest_otel.read.tree import Tree
from attest_otel.read.values import NOT_JSON
from attest_otel.trajectory import ArgumentsFidelity

NEARNESS: dict[ArgumentsFidelity, int] = {"verbatim": 0, "reserialized": 1, "coerced": 2, "absent": 3}


@dataclass(slots=True)
class ModelCall:
    """One model call: turn `index` of the run. `owner` is the id of the agent span it was made in."""

    index: int
    facts: SpanFacts
    owner: str | None
    nested: bool
    requests: list[Request] = field(default_factory=list)

    @property
    def inputs(self) -> tuple[Message, ...]:
        """The messages the model was given."""
        return self.facts.inputs or ()


@dataclass(slots=True)
class ToolRun:
    """One tool that ran, and the span that shows it best."""

    span: SpanRecord
    execution: Execution
    owner: str | None


def model_calls(facts: Sequence[SpanFacts], tree: Tree) -> list[ModelCall]:
    """Return the model calls of a run in the order of their starts."""
    by_id = {(f.span.trace_id, f.span.span_id): f for f in facts}
    kept: list[SpanFacts] = []
    kept_index: dict[tuple[str, str], int] = {}
    by_response: dict[str, list[int]] = {}
    for fact in facts:
        if fact.kind != "chat":
            continue
        twin = _twin(fact, tree, by_id, kept, kept_index, by_response)
        if twin is None:
            twin = len(kept)
            kept.append(fact)
            if fact.response_id:
                by_response.setdefault(fact.response_id, []).append(twin)
        else:
            kept[twin] = _merged(kept[twin], fact)
        kept_index[fact.span.trace_id, fact.span.span_id] = twin
    calls: list[ModelCall] = []
    for fact in kept:
        requests = [call for message in fact.outputs or () for call in message.calls]
        owner, nested = owner_of(fact.span, tree, by_id)
        calls.append(ModelCall(len(calls), fact, owner, nested, requests))
    return calls


def tool_runs(facts: Sequence[SpanFacts], tree: Tree) -> list[ToolRun]:
    """Return the tools that ran, in the order of their starts."""
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
            runs.append(ToolRun(fact.span, execution, owner_of(fact.span, tree, by_id)[0]))
        else:
            runs[twin] = _joined_runs(runs[twin], fact.span, execution)
        index[fact.span.trace_id, fact.span.span_id] = twin
    return runs


def owner_of(span: SpanRecord, tree: Tree, by_id: dict[tuple[str, str], SpanFacts]) -> tuple[str | None, bool]:
    """Return the id of the nearest agent span above, and whether a tool call lies above that."""
    owner: str | None = None
    for above in tree.ancestors(span):
        fact = by_id.get((above.trace_id, above.span_id))
        if fact is None:
            continue
        if fact.kind == "agent" and owner is None:
            owner = above.span_id
        if fact.kind == "tool":
            return owner, True
    return owner, False


_MERGED_TOOLS = "(merged tools)"
_SIBLINGS_LOOKED_AT = 64


def _twin(
    fact: SpanFacts,
    tree: Tree,
    by_id: dict[tuple[str, str], SpanFacts],
    kept: list[SpanFacts],
    kept_index: dict[tuple[str, str], int],
    by_response: dict[str, list[int]],
) -> int | None:
    for above in tree.ancestors(fact.span):
        other = by_id.get((above.trace_id, above.span_id))
        if other is not None and other.kind == "chat":
            return kept_index.get((above.trace_id, above.span_id))
        if other is not None and other.kind in {"agent", "tool"}:
            break
    if not fact.says_something:
        around = [i for i, other in enumerate(kept[-_SIBLINGS_LOOKED_AT:], max(0, len(kept) - _SIBLINGS_LOOKED_AT)) if is_hop_of(fact.span, other.span)]
        if len(around) == 1 and kept[around[0]].says_something:
            return around[0]
    same = by_response.get(fact.response_id, []) if fact.response_id else []
    for place in reversed(same[-_SIBLINGS_LOOKED_AT:]):
        if kept[place].span.scope != fact.span.scope and _overlap(kept[place].span, fact.span):
            return place
    return None


def is_hop_of(span: SpanRecord, model_call: SpanRecord) -> bool:
    """Return whether a span without content can be the SDK's own view of a model call: inside its time, same model."""
    if span.scope == model_call.scope or span.end_ns is None or model_call.end_ns is None:
        return False
    inside = model_call.start_ns <= span.start_ns and span.end_ns <= model_call.end_ns
    return inside and (span.trace_id != model_call.trace_id or span.parent_id == model_call.parent_id) and _model(span) in {None, _model(model_call)}


def _model(span: SpanRecord) -> str | None:
    for name in (names.REQUEST_MODEL, "llm.model_name", "ai.model.id"):
        found = span.attributes.get(name)
        if isinstance(found, str):
            return found
    return None


def _overlap(a: SpanRecord, b: SpanRecord) -> bool:
    if a.end_ns is None or b.end_ns is None:
        return True
    return a.start_ns <= b.end_ns and b.start_ns <= a.end_ns


def _merged(first: SpanFacts, second: SpanFacts) -> SpanFacts:
    """Join two spans of one model call: the one whose arguments are nearest to the provider's leads."""
    lead, other = (first, second) if _nearness(first) <= _nearness(second) else (second, first)
    return replace(
        lead,
        span=first.span,
        system=lead.system or other.system,
        inputs=lead.inputs if lead.inputs is not None else other.inputs,
        outputs=lead.outputs if lead.outputs is not None else other.outputs,
        tools=lead.tools or other.tools,
        response_id=lead.response_id or other.response_id,
        conversation_id=lead.conversation_id or other.conversation_id,
        agent=lead.agent or other.agent,
        input_tokens=lead.input_tokens if lead.input_tokens is not None else other.input_tokens,
        output_tokens=lead.output_tokens if lead.output_tokens is not None else other.output_tokens,
    )


def _nearness(fact: SpanFacts) -> int:
    if not fact.says_something:
        return 10
    found = [NEARNESS[c.arguments.fidelity] for m in fact.outputs or () for c in m.calls]
    return max(found, default=1) if fact.outputs is not None else 5


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
            and _overlap(other.span, fact.span)
        ):
            return place
    return None


def _same_call(outer: Execution, inner: Execution) -> bool:
    named_alike = outer.name == inner.name or (inner.mcp and outer.name.endswith((f"_{inner.name}", f".{inner.name}", f"-{inner.name}")))
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


def _joined_runs(run: ToolRun, span: SpanRecord, inner: Execution) -> ToolRun:
    """Join two spans of one tool call; the outer one's result stands, what it doesn't say comes from the inner one."""
    outer = run.execution
    lead = inner.own and not outer.own
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
    return ToolRun(span if lead else run.span, joined, run.owner)
