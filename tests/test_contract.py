"""The contract check: expectations against the tools' current definitions."""

from __future__ import annotations

import time
from pathlib import Path
from typing import Any

import pytest

from attest_otel.cases import Case, load_cases
from attest_otel.contract import check_contract
from attest_otel.errors import ConfigError, ContractError
from attest_otel.parameters import parameters_of
from attest_otel.tool_files import read_tools
from attest_otel.trajectory import Tool

EXAMPLES = Path(__file__).parents[1] / "examples" / "runs"


def tool(name: str, schema: dict[str, Any] | None = None, **properties: str) -> Tool:
    """A tool whose parameters are `properties`, each with its JSON type."""
    made = {"type": "object", "properties": {key: {"type": kind} for key, kind in properties.items()}}
    return Tool(name=name, input_schema=made if schema is None else schema)


REFUND = tool("issue_refund", order_id="string", amount_minor_units="integer")
PING = tool("ping")
OPEN = tool("anything", {"type": "object", "additionalProperties": True})
BARE = Tool(name="bare")


def case(name: str, args: dict[str, Any] | None = None, arg_types: dict[str, str] | None = None, **more: Any) -> Case:
    """A case that expects one call."""
    call = {"name": name, "args": args or {}, "arg_types": arg_types or {}}
    return Case.model_validate({"case_id": "c1", "expect_tool_calls": [call], **more})


def test_a_renamed_parameter_names_everything() -> None:
    """The error names file, case, tool, old name, current list and the likely new name."""
    with pytest.raises(ContractError) as caught:
        check_contract([case("issue_refund", {"order_id": "O", "amount_cents": 1})], [REFUND], where="cases.yaml")
    for part in (
        "cases.yaml",
        "'c1'",
        "issue_refund",
        "'amount_cents'",
        "[amount_minor_units, order_id]",
        "'amount_minor_units' now",
    ):
        assert part in str(caught.value)


@pytest.mark.parametrize(
    ("made", "said"),
    [
        pytest.param(
            case("isue_refund", {"order_id": "O"}),
            "unknown tool 'isue_refund'; did you mean 'issue_refund'? The tools are",
            id="misspelt tool",
        ),
        pytest.param(case("zzz"), "unknown tool 'zzz'; the tools are anything, bare, issue_refund, ping", id="unknown tool"),
        pytest.param(
            case("ping", should_call=["pong"]),
            "should_call[0]: unknown tool 'pong'; did you mean 'ping'? The tools are",
            id="unknown in should_call",
        ),
        pytest.param(case("issue_refund"), "an empty expectation is vacuous", id="vacuous"),
        pytest.param(
            case("issue_refund", {}, {"amount": "int"}),
            "arg_types: issue_refund has no parameter 'amount'",
            id="type of no parameter",
        ),
        pytest.param(case("ping", {"x": 1}), "ping has no parameter 'x', it now takes none", id="argument of a tool without any"),
        pytest.param(
            case("issue_refund", {"order_id": False}),
            "declares order_id as string, so no valid call has false",
            id="value of another type",
        ),
        pytest.param(
            case("issue_refund", {"order_id": "O"}, {"amount_minor_units": "str"}),
            "as integer, never str",
            id="type the schema rules out",
        ),
    ],
)
def test_what_the_contract_refuses(made: Case, said: str) -> None:
    """Each breach of the contract is refused with its reason."""
    with pytest.raises(ContractError) as caught:
        check_contract([made], [REFUND, PING, OPEN, BARE])
    assert said in str(caught.value)


@pytest.mark.parametrize(
    ("made", "noted"),
    [
        pytest.param(case("issue_refund", {"order_id": "O"}), 0, id="plain"),
        pytest.param(case("issue_refund", {}, {"amount_minor_units": "int"}), 0, id="type only"),
        pytest.param(case("issue_refund", {"amount_minor_units": 42.0}), 0, id="whole float for an integer"),
        pytest.param(case("ping"), 0, id="no arguments of a tool that takes none"),
        pytest.param(case("anything", {"x": 1}), 1, id="schema that accepts any name"),
        pytest.param(case("bare", {"x": 1}), 1, id="tool without a schema"),
        pytest.param(case("bare"), 1, id="empty for a tool without a schema"),
    ],
)
def test_what_the_contract_accepts(made: Case, noted: int) -> None:
    """What cannot be checked is said, not refused."""
    assert len(check_contract([made], [REFUND, PING, OPEN, BARE])) == noted


def test_all_problems_come_in_one_error() -> None:
    """Every case that a change breaks is named at once."""
    cases = [
        Case.model_validate({"case_id": f"c{n}", "expect_tool_calls": [{"name": "issue_refund", "args": {"old": n}}]})
        for n in range(50)
    ]
    with pytest.raises(ContractError) as caught:
        check_contract(cases, [REFUND])
    assert all(f"'c{n}'" in str(caught.value) for n in range(50))


def test_duplicate_ids_are_refused() -> None:
    """Cases that never were in a file must have ids of their own, too."""
    with pytest.raises(ConfigError, match="'c1' stands twice"):
        check_contract([case("ping"), case("ping")], [PING])


@pytest.mark.parametrize(
    ("schema", "names", "required", "is_open"),
    [
        pytest.param({"properties": {"a": {}}, "required": ["a"]}, ("a",), ("a",), False, id="plain"),
        pytest.param(
            {"properties": {"a": {}}, "additionalProperties": {"type": "string"}}, ("a",), (), True, id="additional by schema"
        ),
        pytest.param({"patternProperties": {"^x": {}}}, (), (), True, id="pattern"),
        pytest.param({"allOf": [{"properties": {"a": {}}, "required": ["a"]}]}, ("a",), ("a",), False, id="allOf"),
        pytest.param(
            {"anyOf": [{"properties": {"a": {}}, "required": ["a"]}, {"properties": {"b": {}}}]},
            ("a", "b"),
            (),
            False,
            id="anyOf",
        ),
        pytest.param(
            {"$ref": "#/$defs/A", "$defs": {"A": {"properties": {"a": {}}, "required": ["a"]}}},
            ("a",),
            ("a",),
            False,
            id="local reference",
        ),
        pytest.param({"$ref": "https://example.com/a.json"}, (), (), True, id="remote reference"),
        pytest.param({"$ref": "#"}, (), (), True, id="reference to itself, unsupported spelling"),
        pytest.param({"$ref": "#/$defs/A", "$defs": {"A": {"$ref": "#/$defs/A"}}}, (), (), True, id="circle"),
        pytest.param({"properties": [], "required": "a"}, (), (), False, id="nonsense"),
        pytest.param(None, (), (), True, id="no schema"),
    ],
)
def test_parameters_of_a_schema(
    schema: dict[str, Any] | None, names: tuple[str, ...], required: tuple[str, ...], is_open: bool
) -> None:
    """Names, required names and openness are read from plain and joined schemas alike."""
    found = parameters_of(Tool(name="t", input_schema=schema))
    assert (found.names, found.required, found.open) == (names, required, is_open)


def test_two_hundred_cases_and_fourteen_tools_take_well_under_a_second(tmp_path: Path) -> None:
    """Loading and checking 200 cases is quick (a generous bound; about 0.1 s here)."""
    tools = [tool(f"tool_{n}", None, **{f"p{i}": "integer" for i in range(6)}) for n in range(14)]
    text = "".join(
        f"- case_id: case_{n}\n  input: do it\n  expect_tool_calls:\n    - name: tool_{n % 14}\n      args: {{p0: {n}, p1: 2, p2: 3}}\n"
        f"      arg_types: {{p0: int}}\n    - name: tool_{(n + 1) % 14}\n      args: {{p3: 1}}\n  forbid_other_side_effects: true\n"
        for n in range(200)
    )
    path = tmp_path / "many.yaml"
    path.write_text(text, encoding="utf-8")
    began = time.perf_counter()
    assert check_contract(load_cases(path), tools) == []
    assert time.perf_counter() - began < 1.0


def test_the_example_holds() -> None:
    """The refund agent's cases fit its tools, and show what the contract is for when a parameter is renamed."""
    cases = load_cases(EXAMPLES / "refund_cases.yaml")
    tools = read_tools(EXAMPLES / "refund_tools.json")
    assert check_contract(cases, tools) == []
    assert "refund_cracked_mug" in {made.case_id for made in cases}
    renamed = [REFUND if one.name == "issue_refund" else one for one in tools]
    with pytest.raises(ContractError, match="amount_cents"):
        check_contract(cases, renamed)
