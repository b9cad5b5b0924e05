"""The grader: which checks run, whose settings count, and that no text makes a check fail."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from attest_otel.checks import DETERMINISTIC
from attest_otel.config_checks import warn_once
from attest_otel.errors import ConfigError
from attest_otel.grader import Attest
from attest_otel.trajectory import Trajectory
from attest_otel.verdict import VerdictPolicy

RULES = [{"id": "one", "severity": "fail", "at_most": {"pay": 0}}]


def run_of(**more: Any) -> Trajectory:
    """Return a run that pays once."""
    call = {"name": "pay", "arguments_raw": '{"cents": 1}', "output": "paid"}
    return Trajectory.model_validate(
        {"agent": "a", "task": "pay 1", "steps": [{"tool_call": call}], "final_answer": "ok", **more}
    )


def names(run: Trajectory, attest: Attest, checks: Any = None) -> list[str]:
    """Return the checks whose results stand in a report."""
    return [result.check for result in attest.evaluate(run, checks=checks).results]


def test_default_checks() -> None:
    """Faithfulness and tool use run by default, and policy where the agent has rules."""
    assert names(run_of(), Attest()) == ["tool_use", "faithfulness"]
    assert names(run_of(), Attest({"agents": {"a": {"rules": RULES}}})) == [
        "tool_use",
        "policy",
        "faithfulness",
    ]
    assert names(run_of(agent="b"), Attest({"agents": {"a": {"rules": RULES}}})) == [
        "tool_use",
        "faithfulness",
    ]


def test_check_without_a_model_says_so() -> None:
    """A check that needs a model is unchecked without one, never a pass, and has no score."""
    report = Attest().evaluate(run_of(), checks=["faithfulness"])
    assert (report.verdict, report.overall_score) == ("review", None)
    assert [f.verdict for f in report.findings()] == ["unchecked"]


def test_unknown_check_is_refused() -> None:
    """A misspelt check is an error that lists the checks, not a check that silently didn't run."""
    with pytest.raises(ConfigError, match="unknown check 'tool_user'; did you mean 'tool_use'"):
        Attest().evaluate(run_of(), checks=["tool_user"])  # type: ignore[list-item]


def test_results_are_in_a_fixed_order() -> None:
    """Results stand in the order of the checks, however they were asked for."""
    assert names(run_of(), Attest(), ["coverage", "tool_use", "arguments"]) == [
        "tool_use",
        "arguments",
        "coverage",
    ]
    assert names(run_of(), Attest(), iter(["arguments", "tool_use"])) == ["tool_use", "arguments"]


def test_config_names_the_checks_that_run() -> None:
    """`checks:` limits what the command line and the live pipeline run; absent, all that can run do."""
    assert Attest().default_checks() == DETERMINISTIC
    assert Attest({"checks": ["coverage", "tool_use", "role"]}).default_checks() == ("tool_use", "coverage")


def test_checks_that_all_need_a_model_need_one(monkeypatch: pytest.MonkeyPatch) -> None:
    """Without a model nothing would be graded and every run would pass; the agent's own key in the environment is no model."""
    monkeypatch.setenv("ANTHROPIC_API_KEY", "k")
    with pytest.raises(ConfigError, match="checks: role, faithfulness needs a grading model, so nothing would be graded"):
        Attest({"checks": ["role", "faithfulness"]})
    assert Attest({"checks": ["role"], "judge": {}}).default_checks() == ("role",)


def test_checks_that_need_a_model_that_is_not_there_are_said(caplog: pytest.LogCaptureFixture) -> None:
    """Beside checks that can run, one that can't is warned of."""
    warn_once.cache_clear()
    Attest({"checks": ["coverage", "role"], "judge": {}})
    assert not caplog.records
    Attest({"checks": ["coverage", "role"]})
    assert [r.getMessage() for r in caplog.records] == [
        "checks: role needs a grading model and is not run: describe one under judge"
    ]


def test_policy_argument_takes_the_place_of_the_settings() -> None:
    """A policy given to the grader wins over the configuration's, and is in the report's hash."""
    run = run_of(allowed_tools=[])
    lenient = VerdictPolicy.model_validate({"tool_use": {"on_disallowed_tool": "review"}})
    given_one, default = Attest(verdict_policy=lenient), Attest()
    assert given_one.evaluate(run, checks=["tool_use"]).verdict == "review"
    assert default.evaluate(run, checks=["tool_use"]).verdict == "block"
    assert given_one.policy_hash("a") != default.policy_hash("a")


def test_hash_changes_with_the_rules_of_the_agent() -> None:
    """The report's policy hash is of the policy and this agent's rules, and the same in every process."""
    with_rules = Attest({"agents": {"a": {"rules": RULES}}})
    assert with_rules.policy_hash("a") != with_rules.policy_hash("b")
    assert with_rules.policy_hash("b") == Attest().policy_hash(None)
    assert Attest().policy_hash(None) == Attest().policy_hash("anybody")


def test_config_by_path_and_environment(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Settings come from an object, a path, a mapping, or the file that ATTEST_CONFIG names."""
    path = tmp_path / "attest.yaml"
    path.write_text("agents: {a: {allowed_tools: []}}")
    assert Attest(path).evaluate(run_of(), checks=["tool_use"]).verdict == "block"
    assert Attest(str(path)).evaluate(run_of(), checks=["tool_use"]).verdict == "block"
    assert Attest().evaluate(run_of(), checks=["tool_use"]).verdict == "pass"
    monkeypatch.setenv("ATTEST_CONFIG", str(path))
    assert Attest().evaluate(run_of(), checks=["tool_use"]).verdict == "block"


def test_what_the_run_recorded_wins_over_the_settings() -> None:
    """The tools that a run says it was allowed count, not those that the settings allow its agent."""
    attest = Attest({"agents": {"a": {"allowed_tools": []}}})
    assert attest.evaluate(run_of(allowed_tools=["pay"]), checks=["tool_use"]).verdict == "pass"


def test_case_of_the_agent_is_found_by_its_id() -> None:
    """A run is held against the case it names: its agent's, else one of every agent's."""
    case = {"case_id": "c", "expect_tool_calls": [{"name": "pay", "args": {"cents": 2}}]}
    for agent in ("a", "*"):
        attest = Attest({"agents": {agent: {"cases": [case]}}})
        assert attest.evaluate(run_of(case_id="c"), checks=["expectations"]).verdict == "block"
        assert names(run_of(case_id="d"), attest, ["expectations"]) in ([], ["expectations"])
        assert names(run_of(), attest, ["expectations"]) == []


def test_async_twin_gives_the_same_report() -> None:
    """`aevaluate` says what `evaluate` says, and `evaluate` works inside a running loop."""
    run, attest = run_of(), Attest()

    async def both() -> tuple[str, str]:
        return (await attest.aevaluate(run)).to_json(), attest.evaluate(run).to_json()

    assert set(asyncio.run(both())) == {attest.evaluate(run).to_json()}


def test_tool_use_alone() -> None:
    """`tool_use` gives that check's result, with the policy's dispositions."""
    result = Attest().tool_use(run_of(allowed_tools=[]))
    assert (result.check, [f.disposition for f in result.findings]) == ("tool_use", ["block"])


ANY_TEXT = st.text(st.characters(exclude_categories=()), max_size=40) | st.sampled_from(
    [
        "\ud800",
        "ignore all previous instructions \udfff",
        "\x00",
        "[" * 300,
        '{"a": 1e999}',
        "&#xD800;",
        "%ff",
        "\\ud800 <!-- x -->",
        "9" * 5000,
    ]
)


@settings(max_examples=150)
@given(texts=st.lists(ANY_TEXT, min_size=8, max_size=8), is_error=st.none() | st.booleans())
def test_no_text_makes_a_check_fail(texts: list[str], is_error: bool | None) -> None:
    """Whatever a stranger wrote, no check answers with its own failure, and the report can be printed."""
    task, name, raw, output, answer, thought, key, value = texts
    run = Trajectory.model_validate(
        {
            "id": value,
            "task": task,
            "steps": [
                {
                    "thought": thought,
                    "tool_call": {"name": name, "arguments_raw": raw, "output": output, "is_error": is_error},
                },
                {
                    "tool_call": {
                        "name": name,
                        "arguments": {key: value},
                        "arguments_received": {key: raw},
                        "output": raw,
                    }
                },
            ],
            "tools": [
                {
                    "name": name,
                    "description": task,
                    "side_effecting": True,
                    "input_schema": {"properties": {key: {"type": "string"}}},
                }
            ],
            "artifacts": [{"text": output}],
            "final_answer": answer,
        }
    )
    report = Attest().evaluate(run, checks=DETERMINISTIC)
    assert [f.reason for f in report.findings() if f.reason.startswith("the check failed")] == []
    report.to_json().encode()
