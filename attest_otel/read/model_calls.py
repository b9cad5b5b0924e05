"""The model calls of one run, each counted once: two instrumentations may show one.

A model call inside a model call is the same one; so are two of one response id from different scopes,
and a span without content that lies inside another one's time.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace

from attest_otel import attributes as names
from attest_otel.read.facts import NEARNESS, Message, Request, SpanFacts
from attest_otel.read.retold import told_by_agents, told_by_model_call
from attest_otel.read.span import SpanRecord
from attest_otel.read.tree import Tree, overlap

_SIBLINGS_LOOKED_AT = 64


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
    told = [turn for fact in kept for turn in told_by_model_call(fact)]
    retold = told_by_agents(facts, tree)
    if retold:
        told = sorted([*told, *retold], key=lambda fact: (fact.span.start_ns, fact.span.span_id))
    owners: dict[tuple[str, str], tuple[str | None, bool]] = {}
    return [_numbered(index, fact, tree, by_id, owners) for index, fact in enumerate(told)]


def _numbered(
    index: int,
    fact: SpanFacts,
    tree: Tree,
    by_id: dict[tuple[str, str], SpanFacts],
    owners: dict[tuple[str, str], tuple[str | None, bool]],
) -> ModelCall:
    key = (fact.span.trace_id, fact.span.span_id)
    if key not in owners:
        owner, nested = owner_of(fact.span, tree, by_id)
        owners[key] = (fact.span.span_id if by_id[key].kind == "agent" else owner, nested)
    requests = [call for message in fact.outputs or () for call in message.calls]
    return ModelCall(index, fact, *owners[key], requests)


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
        around = [
            i
            for i, other in enumerate(kept[-_SIBLINGS_LOOKED_AT:], max(0, len(kept) - _SIBLINGS_LOOKED_AT))
            if is_hop_of(fact.span, other.span)
        ]
        if len(around) == 1 and kept[around[0]].says_something:
            return around[0]
    same = by_response.get(fact.response_id, []) if fact.response_id else []
    for place in reversed(same[-_SIBLINGS_LOOKED_AT:]):
        if kept[place].span.scope != fact.span.scope and overlap(kept[place].span, fact.span):
            return place
    return None


def is_hop_of(span: SpanRecord, model_call: SpanRecord) -> bool:
    """Return whether a span without content can be the SDK's own view of a model call: inside its time, same model."""
    if span.scope == model_call.scope or span.end_ns is None or model_call.end_ns is None:
        return False
    inside = model_call.start_ns <= span.start_ns and span.end_ns <= model_call.end_ns
    return (
        inside
        and (span.trace_id != model_call.trace_id or span.parent_id == model_call.parent_id)
        and _model(span) in {None, _model(model_call)}
    )


def _model(span: SpanRecord) -> str | None:
    for name in (names.REQUEST_MODEL, "llm.model_name", "ai.model.id"):
        found = span.attributes.get(name)
        if isinstance(found, str):
            return found
    return None


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
        cut_off=lead.cut_off or other.cut_off,
        input_tokens=lead.input_tokens if lead.input_tokens is not None else other.input_tokens,
        output_tokens=lead.output_tokens if lead.output_tokens is not None else other.output_tokens,
    )


def _nearness(fact: SpanFacts) -> int:
    if not fact.says_something:
        return 10
    found = [NEARNESS[c.arguments.fidelity] for m in fact.outputs or () for c in m.calls]
    return max(found, default=1) if fact.outputs is not None else 5
