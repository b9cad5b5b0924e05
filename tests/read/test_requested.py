"""What our recorder says was asked for and not run, against what other spans of the run show."""

from __future__ import annotations

import json
from typing import Any

import pytest

from attest_otel import attributes as names
from attest_otel.read.span import SpanRecord
from tests.read.spans import agent, build, call_part, chat, message, result_part, tool

ASKED = [{"id": "c1", "name": "lookup"}, {"id": "c2", "name": "lookup"}]
BOTH = ["requested_not_run: lookup, call c1", "requested_not_run: lookup, call c2"]


def root(said: Any, **more: Any) -> SpanRecord:
    """Return a run's own span that says this."""
    text = said if isinstance(said, str) else json.dumps(said)
    return agent(1, scope=names.RECORD_SCOPE, attest__requested_not_run=text, **more)


ASKING = [message("assistant", call_part("c1", "lookup", {}), call_part("c2", "lookup", {}))]
SHOWN = [*ASKING, message("tool", result_part("c1", "fine"))]


def lookup(number: int, **marks: Any) -> SpanRecord:
    """Return a span of the tool below the run."""
    return tool(number, 1, tool_name="lookup", **marks)


@pytest.mark.parametrize(
    ("spans", "gaps"),
    [
        ([], BOTH),
        ([lookup(2, gen_ai__tool__call__id="c1")], BOTH[1:]),
        ([lookup(2)], BOTH[1:]),
        ([lookup(2), lookup(3)], []),
        ([lookup(2, gen_ai__tool__call__id="other")], BOTH),
        ([lookup(2, scope=names.RECORD_SCOPE)], BOTH),
        ([lookup(2, mcp__method__name="tools/call")], BOTH[1:]),
        ([chat(2, 1, outputs=ASKING), chat(3, 1, inputs=SHOWN)], []),
    ],
)
def test_a_call_that_other_spans_show_is_no_gap(spans: list[Any], gaps: list[str]) -> None:
    """A span of the id or, one for one, a foreign one without; what model calls show is said at the call itself."""
    run = build(root(ASKED), *spans)
    assert [text for text in run.incomplete if text.startswith("requested_not_run")] == gaps


@pytest.mark.parametrize(
    ("said", "gaps"),
    [
        ("broken", []),
        ([], []),
        ([1, None, "x", [], {}, {"id": {}, "name": "f"}, {"id": [], "name": {}}, {"id": "c", "name": 1}], []),
        ([{"more": 7}], ["requested_not_run: and 7 further calls"]),
        ([{"more": 10**4000}], ["requested_not_run: and 1000000000 further calls"]),
        ([{"id": "c" * 900, "name": "f" * 900}], [f"requested_not_run: {'f' * 100}, call {'c' * 100}"]),
    ],
)
def test_anything_may_stand_there(said: Any, gaps: list[str]) -> None:
    """What is no such list is passed over, and a long name is cut."""
    assert [text for text in build(root(said)).incomplete if text.startswith("requested_not_run")] == gaps


def test_a_long_list_is_bounded() -> None:
    """However many calls there are, the gaps of a run are few, and the last says how many more."""
    found = build(root([{"id": str(n), "name": "f"} for n in range(5000)])).incomplete
    assert len(found) == 20
    assert "further gaps" in found[-1]


def test_a_strangers_span_says_nothing() -> None:
    """The same attribute on an agent's span of another scope counts for nothing."""
    assert build(agent(1, attest__requested_not_run=json.dumps(ASKED), final_result="x")).incomplete == []
