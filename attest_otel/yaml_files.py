"""Read YAML that people write: safe, strict, bounded, with errors that name file, line and field.

Duplicate keys, more than a few aliases and deep nesting are refused. YAML 1.1's surprises (`no` is
false, `010` is eight) are left to the strict models, whose errors say how to quote the value.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any, TypeVar

import yaml
from pydantic import BaseModel, ValidationError

from attest_otel.errors import ConfigError

MAX_FILE_BYTES = 16 * 1024 * 1024
MAX_DEPTH = 50
MAX_ALIASES = 100

Model = TypeVar("Model", bound=BaseModel)


def read_yaml(path: Path) -> Any:
    """Return what a YAML file holds.

    Raises:
        ConfigError: the file is missing, too large, not YAML, or breaks the limits above.
    """
    try:
        size = path.stat().st_size
        if size > MAX_FILE_BYTES:
            raise ConfigError(f"{path}: has {size} bytes; at most {MAX_FILE_BYTES} are read")
        text = path.read_text(encoding="utf-8")
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
    except yaml.MarkedYAMLError as error:
        line = error.problem_mark.line + 1 if error.problem_mark else 0
        raise ConfigError(f"{name}:{line}: not valid YAML: {error.problem}") from None
    except (yaml.YAMLError, ValueError, RecursionError) as error:
        raise ConfigError(f"{name}: not valid YAML: {error}") from None


def validate(model: type[Model], data: Any, where: str) -> Model:
    """Return `data` as a `model`.

    Raises:
        ConfigError: every field that is wrong, with its path below `where`.
    """
    try:
        return model.model_validate(data)
    except ValidationError as error:
        raise ConfigError(describe(error, where)) from None


def describe(error: ValidationError, where: str, *, is_yaml: bool = True) -> str:
    """Say for a person what pydantic found: one line a field, with its path and what was expected."""
    lines = [_describe_one(dict(part), where, is_yaml=is_yaml) for part in error.errors(include_url=False)[:10]]
    left_out = error.error_count() - len(lines)
    return "\n".join(lines) + (f"\n{where}: and {left_out} more" if left_out > 0 else "")


def field_path(location: tuple[int | str, ...]) -> str:
    """Write a location as `agents.refund-agent.rules[0].id`."""
    text = ""
    for part in location:
        text += f"[{part}]" if isinstance(part, int) else f".{part}" if text else part
    return text


def _describe_one(part: dict[str, Any], where: str, *, is_yaml: bool) -> str:
    path = field_path(part["loc"])
    place = f"{where}: {path}" if path else where
    given = part.get("input")
    if part["type"] == "extra_forbidden":
        return f"{place}: unknown field"
    if part["type"] == "missing":
        return f"{place}: missing"
    message = str(part["msg"]).removeprefix("Value error, ")
    hint = ""
    if is_yaml and part["type"] == "string_type" and isinstance(given, bool | int | float):
        hint = " (YAML reads this as a number or a yes/no value: put it in quotes)"
    shown = "" if isinstance(given, dict | list) or part["type"] == "value_error" else f", got {_short(given)}"
    return f"{place}: {message}{shown}{hint}"


def _short(value: Any, limit: int = 60) -> str:
    text = repr(value)
    return text if len(text) <= limit else f"{text[:limit]}…"


def _check_shape(text: str, name: str) -> None:
    depth = aliases = 0
    for event in yaml.parse(text, Loader=yaml.CSafeLoader):
        if isinstance(event, yaml.CollectionStartEvent):
            depth += 1
        elif isinstance(event, yaml.CollectionEndEvent):
            depth -= 1
        elif isinstance(event, yaml.AliasEvent):
            aliases += 1
        if depth > MAX_DEPTH:
            raise ConfigError(f"{name}:{event.start_mark.line + 1}: nested deeper than {MAX_DEPTH} levels")
        if aliases > MAX_ALIASES:
            raise ConfigError(f"{name}:{event.start_mark.line + 1}: more than {MAX_ALIASES} aliases")


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
