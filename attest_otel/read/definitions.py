"""Tool definitions in the shapes instrumentations write them -> `Tool`.

OpenAI's (flat, or inside `function`), Anthropic's `input_schema`, MCP's and the AI SDK's `inputSchema`,
Bedrock's `toolSpec`, Gemini's `function_declarations`. MCP's annotations count as a declaration of
side effects; nothing else does.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from functools import lru_cache
from typing import Any

from attest_otel.read.records import make
from attest_otel.read.values import load, load_list
from attest_otel.trajectory import Tool

MAX_TOOLS = 10_000
_SCHEMA_NAMES = ("parameters", "input_schema", "inputSchema", "parameters_json_schema", "json_schema", "parametersJsonSchema")


def read_definitions(value: Any) -> tuple[Tool, ...]:
    """Read tool definitions from JSON text or values; what has no name is left out."""
    return _read_text(value) if isinstance(value, str) else _read_list(load_list(value))


@lru_cache(maxsize=64)
def _read_text(text: str) -> tuple[Tool, ...]:
    """Every chat span of a run repeats the same definitions."""
    return _read_list(load_list(text))


def _read_list(items: Iterable[Any]) -> tuple[Tool, ...]:
    found: list[Tool] = []
    for item in items:
        entry = load(item)
        if not isinstance(entry, Mapping):
            continue
        nested = entry.get("function_declarations", entry.get("functionDeclarations"))
        if isinstance(nested, list):
            found.extend(_read_list(nested[:MAX_TOOLS]))
            continue
        tool = read_definition(entry)
        if tool is not None:
            found.append(tool)
        if len(found) >= MAX_TOOLS:
            break
    return tuple(found)


def read_definition(entry: Mapping[str, Any]) -> Tool | None:
    """Read one definition; None where it has no name."""
    for wrapper in ("function", "toolSpec"):
        inner = entry.get(wrapper)
        if isinstance(inner, Mapping):
            entry = inner
    name = entry.get("name")
    if not isinstance(name, str) or not name:
        return None
    given: dict[str, Any] = {"name": name}
    description = entry.get("description")
    if isinstance(description, str):
        given["description"] = description
    schema = next((s for key in _SCHEMA_NAMES if (s := read_schema(entry.get(key))) is not None), None)
    if schema is not None:
        given["input_schema"] = schema
    given.update(_declared(entry.get("annotations")))
    return make(Tool, given)


def read_schema(value: Any) -> dict[str, Any] | None:
    """Return a JSON Schema of an object that is there as text or as it is; None for anything else."""
    found = load(value)
    if isinstance(found, dict) and isinstance(found.get("json"), dict):
        found = found["json"]
    if not isinstance(found, dict):
        return None
    is_schema = found.get("type") == "object" or isinstance(found.get("properties"), dict) or "$ref" in found or found == {}
    return found if is_schema else None


def merge_tools(groups: Iterable[tuple[Tool, ...]]) -> list[Tool] | None:
    """Join definitions by name: the first that shows a schema stands, else the first. None where there are none."""
    found: dict[str, Tool] = {}
    seen: set[int] = set()
    for group in groups:
        if id(group) in seen:
            continue
        seen.add(id(group))
        for tool in group:
            known = found.get(tool.name)
            if known is None or (known.input_schema is None and tool.input_schema is not None):
                found[tool.name] = tool
    return list(found.values()) or None


def with_declared(registered: list[Tool] | None, declared: list[Tool], called: Iterable[str]) -> list[Tool]:
    """Join what a run registers and what our dispatcher declares beside its calls; the dispatcher's go first.

    Where nothing registers the run's tools, the dispatcher's are no list of all there are: what others
    `called` is known by its name alone, and not unknown.
    """
    others = registered if registered is not None else [make(Tool, {"name": name}) for name in dict.fromkeys(called)]
    names = {tool.name for tool in declared}
    return [*declared, *(tool for tool in others if tool.name not in names)]


def enrich(tools: list[Tool] | None, seen: Iterable[tuple[Tool, ...]]) -> list[Tool] | None:
    """Complete registered tools by what tool spans show of theirs; a tool span registers nothing."""
    if tools is None:
        return None
    shown = {tool.name: tool for group in seen for tool in group}
    return [_completed(tool, shown.get(tool.name)) for tool in tools]


def _completed(tool: Tool, shown: Tool | None) -> Tool:
    if shown is None or (tool.input_schema is not None and tool.description is not None):
        return tool
    added = {
        name: getattr(shown, name)
        for name in ("description", "input_schema")
        if getattr(tool, name) is None and getattr(shown, name) is not None
    }
    return tool.model_copy(update=added) if added else tool


def _declared(annotations: Any) -> dict[str, Any]:
    if not isinstance(annotations, Mapping):
        return {}
    declared: dict[str, Any] = {}
    if isinstance(annotations.get("readOnlyHint"), bool):
        declared["side_effecting"] = not annotations["readOnlyHint"]
    elif isinstance(annotations.get("destructiveHint"), bool):
        declared["side_effecting"] = True
    if isinstance(annotations.get("idempotentHint"), bool):
        declared["idempotent"] = annotations["idempotentHint"]
    return declared
