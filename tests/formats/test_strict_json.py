"""Exact JSON: bounded strict reading, comparisons that agree with each other, type as a claim of its own."""

from __future__ import annotations

import json
import math
from decimal import Decimal
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from attest_otel.formats import strict_json
from attest_otel.formats.json_values import has_at_most_nodes, is_deeper_than
from attest_otel.formats.strict_json import canonical, equal, parse, same_type, spell, type_name

LEAVES = (
    st.none() | st.booleans() | st.integers() | st.floats() | st.text()
    | st.decimals() | st.sampled_from([0, 0.0, -0.0, 1, True, 1.0, Decimal("1.0"), "1", "\ud83c\udf78", "\U0001f378", "\ud800", 10**400, Decimal("1e400")])
)  # fmt: skip
VALUES = st.recursive(
    LEAVES,
    lambda inner: (
        st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=3) | st.sampled_from(["a", "b", "é"]), inner, max_size=4)
    ),
    max_leaves=12,
)
JSON_VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text(),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=4), inner, max_size=4),
    max_leaves=12,
)


def same_value_spelt_otherwise(value: Any) -> Any:
    """Return an equal value of other types: tuples, reversed keys, floats for ints."""
    if isinstance(value, dict):
        return {k: same_value_spelt_otherwise(v) for k, v in reversed(list(value.items()))}
    if isinstance(value, list):
        return tuple(same_value_spelt_otherwise(v) for v in value)
    if isinstance(value, int):
        return Decimal(int(value))
    return Decimal(repr(value)) if isinstance(value, float) and math.isfinite(value) else value


@given(st.text() | st.text(alphabet='{}[]",:\\0123456789.eE+-nulltrfasNIiy u'))
def test_parse_never_raises(text: str) -> None:
    """Whatever the text, there is an answer, and an unreadable text has no value."""
    parsed = parse(text)
    assert (parsed.problem == "unparseable") <= (parsed.value is None)


@given(JSON_VALUES, st.data())
def test_parse_survives_damaged_json(value: Any, data: st.DataObject) -> None:
    """JSON with a piece cut out or doubled is read or refused, never a crash."""
    text = json.dumps(value)
    start = data.draw(st.integers(0, len(text)))
    end = data.draw(st.integers(start, len(text)))
    parse(text[:start] + text[end:])
    parse(text[:end] + text[start:])


@given(JSON_VALUES)
def test_what_was_written_is_read(value: Any) -> None:
    """A value written as JSON, in any spelling, comes back equal and of the same types."""
    for text in (json.dumps(value), json.dumps(value, indent=1, ensure_ascii=False)):
        parsed = parse(text)
        assert parsed.problem is None
        assert equal(parsed.value, value)
        assert same_type(parsed.value, value)


@given(VALUES)
def test_equal_is_reflexive(value: Any) -> None:
    """A value equals itself and its copy, NaN and -0.0 included."""
    assert equal(value, value)
    assert equal(value, same_value_spelt_otherwise(value))
    assert same_type(value, value)


@given(VALUES, VALUES)
def test_comparisons_are_symmetric_and_agree_with_the_canonical_text(a: Any, b: Any) -> None:
    """`equal` and `same_type` don't depend on the side; canonical texts are the same exactly for equal values."""
    assert equal(a, b) == equal(b, a)
    assert same_type(a, b) == same_type(b, a)
    assert equal(a, b) == (canonical(a) == canonical(b))


@given(VALUES)
def test_canonical_is_blind_to_spelling(value: Any) -> None:
    """Equal values of other types and key orders share one canonical text."""
    assert canonical(value) == canonical(same_value_spelt_otherwise(value))


@given(VALUES)
def test_spelling_can_be_encoded_and_is_bounded(value: Any) -> None:
    """What a person reads is valid UTF-8 and no longer than asked."""
    spell(value).encode()
    assert len(spell(value, 20)) <= 21


@pytest.mark.parametrize(
    ("a", "b"), [(1, 1.0), (1, True), (True, 1.0), (0, False), (0.0, False), (1, "1"), (None, "null"), ([], {})]
)
def test_the_type_claim_keeps_types_apart(a: Any, b: Any) -> None:
    """int, float, bool, text, null, list and dict are never one type."""
    assert not same_type(a, b)
    assert not same_type({"k": [a]}, {"k": [b]})


@pytest.mark.parametrize(
    ("a", "b", "expected"),
    [
        (4200, 4200.0, True), (True, 1, True), (Decimal("4.2e3"), 4200, True), ("4200", 4200, False), (0.1, Decimal("0.1"), True),
        (9007199254740993, 9007199254740992.0, False), (10**30, 1e30, True), (10**400, Decimal("1e400"), True), (-0.0, 0, True),
        (math.nan, float("nan"), True), (math.inf, -math.inf, False), (Decimal("1e-9999999999"), 0, False), ({"a": 1}, {"b": 1}, False),
        ([1], (1,), True), ({1: "x"}, {"1": "x"}, False), ("\ud83c\udf78", "\U0001f378", True), ({1, 2}, {2, 1}, True), (b"a", "a", False),
    ],
)  # fmt: skip
def test_values_compare_exactly(a: Any, b: Any, expected: bool) -> None:
    """Numbers compare by value at any size and never through a float; other types only with their own."""
    assert equal(a, b) is expected
    assert (canonical(a) == canonical(b)) is expected


@pytest.mark.parametrize(
    ("text", "problem", "over_limit"),
    [
        ('{"a":1,"a":2}', "duplicate_keys", False), ('{"a":{"b":1,"b":1}}', "duplicate_keys", False), ("NaN", "non_finite", False),
        ("[-Infinity]", "non_finite", False), ('{"a":1e999}', "non_finite", False), ("1e99999999999999999999", "non_finite", False),
        ("1.7976931348623157e308", None, False), ("-1.8e308", "non_finite", False), ("1e-9999999999", None, False),
        ("0e99999999999999999999", None, False), ("1e-99999999999999999999", "unparseable", True), ("9" * 5000, "unparseable", True),
        ("1." + "9" * 5000, "unparseable", True), ('"' + "9" * 5000 + '"', None, False), ("\ufeff{}", "unparseable", False),
        ('{"a":1}{"b":2}', "unparseable", False), ("{'a':1}", "unparseable", False), ('{"a":1,}', "unparseable", False),
        ('"\\ud800"', None, False), ("[" * 100 + "]" * 100, None, False), ("[" * 101 + "]" * 101, "unparseable", True),
        ('"' + "[" * 500 + '"', None, False), ('{"a":"x\ny"}', "unparseable", False), ("01", "unparseable", False), ("\u0661", "unparseable", False),
    ],
)  # fmt: skip
def test_what_is_wrong_with_a_text_has_a_name(text: str, problem: str | None, over_limit: bool) -> None:
    """Each kind of bad text is told from the others, and our own bounds from the model's faults."""
    parsed = parse(text)
    assert parsed.problem == problem
    assert parsed.over_limit is over_limit


@pytest.mark.parametrize(
    "text",
    [
        '{"a":' * 100_000, "[" * 100_000, '"' + '\\"' * 2_000_000, "[" * 101 + '"' + '\\"' * 2_000_000, ("1" * 4300 + "a") * 900,
        '"' + ("1" * 4300 + "a") * 900 + '"', "[" + "1.5," * 300_000 + "1]", "{" + ",".join(f'"k{i}":{i}' for i in range(200_000)) + "}",
        '{"a":' + '{"k":1,"k":2},' * 10, "x" * (strict_json.MAX_TEXT_CHARS + 1),
    ],
    ids=["objects", "lists", "open string", "brackets then open string", "digit runs", "quoted digit runs", "floats", "keys", "cut", "too long"],
)  # fmt: skip
@pytest.mark.timeout(10)
def test_reading_is_linear_on_hostile_texts(text: str) -> None:
    """No text within the size bound costs more than linear time; none above it is read."""
    parse(text)


def nested(depth: int) -> list[Any]:
    """Return lists in lists."""
    value: list[Any] = []
    for _ in range(depth):
        value = [value]
    return value


def test_foreign_values_may_be_deep_or_cyclic() -> None:
    """Nothing recurses: 100,000 levels compare; a cycle is equal only to itself and is spelt up to its limit."""
    assert equal(nested(100_000), nested(100_000))
    assert not equal(nested(100_000), nested(100_001))
    assert canonical(nested(50_000)) != canonical(nested(50_001))
    cycle: list[Any] = []
    cycle.append(cycle)
    assert equal(cycle, cycle)
    assert spell(cycle, 10) == "[" * 10 + "…"
    assert not has_at_most_nodes(cycle, 1000)
    assert is_deeper_than(cycle, 100)
    assert is_deeper_than(nested(101), 100)
    assert not is_deeper_than(nested(99), 100)


class Hostile:
    """A value whose every method fails."""

    def __repr__(self) -> str:
        raise RuntimeError

    def __eq__(self, other: object) -> bool:
        raise RuntimeError

    __hash__ = None  # type: ignore[assignment]


def test_foreign_methods_do_not_stop_a_comparison() -> None:
    """A value whose __repr__ and __eq__ raise is compared and named all the same."""
    assert equal({"a": Hostile()}, {"a": Hostile()})
    assert not equal([Hostile()], ["x"])
    assert "Hostile" in spell(Hostile())
    assert type_name(Hostile()) == "Hostile"


@settings(max_examples=30)
@given(st.integers(-(10**350), 10**350))
def test_whole_numbers_have_one_canonical_text(number: int) -> None:
    """An integer and the same number as a decimal with an exponent or a point share their text."""
    assert canonical(number) == canonical(Decimal(number)) == canonical(Decimal(f"{number}.000"))
