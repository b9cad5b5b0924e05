"""The contract check: every expectation held against the tools' current definitions, once, before any case.

A renamed parameter that would quietly break two hundred cases fails here, at the start, naming the
case, the tool, the old name and the current list. So do an unknown tool, an expected value or type
that the schema cannot let through, and an expected call that asserts nothing about a tool that takes
parameters. Source: the chapter on tool-call assertions ("a contract check runs once per suite").
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from difflib import SequenceMatcher
from typing import Any

from attest_otel.cases import Case, ExpectedCall, check_unique
from attest_otel.errors import ContractError
from attest_otel.formats.strict_json import spell, type_name
from attest_otel.parameters import Parameters, parameters_of
from attest_otel.suggestions import listing, unknown
from attest_otel.trajectory import Tool

MIN_LIKENESS = 0.4

_JSON_TYPES: Mapping[str, frozenset[str]] = {
    "int": frozenset({"integer", "number"}),
    "float": frozenset({"number", "integer"}),
    "number": frozenset({"number", "integer"}),
    "bool": frozenset({"boolean"}),
    "str": frozenset({"string"}),
    "null": frozenset({"null"}),
    "list": frozenset({"array"}),
    "dict": frozenset({"object"}),
}


def check_contract(cases: Iterable[Case], tools: Iterable[Tool], *, where: str = "cases") -> list[str]:
    """Hold cases against tool definitions.

    Args:
        cases: the cases.
        tools: the definitions as the agent has them; a later one of the same name wins.
        where: what names the cases in errors, usually their file.

    Returns:
        What could not be checked (a tool without a schema, a schema that accepts any name), one line each.

    Raises:
        ContractError: one line for each problem, with file, case, tool and parameter.
        ConfigError: a case id stands twice.
    """
    cases = list(cases)
    check_unique(cases, where)
    known = {tool.name: parameters_of(tool) for tool in tools}
    problems: list[str] = []
    notes: dict[str, None] = {}
    for case in cases:
        here = f"{where}: case {case.case_id!r}"
        problems += [f"{here}: {text}" for text in _case_problems(case, known)]
        notes.update(dict.fromkeys(f"{where}: {text}" for text in _notes(case, known)))
    if problems:
        raise ContractError("\n".join(problems))
    return list(notes)


def _case_problems(case: Case, known: Mapping[str, Parameters]) -> Iterator[str]:
    for number, expected in enumerate(case.expect_tool_calls or ()):
        place = f"expect_tool_calls[{number}]"
        parameters = known.get(expected.name)
        if parameters is None:
            yield f"{place}: {unknown('tool', expected.name, sorted(known))}"
        else:
            yield from (f"{place}: {text}" for text in _call_problems(expected, parameters))
    for number, name in enumerate(case.should_call or ()):
        if name not in known:
            yield f"should_call[{number}]: {unknown('tool', name, sorted(known))}"


def _call_problems(expected: ExpectedCall, parameters: Parameters) -> Iterator[str]:
    takes = _listing(parameters.names)
    named = list(dict.fromkeys([*expected.args, *expected.arg_types]))
    if not named and parameters.names:
        yield f"expects no argument of {expected.name}, which takes {takes}: an empty expectation is vacuous"
    for name in named:
        if name not in parameters.names and not parameters.open:
            field = "args" if name in expected.args else "arg_types"
            yield f"{field}: {expected.name} has no parameter {name!r}, it now takes {takes}{_renamed(name, named, parameters)}"
    for name, value in expected.args.items():
        if not parameters.allows_type(name, _JSON_TYPES[type_name(value)]):
            yield f"args.{name}: {_wrong_value(expected.name, name, value, parameters)}"
    for name, kind in expected.arg_types.items():
        if not parameters.allows_type(name, _JSON_TYPES[kind]):
            yield f"arg_types.{name}: {expected.name} declares {name} as {_declared(name, parameters)}, never {kind}"


def _notes(case: Case, known: Mapping[str, Parameters]) -> Iterator[str]:
    for expected in case.expect_tool_calls or ():
        parameters = known.get(expected.name)
        if parameters is not None and not parameters.known:
            yield f"{expected.name} has no input schema: its parameters were not checked"
        elif parameters is not None and parameters.open:
            yield f"{expected.name} accepts names its schema doesn't list: undeclared parameters can't be told"


def _renamed(old: str, named: list[str], parameters: Parameters) -> str:
    """Guess the parameter's current name: the likest one the expectation doesn't name, else the only one left."""
    free = [name for name in parameters.names if name not in named]
    likeness = {name: SequenceMatcher(None, old, name).ratio() for name in free}
    best = max(free, key=lambda name: likeness[name], default=None)
    if best is None or (likeness[best] < MIN_LIKENESS and len(free) > 1):
        return ""
    return f"; perhaps it is {best!r} now"


def _wrong_value(tool: str, name: str, value: Any, parameters: Parameters) -> str:
    hint = ": put it in quotes if text is meant" if isinstance(value, bool | int | float) else ""
    return f"{tool} declares {name} as {_declared(name, parameters)}, so no valid call has {spell(value)[:60]}{hint}"


def _declared(name: str, parameters: Parameters) -> str:
    return " or ".join(sorted((parameters.types or {}).get(name, ())))


def _listing(names: tuple[str, ...]) -> str:
    return f"[{listing(sorted(names))}]" if names else "none"
