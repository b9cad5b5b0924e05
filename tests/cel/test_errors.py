"""What is said of an expression that is refused: the column, what was expected there, and which names there are."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from attest_otel.cel import ExpressionError, compile_expression
from attest_otel.cel.errors import FUNCTIONS, MAX_ERROR_CHARS

VALUE = "Syntax error: expected a value (a name, a text, a number, a list)"
OPERATOR = "Syntax error: expected an operator (such as && or ==) or the end"


def refusal(source: str, *, about_call: bool = True) -> str:
    """Return what is said of an expression."""
    with pytest.raises(ExpressionError) as caught:
        compile_expression(source, about_call=about_call)
    return str(caught.value)


@pytest.mark.parametrize(
    ("source", "said"),
    [
        ("run.calls.size( > 1", f"column 17: {VALUE}, got '>'"),
        ("call.index ==", f"column 14: {VALUE}, but the expression ends"),
        ("call.index == 1)", f"column 16: {OPERATOR}, got ')'"),
        ("(call.index == 1", "column 17: Syntax error: expected ')', but the expression ends"),
        ("call.name in ['a'", "column 18: Syntax error: expected ']' or ',', but the expression ends"),
        ("true ? false", "column 13: Syntax error: expected ':', but the expression ends"),
        ("call.is_error and true", f"column 15: {OPERATOR}, got 'and' (in CEL, and is &&)"),
        ("not call.is_error", f"column 5: {OPERATOR}, got 'call' (in CEL, not is !)"),
        ("call.name is 'x'", f"column 11: {OPERATOR}, got 'is' (in CEL, is is ==)"),
        ("call.name = 'x'", "column 11: Syntax error: = is no operator: write == to compare"),
        ("true & false", "column 6: Syntax error: & is no operator: write &&"),
        ("call.name == 'x", "column 14: Syntax error: the text that begins here is not closed"),
        ("call.name == \u201cx\u201d", "column 14: Syntax error: \u201c is no quotation mark here: write ' or \""),
        ("true # yes", "column 6: Syntax error: '#' means nothing in CEL"),
        ("call..name", "column 6: Syntax error: nothing can be made of '..'"),
        ("true &&\n  call.nam == 'b'", "line 2, column 7: undefined field 'nam'; did you mean 'name'?"),
    ],
)
def test_what_was_expected_is_said(source: str, said: str) -> None:
    """In words and by column, never as a list of the grammar's tokens."""
    assert refusal(source).startswith(said)


@pytest.mark.parametrize(
    ("source", "said"),
    [
        ("runs.calls.size() > 0", "undeclared reference to 'runs.calls'; did you mean 'run'? Known variables: run, call"),
        ("x == 1", "undeclared reference to 'x'; known variables: run, call"),
        ("run.call.size() > 0", "undefined field 'call'; did you mean 'calls'? Fields of run: task, final_answer, calls,"),
        ("run.usage.tokens > 0", "undefined field 'tokens'; did you mean 'input_tokens'? Fields of usage: input_tokens,"),
        ("run.task.startswith('a')", "undeclared reference to 'startswith'; did you mean 'startsWith'? Known functions: size,"),
        ("len(run.calls) > 0", "undeclared reference to 'len' (in CEL, len is size)"),
        ("call.is_error == True", "undeclared reference to 'True' (in CEL, True is true)"),
        ("size(call.name, 2) == 1", "size does not take these arguments"),
        ("call.index + 'x' == 'y'", "found no matching overload for + applied to (int, string)"),
    ],
)
def test_which_names_there_are_is_said(source: str, said: str) -> None:
    """An unknown variable, field or function comes with the one that may be meant and with all there are."""
    assert refusal(source).partition(": ")[2].startswith(said)


def test_a_rule_about_the_run_has_no_call() -> None:
    """A rule without a tool that asks of a call is told so."""
    assert "a rule without `tool` is about the run" in refusal("call.index == 0", about_call=False)
    assert refusal("x == 1", about_call=False).endswith("known variables: run")


def told(source: str, *, about_call: bool) -> str:
    """Return what is said of an expression; nothing where it is accepted."""
    try:
        compile_expression(source, about_call=about_call)
    except ExpressionError as error:
        return str(error)
    return ""


@pytest.mark.parametrize("name", FUNCTIONS)
def test_the_functions_that_are_listed_exist(name: str) -> None:
    """No function is named that the library doesn't know: its complaint is never about the name."""
    assert "undeclared reference" not in told(f"{name}(1)", about_call=True)


@given(st.text(max_size=60))
def test_whatever_is_written_is_told_short(source: str) -> None:
    """Any text is an expression, or refused in few words that name no token of the grammar."""
    said = told(source, about_call=False)
    assert len(said) <= MAX_ERROR_CHARS + 40
    assert "NUM_FLOAT" not in said
    assert "<EOF>" not in said or "<EOF>" in source
