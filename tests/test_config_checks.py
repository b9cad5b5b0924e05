"""Settings that don't hold together are refused where they are loaded, or warned of; what weakens nothing may stand."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from attest_otel import Attest, AttestConfig, config_checks
from attest_otel.errors import ConfigError

BASE = """\
agents:
  shop:
    %s
checks: [%s]
"""
RULES = "rules: [{id: one, at_most: {issue_refund: 1}}]"
CALLS = "cases: [{case_id: c, expect_tool_calls: [{name: pay, args: {x: 1}}]}]"
FORBIDS = "cases: [{case_id: c, expect_tool_calls: [], forbid_other_side_effects: true}]"
CHOICE = "cases: [{case_id: c, should_call: []}]"
ALLOWED = "allowed_tools: []"


def load(text: str, folder: Path) -> AttestConfig:
    """Return the settings of a file with this text."""
    path = folder / "attest.yaml"
    path.write_text(text)
    return AttestConfig.load(path)


def refusal(text: str, folder: Path) -> str:
    """Return what is said of a file that is refused, without the folder."""
    with pytest.raises(ConfigError) as caught:
        load(text, folder)
    return str(caught.value).replace(f"{folder}/", "")


def warning(text: str, folder: Path, caplog: pytest.LogCaptureFixture) -> str:
    """Return what is said of a file that is loaded all the same, without the folder."""
    config_checks.warn_once.cache_clear()
    caplog.clear()
    load(text, folder)
    return "\n".join(record.getMessage() for record in caplog.records).replace(f"{folder}/", "")


@pytest.mark.parametrize(
    ("setting", "checks", "field", "missing"),
    [
        (RULES, "tool_use", "rules", "policy"),
        (CALLS, "selection", "cases", "expectations"),
        (FORBIDS, "selection", "cases", "expectations"),
        (CHOICE, "expectations", "cases", "selection"),
        (ALLOWED, "policy", "allowed_tools", "tool_use"),
    ],
)
def test_what_an_agent_asks_for_is_checked(
    tmp_path: Path, caplog: pytest.LogCaptureFixture, setting: str, checks: str, field: str, missing: str
) -> None:
    """Rules, cases and allowed tools whose check is off are warned of, by file, line, field and what to do."""
    said = warning(BASE % (setting, checks), tmp_path, caplog)
    assert said.startswith(f"attest.yaml:3: agents.shop.{field}: ")
    assert f"checks leaves out {missing}: add {missing} to checks, or take this out" in said


@pytest.mark.parametrize(
    ("setting", "checks"),
    [
        (RULES, "policy"),
        (CALLS, "expectations"),
        (FORBIDS, "expectations, arguments"),
        (CHOICE, "selection"),
        (ALLOWED, "tool_use"),
        ("rules: []", "tool_use"),
        ("tools: [{name: pay}]", "coverage"),
        ("tool_fallbacks: {pay: [pay_later]}", "coverage"),
    ],
)
def test_what_is_checked_or_only_describes_may_stand(
    tmp_path: Path, caplog: pytest.LogCaptureFixture, setting: str, checks: str
) -> None:
    """Nothing is said of a setting whose check is on, nor of one that no check enforces."""
    assert not warning(BASE % (setting, checks), tmp_path, caplog)


@pytest.mark.parametrize(
    ("policy", "field", "missing"),
    [
        ("on_injection_warning: review", "on_injection_warning", "injection"),
        ("on_inconclusive_faithfulness: block", "on_inconclusive_faithfulness", "faithfulness"),
        ("min_claim_coverage: 0.5", "min_claim_coverage", "faithfulness"),
        ("min_score: {faithfulness: 0.9}", "min_score.faithfulness", "faithfulness"),
        ("tool_use: {on_unhandled_error: block}", "tool_use.on_unhandled_error", "tool_use"),
        ("dispositions: {provenance: {ungrounded: block}}", "dispositions.provenance.ungrounded", "provenance"),
        ("dispositions: {provenance.ungrounded: block}", "dispositions.provenance.ungrounded", "provenance"),
    ],
)
def test_what_the_policy_asks_for_is_checked(
    tmp_path: Path, caplog: pytest.LogCaptureFixture, policy: str, field: str, missing: str
) -> None:
    """A row or threshold that asks for review or block of a check that is off is warned of."""
    said = warning(f"checks: [coverage]\nverdict_policy:\n  {policy}\n", tmp_path, caplog)
    assert said.startswith(f"attest.yaml:3: verdict_policy.{field}: ")
    assert f"checks leaves out {missing}: add {missing}" in said
    assert not warning(f"verdict_policy:\n  {policy}\n", tmp_path, caplog)
    assert not warning(f"checks: [{missing}]\nverdict_policy:\n  {policy}\n", tmp_path, caplog)


@pytest.mark.parametrize(
    "policy",
    [
        "on_injection_warning: pass",
        "min_score: {faithfulness: 0}",
        "tool_use: {on_unnecessary_call: pass}",
        "dispositions: {arguments: {placeholder: pass}}",
    ],
)
def test_what_makes_nothing_stricter_may_be_shared(tmp_path: Path, caplog: pytest.LogCaptureFixture, policy: str) -> None:
    """A row that lets findings pass weakens nothing where its check is off."""
    assert not warning(f"checks: [coverage]\nverdict_policy: {{{policy}}}\n", tmp_path, caplog)


def test_a_judge_that_nothing_asks(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    """A grading model is warned of where no check has a question for it; one check is enough."""
    said = warning("judge: {model: m}\nchecks: [arguments, coverage]\n", tmp_path, caplog)
    assert said.startswith("attest.yaml:1: judge: none of the checks in checks asks a grading model: add one of actions,")
    assert not warning("judge: {model: m}\nchecks: [arguments, role]\n", tmp_path, caplog)


def test_no_check_at_all(tmp_path: Path) -> None:
    """An empty list would grade nothing and pass everything."""
    assert refusal("checks: []", tmp_path) == (
        "attest.yaml:1: checks: names no check, so nothing would be graded; leave it out to run all that can run"
    )


def test_every_problem_is_said(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    """One start tells everything that is off, a line each, once."""
    text = BASE % (f"{RULES}\n    {ALLOWED}", "coverage") + "judge: {}\n"
    lines = warning(text, tmp_path, caplog).splitlines()
    assert [line.split(": ")[1] for line in lines] == ["agents.shop.rules", "agents.shop.allowed_tools", "judge"]
    caplog.clear()
    assert load(text, tmp_path)
    assert not caplog.records


def test_settings_of_a_program_are_held_to_the_same(caplog: pytest.LogCaptureFixture) -> None:
    """Settings given as a mapping are warned of like those of a file."""
    config_checks.warn_once.cache_clear()
    config: dict[str, Any] = {"agents": {"a": {"rules": [{"id": "r", "at_most": {"t": 1}}]}}}
    assert Attest(config)
    assert not caplog.records
    assert Attest({**config, "checks": ["tool_use"]})
    assert caplog.records[0].getMessage().startswith("config: agents.a.rules: policy holds runs against rules, but checks leaves")


@pytest.mark.parametrize(
    ("setting", "field"),
    [
        ("rules: [{id: r, at_most: {isue_refund: 1}}]", "rules[0].at_most"),
        ("rules: [{id: r, order: [isue_refund, look]}]", "rules[0].order"),
        ("rules: [{id: r, tool: isue_refund, require: 'true'}]", "rules[0].tool"),
        ("rules: [{id: r, tool: isue_refund, ask: 'Good?'}]", "rules[0].tool"),
        ("rules: [{id: r, require: 'run.calls.all(c, c.name != \"isue_refund\")'}]", "rules[0].require"),
        ("rules: [{id: r, require: 'run.calls.all(c, c.name in [\"isue_refund\"])'}]", "rules[0].require"),
        ("allowed_tools: [isue_refund]", "allowed_tools[0]"),
        ("tool_fallbacks: {isue_refund: [look]}", "tool_fallbacks.isue_refund"),
        ("tool_fallbacks: {look: [isue_refund]}", "tool_fallbacks.look[0]"),
    ],
)
def test_a_misspelt_tool_of_the_agent(tmp_path: Path, setting: str, field: str) -> None:
    """A slip of a tool that the agent lists is refused at the start, by file, line and field."""
    said = refusal(f"agents:\n  a:\n    tools: [{{name: issue_refund}}, {{name: look}}]\n    {setting}\n", tmp_path)
    assert said.startswith(
        f"attest.yaml:4: agents.a.{field}: no declared tool is called 'isue_refund'; did you mean 'issue_refund'?"
    )


@pytest.mark.parametrize(
    "agents",
    [
        "{a: {tools: [{name: issue_refund}], rules: [{id: r, at_most: {send_mail: 1}}]}}",
        "{a: {tools: [{name: issue_refund}], rules: [{id: r, at_most: {'issue_refun?': 1, 'isue_*': 1}}]}}",
        "{a: {tools: [{name: get_users}], rules: [{id: r, at_most: {get_user: 1}}]}, b: {tools: [{name: get_user}]}}",
        "{a: {tools: [{name: get_users}, {name: get_user}], rules: [{id: r, at_most: {get_user: 1}}]}}",
        "{a: {rules: [{id: r, at_most: {isue_refund: 1}}]}}",
        "{a: {tools: [{name: pay}], rules: [{id: r, require: 'run.calls.all(c, c.agent != \"paay\")'}]}}",
    ],
)
def test_a_tool_that_only_runs_declare_may_be_named(tmp_path: Path, agents: str) -> None:
    """Names that nothing resembles, globs, and names that another agent lists are not refused."""
    assert load(f"agents: {agents}", tmp_path)
