"""Calls that our recorder heard the model ask for and never saw run, less those that other spans show.

The recorder knows what its HTTP client noted and what its own dispatcher took. A tool that another
instrumentation recorded, and a call whose result a later message shows, are known only here.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from collections.abc import Set as AbstractSet

from attest_otel import attributes as names
from attest_otel.gaps import Gap, write_gap
from attest_otel.read.facts import SpanFacts
from attest_otel.read.matching import PairedCall
from attest_otel.read.values import load_list
from attest_otel.tool_names import akin

MAX_ENTRIES = 101
MAX_CHARS = 100
MAX_COUNTED = 10**9


def gaps_of_requests(facts: Sequence[SpanFacts], calls: Sequence[PairedCall]) -> list[str]:
    """Return one gap for each such call, in the order the model asked."""
    telling = [f for f in facts if f.kind == "agent" and f.span.scope == names.RECORD_SCOPE and _said(f)]
    if not telling:
        return []
    known = {call.request.call_id for call in calls if call.request is not None}
    known |= {call.run.execution.call_id for call in calls if call.run is not None}
    return [text for fact in telling for text in _left_of(fact, known, _nameless(fact, calls))]


def _left_of(fact: SpanFacts, known: AbstractSet[str | None], nameless: Counter[str]) -> Iterator[str]:
    for entry in load_list(_said(fact))[:MAX_ENTRIES]:
        name, call_id, more = (entry.get(key) if isinstance(entry, dict) else None for key in ("name", "id", "more"))
        if isinstance(more, int):
            yield write_gap(Gap.REQUESTED_NOT_RUN, f"and {min(more, MAX_COUNTED)} further calls")
        if not isinstance(name, str) or not isinstance(call_id, str) or call_id in known:
            continue
        same = next((one for one in nameless if akin(one, name)), None)
        if same is None:
            yield write_gap(Gap.REQUESTED_NOT_RUN, f"{name[:MAX_CHARS]}, call {call_id[:MAX_CHARS]}")
        else:
            nameless -= Counter([same])


def _said(fact: SpanFacts) -> object:
    return fact.span.attributes.get(names.REQUESTED_NOT_RUN)


def _nameless(fact: SpanFacts, calls: Sequence[PairedCall]) -> Counter[str]:
    """Count the calls without an id, by tool, that the recorder of this run can't have counted itself."""
    runs = [call.run for call in calls if call.run is not None and (call.request is None or call.request.call_id is None)]
    return Counter(
        run.execution.name
        for run in runs
        if run.execution.call_id is None and (not run.execution.own or run.span.trace_id != fact.span.trace_id)
    )
