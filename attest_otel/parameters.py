"""What a tool's schema says about its parameters: which there are, which must be there, of what type.

Read by the contract check and by `expectations`. Keywords that join schemas (allOf, anyOf, oneOf, and
references inside the same schema) are followed to a small depth; where a schema accepts names that it
does not list, or points elsewhere, the parameters are `open`: what is not listed cannot be refused.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from attest_otel.trajectory import Tool

MAX_JOINS = 64


@dataclass(frozen=True, slots=True)
class Parameters:
    """A tool's parameters. `known=False`: there is no schema to ask. `open`: names that aren't listed may be fine."""

    names: tuple[str, ...] = ()
    required: tuple[str, ...] = ()
    types: dict[str, frozenset[str]] | None = None
    known: bool = True
    open: bool = False

    def allows_type(self, name: str, json_types: frozenset[str]) -> bool:
        """Return whether the schema lets the parameter have one of these JSON types; an unstated type lets all."""
        declared = (self.types or {}).get(name)
        return declared is None or bool(declared & json_types)


def parameters_of(tool: Tool) -> Parameters:
    """Return what a tool's input schema says about its parameters; never raises."""
    schema = tool.input_schema
    if not isinstance(schema, dict):
        return Parameters(known=False, open=True)
    reader = _Reader(schema)
    reader.read(schema, certain=True)
    return Parameters(tuple(reader.properties), tuple(reader.required), reader.types(), open=reader.open)


class _Reader:
    """Collects properties from one schema and the schemas it joins."""

    def __init__(self, root: dict[str, Any]) -> None:
        self.root = root
        self.properties: dict[str, Any] = {}
        self.required: dict[str, None] = {}
        self.open = False
        self._joins = 0

    def read(self, schema: Any, *, certain: bool) -> None:
        """Add what one schema says; `certain` is false below anyOf and oneOf, where nothing is surely required."""
        self._joins += 1
        if not isinstance(schema, dict) or self._joins > MAX_JOINS:
            self.open = self.open or schema is not False
            return
        properties = schema.get("properties")
        for name, inner in properties.items() if isinstance(properties, dict) else ():
            self.properties.setdefault(name, inner)
        required = schema.get("required")
        if certain and isinstance(required, list):
            self.required.update(dict.fromkeys(name for name in required if isinstance(name, str)))
        if schema.get("additionalProperties", False) is not False or schema.get("patternProperties"):
            self.open = True
        self._read_joined(schema, certain=certain)

    def _read_joined(self, schema: dict[str, Any], *, certain: bool) -> None:
        for keyword in ("allOf", "anyOf", "oneOf"):
            members = schema.get(keyword)
            for member in members if isinstance(members, list) else ():
                self.read(member, certain=certain and keyword == "allOf")
        reference = schema.get("$ref")
        if reference is not None:
            self.read(self._target(reference), certain=certain)

    def _target(self, reference: Any) -> Any:
        if not isinstance(reference, str) or not reference.startswith("#/"):
            return None
        target: Any = self.root
        for part in reference[2:].split("/"):
            target = target.get(part.replace("~1", "/").replace("~0", "~")) if isinstance(target, dict) else None
        return target

    def types(self) -> dict[str, frozenset[str]]:
        """Return the declared JSON types of the properties that state one."""
        found: dict[str, frozenset[str]] = {}
        for name, schema in self.properties.items():
            stated = schema.get("type") if isinstance(schema, dict) else None
            names = [stated] if isinstance(stated, str) else stated
            if isinstance(names, list) and names and all(isinstance(one, str) for one in names):
                found[name] = frozenset(names)
        return found
