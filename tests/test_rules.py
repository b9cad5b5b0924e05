"""Rules are refused where they are loaded, by file, agent and id."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from attest_otel import Attest, AttestConfig
from attest_otel.errors import ConfigError
from attest_otel.rules import MAX_RULES, Rule, check_rules

BAD = [
    ({"require": "run.nope == 1"}, ["column 4", "undefined field 'nope'"]),
    ({"require": "run.calls.exists(c, c.nme == 'x')"}, ["column 22", "undefined field 'nme'"]),
    ({"require": "nope(run)"}, ["column 5", "undeclared reference to 'nope'"]),
    ({"require": "run.task == 1"}, ["column 10", "found no matching overload"]),
    ({"require": "run.calls.size() + 'x' == 'y'"}, ["found no matching overload"]),
    ({"require": "run.calls.size()"}, ["answers int", "true or false"]),
    ({"require": "run.calls.size( > 1"}, ["Syntax error"]),
    ({"require": "call.index == 0"}, ["call.index", "name a tool"]),
    ({"require": "run.task.matches('(a')"}, ["pattern", "RE2"]),
    ({"require": "run.task.matches('a(?=b)')"}, ["pattern", "linear"]),
    ({"require": "run.__class__ == 'x'"}, ["undefined field '__class__'"]),
    ({"require": "true" + " && true" * 1_000}, ["characters", "4000"]),
    ({"require": "(" * 200 + "true" + ")" * 200}, ["recursion limit"]),
    ({"require": "run.task == '\ud800'"}, [""]),
    ({"require": "  "}, ["require is empty"]),
    ({"ask": ""}, ["ask is empty"]),
    ({"at_most": {}}, ["names no tool"]),
    ({"at_most": {"x": -1}}, ["0 or more"]),
    ({"order": ["a"]}, ["order"]),
    ({"tool": "x", "at_most": {"x": 1}}, ["tool goes with require or ask"]),
    ({"tool": "*" * 20, "require": "true"}, ["stars"]),
    ({"require": "true", "ask": "?"}, ["exactly one"]),
    ({}, ["exactly one"]),
    ({"require": "true", "sevrity": "warn"}, ["unknown field"]),
]


@pytest.mark.parametrize(("fields", "parts"), BAD)
def test_a_rule_that_cannot_work_is_refused(fields: dict[str, Any], parts: list[str]) -> None:
    """Refused when the configuration is loaded, naming the rule's place and what is wrong."""
    with pytest.raises(ConfigError) as caught:
        Attest({"agents": {"main": {"rules": [{"id": "r1", **fields}]}}})
    assert all(part in str(caught.value) for part in ["agents.main.rules[0]", *parts]), str(caught.value)


def test_the_file_is_named(tmp_path: Path) -> None:
    """The message names the file, the rule's place in it, its id and the column."""
    path = tmp_path / "attest.yaml"
    path.write_text("agents:\n  main:\n    rules:\n      - {id: a, require: 'true'}\n      - {id: b, require: 'run.nope'}\n")
    with pytest.raises(ConfigError) as caught:
        AttestConfig.load(path)
    assert (
        str(caught.value)
        == f"{path}:5: agents.main.rules[1]: rule 'b': require: column 4: undefined field 'nope'; fields of run: task, final_answer, calls, agent, usage"
    )


def test_an_id_stands_once() -> None:
    """Two rules with one id can't be told apart."""
    rules = [Rule(id="a", require="true"), Rule(id="a", ask="?")]
    with pytest.raises(ConfigError, match="'a' stands twice"):
        check_rules(rules, "f")


def test_there_is_a_limit() -> None:
    """A file with too many rules is refused."""
    with pytest.raises(ConfigError, match="more than 500"):
        check_rules([Rule(id=str(n), ask="?") for n in range(MAX_RULES + 1)], "f")


@pytest.mark.parametrize(
    "require",
    [
        'run.calls.exists(c, c.name == "lookup_order" && c.index < call.index && !c.is_error)',
        "call.arguments.cents <= 5000 && has(call.arguments.note)",
        "call.is_error == null || call.output.matches('^ok')",
        "call.arguments['a b'] == 1 && 'x' in call.arguments",
        "run.usage.input_tokens < 1000",
        "call.arguments.confirmed",
    ],
)
def test_rules_people_write_load(require: str) -> None:
    """Every documented field and the usual functions are there."""
    check_rules([Rule(id="a", tool="issue_*", require=require)], "f")


def test_cel_is_imported_only_for_rules_that_use_it() -> None:
    """Neither the package nor a configuration without `require` loads CEL or protobuf's types for it."""
    program = (
        "import sys, attest_otel; from attest_otel import Attest;"
        "Attest({'agents': {'a': {'rules': [{'id': 'x', 'at_most': {'t': 1}}]}}});"
        "assert not [m for m in sys.modules if m.startswith(('cel_expr_python', 'attest_otel.cel'))];"
        "Attest({'agents': {'a': {'rules': [{'id': 'x', 'require': 'true'}]}}});"
        "assert 'cel_expr_python' in sys.modules"
    )
    subprocess.run([sys.executable, "-c", program], check=True, timeout=60)
