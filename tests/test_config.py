"""Settings: every unknown key is refused by its path, and what they name is checked where they are loaded."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from attest_otel.config import AgentConfig, AttestConfig, Limits, resolve_config
from attest_otel.errors import ConfigError, ContractError

PAY = "{name: pay, input_schema: {type: object, properties: {amount_cents: {type: integer}}}}"


@pytest.fixture
def write(tmp_path: Path) -> Any:
    """Return a function that writes a file and returns its path."""

    def write_file(text: str, name: str = "attest.yaml") -> Path:
        path = tmp_path / name
        path.parent.mkdir(exist_ok=True)
        path.write_text(text)
        return path

    return write_file


def refusal(path: Path) -> str:
    """Return what is said of a file that is refused, and that it is named."""
    with pytest.raises(ConfigError) as caught:
        AttestConfig.load(path)
    assert all(line.startswith(str(path.parent)) for line in str(caught.value).splitlines())
    return str(caught.value)


def test_everything_has_a_default(write: Any) -> None:
    """An empty file is the default settings."""
    assert AttestConfig.load(write("")) == AttestConfig() == resolve_config({}) == resolve_config(None)


@pytest.mark.parametrize(
    ("text", "where", "hint"),
    [
        ("agent: {}", "agent", "did you mean 'agents'?"),
        ("agents: {a: {allowed_tool: []}}", "agents.a.allowed_tool", "did you mean 'allowed_tools'?"),
        (
            "agents: {a: {tools: [{name: t, side_efecting: true}]}}",
            "agents.a.tools[0].side_efecting",
            "did you mean 'side_effecting'?",
        ),
        (
            "agents: {a: {rules: [{id: r, at_most: {t: 1}, sevrity: fail}]}}",
            "agents.a.rules[0].sevrity",
            "did you mean 'severity'?",
        ),
        (
            "agents: {a: {cases: [{case_id: c, should_call: [], should_calls: 1}]}}",
            "agents.a.cases[0].should_calls",
            "did you mean 'should_call'?",
        ),
        (
            "agents: {a: {cases: [{case_id: c, expect_tool_calls: [{name: t, arg: {}}]}]}}",
            "agents.a.cases[0].expect_tool_calls[0].arg",
            "did you mean 'args'?",
        ),
        ("limits: {max_open_run: 1}", "limits.max_open_run", "did you mean 'max_open_runs'?"),
        ("redaction: {pattern: []}", "redaction.pattern", "did you mean 'patterns'?"),
        ("judge: {modell: x}", "judge.modell", "did you mean 'model'?"),
        ("judge: {secret: x}", "judge.secret", "the fields are model, base_url, max_calls_per_run"),
        ("export: {log_event: true}", "export.log_event", "did you mean 'log_events'?"),
        (
            "verdict_policy: {on_injection: block}",
            "verdict_policy.on_injection",
            "did you mean 'on_injection_warning'?",
        ),
        (
            "verdict_policy: {tool_use: {zzz: block}}",
            "verdict_policy.tool_use.zzz",
            "the fields are on_disallowed_tool, on_claimed_success",
        ),
    ],
)
def test_unknown_key_names_its_path(write: Any, text: str, where: str, hint: str) -> None:
    """A misspelt key anywhere is refused by file, line and path, with the one that may be meant or all there are."""
    path = write(text)
    assert refusal(path).startswith(f"{path}:1: {where}: unknown field; {hint}")


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("checks: [tool_usage]", "checks[0]: Input should be 'tool_use', 'arguments'"),
        ("capture: all", "capture: Input should be 'off', 'redacted' or 'full', got 'all'"),
        ("capture: true", "capture: Input should be"),
        (
            "limits: {max_open_runs: 0}",
            "limits.max_open_runs: Input should be greater than or equal to 1, got 0",
        ),
        ("limits: {max_open_runs: 10.0}", "limits.max_open_runs: Input should be a valid integer, got 10.0"),
        ("limits: {max_open_runs: '10'}", "limits.max_open_runs: Input should be a valid integer"),
        ("limits: {grace_seconds: .inf}", "limits.grace_seconds: Input should be a finite number, got inf"),
        ("limits: {grace_seconds: .nan}", "limits.grace_seconds: Input should be a finite number, got nan"),
        (
            "limits: {max_events_per_span: 129}",
            "limits.max_events_per_span: Input should be less than or equal to 128",
        ),
        ("limits: {max_open_runs: 010}", ":1: YAML reads the plain 010 as something else"),
        ("export: {log_events: yes}", ":1: YAML reads the plain yes as something else"),
        (
            "agents: {a: {allowed_tools: [no]}}",
            "agents.a.allowed_tools[0]: Input should be a valid string, got False (YAML reads",
        ),
        ("agents: {no: {}}", "agents (a key): Input should be a valid string"),
        (
            "agents: {a: {tools: [{name: t, input_schema: {enum: [no, 'yes']}}]}}",
            ":1: YAML reads the plain no as",
        ),
        (
            "agents: {a: {tools: [{name: t, input_schema: {enum: [2026-12-01]}}]}}",
            ":1: YAML reads the plain 2026-12-01 as",
        ),
        (
            "agents: {a: {cases: [{case_id: c, expect_tool_calls: [{name: t, args: {zip: 010}}]}]}}",
            ":1: YAML reads the plain 010 as",
        ),
        ("agents: {a: {cases: 5}}", "agents.a.cases: Input should be a valid list, got 5"),
        ("agents: {a: {tools: [{name: t}, {name: t}]}}", "agents.a: tools: 't' is registered twice"),
        ("agents: {a: }", "agents.a: Input should be a mapping, got None"),
        ("agents: [a]", "agents: Input should be a valid dictionary"),
        ("- a", "Input should be a mapping"),
        (
            "verdict_policy: {min_score: {faithfulness: 2}}",
            "verdict_policy.min_score.faithfulness: Input should be less than or equal to 1",
        ),
        ("a: 1\na: 2", ":2: not valid YAML: the key 'a' stands twice"),
    ],
)
def test_wrong_value_names_its_path(write: Any, text: str, said: str) -> None:
    """A wrong value is refused by file and path, with what was expected; YAML's surprises too."""
    assert said in refusal(write(text))


def test_capture_off_needs_no_quotes(write: Any) -> None:
    """`capture: off` means off, although YAML reads a plain `off` as false."""
    for text in ("capture: off", "capture: 'off'", "capture: false"):
        assert AttestConfig.load(write(text)).capture == "off"
    assert "the plain off" in refusal(write("capture: off\nexport: {log_events: off}"))


def test_settings_are_frozen() -> None:
    """Nothing that came in a span can change a setting: they can't be changed at all."""
    with pytest.raises(ValueError, match="frozen"):
        AttestConfig().capture = "full"


def test_file_named_by_the_environment(write: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """Without an argument the file that ATTEST_CONFIG names is read; a wrong one fails at once and is named."""
    path = write("capture: full")
    monkeypatch.setenv("ATTEST_CONFIG", str(path))
    assert resolve_config(None).capture == "full"
    assert resolve_config({}).capture == "redacted"
    monkeypatch.setenv("ATTEST_CONFIG", str(path) + ".none")
    with pytest.raises(ConfigError, match=r"attest\.yaml\.none: cannot be read: No such file"):
        resolve_config(None)


def test_wrong_kind_of_settings_is_refused() -> None:
    """What is no settings, path or mapping is refused with its type."""
    with pytest.raises(ConfigError, match="expected an AttestConfig, a path or a mapping, got int"):
        resolve_config(5)  # type: ignore[arg-type]


def test_wildcard_agent() -> None:
    """`"*"` holds for every agent that is not named, one without a name too; a named one has its own alone."""
    config = AttestConfig(agents={"a": AgentConfig(allowed_tools=["x"]), "*": AgentConfig(allowed_tools=[])})
    assert config.agent("a").allowed_tools == ["x"]
    assert config.agent("b").allowed_tools == config.agent(None).allowed_tools == []
    assert AttestConfig().agent("a") == AgentConfig()


def test_cases_file_stands_beside_the_settings(write: Any, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """A cases file is found relative to the settings' own folder, wherever the program runs."""
    write("- {case_id: c, should_call: [pay]}", "cases/refunds.yaml")
    path = write("agents: {a: {cases: cases/refunds.yaml}}")
    monkeypatch.chdir(tmp_path.parent)
    cases = AttestConfig.load(path).agents["a"].cases
    assert isinstance(cases, list)
    assert [case.case_id for case in cases] == ["c"]


def test_missing_or_wrong_cases_file_is_named(write: Any, tmp_path: Path) -> None:
    """A cases file that is missing or wrong fails where the settings are loaded, by the setting that names it and its own name."""
    path = write("agents:\n  a:\n    cases: cases.yaml")
    place = f"{path}:3: agents.a.cases: {tmp_path / 'cases.yaml'}"
    assert refusal(path).startswith(f"{place}: cannot be read: No such file")
    write("- {case_id: c, should_call: [pay], nope: 1}\n- {case_id: d, zzz: 1}", "cases.yaml")
    first, second = refusal(path).splitlines()
    assert first.startswith(f"{place}:1: case 'c': nope: unknown field")
    assert second.startswith(f"{place}:2: case 'd': zzz: unknown field")


def test_case_ids_are_unique(write: Any) -> None:
    """A case id that stands twice is refused, in a file of its own and among the settings."""
    twice = "[{case_id: c, should_call: []}, {case_id: d, should_call: []}, {case_id: c, should_call: []}]"
    assert "agents.a: cases: case 'c' stands twice, as cases[0] and cases[2]" in refusal(
        write(f"agents: {{a: {{cases: {twice}}}}}")
    )
    write(twice, "cases.yaml")
    assert "cases.yaml: case 'c' stands twice" in refusal(write("agents: {a: {cases: cases.yaml}}"))


def test_contract_is_checked_where_the_settings_are_loaded(write: Any) -> None:
    """Where an agent lists tools and cases, a case that contradicts a tool fails at the start, with old name and new."""
    case = "{case_id: c, expect_tool_calls: [{name: pay, args: {amount: 1}}]}"
    path = write(f"agents: {{a: {{tools: [{PAY}], cases: [{case}]}}}}")
    with pytest.raises(ContractError) as caught:
        AttestConfig.load(path)
    said = f"{path}:1: agents.a: case 'c': expect_tool_calls[0]: args: pay has no parameter 'amount', it now takes [amount_cents]"
    assert str(caught.value).startswith(said)
    write(f"[{case}]", "cases.yaml")
    with pytest.raises(ContractError, match="pay has no parameter 'amount'"):
        AttestConfig.load(write(f"agents: {{a: {{tools: [{PAY}], cases: cases.yaml}}}}"))
    config = AttestConfig.model_validate(
        {"agents": {"a": {"tools": [{"name": "pay"}], "cases": [{"case_id": "c", "should_call": ["pey"]}]}}}
    )
    with pytest.raises(ContractError, match="unknown tool 'pey'"):
        resolve_config(config)


def test_contract_that_holds(write: Any) -> None:
    """Cases that fit their agent's tools load; without a list of tools there is nothing to hold them against."""
    fits = "[{case_id: c, expect_tool_calls: [{name: pay, args: {amount_cents: 1}}]}]"
    assert AttestConfig.load(write(f"agents: {{a: {{tools: [{PAY}], cases: {fits}}}}}"))
    assert AttestConfig.load(write("agents: {a: {cases: [{case_id: c, should_call: [anything]}]}}"))


@pytest.mark.parametrize(
    ("rule", "said"),
    [
        ("{id: r, tool: pay, require: 'call.amount == 1'}", "rule 'r': require: column"),
        ("{id: r, require: 'nope('}", "rule 'r': require: column 6: Syntax error"),
        ("{id: r, require: '1 + 1'}", "rule 'r': require: answers int; expected true or false"),
        ("{id: r, require: 'call.is_error'}", "a rule without `tool` is about the run"),
        (
            "{id: r, require: 'true', ask: 'why?'}",
            "expected exactly one of require, order, at_most, ask; got require, ask",
        ),
        ("{id: r}", "expected exactly one of require, order, at_most, ask; got none"),
        ("{id: q, at_most: {x: 1}}", "the rule id 'q' stands twice"),
    ],
)
def test_rules_are_checked_where_the_settings_are_loaded(write: Any, rule: str, said: str) -> None:
    """A rule that cannot work fails at the start, by file, agent, place and id."""
    told = refusal(write(f"agents: {{a: {{rules: [{{id: q, at_most: {{x: 1}}}}, {rule}]}}}}"))
    assert said in told
    assert "agents.a.rules[1]" in told


def test_rules_given_as_a_mapping_are_checked_too() -> None:
    """Settings that a program gives are checked like those of a file."""
    rules = [{"id": "r", "require": "nope("}]
    for config in (
        {"agents": {"a": {"rules": rules}}},
        AttestConfig.model_validate({"agents": {"a": {"rules": rules}}}),
    ):
        with pytest.raises(ConfigError, match=r"config: agents\.a\.rules\[0\]: rule 'r': require"):
            resolve_config(config)


def test_every_limit_has_its_unit_in_its_name() -> None:
    """A limit says what it counts: bytes, seconds, characters, or the thing itself."""
    units = ("_bytes", "_seconds", "_chars", "_runs", "_run", "_findings", "_span", "_conversations")
    assert [name for name in Limits.model_fields if not name.endswith(units)] == []


def test_key_of_the_grading_model_is_no_setting() -> None:
    """The key comes from the environment alone: there is no field that could leak it."""
    with pytest.raises(ConfigError, match=r"config: judge\.api_key: unknown field"):
        resolve_config({"judge": {"api_key": "secret"}})


def test_recordings_lie_beside_the_settings_that_name_them(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """`judge.record` and `judge.replay` are relative to the file's own folder, as a cases file is; given settings, to here."""
    (tmp_path / "conf").mkdir()
    (tmp_path / "conf" / "attest.yaml").write_text("judge: {record: answers.jsonl}")
    monkeypatch.chdir(tmp_path)
    for file in ("conf/attest.yaml", tmp_path / "conf" / "attest.yaml"):
        judge = AttestConfig.load(file).judge
        assert judge is not None
        assert judge.record is not None
        assert Path(judge.record).resolve() == tmp_path / "conf" / "answers.jsonl"
        assert judge.replay is None
    loaded = AttestConfig.load("conf/attest.yaml")
    assert resolve_config(loaded) == loaded
    (tmp_path / "conf" / "attest.yaml").write_text(f"judge: {{replay: {tmp_path / 'r.jsonl'}}}")
    replayed = AttestConfig.load("conf/attest.yaml").judge
    assert replayed is not None
    assert replayed.replay == str(tmp_path / "r.jsonl")
    given = resolve_config({"judge": {"record": "answers.jsonl"}}).judge
    assert given is not None
    assert given.record == "answers.jsonl"
