"""Read YAML that people write: safe, strict, bounded, with errors that name file, line and field.

Duplicate keys, more than a few aliases and deep nesting are refused. YAML 1.1's surprises (`no` is
false, `010` is eight) are left to the strict models, whose errors say how to quote the value.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from datetime import date
from pathlib import Path
from typing import Any, TypeVar

import yaml
from pydantic import BaseModel, ValidationError

from attest_otel.errors import ConfigError, FieldError
from attest_otel.formats.model_fields import fields_at
from attest_otel.formats.text_files import read_text
from attest_otel.suggestions import did_you_mean, listing

MAX_FILE_BYTES = 16 * 1024 * 1024
MAX_DEPTH = 50
MAX_ALIASES = 100
MAX_VALUES = 1_000_000
UNNAMED = ""

_AMBIGUOUS = re.compile(
    r"yes|Yes|YES|no|No|NO|on|On|ON|off|Off|OFF"  # read as true or false
    r"|[-+]?0[0-7_]+"  # read as octal
    r"|[-+]?[1-9][0-9_]*(:[0-5]?[0-9])+|[-+]?[0-9][0-9_]*(:[0-5]?[0-9])+\.[0-9_]*"  # read as a number to base 60
    r"|[0-9]{4}-[0-9]{1,2}-[0-9]{1,2}([Tt \t].*)?"  # read as a date
)

_QUOTED = re.compile(r"'([^']*)'")

Model = TypeVar("Model", bound=BaseModel)
Location = tuple[int | str, ...]
Where = str | Callable[[Location], str]
"""What names some data in errors, or a function from a field's location to its file and line."""


def read_yaml(path: Path) -> Any:
    """Return what a YAML file holds.

    Raises:
        ConfigError: the file is missing, too large, not YAML, or breaks the limits above.
    """
    try:
        text = read_text(path, MAX_FILE_BYTES)
    except OSError as error:
        raise ConfigError(f"{path}: cannot be read: {error.strerror or error}") from None
    except UnicodeDecodeError as error:
        raise ConfigError(f"{path}: is not UTF-8 text (byte {error.start})") from None
    return parse_yaml(text, str(path))


def parse_yaml(text: str, name: str) -> Any:
    """Return what YAML text holds; `name` stands for the file in errors (ConfigError)."""
    try:
        _check_shape(text, name)
        return yaml.load(text, Loader=_StrictLoader)  # noqa: S506  # a subclass of the safe loader
    except ConfigError:
        raise
    except yaml.MarkedYAMLError as error:
        line = error.problem_mark.line + 1 if error.problem_mark else 0
        raise ConfigError(f"{name}:{line}: not valid YAML: {error.problem}") from None
    except (yaml.YAMLError, ValueError, RecursionError) as error:
        raise ConfigError(f"{name}: not valid YAML: {error}") from None


def refuse_ambiguous(path: Path, *, off_for: str | None = None) -> None:
    """Refuse plain words that YAML 1.1 turns into something else: no, on, 010, 12:30, 2026-12-01.

    Strict fields refuse most of them by name; where any value may stand, only the spelling tells them
    from what the author meant.

    Args:
        path: a file that `read_yaml` has read.
        off_for: the key for which a plain `off` is the word it looks like.

    Raises:
        ConfigError: names the line and the word.
    """
    before = ""
    for event in yaml.parse(read_text(path, MAX_FILE_BYTES), Loader=yaml.CSafeLoader):
        if not isinstance(event, yaml.ScalarEvent):
            continue
        is_word = off_for is not None and (before, event.value) == (off_for, "off")
        before = event.value
        if event.implicit[0] and _AMBIGUOUS.fullmatch(event.value) and not is_word:
            raise ConfigError(
                f"{path}:{_line(event)}: YAML reads the plain {event.value} as something else than text: put it in quotes, "
                "or write true, false or a decimal number"
            )


def validate(model: type[Model], data: Any, where: Where) -> Model:
    """Return `data` as a `model`.

    Args:
        model: what the data must be.
        data: plain data.
        where: what names the data in errors, or a function from a field's location to its name and line.

    Raises:
        ConfigError: every field that is wrong, with its path.
    """
    try:
        return model.model_validate(data)
    except ValidationError as error:
        raise ConfigError(describe(error, where, model=model)) from None


def describe(error: ValidationError, where: Where, *, model: type[BaseModel] | None = None, is_yaml: bool = True) -> str:
    """Say for a person what pydantic found: one line a field, with its path and what was expected.

    With the `model`, an unknown field comes with the one that may be meant.
    """
    parts = error.errors(include_url=False)[:10]
    lines = [_describe_one(dict(part), where, model, is_yaml=is_yaml) for part in parts]
    left_out = error.error_count() - len(lines)
    return "\n".join(lines) + (f"\n{place_of(where, ())}: and {left_out} more" if left_out > 0 else "")


def place_of(where: Where, location: Location) -> str:
    """Return what names a field in errors: the file and its line, where they are known, and its path."""
    named = where(location) if callable(where) else where
    path = field_path(location)
    return f"{named}: {path}" if path else named


def field_path(location: Location) -> str:
    """Write a location as `agents.refund-agent.rules[0].id`; the branch of a union that is `UNNAMED` is left out."""
    if location and location[-1] == "[key]":
        return f"{field_path(location[:-2])} (a key)"
    text = ""
    for part in location:
        if part != UNNAMED:
            text += f"[{part}]" if isinstance(part, int) else f".{part}" if text else part
    return text


def _describe_one(part: dict[str, Any], where: Where, model: type[BaseModel] | None, *, is_yaml: bool) -> str:
    raised = part.get("ctx", {}).get("error")
    location = (*part["loc"], *(raised.location if isinstance(raised, FieldError) else ()))
    place = place_of(where, location)
    given = part.get("input")
    if part["type"] == "extra_forbidden":
        return f"{place}: unknown field{_what_there_is(str(location[-1]), fields_at(model, location[:-1]))}"
    if part["type"] == "missing":
        return f"{place}: missing"
    message = str(part["msg"]).removeprefix("Value error, ")
    if part["type"] in ("model_type", "model_attributes_type"):
        message = "Input should be a mapping" if is_yaml else "Input should be an object"
    hint = ""
    if is_yaml and part["type"] == "string_type" and isinstance(given, bool | int | float | date):
        hint = " (YAML reads this as a number, a date or a yes/no value: put it in quotes)"
    if part["type"] == "literal_error" and isinstance(given, str):
        hint = did_you_mean(given, _QUOTED.findall(part["ctx"]["expected"]))
    shown = "" if isinstance(given, dict | list) or part["type"] == "value_error" else f", got {_short(given)}"
    return f"{place}: {message}{shown}{hint}"


def _what_there_is(name: str, fields: list[str]) -> str:
    return did_you_mean(name, fields) or (f"; the fields are {listing(fields)}" if fields else "")


def _short(value: Any, limit: int = 60) -> str:
    text = repr(value)
    return text if len(text) <= limit else f"{text[:limit]}…"


def _check_shape(text: str, name: str) -> None:
    shape = _Shape()
    for event in yaml.parse(text, Loader=yaml.CSafeLoader):
        shape.take(event)
        broken = shape.broken_limit()
        if broken is not None:
            raise ConfigError(f"{name}:{_line(event)}: {broken}")


class _Shape:
    """Counts depth, aliases, and the values a document holds once its aliases are followed."""

    def __init__(self) -> None:
        self._sizes = [0]
        self._open: list[str | None] = []
        self._anchors: dict[str, int] = {}
        self._aliases = 0

    def take(self, event: yaml.Event) -> None:
        """Count one event."""
        if isinstance(event, yaml.CollectionStartEvent):
            self._sizes.append(1)
            self._open.append(event.anchor)
        elif isinstance(event, yaml.CollectionEndEvent):
            self._add(self._sizes.pop(), self._open.pop())
        elif isinstance(event, yaml.ScalarEvent):
            self._add(1, event.anchor)
        elif isinstance(event, yaml.AliasEvent):
            self._aliases += 1
            self._add(self._anchors.get(event.anchor or "", 1), None)

    def broken_limit(self) -> str | None:
        """Say which limit is passed, if one is."""
        if len(self._open) > MAX_DEPTH:
            return f"nested deeper than {MAX_DEPTH} levels"
        if self._aliases > MAX_ALIASES:
            return f"more than {MAX_ALIASES} aliases"
        return f"more than {MAX_VALUES} values once aliases are followed" if self._sizes[-1] > MAX_VALUES else None

    def _add(self, size: int, anchor: str | None) -> None:
        self._sizes[-1] += size
        if anchor is not None:
            self._anchors[anchor] = size


def _line(event: yaml.Event) -> int:
    return event.start_mark.line + 1 if event.start_mark else 0


class _StrictLoader(yaml.CSafeLoader):
    """The safe loader, refusing a key that stands twice in one mapping."""

    def construct_mapping(self, node: yaml.MappingNode, deep: bool = False) -> dict[Any, Any]:
        seen: set[Any] = set()
        for key_node, _ in node.value:
            key = self.construct_object(key_node, deep=True)
            if not isinstance(key, str | int | float | bool | None):
                raise yaml.MarkedYAMLError(problem="a key must be plain text", problem_mark=key_node.start_mark)
            if key in seen:
                raise yaml.MarkedYAMLError(problem=f"the key {key!r} stands twice", problem_mark=key_node.start_mark)
            seen.add(key)
        return super().construct_mapping(node, deep)
