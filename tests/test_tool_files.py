"""Tool definitions in the providers' formats, read as `Tool`."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from attest_otel.errors import ConfigError
from attest_otel.tool_files import read_tools, tool_from_mapping

SCHEMA = {"type": "object", "properties": {"q": {"type": "string"}}}


@pytest.mark.parametrize(
    "definition",
    [
        pytest.param(
            {"name": "find", "description": "d", "input_schema": SCHEMA, "cache_control": {"type": "ephemeral"}}, id="anthropic"
        ),
        pytest.param(
            {"type": "function", "function": {"name": "find", "description": "d", "parameters": SCHEMA}}, id="openai nested"
        ),
        pytest.param(
            {"type": "function", "name": "find", "description": "d", "parameters": SCHEMA, "strict": True}, id="openai flat"
        ),
        pytest.param({"name": "find", "title": "Find", "description": "d", "inputSchema": SCHEMA, "outputSchema": {}}, id="mcp"),
    ],
)
def test_every_format_gives_the_same_tool(definition: dict[str, Any]) -> None:
    """Name, description and schema are found in each provider's format; nothing is declared by silence."""
    found = tool_from_mapping(definition)
    assert (found.name, found.description, found.input_schema) == ("find", "d", SCHEMA)
    assert found.side_effecting is None


@pytest.mark.parametrize(
    ("annotations", "side_effecting", "idempotent"),
    [
        ({"readOnlyHint": True}, False, None),
        ({"readOnlyHint": True, "destructiveHint": True}, False, None),
        ({"readOnlyHint": False}, True, None),
        ({"destructiveHint": True}, True, None),
        ({"destructiveHint": False}, True, None),
        ({"readOnlyHint": False, "idempotentHint": True}, True, True),
        ({"idempotentHint": False}, None, False),
        ({"title": "Find"}, None, None),
        (None, None, None),
    ],
)
def test_annotations_declare(annotations: Any, side_effecting: bool | None, idempotent: bool | None) -> None:
    """MCP's hints declare side effects and idempotency; without a hint nothing is declared."""
    found = tool_from_mapping({"name": "t", "inputSchema": {}, "annotations": annotations})
    assert (found.side_effecting, found.idempotent) == (side_effecting, idempotent)


def test_own_fields_stand_in_any_format_and_win() -> None:
    """What `Tool` knows beside the provider's fields is read, and wins over annotations."""
    found = tool_from_mapping(
        {"name": "t", "side_effecting": True, "annotations": {"readOnlyHint": True}, "query_arguments": ["q"], "repeatable": True}
    )
    assert (found.side_effecting, found.query_arguments, found.repeatable) == (True, ["q"], True)


@pytest.mark.parametrize(
    ("definition", "said"),
    [
        pytest.param({"description": "d"}, "name: missing", id="no name"),
        pytest.param({"name": 5}, "name", id="number as name"),
        pytest.param({"name": "t", "side_efecting": True}, "did you mean 'side_effecting'", id="misspelt field"),
        pytest.param({"name": "t", "input_schema": "x"}, "input_schema", id="schema is text"),
        pytest.param("t", "expected an object", id="no object"),
    ],
)
def test_what_is_refused(definition: Any, said: str) -> None:
    """A definition that can't be used is refused with its place."""
    with pytest.raises(ConfigError) as caught:
        tool_from_mapping(definition, where="here")
    assert said in str(caught.value)
    assert str(caught.value).startswith("here")


@pytest.mark.parametrize(
    ("text", "said"),
    [
        pytest.param("{", ":1: not JSON", id="no JSON"),
        pytest.param('"x"', "expected a list", id="no list"),
        pytest.param('[{"name": "a"}, {"name": "a"}]', "tools[1]: 'a' is defined twice", id="twice"),
        pytest.param('[{"name": "a"}, {}]', "tools[1]: name: missing", id="which one"),
        pytest.param("[" * 100_000, "not JSON", id="deep"),
    ],
)
def test_files_that_are_refused(tmp_path: Path, text: str, said: str) -> None:
    """Errors of a file name it and the definition."""
    path = tmp_path / "tools.json"
    path.write_text(text, encoding="utf-8")
    with pytest.raises(ConfigError) as caught:
        read_tools(path)
    assert said in str(caught.value)
    assert str(path) in str(caught.value)


def test_a_file_that_is_missing(tmp_path: Path) -> None:
    """A missing file is bad input, not a crash."""
    with pytest.raises(ConfigError, match="cannot be read"):
        read_tools(tmp_path / "none.json")


def test_a_list_may_stand_under_tools(tmp_path: Path) -> None:
    """An MCP `tools/list` answer and a request body hold the list under `tools`."""
    path = tmp_path / "tools.json"
    path.write_text(json.dumps({"tools": [{"name": "a", "inputSchema": SCHEMA}]}), encoding="utf-8")
    assert [found.name for found in read_tools(path)] == ["a"]
