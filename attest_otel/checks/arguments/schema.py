"""A tool's JSON Schema, compiled once: is a value valid, and if not, where, why, and what was expected?

Drafts are told by `$schema`, 2020-12 without one. Nothing is fetched, neither from the network nor from
files: a reference outside the schema makes it unusable. Patterns run in linear time; one that can't
(lookaround, back-references) is left out and named in `skipped_patterns`. `format` is an annotation, as
2020-12 has it. A schema that can't be used is a `problem`, never an exception. Thread-safe; the
compiled schemas are kept in a bounded cache by their canonical JSON.
Source: DESIGN 3 rule 6; property 34.
"""

from __future__ import annotations

import json
import marshal
from collections.abc import Iterator
from dataclasses import dataclass, field
from decimal import Decimal
from functools import lru_cache
from itertools import islice
from typing import Any

import jsonschema_rs

from attest_otel.checks.arguments.schema_cost import is_affordable, is_explainable
from attest_otel.checks.arguments.schema_text import describe, without_patterns
from attest_otel.checks.arguments.shape import Shape, is_flat_and_fine, is_surely_fine, shape_of
from attest_otel.formats.json_values import has_at_most_nodes, leaf_text

MAX_SCHEMA_CHARS = 1_000_000
MAX_COMPILED_SCHEMAS = 256
MAX_VIOLATIONS = 20
MAX_NODES_EXPLAINED = 10_000
MAX_INTEGER_BITS = 14_000
MAX_UNCOUNTED_PRODUCT = 100_000_000
ABSENT: Any = object()

Path = tuple[str | int, ...]


@dataclass(frozen=True, slots=True)
class Violation:
    """One way in which a value breaks a schema: where, by which keyword, what stands there, what was expected."""

    path: Path
    keyword: str
    emitted: Any
    expected: str


@dataclass(frozen=True, slots=True)
class CompiledSchema:
    """A schema ready to check values. With a `problem` it can check nothing and says why.

    `shape` is there where the schema is simple enough for the quick answer of `is_surely_fine`. A value of at most
    `uncounted_nodes` parts is validated without counting first what that costs; -1 where each is counted.
    """

    validator: Any = None
    problem: str = ""
    skipped_patterns: tuple[str, ...] = ()
    schema: Any = field(default=None, repr=False)
    shape: Shape | None = field(default=None, repr=False)
    uncounted_nodes: int = 0

    def is_surely_fine(self, arguments: Any) -> bool:
        """Return whether arguments are an object that is valid and has nothing that a reader would stop at."""
        if type(arguments) is not dict:
            return False
        if self is NO_SCHEMA:
            return is_flat_and_fine(arguments)
        return self.shape is not None and is_surely_fine(arguments, self.shape) and self._validates(arguments)

    def is_valid(self, value: Any) -> bool | None:
        """Return whether the value is valid; None when the schema can't be used, or when that would cost too much."""
        if self.validator is None:
            return None
        if not has_at_most_nodes(value, self.uncounted_nodes) and not is_affordable(self.schema, value):
            return None
        return self._validates(value)

    def _validates(self, value: Any) -> bool:
        try:
            return bool(self.validator.is_valid(value))
        except ValueError:
            return bool(self.validator.is_valid(_as_json(value)))

    def violations(self, value: Any) -> list[Violation]:
        """Return the first `MAX_VIOLATIONS` violations; where they would fill the memory only that there are some."""
        if not self._can_explain(value):
            return [] if self.is_valid(value) is not False else [Violation((), "schema", value, "a value that the schema allows")]
        return list(islice((v for error in self._errors(value) for v in _violations(error, value)), MAX_VIOLATIONS))

    def null_members(self, value: Any) -> list[Path]:
        """Return the explicit nulls that alone make the value invalid and may simply be left out; [] if there is more."""
        if not self._can_explain(value):
            return []
        paths = {path: None for error in self._errors(value) for path in _null_paths(error, value)}
        return list(paths) if paths and self.is_valid(_without(value, set(paths))) else []

    def type_refusals(self, value: Any) -> set[Path]:
        """Return the paths where the type, or the list of allowed values, refuses what stands there.

        Of a combination's branches the one with the fewest errors counts.
        """
        if not self._can_explain(value):
            return set()
        return {path for error in self._errors(value) for path in _type_refusals(error)}

    def _can_explain(self, value: Any) -> bool:
        return has_at_most_nodes(value, MAX_NODES_EXPLAINED) and is_explainable(self.schema, value)

    def _errors(self, value: Any) -> Iterator[Any]:
        if self.validator is None:
            return iter(())
        try:
            return iter(self.validator.iter_errors(value))
        except ValueError:
            return iter(self.validator.iter_errors(_as_json(value)))


NO_SCHEMA = CompiledSchema()


def compile_schema(schema: Any) -> CompiledSchema:
    """Return the compiled form of a schema (`NO_SCHEMA` for None); never raises."""
    if schema is None:
        return NO_SCHEMA
    try:
        data = marshal.dumps(schema, 2)
    except ValueError:
        return _compile_any(schema)
    return _compile_any(schema) if len(data) > MAX_SCHEMA_CHARS else _compile_marshalled(data)


@lru_cache(maxsize=MAX_COMPILED_SCHEMAS)
def _compile_marshalled(data: bytes) -> CompiledSchema:
    """Find a schema by its bytes, which are much cheaper to write than its canonical JSON."""
    return _compile_any(marshal.loads(data))  # noqa: S302  # written two lines ago, by us


def _compile_any(schema: Any) -> CompiledSchema:
    try:
        text = json.dumps(schema, sort_keys=True)
    except (TypeError, ValueError, RecursionError) as error:
        return CompiledSchema(problem=f"the schema is no JSON: {error}"[:300])
    if len(text) > MAX_SCHEMA_CHARS:
        return CompiledSchema(problem=f"the schema has {len(text)} characters; at most {MAX_SCHEMA_CHARS} are read")
    return _compile(text)


@lru_cache(maxsize=MAX_COMPILED_SCHEMAS)
def _compile(text: str) -> CompiledSchema:
    try:
        schema = json.loads(text)
        try:
            return CompiledSchema(
                _validator(schema), schema=schema, shape=shape_of(schema), uncounted_nodes=_uncounted_nodes(text)
            )
        except ValueError:
            schema, skipped = without_patterns(schema, _is_linear)
            if not skipped:
                raise
            return CompiledSchema(
                _validator(schema), skipped_patterns=tuple(skipped), schema=schema, uncounted_nodes=_uncounted_nodes(text)
            )
    except (ValueError, TypeError, RecursionError) as error:
        return CompiledSchema(problem=f"the schema can't be used: {str(error).partition(chr(10))[0]}"[:300])


def _uncounted_nodes(text: str) -> int:
    """Return how large a value may be whose validation is cheap whatever the schema says; -1 for a schema that refers to itself."""
    return (
        -1
        if any(name in text for name in ('"$ref"', '"$dynamicRef"', '"$recursiveRef"'))
        else MAX_UNCOUNTED_PRODUCT // (len(text) + 1)
    )


def _validator(schema: Any) -> Any:
    return jsonschema_rs.validator_for(
        schema,
        retriever=_refuse,
        validate_formats=False,
        pattern_options=jsonschema_rs.RegexOptions(size_limit=10_000_000, dfa_size_limit=10_000_000),
    )


def _refuse(uri: str) -> Any:
    raise ValueError(f"references outside the schema are not followed: {uri[:200]}")


def _is_linear(pattern: str) -> bool:
    try:
        _validator({"pattern": pattern})
    except ValueError:
        return False
    return True


def _violations(error: Any, value: Any) -> Iterator[Violation]:
    path = tuple(error.instance_path)
    keyword = error.kind.name
    details = error.kind.as_dict()
    if keyword == "required":
        yield Violation((*path, details["property"]), keyword, ABSENT, "a value: the key is required")
    elif keyword in ("additionalProperties", "unevaluatedProperties"):
        at = value_at(value, path)
        for key in details["unexpected"]:
            yield Violation(
                (*path, key),
                keyword,
                at.get(key) if isinstance(at, dict) else None,
                "no such key: the schema forbids undeclared ones",
            )
    else:
        yield Violation(path, keyword, value_at(value, path), describe(error))


def _null_paths(error: Any, value: Any) -> Iterator[Path]:
    path = tuple(error.instance_path)
    if path and isinstance(path[-1], str) and value_at(value, path) is None:
        yield path
        return
    for branch in error.kind.as_dict().get("context", ()):
        for inner in branch:
            yield from _null_paths(inner, value)


def _type_refusals(error: Any) -> Iterator[Path]:
    if error.kind.name in ("type", "enum", "const"):
        yield tuple(error.instance_path)
    branches = [branch for branch in error.kind.as_dict().get("context", ()) if branch]
    if branches:
        for inner in min(branches, key=len):
            yield from _type_refusals(inner)


def value_at(value: Any, path: Path) -> Any:
    """Return what stands at a path; `ABSENT` where nothing does."""
    for part in path:
        try:
            value = value[part]
        except (KeyError, IndexError, TypeError):
            return ABSENT
    return value


def _without(value: Any, paths: set[Path], here: Path = ()) -> Any:
    if isinstance(value, dict):
        return {k: _without(v, paths, (*here, k)) for k, v in value.items() if (*here, k) not in paths}
    if isinstance(value, list | tuple):
        return [_without(v, paths, (*here, i)) for i, v in enumerate(value)]
    return value


def _as_json(value: Any) -> Any:
    """Return a copy that JSON can hold: keys and texts without lone surrogates, foreign values as text."""
    if isinstance(value, dict):
        return {_as_json(k if isinstance(k, str) else leaf_text(k)): _as_json(v) for k, v in value.items()}
    if isinstance(value, list | tuple):
        return [_as_json(v) for v in value]
    if isinstance(value, str):
        return value.encode("utf-8", "replace").decode()
    if isinstance(value, int) and value.bit_length() > MAX_INTEGER_BITS:
        return Decimal(value)
    return value if value is None or isinstance(value, int | float | Decimal) else leaf_text(value)
