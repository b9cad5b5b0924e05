"""CEL: what an expression reads, exact values, bounds, and many threads."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from decimal import Decimal
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from attest_otel.cel import MAX_ITERATIONS, EvaluationError, ExpressionError, compile_expression, to_cel
from attest_otel.formats import strict_json


def test_the_shape_of_an_expression() -> None:
    """What it reads, how often, how deeply it iterates, and its patterns."""
    shape = compile_expression(
        "run.calls.all(a, run.calls.all(b, a.output.matches('x+') || b.index > 0))", about_call=False
    ).shape
    assert shape.fields == {"calls", "output", "index"}
    assert (shape.reads, shape.depth, shape.patterns) == (4, 2, ("x+",))


def test_chained_loops_are_not_nested() -> None:
    """Two loops side by side are one deep."""
    assert (
        compile_expression("run.calls.all(a, a.index > 0) && run.calls.exists(a, a.index > 1)", about_call=False).shape.depth == 1
    )


@pytest.mark.parametrize(
    "value", [None, True, 0, -(2**63), 2**63 - 1, 1.5, "é", [1, [2]], {"a": {"b": [None]}}, Decimal("0.1"), Decimal("42.00")]
)
def test_values_that_cel_holds(value: Any) -> None:
    """Equal in CEL to what they are."""
    assert to_cel(value) == (float(value) if isinstance(value, Decimal) else value)


@pytest.mark.parametrize(
    "value",
    [2**63, -(2**63) - 1, [2**70], Decimal("0.10000000000000000000001"), Decimal("1e400"), Decimal("NaN"), "\ud800", {"\ud800": 1}, {"a\0b": 1}, "a\0b", {1: 2}, [1] * 20_000, "x" * 5_000_000, {"a": object()}],
)  # fmt: skip
def test_values_that_cel_does_not_hold(value: Any) -> None:
    """Refused, never rounded or repaired."""
    with pytest.raises(EvaluationError):
        to_cel(value)


TEXT = st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\0"))
LEAVES = st.none() | st.booleans() | st.integers(-(2**63), 2**63 - 1) | st.floats(allow_nan=False, allow_infinity=False) | TEXT
VALUES = st.recursive(LEAVES, lambda inner: st.lists(inner, max_size=4) | st.dictionaries(TEXT, inner, max_size=4), max_leaves=12)


@given(VALUES)
def test_json_values_arrive_unchanged(value: Any) -> None:
    """Whatever arguments hold, CEL finds it equal to itself and no type is lost on the way."""
    converted = to_cel(value)
    assert strict_json.equal(converted, value)
    program = compile_expression("call.arguments == run.calls[0].arguments", about_call=True)
    assert program.evaluate({"calls": [{"arguments": converted}]}, {"arguments": converted})


def test_iterations_are_bounded() -> None:
    """An evaluation ends after 10,000 iterations, with the reason."""
    program = compile_expression("run.calls.all(a, a.index >= 0)", about_call=False)
    with pytest.raises(EvaluationError, match=f"more than {MAX_ITERATIONS}"):
        program.evaluate({"calls": [{"index": n} for n in range(MAX_ITERATIONS + 1)]})


def test_a_missing_field_is_named() -> None:
    """The reason says what is not there."""
    program = compile_expression("run.task == 'x'", about_call=False)
    with pytest.raises(EvaluationError, match="'task' is not there"):
        program.evaluate({})


def test_no_answer_is_an_error() -> None:
    """A value that is neither true nor false is no answer."""
    program = compile_expression("call.arguments.confirmed", about_call=True)
    with pytest.raises(EvaluationError, match="neither true nor false"):
        program.evaluate({}, {"arguments": {"confirmed": "yes"}})


def test_one_program_serves_many_threads() -> None:
    """A compiled program gives each thread the answer to its own question."""
    program = compile_expression("run.calls.exists(c, c.name == 't' + string(call.index))", about_call=True)

    def ask(size: int) -> list[bool]:
        run = {"calls": [{"name": f"t{n}", "index": n} for n in range(size)]}
        return [program.evaluate(run, {"index": index}) for index in (size - 1, size) for _ in range(50)]

    with ThreadPoolExecutor(4) as pool:
        answers = list(pool.map(ask, range(1, 30)))
    assert answers == [[True] * 50 + [False] * 50] * 29


@given(st.text(max_size=40))
def test_any_text_is_a_program_or_an_error(source: str) -> None:
    """No text breaks the compiler: it gives a program, or an error of its own kind with a message."""
    try:
        outcome = compile_expression(source, about_call=True).source
    except ExpressionError as error:
        outcome = f"error: {error}"
    assert outcome in (source, f"error: {outcome.removeprefix('error: ')}")
    assert outcome != "error: "
