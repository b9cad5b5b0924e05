"""What JSON Schema lets through and a strict reader does not: undeclared keys, and numbers of another type.

A key is undeclared when the object's schema declares keys, but not this one, and says nothing of others
(no `additionalProperties`, `unevaluatedProperties` or `patternProperties`; an explicit `true` welcomes
them). A key that any branch of a combination declares is declared. A number of another type is a float
spelling of a whole number where only integers are allowed: 4200.0, 4.2e3.
Source: DESIGN 3 rule 6.
"""

from __future__ import annotations

from collections.abc import Iterator
from decimal import Decimal
from itertools import islice
from typing import Any

from attest_otel.checks.arguments.schema import MAX_NODES_EXPLAINED, CompiledSchema, Path
from attest_otel.formats.json_values import equal, has_at_most_nodes

MAX_PARTS = 200
MAX_FLOAT_EXPONENT = 308
_IN_PLACE_LISTS = ("allOf", "anyOf", "oneOf")
_IN_PLACE = ("if", "then", "else")
_OPEN = ("additionalProperties", "unevaluatedProperties", "patternProperties", "$dynamicRef", "$recursiveRef")


def undeclared_keys(schema: Any, value: Any, limit: int) -> list[Path]:
    """Return the paths of the first `limit` undeclared keys."""
    if isinstance(schema, dict) and isinstance(value, dict) and _is_flat_and_declared(schema, value):
        return []
    return list(islice(_undeclared(schema, [schema], value, ()), limit))


def type_mismatches(compiled: CompiledSchema, value: Any, limit: int) -> list[Path]:
    """Return the paths of floats that are valid by the schema and stand where it wants an integer.

    Asked of the schema itself: with a fraction in its place, does the type (or the list of allowed values) object?
    """
    floats = list(islice(_whole_floats(value, ()), limit * 10))
    if not floats or not has_at_most_nodes(value, MAX_NODES_EXPLAINED):
        return []
    refused = {violation.path for violation in compiled.violations(value)}
    asked = set(floats) - refused
    probed = compiled.type_refusals(_with_fractions(value, asked, ()))
    return [path for path in floats if path in asked and path in probed][:limit]


def declared_at(schema: Any, path: Path) -> list[dict[str, Any]]:
    """Return the parts of a schema that speak of the value at a path."""
    parts: list[Any] = [schema]
    for key in path:
        parts = _children(_parts(schema, parts), key)
    return _parts(schema, parts)


def declares_literal(schema: Any, path: Path, value: Any) -> bool:
    """Return whether the schema itself names this value at this path: `const`, `enum`, `default` or an example."""
    for part in declared_at(schema, path):
        options = [part[k] for k in ("const", "default") if k in part]
        options += [o for k in ("enum", "examples") if isinstance(part.get(k), list) for o in part[k]]
        if any(equal(option, value) for option in options[:MAX_PARTS]):
            return True
    return False


def is_required(schema: Any, path: Path) -> bool:
    """Return whether the schema requires the key at the end of a path."""
    if not path:
        return False
    return any(isinstance(p.get("required"), list) and path[-1] in p["required"] for p in declared_at(schema, path[:-1]))


def is_declared(schema: Any, path: Path) -> bool:
    """Return whether the schema declares the key at the end of a path."""
    return any(path[-1] in _properties(part) for part in declared_at(schema, path[:-1]))


def _is_flat_and_declared(schema: dict[str, Any], value: dict[str, Any]) -> bool:
    properties = schema.get("properties")
    if not isinstance(properties, dict):
        return False
    return all(key in properties and not isinstance(child, dict | list | tuple) for key, child in value.items())


def _undeclared(root: Any, schemas: list[Any], value: Any, path: Path) -> Iterator[Path]:
    if not isinstance(value, dict | list | tuple):
        return
    parts = _parts(root, schemas)
    if not parts:
        return
    if isinstance(value, dict):
        is_open = any(keyword in part for part in parts for keyword in _OPEN) or not any("properties" in part for part in parts)
        declared = {key for part in parts for key in _properties(part)}
        if not is_open:
            yield from ((*path, key) for key in value if key not in declared)
    members = value.items() if isinstance(value, dict) else enumerate(value)
    for key, child in members:
        if isinstance(child, dict | list | tuple):
            yield from _undeclared(root, _children(parts, key), child, (*path, key))


def _parts(root: Any, schemas: list[Any]) -> list[dict[str, Any]]:
    """Return the schemas and all that apply to the same value: combinations, conditions, local references."""
    found: list[dict[str, Any]] = []
    seen: set[int] = set()
    waiting = list(reversed(schemas))
    while waiting and len(found) < MAX_PARTS:
        schema = waiting.pop()
        if not isinstance(schema, dict) or id(schema) in seen:
            continue
        seen.add(id(schema))
        found.append(schema)
        for keyword in _IN_PLACE_LISTS:
            if isinstance(schema.get(keyword), list):
                waiting += reversed(schema[keyword])
        waiting += [schema[keyword] for keyword in _IN_PLACE if keyword in schema]
        if isinstance(schema.get("dependentSchemas"), dict):
            waiting += schema["dependentSchemas"].values()
        if "$ref" in schema:
            waiting.append(_resolve(root, schema["$ref"]))
    return found


def _children(parts: list[dict[str, Any]], key: str | int) -> list[Any]:
    if isinstance(key, int):
        return [child for part in parts for child in _item_schemas(part, key)]
    return [_properties(part).get(key, part.get("additionalProperties")) for part in parts]


def _item_schemas(part: dict[str, Any], index: int) -> list[Any]:
    for keyword in ("prefixItems", "items"):
        tuples = part.get(keyword)
        if isinstance(tuples, list) and index < len(tuples):
            return [tuples[index]]
    return [part.get("items"), part.get("additionalItems")]


def _properties(part: dict[str, Any]) -> dict[str, Any]:
    properties = part.get("properties")
    return properties if isinstance(properties, dict) else {}


def _resolve(root: Any, reference: Any) -> Any:
    """Return what a reference within the schema points at; a schema open to every key where it can't be followed."""
    if reference == "#":
        return root
    if not isinstance(reference, str) or not reference.startswith("#/"):
        return {"additionalProperties": True}
    target = root
    for token in reference[2:].split("/"):
        name = token.replace("~1", "/").replace("~0", "~")
        target = target.get(name) if isinstance(target, dict) else None
    return target if target is not None else {"additionalProperties": True}


def _whole_floats(value: Any, path: Path) -> Iterator[Path]:
    if isinstance(value, Decimal | float):
        if _is_whole(value):
            yield path
    elif isinstance(value, dict | list | tuple):
        for key, child in value.items() if isinstance(value, dict) else enumerate(value):
            if not isinstance(child, str | int):
                yield from _whole_floats(child, (*path, key))


def _is_whole(number: Decimal | float) -> bool:
    if isinstance(number, float):
        return number.is_integer()
    if not number.is_finite() or number.adjusted() > MAX_FLOAT_EXPONENT:
        return False
    _, digits, exponent = number.as_tuple()
    trailing_zeros = len(digits) - len("".join(map(str, digits)).rstrip("0"))
    return not number or int(exponent) + trailing_zeros >= 0


def _with_fractions(value: Any, paths: set[Path], here: Path) -> Any:
    if here in paths:
        return 0.5
    if isinstance(value, dict):
        return {k: _with_fractions(v, paths, (*here, k)) for k, v in value.items()}
    if isinstance(value, list | tuple):
        return [_with_fractions(v, paths, (*here, i)) for i, v in enumerate(value)]
    return value
