"""The schema's part of the check: violations by path, what JSON Schema lets through, and nothing ever fetched."""

from __future__ import annotations

import json
import socket
from pathlib import Path
from typing import Any

import pytest

from attest_otel.checks.arguments import schema as schemas
from attest_otel.checks.arguments.schema import compile_schema
from tests.checks.argument_runs import call, findings, tool, words

NODE = {"type": "object", "properties": {"n": {"type": "integer"}, "next": {"$ref": "#/$defs/node"}}}
PROPERTIES: dict[str, Any] = {
    "i": {"type": "integer"},
    "f": {"type": "number"},
    "either": {"anyOf": [{"type": "integer"}, {"type": "number"}]},
    "maybe": {"anyOf": [{"type": "integer"}, {"type": "null"}]},
    "both": {"allOf": [{"type": "number"}, {"type": "integer", "minimum": 1}]},
    "one": {"enum": [1, 2]},
    "list": {"type": "array", "items": {"type": "integer"}},
    "node": {"$ref": "#/$defs/node"},
    "pair": {"type": "array", "prefixItems": [{"type": "integer"}, {"type": "number"}]},
    "free": {"type": "object"},
    "open": {"type": "object", "properties": {"a": {}}, "additionalProperties": True},
    "closed": {"type": "object", "properties": {"a": {}}, "additionalProperties": False},
    "map": {"type": "object", "properties": {"a": {}}, "additionalProperties": {"type": "integer"}},
    "shape": {"oneOf": [{"properties": {"kind": {"const": "c"}, "r": {"type": "integer"}}, "required": ["r"]},
                        {"properties": {"kind": {"const": "s"}, "w": {"type": "number"}}, "required": ["w"]}]},
}  # fmt: skip
SCHEMA = {"type": "object", "$defs": {"node": NODE}, "properties": PROPERTIES}
TOOL = {"name": "t", "side_effecting": False, "input_schema": SCHEMA}


def grade(raw: str, input_schema: Any = SCHEMA) -> list[tuple[str, str, str | None]]:
    """What one call with this schema gets."""
    return words(findings(call(raw, name="t"), tools=[{**TOOL, "input_schema": input_schema}]))


@pytest.mark.parametrize(
    ("raw", "path"),
    [
        ('{"i":"x"}', "$.i"), ('{"i":true}', "$.i"), ('{"i":1.5}', "$.i"), ('{"i":null,"f":"x"}', "$.i"), ('{"list":[1,"x"]}', "$.list[1]"),
        ('{"node":{"next":{"n":"x"}}}', "$.node.next.n"), ('{"closed":{"b":1}}', "$.closed.b"), ('{"one":3}', "$.one"), ('{"one":true}', "$.one"),
    ],
)  # fmt: skip
def test_a_violation_names_its_place(raw: str, path: str) -> None:
    """What breaks the schema is a failure at its own path."""
    assert grade(raw)[0] == ("schema_invalid", "fail", path)


def test_a_missing_key_is_named() -> None:
    """A missing required key is at the path where it should stand, with what was expected."""
    (found,) = findings(call("{}", name="t"), tools=[tool(required=("q",), properties={"q": {"type": "string"}})])
    assert (found.metadata["path"], found.metadata["emitted"]) == ("$.q", None)
    assert "requires" in found.reason


@pytest.mark.parametrize(
    ("raw", "paths"),
    [
        ('{"i":4200.0}', ["$.i"]), ('{"i":4.2e3}', ["$.i"]), ('{"i":-0.0}', ["$.i"]), ('{"i":1e300}', ["$.i"]), ('{"maybe":1.0}', ["$.maybe"]),
        ('{"both":1.0}', ["$.both"]), ('{"one":1.0}', ["$.one"]), ('{"list":[1,2.0,3.0]}', ["$.list[1]", "$.list[2]"]),
        ('{"node":{"next":{"n":1.0}}}', ["$.node.next.n"]), ('{"pair":[1.0,1.0]}', ["$.pair[0]"]), ('{"shape":{"kind":"c","r":1.0}}', ["$.shape.r"]),
        ('{"f":1.0}', []), ('{"either":1.0}', []), ('{"i":1}', []), ('{"shape":{"kind":"s","w":1.0}}', []), ('{"free":{"x":1.0}}', []), ('{"f":1.5,"i":2}', []),
    ],
)  # fmt: skip
def test_floats_where_an_integer_is_wanted(raw: str, paths: list[str]) -> None:
    """A whole float is a type mismatch exactly where the schema allows integers and no other numbers."""
    assert [path for verdict, _, path in grade(raw) if verdict == "type_mismatch"] == paths
    assert all(verdict in ("type_mismatch", "valid") for verdict, _, _ in grade(raw))


@pytest.mark.parametrize(
    ("raw", "paths"),
    [
        ('{"x":1}', ["$.x"]), ('{"node":{"n":1,"y":2,"next":{"z":1}}}', ["$.node.y", "$.node.next.z"]), ('{"shape":{"kind":"c","r":1,"q":1}}', ["$.shape.q"]),
        ('{"free":{"x":1}}', []), ('{"open":{"x":1}}', []), ('{"map":{"x":1}}', []), ('{"shape":{"kind":"c","r":1}}', []), ('{"odd key":1}', ['$["odd key"]']),
    ],
)  # fmt: skip
def test_undeclared_keys(raw: str, paths: list[str]) -> None:
    """A key nobody declared is a warning where the schema declares keys and says nothing of others."""
    assert [path for verdict, _, path in grade(raw) if verdict == "undeclared_key"] == paths


def test_a_schema_without_properties_is_free() -> None:
    """An object without declared keys takes any; one that declares none takes none."""
    assert grade('{"x":1}', {"type": "object"}) == [("valid", "pass", None)]
    assert grade('{"x":1}', {"type": "object", "properties": {}}) == [("undeclared_key", "warn", "$.x")]


@pytest.mark.parametrize(
    "bad",
    [
        {"type": "objekt"}, {"properties": 5}, {"$ref": "#/$defs/nowhere"}, {"$schema": "http://127.0.0.1:9/meta"}, {"$schema": 7},
        {"$ref": "other.json"}, {"x": {1, 2}}, {"description": "\ud800", "$ref": "#/q"}, json.loads('{"not":' * 300 + "{}" + "}" * 300),
    ],
)  # fmt: skip
def test_an_unusable_schema_is_unchecked(bad: Any) -> None:
    """A schema that can't be used is said to be so, call by call, and the run goes on."""
    (found,) = findings(call('{"x":1}', name="t"), tools=[{**TOOL, "input_schema": bad}])
    assert (found.verdict, found.severity, found.metadata["look_at"]) == ("unchecked", "warn", "schema")


def test_nothing_is_fetched(tmp_path: Path) -> None:
    """References to the network and to files are refused: the listener stays silent, the file unread."""
    canary = tmp_path / "canary.json"
    canary.write_text('{"type":"object","required":["canary"]}')
    with socket.create_server(("127.0.0.1", 0)) as listener:
        listener.setblocking(False)
        port = listener.getsockname()[1]
        for reference in (
            f"http://127.0.0.1:{port}/s.json",
            f"https://127.0.0.1:{port}/s.json",
            canary.as_uri(),
            str(canary),
            f"json-schema://127.0.0.1:{port}/x",
        ):
            for bad in (
                {"$ref": reference},
                {"$id": reference, "$ref": "#/no"},
                {"$schema": reference},
                {"$dynamicRef": reference},
                {"properties": {"x": {"$ref": reference}}},
            ):
                compiled = compile_schema(bad)
                assert compiled.validator is None or compiled.is_valid({"x": 1}) is True
                assert ("canary",) not in [v.path for v in compiled.violations({})]
        with pytest.raises(BlockingIOError):
            listener.accept()


def test_the_given_draft_decides() -> None:
    """`$schema` picks the draft: a list under `items` is a tuple in draft 7 and no schema in 2020-12."""
    tuple_items = {"type": "object", "properties": {"l": {"type": "array", "items": [{"type": "integer"}]}}}
    draft7 = {"$schema": "http://json-schema.org/draft-07/schema#", **tuple_items}
    assert grade('{"l":["x"]}', draft7) == [("schema_invalid", "fail", "$.l[0]")]
    assert grade('{"l":["x"]}', tuple_items)[0][0] == "unchecked"


@pytest.mark.timeout(10)
def test_patterns_run_in_linear_time() -> None:
    """A pattern that is slow elsewhere is quick here; one that can't be is left out, said so, and the rest is checked."""
    slow = {"type": "object", "properties": {"s": {"type": "string", "pattern": "^(a+)+$"}}}
    assert grade(json.dumps({"s": "a" * 200_000 + "b"}), slow)[0][0] == "schema_invalid"
    ahead = {"type": "object", "properties": {"s": {"type": "string", "pattern": "^(?=a)b"}, "i": {"type": "integer"}}}
    assert [w[0] for w in grade('{"s":"x","i":"x"}', ahead)] == ["unchecked", "schema_invalid"]
    keys = {"type": "object", "patternProperties": {"^(?!x)": {"type": "integer"}}, "additionalProperties": False}
    assert [w[0] for w in grade('{"s":"x"}', keys)] == ["unchecked"]


def test_schemas_are_compiled_once_and_kept_within_bounds() -> None:
    """Equal schemas share one compiled form; the cache never grows past its bound."""
    assert compile_schema({"type": "object", "title": "once"}) is compile_schema(json.loads('{"title":"once","type":"object"}'))
    for number in range(schemas.MAX_COMPILED_SCHEMAS + 10):
        compile_schema({"title": f"many {number}"})
    assert schemas._compile.cache_info().currsize == schemas.MAX_COMPILED_SCHEMAS
    assert compile_schema({"description": "x" * (schemas.MAX_SCHEMA_CHARS + 1)}).problem


def test_numbers_of_any_size_are_validated_exactly() -> None:
    """Bounds hold for integers beyond a double and for decimals beyond its digits."""
    exact = {"type": "object", "properties": {"i": {"type": "integer", "maximum": 9007199254740992}, "f": {"type": "number"}}}
    assert grade('{"i":9007199254740992}', exact) == [("valid", "pass", None)]
    assert grade('{"i":9007199254740993}', exact) == [("schema_invalid", "fail", "$.i")]
    assert grade('{"i":' + "9" * 4000 + "}", exact) == [("schema_invalid", "fail", "$.i")]
    assert grade('{"f":1e-9999999999}', exact) == [("valid", "pass", None)]
