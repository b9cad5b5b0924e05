"""Cases: what one known input must lead to, kept in data beside the input.

Source: the chapter on tool-call assertions (expectations live in data; one generic checker reads it).
A case that expects nothing and forbids nothing is refused when it is made: it would pass for ever.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator
from functools import partial
from pathlib import Path
from typing import Any, Literal, Self

from pydantic import BaseModel, ConfigDict, Field, field_validator, model_validator

from attest_otel.errors import ConfigError
from attest_otel.formats.strict_json import type_name
from attest_otel.formats.yaml_files import MAX_DEPTH, read_yaml, refuse_ambiguous, validate
from attest_otel.formats.yaml_lines import YamlLines

ArgType = Literal["int", "float", "number", "bool", "str", "null", "list", "dict"]


class ExpectedCall(BaseModel):
    """One call that must have been made, with the arguments that matter and their types.

    `arg_types` may name an argument that `args` leaves out: then the argument must be there and have
    that type, whatever its value.
    """

    model_config = ConfigDict(extra="forbid", frozen=True, strict=True)

    name: str = Field(min_length=1)
    args: dict[str, Any] = Field(default_factory=dict)
    arg_types: dict[str, ArgType] = Field(default_factory=dict)

    @field_validator("args")
    @classmethod
    def _plain_json(cls, args: dict[str, Any]) -> dict[str, Any]:
        wrong = next(_not_json_parts(args, ""), None)
        if wrong is not None:
            raise ValueError(f"{wrong[0][1:]}: {_not_json(wrong[1])}")
        return args

    @model_validator(mode="after")
    def _types_can_be_met(self) -> Self:
        for name, kind in self.arg_types.items():
            if name in self.args and not _can_be(self.args[name], kind):
                given = type_name(self.args[name])
                raise ValueError(f"arg_types.{name} says {kind}, but args.{name} is of type {given}: no call can meet both")
        return self


class Case(BaseModel):
    """One case. `expect_tool_calls=None` says nothing about side effects; `[]` expects none (with the forbid flag)."""

    model_config = ConfigDict(extra="forbid", frozen=True, strict=True)

    case_id: str = Field(min_length=1)
    input: str | None = None
    expect_tool_calls: list[ExpectedCall] | None = None
    forbid_other_side_effects: bool = False
    ordered: bool = False
    count: Literal["all", "succeeded"] = "all"
    should_call: list[str] | None = None

    @model_validator(mode="after")
    def _asserts_something(self) -> Self:
        if not self.expect_tool_calls and not self.forbid_other_side_effects and self.should_call is None:
            raise ValueError(
                "vacuous: expects nothing and forbids nothing, so it would pass for ever; to expect that nothing "
                "happens, write expect_tool_calls: [] with forbid_other_side_effects: true"
            )
        return self


def load_cases(path: str | Path) -> list[Case]:
    """Read a cases file: a YAML list of cases, or a mapping with that list under `cases`.

    Raises:
        ConfigError: the file, a case or a field is wrong; names the file, the line, the case and the field.
    """
    path = Path(path)
    data = read_yaml(path)
    inside = ("cases",) if isinstance(data, dict) and set(data) == {"cases"} else ()
    items = data["cases"] if inside else data
    if not isinstance(items, list):
        got = "nothing" if items is None else type_name(items)
        raise ConfigError(f"{path}: expected a list of cases (or a mapping with only `cases`), got {got}")
    cases = _read_all(items, path, inside)
    refuse_ambiguous(path)
    return cases


def check_unique(cases: Iterable[Case], where: str) -> None:
    """Refuse a case id that stands twice (ConfigError)."""
    seen: dict[str, int] = {}
    for number, case in enumerate(cases):
        if case.case_id in seen:
            raise ConfigError(f"{where}: case {case.case_id!r} stands twice, as cases[{seen[case.case_id]}] and cases[{number}]")
        seen[case.case_id] = number


def _read_all(items: list[Any], path: Path, inside: tuple[str, ...]) -> list[Case]:
    lines = YamlLines(path)
    cases: list[Case] = []
    problems: list[str] = []
    for number, item in enumerate(items):
        try:
            cases.append(validate(Case, item, partial(_place, lines, (*inside, number), _label(item, number))))
        except ConfigError as error:
            problems.append(str(error))
    if problems:
        raise ConfigError("\n".join(problems))
    check_unique(cases, str(path))
    return cases


def _place(lines: YamlLines, case: tuple[int | str, ...], label: str, field: tuple[int | str, ...]) -> str:
    return f"{lines.place((*case, *field))}: {label}"


def _label(item: Any, number: int) -> str:
    case_id = item.get("case_id") if isinstance(item, dict) else None
    return f"case {case_id!r}" if isinstance(case_id, str) and case_id else f"cases[{number}]"


def _not_json_parts(value: Any, path: str, depth: int = 0) -> Iterator[tuple[str, Any]]:
    """Yield what is no JSON value, with its path; what holds itself (an alias to its own parent) is none."""
    if depth > MAX_DEPTH:
        yield path[:100], ...
    elif isinstance(value, dict):
        for key, inner in value.items():
            if not isinstance(key, str):
                yield f"{path}.{key}", key
            else:
                yield from _not_json_parts(inner, f"{path}.{key}", depth + 1)
    elif isinstance(value, list):
        for number, inner in enumerate(value):
            yield from _not_json_parts(inner, f"{path}[{number}]", depth + 1)
    elif not _is_json_leaf(value):
        yield path, value


def _is_json_leaf(value: Any) -> bool:
    return value is None or isinstance(value, str | bool | int) or (isinstance(value, float) and math.isfinite(value))


def _not_json(value: Any) -> str:
    if value is ...:
        return f"nested deeper than {MAX_DEPTH} levels"
    kind = type(value).__name__
    return f"{value!s} ({kind}) is no JSON value (YAML reads some plain text as dates, numbers or yes/no: put it in quotes)"


def _can_be(value: Any, kind: ArgType) -> bool:
    """Return whether a value equal to this one can have the type: 4200 can be a float, 42.5 no int, "1" no int."""
    if not isinstance(value, bool | int | float):
        return type_name(value) == kind
    if kind == "int":
        return value == int(value)
    if kind == "bool":
        return value in (0, 1)
    return kind in ("float", "number")
