"""Model calls that a span tells of without spans of their own: the transcript of an agent, or of a client that calls tools itself.

CrewAI and pydantic-ai write an agent's whole conversation on its span, Google's client the calls it made
by itself on the span of its answer. What the model asked for there counts as asked, once: an agent that
has model calls below it is told by those.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from attest_otel.read.facts import Message, SpanFacts
from attest_otel.read.tree import Tree
from attest_otel.read.values import MAX_PARTS


def told_by_model_call(fact: SpanFacts) -> list[SpanFacts]:
    """Return the model calls that one span stands for: those of its history first, then its own."""
    if not fact.history:
        return [fact]
    given = fact.inputs or ()
    earlier = [
        replace(told, input_tokens=None, output_tokens=None, response_id=None, cut_off=None)
        for told in _turns(fact, (*given, *fact.history), len(given))
    ]
    return [*earlier, replace(fact, inputs=(*given, *fact.history))]


def told_by_agents(facts: Sequence[SpanFacts], tree: Tree) -> list[SpanFacts]:
    """Return the model calls that agents' spans tell of, of those agents below which no model call is on record."""
    telling = {(f.span.trace_id, f.span.span_id): f for f in facts if f.kind == "agent" and _tells(f)}
    if not telling:
        return []
    for fact in facts:
        if fact.kind == "chat" or (fact.span.trace_id, fact.span.span_id) in telling:
            for above in tree.ancestors(fact.span):
                telling.pop((above.trace_id, above.span_id), None)
    found: list[SpanFacts] = []
    for fact in telling.values():
        bare = replace(fact, kind="chat", input_tokens=None, output_tokens=None)
        messages, start = _conversation(fact)
        found.extend(_turns(bare, messages, start))
        if messages[-1].role != "assistant":
            found.append(replace(bare, inputs=_after_the_last_word(messages), outputs=()))
    return found


def _tells(fact: SpanFacts) -> bool:
    """Return whether an agent's span shows a call that the model asked for in this run."""
    messages, start = _conversation(fact)
    return any(message.calls for message in messages[start:])


def _conversation(fact: SpanFacts) -> tuple[tuple[Message, ...], int]:
    """Return what an agent's span shows of its talk with the model, and where this run begins in it."""
    if fact.transcript:
        return fact.transcript, fact.transcript_start
    given = fact.inputs or ()
    return (*given, *(fact.outputs or ())), len(given)


def _after_the_last_word(messages: tuple[Message, ...]) -> tuple[Message, ...]:
    last = max((place for place, message in enumerate(messages) if message.role == "assistant"), default=-1)
    return messages[last + 1 :]


def _turns(fact: SpanFacts, messages: tuple[Message, ...], start: int) -> list[SpanFacts]:
    """Return one model call for each thing the model said from `start` on, given what was said since the one before."""
    said = [place for place, message in enumerate(messages[:MAX_PARTS]) if place >= start and message.role == "assistant"]
    since = [0, *(place + 1 for place in said)]
    return [
        replace(fact, inputs=messages[first:place], outputs=(messages[place],)) for first, place in zip(since, said, strict=False)
    ]
