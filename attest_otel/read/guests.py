"""Which traces are in a run by their conversation's name alone: guests.

A fragment of another trace joins a run by its conversation's id, and so may a stranger's: whoever
serves the same conversation gives the same id. What a guest did counts, or a call made in a pool of
threads would be lost; but it neither speaks for the run nor mends what the run itself got wrong.
A shared trace, an explicit run id and a response id join for good. Source: DESIGN 5.
"""

from __future__ import annotations

from collections.abc import Sequence

from attest_otel.read.facts import SpanFacts
from attest_otel.read.span import SpanRecord


def guest_traces(root: SpanRecord | None, facts: Sequence[SpanFacts]) -> frozenset[str]:
    """Return the ids of the traces that are guests; none where no span stands for the run."""
    if root is None:
        return frozenset()
    away = [fact for fact in facts if fact.span.trace_id != root.trace_id]
    if not away:
        return frozenset()
    names = set().union(*(_names(fact) for fact in facts if fact.span.trace_id == root.trace_id))
    joined = {fact.span.trace_id for fact in away if not names.isdisjoint(_names(fact))}
    return frozenset(fact.span.trace_id for fact in away) - joined


def _names(fact: SpanFacts) -> set[tuple[str, str]]:
    given = (("run", fact.run_id), ("response", fact.response_id))
    return {(kind, name) for kind, name in given if name is not None}
