"""A stranger's schema can hold up no check and fill no memory: what a validation costs is counted first."""

from __future__ import annotations

import json
import resource
import subprocess
import sys
from typing import Any

import pytest

from attest_otel.checks.arguments.schema import compile_schema
from attest_otel.checks.arguments.schema_cost import is_affordable, is_explainable
from tests.checks.argument_runs import call, findings, words

SECONDS = 30
MEMORY_BYTES = 1_500_000_000


def nested(depth: int) -> Any:
    """Return an object within an object, so deep."""
    value: Any = 1
    for _ in range(depth):
        value = {"a": value}
    return value


BRANCH = {"type": "object", "properties": {"a": {"$ref": "#"}}, "required": ["a"]}
DOUBLING = {"anyOf": [BRANCH, {**BRANCH, "title": "again"}]}
CHAIN = {
    "$ref": "#/$defs/d0",
    "$defs": {f"d{i}": {"anyOf": [{"$ref": f"#/$defs/d{i + 1}"}] * 2} for i in range(60)} | {"d60": {"type": "null"}},
}
MANY_REQUIRED = {"type": "object", "required": [f"q{i}" for i in range(9_000)]}
WIDE = {"type": "object", "properties": {"l": {"items": {"anyOf": [{"const": i} for i in range(20_000)]}}}}
TREE = {
    "type": "object",
    "properties": {
        "value": {"type": "integer"},
        "left": {"$ref": "#"},
        "right": {"$ref": "#/$defs/tree"},
        "list": {"items": {"$ref": "#node"}},
    },
    "$defs": {"tree": {"$ref": "#"}, "node": {"$anchor": "node", "type": "object"}},
}
BOMBS: dict[str, tuple[Any, Any]] = {
    "branches that refer to themselves": (DOUBLING, nested(60)),
    "definitions that double": (CHAIN, {}),
    "every violation copies the arguments": (MANY_REQUIRED, {f"k{i}": i for i in range(9_000)}),
    "every item against every branch": (WIDE, {"l": list(range(-40_000, 0))}),
}

_GRADE = """
import json, sys
from attest_otel.checks.arguments import check
from attest_otel.checks.view import RunView
from attest_otel.trajectory import Trajectory
for f in check(RunView(Trajectory.model_validate(json.load(sys.stdin)))).findings:
    print(f.verdict, f.severity)
"""


def _limit() -> None:
    resource.setrlimit(resource.RLIMIT_AS, (MEMORY_BYTES, MEMORY_BYTES))


@pytest.mark.parametrize("name", BOMBS)
def test_a_bomb_ends_in_a_finding(name: str) -> None:
    """A schema that doubles, or copies, is graded or said to be unchecked: never a pass, never the end of the process."""
    schema, arguments = BOMBS[name]
    tool = {"name": "t", "side_effecting": True, "input_schema": schema}
    run = {"tools": [tool], "steps": [{"tool_call": {"name": "t", "arguments_raw": json.dumps(arguments), "output": "ok"}}]}
    done = subprocess.run(
        [sys.executable, "-c", _GRADE],
        input=json.dumps(run),
        capture_output=True,
        text=True,
        timeout=SECONDS,
        check=False,
        preexec_fn=_limit,
    )
    assert done.returncode == 0, done.stderr[-500:]
    assert set(done.stdout.splitlines()) & {"schema_invalid fail", "unchecked warn"}
    assert "valid pass" not in done.stdout.splitlines()


def test_an_ordinary_tree_is_counted_and_graded() -> None:
    """A schema that refers to itself as people write them is affordable, explained, and judged by path."""
    tree: Any = {"value": 1}
    for _ in range(12):
        tree = {"value": 1, "left": tree, "right": {"value": 2}, "list": [{}]}
    assert is_affordable(TREE, tree)
    assert is_explainable(TREE, tree)
    assert compile_schema(TREE).is_valid(tree) is True
    found = findings(call('{"left": {"right": {"value": "x"}}}', name="t"), tools=[{"name": "t", "input_schema": TREE}])
    assert words(found) == [("schema_invalid", "fail", "$.left.right.value")]


@pytest.mark.parametrize(
    "schema",
    [
        {"$ref": "#/nowhere"},
        {"properties": {"a": {"$id": "other", "anyOf": []}}, "$ref": "#"},
    ],
)
def test_what_cannot_be_followed_cannot_be_counted(schema: Any) -> None:
    """A reference that leads nowhere, or into a schema with an id of its own, is too costly and never free."""
    assert not is_affordable(schema, {"a": 1})


def test_a_reference_to_itself_alone_is_counted_once() -> None:
    """A schema that is nothing but itself ends."""
    assert is_affordable({"$ref": "#"}, {"a": [1]})
    assert is_affordable({"allOf": [{"$ref": "#"}, {"$ref": "#"}]}, {})
