"""Tool definitions as providers write them, read as `Tool`: Anthropic, OpenAI, MCP, and our own fields.

MCP's annotations count as a declaration: `readOnlyHint: true` is read-only; `readOnlyHint: false`, or a
`destructiveHint` (which only means something for a tool that writes), is side-effecting;
`idempotentHint` is `idempotent`. Our own fields may stand in any of the formats and win over annotations.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from difflib import get_close_matches
from pathlib import Path
from typing import Any

from attest_otel.errors import ConfigError
from attest_otel.formats.strict_json import type_name
from attest_otel.formats.text_files import read_text
from attest_otel.formats.yaml_files import MAX_FILE_BYTES, validate
from attest_otel.trajectory import Tool

_OWN_FIELDS = frozenset(Tool.model_fields) - {"name", "description", "input_schema"}
_SCHEMA_FIELDS = ("input_schema", "inputSchema", "parameters", "input_json_schema")
_PROVIDER_FIELDS = frozenset(
    {"type", "function", "annotations", "strict", "title", "outputSchema", "cache_control", "_meta", "icons"}
)


def read_tools(path: str | Path) -> list[Tool]:
    """Read a JSON file of tool definitions: a list, or a mapping with that list under `tools`.

    Raises:
        ConfigError: names the file and the definition that can't be used.
    """
    path = Path(path)
    data = _read_json(path)
    items = data.get("tools") if isinstance(data, dict) else data
    if not isinstance(items, list):
        raise ConfigError(
            f"{path}: expected a list of tool definitions (or a mapping with it under `tools`), got {type_name(items)}"
        )
    tools = [tool_from_mapping(item, where=f"{path}: tools[{number}]") for number, item in enumerate(items)]
    seen: set[str] = set()
    for number, tool in enumerate(tools):
        if tool.name in seen:
            raise ConfigError(f"{path}: tools[{number}]: {tool.name!r} is defined twice")
        seen.add(tool.name)
    return tools


def tool_from_mapping(definition: Mapping[str, Any], *, where: str = "tool") -> Tool:
    """Return one provider's tool definition as a `Tool`.

    Fields that only the provider needs are left out. A field that looks like a misspelt one of ours
    is refused, so that a wrong `side_efecting` is no silence.

    Raises:
        ConfigError: there is no name, or a field has the wrong type; `where` names the definition.
    """
    if not isinstance(definition, Mapping):
        raise ConfigError(f"{where}: expected an object with a tool's name and schema, got {type_name(definition)}")
    inner = definition.get("function")
    merged = {**definition, **inner} if isinstance(inner, Mapping) else dict(definition)
    _refuse_misspelt(merged, where)
    fields: dict[str, Any] = {name: merged[name] for name in ("name", "description") if merged.get(name) is not None}
    schemas = [merged[name] for name in _SCHEMA_FIELDS if merged.get(name) is not None]
    if schemas:
        fields["input_schema"] = schemas[0]
    fields.update(_from_annotations(merged.get("annotations")))
    fields.update({name: merged[name] for name in merged if name in _OWN_FIELDS})
    return validate(Tool, fields, where)


def _from_annotations(annotations: Any) -> dict[str, bool]:
    if not isinstance(annotations, Mapping):
        return {}
    read_only, destructive, idempotent = (annotations.get(name) for name in ("readOnlyHint", "destructiveHint", "idempotentHint"))
    fields: dict[str, bool] = {}
    if isinstance(read_only, bool):
        fields["side_effecting"] = not read_only
    elif isinstance(destructive, bool):
        fields["side_effecting"] = True
    if isinstance(idempotent, bool):
        fields["idempotent"] = idempotent
    return fields


def _refuse_misspelt(merged: Mapping[str, Any], where: str) -> None:
    for name in merged:
        if name in _OWN_FIELDS or name in _SCHEMA_FIELDS or name in _PROVIDER_FIELDS or name in ("name", "description"):
            continue
        near = get_close_matches(name, sorted(_OWN_FIELDS), n=1, cutoff=0.8)
        if near:
            raise ConfigError(f"{where}: unknown field {name!r}; did you mean {near[0]!r}?")


def _read_json(path: Path) -> Any:
    try:
        return json.loads(read_text(path, MAX_FILE_BYTES))
    except OSError as error:
        raise ConfigError(f"{path}: cannot be read: {error.strerror or error}") from None
    except json.JSONDecodeError as error:
        raise ConfigError(f"{path}:{error.lineno}: not JSON: {error.msg}") from None
    except (ValueError, RecursionError) as error:
        raise ConfigError(f"{path}: not JSON text: {error}") from None
