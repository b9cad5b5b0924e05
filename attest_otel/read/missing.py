"""What the spans of a run could not show, in the words the coverage check reads."""

from __future__ import annotations

from collections.abc import Sequence

from attest_otel import attributes as names
from attest_otel.gaps import Gap, write_gap
from attest_otel.read.facts import SpanFacts
from attest_otel.read.model_calls import ModelCall
from attest_otel.read.pairing import Pairing
from attest_otel.read.requested import gaps_of_requests
from attest_otel.read.span import SpanRecord

MAX_GAPS = 20
MAX_NAME_CHARS = 200


def gaps_of_run(
    root: SpanRecord | None,
    facts: Sequence[SpanFacts],
    turns: Sequence[ModelCall],
    pairing: Pairing,
    *,
    answered: bool,
) -> list[str]:
    """Return what is missing from a run, ready for `Trajectory.incomplete`; gaps of one call stand with the call."""
    found: list[str] = []
    if root is None:
        found.append(write_gap(Gap.ORPHAN_RESULT, "model and tool spans of which no run is on record"))
    still_open = [_name(fact) for fact in facts if fact.span.end_ns is None]
    if still_open:
        found.append(write_gap(Gap.INCOMPLETE, f"{len(still_open)} spans had not ended: {still_open[0]}"))
    if root is None or root.scope != names.RECORD_SCOPE:
        found.extend(_silent(root, turns, answered=answered))
    found.extend(text for fact in facts for text in _said_by_recorder(fact))
    found.extend(gaps_of_requests(facts, pairing.calls))
    found.extend(
        write_gap(
            Gap.ORPHAN_RESULT,
            f"the result of a call ({str(result.call_id)[:MAX_NAME_CHARS]}) that no model call on record asked for",
        )
        for result in pairing.orphans
    )
    for fact in facts:
        if fact.kind != "other" or fact.span.dropped_attributes:  # what said that it was a tool's may be what was dropped
            found.extend(_losses(fact))
    if len(found) > MAX_GAPS:
        found[MAX_GAPS - 1 :] = [write_gap(Gap.INCOMPLETE, f"and {len(found) - MAX_GAPS + 1} further gaps")]
    return found


def _name(fact: SpanFacts) -> str:
    return fact.span.name[:MAX_NAME_CHARS]


def _said_by_recorder(fact: SpanFacts) -> list[str]:
    """Return what our own recorder says it did not write down of an agent's run."""
    said = fact.span.attributes.get(names.INCOMPLETE) if fact.kind == "agent" and fact.span.scope == names.RECORD_SCOPE else None
    return [text[:MAX_NAME_CHARS] for text in said[:MAX_GAPS] if isinstance(text, str)] if isinstance(said, list) else []


def _silent(root: SpanRecord | None, turns: Sequence[ModelCall], *, answered: bool) -> list[str]:
    """Say that model calls show nothing, or are not there at all; our own recorder needs none of them."""
    silent = [turn for turn in turns if turn.facts.outputs is None and not _failed(turn.facts)]
    if silent:
        return [write_gap(Gap.NOT_RECORDED, f"{len(silent)} of {len(turns)} model calls show no messages")]
    if not turns and root is not None and not answered:
        return [write_gap(Gap.NOT_RECORDED, "no model call of this run is on record")]
    return []


def _failed(fact: SpanFacts) -> bool:
    return fact.span.status == "error" or names.ERROR_TYPE in fact.span.attributes


def _losses(fact: SpanFacts) -> list[str]:
    found: list[str] = []
    span = fact.span
    if span.dropped_attributes:
        found.append(write_gap(Gap.INCOMPLETE, f"{span.dropped_attributes} attributes of span {_name(fact)} were dropped"))
    if span.dropped_events and (not fact.says_something or any(event.name.startswith("gen_ai.") for event in span.events)):
        found.append(write_gap(Gap.INCOMPLETE, f"{span.dropped_events} events of span {_name(fact)} were dropped"))
    cut = _cut_names(fact)
    if cut:
        found.append(write_gap(Gap.TRUNCATED, f"{', '.join(cut)} of span {_name(fact)}"))
    return found


def _cut_names(fact: SpanFacts) -> list[str]:
    """Name what was shortened beside a call's own values: the limit says so, or the JSON of messages isn't whole."""
    if fact.kind == "tool":
        return []
    spare = {"input.value", "output.value"} if fact.says_something else set()
    found = [name for name in fact.span.cut if name not in spare]
    for name, read in ((names.INPUT_MESSAGES, fact.inputs), (names.OUTPUT_MESSAGES, fact.outputs)):
        value = fact.span.attributes.get(name)
        if read is None and isinstance(value, str) and value[:1] == "[" and name not in found:
            found.append(name)
    return found
