"""Rules in CEL: checked against the types of `run` and `call` when they are loaded, bounded when they run.

The only module that touches the CEL library, and it does so on first use. An expression is compiled
twice: once against the message types below, which finds unknown fields, functions and type errors, and
once without them, which is what runs over plain dictionaries (so integers stay integers).

A field that nobody recorded, or whose value CEL cannot hold exactly, is not there at all: using it is
an error, so the rule is `unchecked`; `has(call.output)` asks for it. `&&`, `||`, `exists` and `all`
absorb such an error where the other side already decides.

Bounds: the library stops an evaluation after 10,000 iterations and an expression nested too deeply;
regular expressions are RE2; nothing here does I/O. Compiled programs are immutable and may be shared
between threads; an evaluation holds the interpreter's lock, so callers bound its work (`Program.steps`, `Program.chars`).
"""

from __future__ import annotations

from dataclasses import dataclass
from decimal import Decimal
from functools import cache, lru_cache
from typing import Any

from attest_otel.cel.errors import explain, short
from attest_otel.cel.tree import Shape, read_shape
from attest_otel.formats.json_values import has_at_most_nodes

MAX_EXPRESSION_CHARS = 4_000
MAX_ITERATIONS = 10_000
MAX_TEXT_CHARS = 4_000_000
MAX_NODES = 10_000
_INT64 = 2**63
_MISSING_KEY = "Key not found in map :"

FIELDS: dict[str, dict[str, str]] = {
    "Usage": {"input_tokens": "int", "output_tokens": "int"},
    "Call": {
        "name": "string",
        "arguments": "any",
        "arguments_raw": "string?",
        "output": "string?",
        "is_error": "bool?",
        "index": "int",
        "agent": "string?",
        "side_effecting": "bool?",
    },
    "Run": {"task": "string?", "final_answer": "string?", "calls": "Call*", "agent": "string?", "usage": "Usage"},
}
"""What a rule may name, by message, with its type; `?` marks what may be missing, `*` a list."""


class ExpressionError(ValueError):
    """An expression that cannot be used; the message says where in it and why."""


class EvaluationError(Exception):
    """An expression that has no answer on this run; the message says why."""


@dataclass(frozen=True, slots=True)
class Program:
    """A checked expression. `shape` says what it reads and how deeply it iterates."""

    source: str
    shape: Shape
    _compiled: Any

    def evaluate(self, run: dict[str, Any], call: dict[str, Any] | None = None) -> bool:
        """Return what the expression says of a run, and of a call where it is about one (EvaluationError)."""
        data = {"run": run} if call is None else {"run": run, "call": call}
        try:
            answer = self._compiled.eval(data=data)
            value = answer.value()
        except Exception as error:  # noqa: BLE001  # whatever the library says, there is no answer
            raise EvaluationError(_why(str(error))) from None
        if isinstance(value, bool):
            return value
        raise EvaluationError(_why(str(answer)) if "ERROR" in repr(answer.type()) else "the answer is neither true nor false")

    def steps(self, calls: int, widest: int) -> int:
        """Return how many steps one evaluation may take on a run of so many calls, its longest list `widest` long."""
        loops = min(_power(max(calls, widest, 1), self.shape.depth), MAX_ITERATIONS)
        return loops + (calls if "calls" in self.shape.fields else 0)

    def chars(self, calls: int, widest: int, text: int) -> int:
        """Return how many characters one evaluation may copy when the fields it reads hold `text` characters."""
        if not text:
            return 0
        again = min(_power(max(calls, widest, 1), max(self.shape.depth - 1, 0)), MAX_ITERATIONS)
        return text * again * max(self.shape.reads, 1)


@lru_cache(maxsize=4_096)
def compile_expression(source: str, *, about_call: bool) -> Program:
    """Return the program of an expression over `run`, and over `call` where it is about one.

    Raises:
        ExpressionError: syntax, an unknown name or function, wrong types, no yes/no answer, a bad pattern.
    """
    if len(source) > MAX_EXPRESSION_CHARS:
        raise ExpressionError(f"has {len(source)} characters; at most {MAX_EXPRESSION_CHARS} are read")
    typed, plain = _environments(about_call=about_call)
    try:
        kind = repr(typed.compile(source).return_type())
        compiled = plain.compile(source)
    except Exception as error:  # noqa: BLE001  # the library raises RuntimeError, and UnicodeError for broken text
        raise ExpressionError(explain(str(error), source, FIELDS, about_call=about_call)) from None
    if kind not in ("BOOL", "DYN"):
        raise ExpressionError(f"answers {kind.lower()}; expected true or false")
    shape = read_shape(compiled.serialize(), frozenset(name for fields in FIELDS.values() for name in fields))
    for pattern in shape.patterns:
        _check_pattern(pattern)
    return Program(source, shape, compiled)


def to_cel(value: Any) -> Any:
    """Return a JSON value as CEL holds it, exactly.

    Raises:
        EvaluationError: it cannot: an integer beyond 64 bits, a number no float equals, a lone surrogate,
            a NUL, text or a value that is too big.
    """
    if isinstance(value, str):
        return _text(value)
    if isinstance(value, dict | list) and not has_at_most_nodes(value, MAX_NODES):
        raise EvaluationError(f"a value has more than {MAX_NODES} parts")
    return _convert(value)


@cache
def _environments(*, about_call: bool) -> tuple[Any, Any]:
    from cel_expr_python import cel  # noqa: PLC0415  # only rules that use CEL pay for it

    from attest_otel.cel.tree import message_pool  # noqa: PLC0415

    names = ("run", "call") if about_call else ("run",)
    typed = {name: cel.Type(f"attest.{name.capitalize()}") for name in names}
    plain = dict.fromkeys(names, cel.Type.DYN)
    return cel.NewEnv(descriptor_pool=message_pool(FIELDS), variables=typed), cel.NewEnv(variables=plain)


def _why(error: str) -> str:
    """Say for a person why an evaluation has no answer."""
    if _MISSING_KEY in error:
        key = error.partition(_MISSING_KEY)[2].strip().strip('"')
        return f"{short(key)!r} is not there (not recorded, or no value that CEL holds exactly)"
    if "Iteration budget exceeded" in error:
        return f"it takes more than {MAX_ITERATIONS} iterations"
    return short(error)


def _check_pattern(pattern: str) -> None:
    import re2  # noqa: PLC0415  # only rules with patterns pay for it

    options = re2.Options()
    options.log_errors = False
    try:
        re2.compile(pattern, options)
    except re2.error as error:
        raise ExpressionError(
            f"the pattern {short(pattern)!r} cannot run in linear time or is no pattern (RE2): {short(_spoken(error))}"
        ) from None


def _spoken(error: Exception) -> str:
    said = error.args[0] if error.args else error
    return said.decode("utf-8", "replace") if isinstance(said, bytes) else str(said)


def _power(base: int, exponent: int) -> int:
    return int(base**exponent)


def _convert(value: Any) -> Any:
    if isinstance(value, dict):
        return {_text(key): _convert(child) for key, child in value.items()}
    if isinstance(value, list | tuple):
        return [_convert(child) for child in value]
    if isinstance(value, str):
        return _text(value)
    if value is None or isinstance(value, bool):
        return value
    if isinstance(value, int):
        if not -_INT64 <= value < _INT64:
            raise EvaluationError("an integer has more than 64 bits")
        return value
    if isinstance(value, float | Decimal):
        return _double(value)
    raise EvaluationError(f"a {type(value).__name__} is no JSON value")


def _double(number: float | Decimal) -> float:
    try:
        nearest = float(number)
    except (OverflowError, ValueError):
        nearest = float("nan")
    if isinstance(number, float) or Decimal(repr(nearest)) == number:
        return nearest
    raise EvaluationError("a number is not a 64-bit floating-point number")


def _text(text: Any) -> str:
    if not isinstance(text, str):
        raise EvaluationError("a key is no text")
    if len(text) > MAX_TEXT_CHARS:
        raise EvaluationError(f"a text has more than {MAX_TEXT_CHARS} characters")
    if "\0" in text:
        raise EvaluationError("a text holds a NUL character")  # the library would cut it there
    if not text.isascii():
        try:
            text.encode()
        except UnicodeEncodeError:
            raise EvaluationError("a text holds a lone surrogate") from None
    return text
