"""The registered tools, each declared side-effecting or read-only.

Source: tool-call assertions: the partition is a property of each tool, it must be exhaustive, and that
is asserted at start-up, so that a new tool cannot join the read-only side by omission.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping
from typing import Any, Self

from attest_otel.tool_files import tool_from_mapping
from attest_otel.trajectory import Tool


class Tools:
    """An exhaustive, immutable partition of tools.

    Args:
        tools: the tools; each must say whether it is side-effecting.

    Raises:
        ValueError: a tool is not declared, declared twice or registered twice; the message names it.
    """

    def __init__(self, tools: Iterable[Tool]) -> None:
        self._tools: dict[str, Tool] = {}
        for tool in tools:
            if tool.name in self._tools:
                raise ValueError(f"tool {tool.name!r} is registered twice")
            self._tools[tool.name] = tool
        undeclared = [tool.name for tool in self if tool.side_effecting is None]
        if undeclared:
            raise ValueError(
                f"every tool must be declared side-effecting or read-only; undeclared: {', '.join(undeclared)}. "
                "Name them in side_effecting={...} or read_only={...}"
            )

    @classmethod
    def from_anthropic(
        cls,
        definitions: Iterable[Mapping[str, Any]],
        *,
        side_effecting: Collection[str] = (),
        read_only: Collection[str] = (),
        details: Mapping[str, Mapping[str, Any]] | None = None,
    ) -> Self:
        """Return tools from Anthropic's definitions: `{"name", "description", "input_schema"}`.

        Args:
            definitions: what is passed as `tools=` to the Messages API.
            side_effecting: names of the tools that change something outside.
            read_only: names of the tools that don't.
            details: for each tool, further fields of `Tool` (`idempotency_key`, `completion_phrases`, ...).

        Raises:
            ValueError: the partition is not exhaustive, names an unknown tool, or a tool twice.
        """
        return cls(_partitioned(definitions, side_effecting, read_only, details or {}))

    @classmethod
    def from_openai(
        cls,
        definitions: Iterable[Mapping[str, Any]],
        *,
        side_effecting: Collection[str] = (),
        read_only: Collection[str] = (),
        details: Mapping[str, Mapping[str, Any]] | None = None,
    ) -> Self:
        """Return tools from OpenAI's definitions, nested under `function` or flat; as `from_anthropic`."""
        return cls(_partitioned(definitions, side_effecting, read_only, details or {}))

    @classmethod
    def from_mcp(
        cls,
        definitions: Iterable[Any],
        *,
        side_effecting: Collection[str] = (),
        read_only: Collection[str] = (),
        details: Mapping[str, Mapping[str, Any]] | None = None,
    ) -> Self:
        """Return tools from an MCP `tools/list` answer (objects or mappings); annotations declare, names given here win."""
        return cls(_partitioned(definitions, side_effecting, read_only, details or {}))

    def __iter__(self) -> Iterator[Tool]:
        return iter(self._tools.values())

    def __len__(self) -> int:
        return len(self._tools)

    def __contains__(self, name: object) -> bool:
        return name in self._tools

    def get(self, name: str) -> Tool | None:
        """Return a tool by name."""
        return self._tools.get(name)

    def __repr__(self) -> str:
        return f"Tools({', '.join(self._tools)})"


def _partitioned(
    definitions: Iterable[Any],
    side_effecting: Collection[str],
    read_only: Collection[str],
    details: Mapping[str, Mapping[str, Any]],
) -> list[Tool]:
    tools = [tool_from_mapping(_as_mapping(definition)) for definition in definitions]
    names = {tool.name for tool in tools}
    both = sorted(set(side_effecting) & set(read_only))
    if both:
        raise ValueError(f"declared both side-effecting and read-only: {', '.join(both)}")
    unknown = sorted((set(side_effecting) | set(read_only) | set(details)) - names)
    if unknown:
        raise ValueError(f"not a registered tool: {', '.join(unknown)}; registered: {', '.join(sorted(names))}")
    return [_declare(tool, side_effecting, read_only, details.get(tool.name, {})) for tool in tools]


def _declare(tool: Tool, side_effecting: Collection[str], read_only: Collection[str], details: Mapping[str, Any]) -> Tool:
    given: dict[str, Any] = dict(details)
    if tool.name in side_effecting:
        given["side_effecting"] = True
    elif tool.name in read_only:
        given["side_effecting"] = False
    return Tool.model_validate({**tool.model_dump(exclude_unset=True), **given}) if given else tool


def _as_mapping(definition: Any) -> Mapping[str, Any]:
    if isinstance(definition, Mapping):
        return definition
    dump = getattr(definition, "model_dump", None)
    if dump is None:
        raise ValueError(f"expected a tool definition, got {type(definition).__name__}")
    mapping = dump(by_alias=True, exclude_none=True)
    return mapping if isinstance(mapping, Mapping) else {}
