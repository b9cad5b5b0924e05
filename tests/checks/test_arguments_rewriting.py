"""Raw against received: what counts as rewriting, of which kind, and how bad."""

from __future__ import annotations

import datetime as dt
import enum
import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from attest_otel.checks.arguments.rewriting import find_rewrites
from attest_otel.formats import strict_json
from tests.checks.argument_runs import REFUND, call, findings

SCHEMA = REFUND["input_schema"]


class Mode(enum.Enum):
    """A handler's own type."""

    FAST = "fast"


@pytest.mark.parametrize(
    ("raw", "received", "kind", "severity", "path"),
    [
        # value
        ('{"note":"make &amp;&amp; test"}', {"note": "make && test"}, "value", "fail", "$.note"),
        ('{"note":" a "}', {"note": "a"}, "value", "fail", "$.note"),
        ('{"cents":4200}', {"cents": 42}, "value", "fail", "$.cents"),
        ('{"cents":"4200"}', {"cents": 42}, "value", "fail", "$.cents"),
        ('{"cents":4200.5}', {"cents": 4200}, "value", "fail", "$.cents"),
        ('{"cents":9007199254740993}', {"cents": 9007199254740992}, "value", "fail", "$.cents"),
        ('{"cents":9007199254740993}', {"cents": 9007199254740992.0}, "value", "fail", "$.cents"),
        ('{"note":""}', {"note": None}, "value", "fail", "$.note"),
        ('{"tags":["a","b"]}', {"tags": ["b", "a"]}, "value", "fail", "$.tags[0]"),
        ('{"tags":["a","b"]}', {"tags": ["a"]}, "value", "fail", "$.tags"),
        ('["x",5]', {"order_id": "x", "cents": 5}, "value", "fail", "$"),
        ('{"note":"a', {"note": "a"}, "value", "fail", "$"),
        ('"x"', {"order_id": "x"}, "value", "fail", "$"),
        # type
        ('{"cents":4200.0}', {"cents": 4200}, "type", "warn", "$.cents"),
        ('{"cents":"4200"}', {"cents": 4200}, "type", "warn", "$.cents"),
        ('{"fee":"1.50"}', {"fee": 1.5}, "type", "warn", "$.fee"),
        ('{"cents":4200}', {"cents": "4200"}, "type", "warn", "$.cents"),
        ('{"notify":"true"}', {"notify": True}, "type", "warn", "$.notify"),
        ('{"notify":"False"}', {"notify": False}, "type", "warn", "$.notify"),
        ('{"notify":1}', {"notify": True}, "type", "warn", "$.notify"),
        ('{"cents":true}', {"cents": 1}, "type", "warn", "$.cents"),
        ('{"note":"null"}', {"note": None}, "type", "warn", "$.note"),
        ('{"tags":"a"}', {"tags": ["a"]}, "type", "warn", "$.tags"),
        ('{"note":"2026-12-01"}', {"note": dt.date(2026, 12, 1)}, "type", "warn", "$.note"),
        # encoding
        ('"{\\"cents\\": 1}"', {"cents": 1}, "encoding", "warn", "$"),
        ('{"tags":"[\\"a\\"]"}', {"tags": ["a"]}, "encoding", "warn", "$.tags"),
        ('{"fee":3.14159265358979323846}', {"fee": 3.141592653589793}, "encoding", "warn", "$.fee"),
        # keys
        ('{"cents":1}', {"cents": 1, "notify": True}, "keys", "warn", "$.notify"),
        ('{"cents":1}', {"cents": 1, "notify": False}, "keys", "fail", "$.notify"),
        ('{"cents":1}', {"cents": 1, "note": None}, "keys", "warn", "$.note"),
        ('{"cents":1,"note":null}', {"cents": 1}, "keys", "warn", "$.note"),
        ('{"cents":1,"note":"x"}', {"cents": 1}, "keys", "fail", "$.note"),
        ('{"cents":1,"zz":"x"}', {"cents": 1}, "keys", "fail", "$.zz"),
        ('{"cents":1}', {"cents": 1, "session": "s"}, "keys", "warn", "$.session"),
        ('{"orderId":"x"}', {"order_id": "x"}, "keys", "fail", "$.orderId"),
        ('{"order_id":"x"}', {"orderId": "x"}, "keys", "warn", "$.order_id"),
    ],
)  # fmt: skip
def test_what_a_rewriting_is(raw: str, received: Any, kind: str, severity: str, path: str) -> None:
    """Each way of rewriting has its kind; only type, encoding and harmless keys are warnings."""
    rewritten = [f for f in findings(call(raw, received)) if f.verdict == "rewritten"]
    assert [(f.metadata["kind"], f.severity, f.metadata["path"]) for f in rewritten][:1] == [(kind, severity, path)]
    assert rewritten[0].metadata["look_at"] == "dispatcher"


@pytest.mark.parametrize(
    ("raw", "received"),
    [
        ('{"cents":1,"note":"\\ud83c\\udf78"}', {"note": "\U0001f378", "cents": 1}),
        ('{"fee":1e2}', {"fee": 100.0}),
        ('{"fee":0.1}', {"fee": 0.1}),
        ('{"tags":["a"]}', {"tags": ("a",)}),
        ('{ "cents" : 1 }', '{"cents":1}'),
        ('{"cents":', '{"cents":'),
        ("", {}),
        ('{"cents":' + "9" * 5000 + "}", {"cents": 1}),
        ('{"note":"fast"}', {"note": Mode.FAST}),
    ],
)
def test_spelling_is_no_rewriting(raw: str, received: Any) -> None:
    """Key order, escapes, number spelling, raw text passed on, and text this reader refuses to read: nothing to say."""
    assert [f for f in findings(call(raw, received)) if f.verdict == "rewritten"] == []


VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=3), inner, max_size=3),
    max_leaves=10,
)
OBJECTS = st.dictionaries(st.text(max_size=3), VALUES, max_size=4)


@given(OBJECTS)
def test_what_was_emitted_is_never_rewritten(arguments: dict[str, Any]) -> None:
    """A handler that gets what the standard library reads from the raw text got what was emitted."""
    raw = json.dumps(arguments)
    assert find_rewrites(strict_json.parse(raw).value, json.loads(raw), SCHEMA, 10) == []


@given(OBJECTS, OBJECTS)
def test_every_difference_is_seen(emitted: dict[str, Any], received: dict[str, Any]) -> None:
    """Two objects differ in value or type exactly when a rewriting is found."""
    same = strict_json.equal(emitted, received) and strict_json.same_type(emitted, received)
    assert (find_rewrites(emitted, received, SCHEMA, 10) == []) is same
