"""The team's rules: which calls they are asked of, and what they say."""

from __future__ import annotations

from typing import Any

import pytest

from attest_otel import Attest
from attest_otel.checks.policy import check
from attest_otel.checks.policy.findings import MAX_FINDINGS
from attest_otel.config import AttestConfig
from tests.checks.call_runs import call, only, said, view

LOOKED_UP = 'run.calls.exists(c, c.name == "lookup_order" && c.index < call.index && !c.is_error)'
NEEDS_LOOKUP = {"id": "needs_lookup", "tool": "issue_refund", "require": LOOKED_UP}
FAILED = {"output": "Error: order not found"}
LOST = {"output": "Error: read timed out"}


def graded(rules: list[dict[str, Any]], *calls: dict[str, Any], others: dict[str, Any] | None = None, **fields: Any) -> Any:
    """Return what the check says of a run of the agent with these rules."""
    config = AttestConfig.model_validate({"agents": {"main": {"rules": rules}, **(others or {})}})
    return check(view(*calls, agent="main", config=config, **fields))


def rule(require: str, tool: str | None = "issue_refund") -> list[dict[str, Any]]:
    """Return one rule in CEL."""
    return [{"id": "r", "require": require, **({"tool": tool} if tool else {})}]


def test_no_rules_nothing_to_keep() -> None:
    """Without rules the check has nothing to say."""
    assert graded([], call()) is None


@pytest.mark.parametrize(
    ("calls", "expected"),
    [
        ([call("lookup_order"), call()], [("kept", "pass", None)]),
        ([call(), call("lookup_order")], [("broken", "fail", 0)]),
        ([call("lookup_order", **FAILED), call()], [("broken", "fail", 1)]),
        ([call("lookup_order", output=None), call()], [("unchecked", "warn", 1)]),
        ([call("lookup_order", output=None), call("lookup_order"), call()], [("kept", "pass", None)]),
        ([call("lookup_order")], [("kept", "pass", None)]),
        ([call(), call("lookup_order"), call()], [("broken", "fail", 0)]),
    ],
)
def test_a_rule_about_calls(calls: list[dict[str, Any]], expected: list[Any]) -> None:
    """Asked of each call of its tool; an unknown outcome that would decide it makes it unchecked."""
    assert said(graded([NEEDS_LOOKUP], *calls), passing=True) == expected


@pytest.mark.parametrize(("severity", "disposition"), [("fail", "block"), ("warn", "review")])
def test_the_rule_gives_the_severity(severity: str, disposition: str) -> None:
    """A broken rule blocks or goes to review by its own severity, and the finding names it."""
    config = {"agents": {"*": {"rules": [{**NEEDS_LOOKUP, "severity": severity}]}}}
    report = Attest(config).evaluate(view(call()).run, checks=["policy"])
    (finding,) = report.results[0].findings
    assert (finding.severity, finding.disposition, finding.subject) == (severity, disposition, "needs_lookup")
    assert "needs_lookup" in finding.reason


@pytest.mark.parametrize("override", ["pass", "review", "block"])
def test_an_unchecked_rule_never_passes(override: str) -> None:
    """Whatever the policy says of unchecked rules, review is the least; block is kept."""
    config = {"agents": {"*": {"rules": [NEEDS_LOOKUP]}}, "verdict_policy": {"dispositions": {"policy.unchecked": override}}}
    run = view(call("lookup_order", output=None), call()).run
    report = Attest(config).evaluate(run, checks=["policy"])
    assert report.verdict == ("block" if override == "block" else "review")


@pytest.mark.parametrize(
    ("require", "raw", "verdict"),
    [
        ("call.arguments.cents <= 5000", '{"cents": 4200}', "kept"),
        ("call.arguments.cents <= 5000", '{"cents": 9223372036854775807}', "broken"),
        ("call.arguments.cents <= 5000", '{"cents": 4200.5}', "kept"),
        ("call.arguments.cents <= 5000", '{"cents": 9223372036854775808}', "unchecked"),
        ("call.arguments.cents <= 5000", '{"cents": 5000.0000000000000000000000001}', "unchecked"),
        ("call.arguments.cents <= 5000", '{"cents": 1e999}', "unchecked"),
        ("call.arguments.cents <= 5000", '{"cents": "4200"}', "unchecked"),
        ("call.arguments.cents <= 5000", "{}", "unchecked"),
        ("call.arguments.cents <= 5000", "[4200]", "unchecked"),
        ("call.arguments.cents <= 5000", '{"cents": 1, "cents": 2}', "unchecked"),
        ("call.arguments.cents <= 5000", "not json", "unchecked"),
        ("call.arguments.name == 'x'", '{"name": "\\ud800"}', "unchecked"),
        ("!has(call.arguments.note)", '{"id": 1}', "kept"),
        ("call.arguments_raw.size() < 20", '{"id": 1}', "kept"),
        ("call.side_effecting && call.agent == 'main' && call.name.startsWith('issue_')", "{}", "kept"),
    ],
)
def test_arguments_reach_a_rule_exactly_or_not_at_all(require: str, raw: str, verdict: str) -> None:
    """A value that CEL can't hold exactly makes the rule unchecked, never kept."""
    assert [f[0] for f in said(graded(rule(require), call(raw=raw)), passing=True)] == [verdict]


@pytest.mark.parametrize(
    ("require", "verdict"),
    [
        ("!call.is_error", "unchecked"),
        ("call.is_error != true", "unchecked"),
        ("call.is_error == false", "unchecked"),
        ("call.is_error == null", "unchecked"),
        ("!has(call.is_error)", "kept"),
        ("call.output.contains('ok')", "unchecked"),
        ("call.output == null || call.output == 'ok'", "unchecked"),
        ("has(call.output) || call.index == 0", "kept"),
    ],
)
def test_what_nobody_recorded_decides_nothing(require: str, verdict: str) -> None:
    """An unknown outcome or output is no answer; `has` asks for it."""
    assert [f[0] for f in said(graded(rule(require), call(output=None)), passing=True)] == [verdict]


def test_a_cut_output_decides_nothing() -> None:
    """What was cut can't be searched."""
    cut = call(output="all go", recorded={"output": "truncated"})
    assert [f[0] for f in said(graded(rule("call.output.contains('ok')"), cut))] == ["unchecked"]


@pytest.mark.parametrize(
    ("require", "verdict"),
    [
        ("run.calls.size() <= 2", "kept"),
        ("run.calls.size() <= 1", "broken"),
        ("run.calls.all(c, c.side_effecting || !c.is_error)", "kept"),
        ("run.final_answer.contains('sorry')", "unchecked"),
        ("run.task == 't' && run.agent == 'main'", "kept"),
        ("run.usage.input_tokens + run.usage.output_tokens < 100", "kept"),
        ("run.calls.filter(c, c.name == 'issue_refund').map(c, c.arguments.id) == [1]", "kept"),
    ],
)
def test_a_rule_about_the_run(require: str, verdict: str) -> None:
    """Without a tool a rule is asked once, of the run."""
    usage = {"input_tokens": 10, "output_tokens": 20}
    result = graded(rule(require, tool=None), call("lookup_order"), call(), usage=usage)
    assert [(f[0], f[2]) for f in said(result, passing=True)] == [(verdict, None)]


@pytest.mark.parametrize(
    ("calls", "expected"),
    [
        ([call(), call()], [("broken", "fail", 1)]),
        ([call(), call("lookup_order"), call(), call()], [("broken", "fail", 2), ("broken", "fail", 3)]),
        ([call(**FAILED), call()], []),
        ([call(**LOST), call()], [("unchecked", "warn", 1)]),
        ([call(output=None), call()], [("broken", "fail", 1)]),
        ([], []),
    ],
)
def test_at_most(calls: list[dict[str, Any]], expected: list[Any]) -> None:
    """Calls that returned no error count; an error whose answer was lost leaves it open."""
    assert said(graded([{"id": "one", "at_most": {"issue_refund": 1}}], *calls)) == expected


@pytest.mark.parametrize(
    ("calls", "expected"),
    [
        ([call("lookup_order"), call()], []),
        ([call(), call("lookup_order")], [("broken", "warn", 0)]),
        ([call()], [("broken", "warn", 0)]),
        ([call("lookup_order")], []),
        ([call("lookup_order", **FAILED), call()], [("broken", "warn", 1)]),
        ([call("lookup_order", output=None), call()], [("unchecked", "warn", 1)]),
        ([call("lookup_order", turn=1), call(turn=1)], [("broken", "warn", 1)]),
        ([call("lookup_order", turn=1), call(turn=2)], []),
        ([call("lookup_order", started_at=1, ended_at=9), call(started_at=5, ended_at=6)], [("broken", "warn", 1)]),
        ([call("lookup_order", started_at=1, ended_at=4), call(started_at=5, ended_at=6)], []),
    ],
)
def test_order(calls: list[dict[str, Any]], expected: list[Any]) -> None:
    """A listed tool needs a call of the one before it that worked and was over: a sibling is not before."""
    assert said(graded([{"id": "o", "severity": "warn", "order": ["lookup_*", "issue_refund"]}], *calls)) == expected


def test_a_question_in_words_is_unchecked() -> None:
    """Without a grading model, ask is for a person."""
    assert said(graded([{"id": "polite", "ask": "Was it polite?"}], call())) == [("unchecked", "warn", None)]


def test_each_agent_has_its_own_rules() -> None:
    """A nested agent's calls fall under its own rules, or those of "*"; without either, under the run's."""
    none = [{"id": "none", "at_most": {"issue_refund": 0}}]
    sub = call(agent=["main", "sub"])
    assert said(graded([], sub, others={"sub": {"rules": none}})) == [("broken", "fail", 0)]
    assert said(graded([], sub, others={"*": {"rules": none}})) == [("broken", "fail", 0)]
    assert said(graded(none, sub)) == [("broken", "fail", 0)]
    assert said(graded(none, sub, others={"sub": {"rules": [{"id": "two", "at_most": {"issue_refund": 2}}]}})) == []


def test_what_an_order_needs_may_be_anybodys() -> None:
    """A lookup that a nested agent made comes before the refund too."""
    calls = [call("lookup_order", agent=["main", "sub"]), call()]
    others: dict[str, Any] = {"sub": {"rules": []}}
    assert said(graded([{"id": "o", "order": ["lookup_order", "issue_refund"]}], *calls, others=others)) == []


def test_globs_name_many_tools() -> None:
    """A rule's tool may be a glob."""
    assert said(graded(rule("call.index == 0", tool="*_order"), call("lookup_order"), call("drop_order"), call())) == [
        ("broken", "fail", 1)
    ]


def test_many_broken_calls_are_counted_not_listed() -> None:
    """At most 20 findings of a kind a rule, and the last says for how many it stands."""
    findings = graded(rule("call.index < 0"), *[call()] * 100).findings
    assert len(findings) == MAX_FINDINGS
    assert findings[-1].metadata["count"] + MAX_FINDINGS - 1 == 100
    assert len({f.id for f in findings}) == MAX_FINDINGS


@pytest.mark.timeout(20)
def test_a_run_too_big_for_a_rule_is_unchecked() -> None:
    """A rule that compares every call with every other has a budget; what is left out is said, and takes no time."""
    result = graded([NEEDS_LOOKUP], *[call("lookup_order")], *[call()] * 5_000)
    assert "evaluations were left out" in only(result, "unchecked").reason


@pytest.mark.timeout(20)
@pytest.mark.parametrize(
    "require",
    [
        "run.calls.all(a, run.calls.all(b, run.calls.all(c, a.index + b.index + c.index >= 0)))",
        "run.calls.map(a, a.output + a.output).size() > 0",
        "run.calls.all(a, run.calls.all(b, a.output + b.output != 'x'))",
        "call.arguments.list.all(x, call.arguments.list.all(y, x == y))",
    ],
)
def test_hostile_content_cannot_make_a_rule_run_wild(require: str) -> None:
    """Long lists and big outputs end in `unchecked`, not in minutes or gigabytes."""
    wide = f'{{"list": [{",".join(["1"] * 9_000)}]}}'
    calls = [call(raw=wide, output="x" * 200_000) for _ in range(200)]
    result = graded(rule(require), *calls)
    assert {f[0] for f in said(result)} == {"unchecked"}


SLIPS: list[dict[str, Any]] = [
    {"at_most": {"isue_refund": 1}},
    {"order": ["lookup_ordr", "issue_refund"]},
    {"order": ["lookup_order", "issueRefund"]},
    {"tool": "isue_refund", "require": "false"},
    {"require": 'run.calls.all(c, c.name != "isue_refund")'},
    {"require": '!run.calls.exists(c, c.name in ["isue_refund", "lookup_order"] && c.index > 9)'},
    {"tool": "lookup_order", "require": '!run.calls.exists(c, "isue_refund" == c.name)'},
]


@pytest.mark.parametrize("fields", SLIPS)
def test_a_misspelt_tool_is_not_kept(fields: dict[str, Any]) -> None:
    """A rule that names a slip of a declared tool says so, goes to review, and names the tool that may be meant."""
    result = graded([{"id": "r", **fields}], call("lookup_order"))
    assert said(result, passing=True) == [("unchecked", "warn", None)]
    reason = only(result, "unchecked").reason
    assert "no declared tool is called" in reason
    assert "did you mean 'issue_refund'?" in reason or "did you mean 'lookup_order'?" in reason


def test_a_misspelt_tool_is_said_beside_what_broke() -> None:
    """What broke all the same stays broken, and the misspelling explains it."""
    result = graded(
        [{"id": "r", "tool": "issue_refund", "require": LOOKED_UP.replace("order", "ordr")}], call("lookup_order"), call()
    )
    assert said(result) == [("broken", "fail", 1), ("unchecked", "warn", None)]


@pytest.mark.parametrize("name", ["issue_credit", "refund", "lookup_orders_v2", "send_mail"])
def test_a_tool_that_a_run_lacks_is_no_misspelling(name: str) -> None:
    """The tools may differ from run to run: a rule about one that nothing resembles is kept."""
    rules: list[dict[str, Any]] = [
        {"id": "r", "at_most": {name: 1}},
        {"id": "s", "require": f'run.calls.all(c, c.name != "{name}")'},
    ]
    assert said(graded(rules, call()), passing=True) == [("kept", "pass", None)] * 2


@pytest.mark.parametrize(
    ("tools", "fields"),
    [
        (({"name": "get_users"}, {"name": "get_user"}), {}),
        (({"name": "get_users"},), {"allowed_tools": ["get_user", "get_users"]}),
        (({"name": "get_users"},), {"tool_fallbacks": {"get_users": ["get_user"]}}),
        (({"name": "get_users"},), {"others": {"sub": {"tools": [{"name": "get_user"}]}}}),
        (({"name": "get_users"},), {"others": {"*": {"allowed_tools": ["get_user"]}}}),
    ],
)
def test_a_tool_that_anybody_lists_is_no_misspelling(tools: Any, fields: dict[str, Any]) -> None:
    """Two tools of nearly the same name are told apart by listing them."""
    assert said(graded([{"id": "r", "at_most": {"get_user": 1}}], call("get_users"), tools=tools, **fields)) == []


def test_without_declared_tools_the_called_ones_are_compared() -> None:
    """Spans often lack definitions: what was called and worked is there; what failed may be a name the model made up."""
    rules = [{"id": "r", "at_most": {"isue_refund": 0}}]
    assert said(graded(rules, call(), tools=())) == [("unchecked", "warn", None)]
    assert said(graded(rules, call(**FAILED), tools=())) == []
    assert said(graded(rules, call("lookup_order"), tools=())) == []
    assert said(graded(rules, tools=())) == []


def test_a_tool_that_was_called_is_no_misspelling() -> None:
    """A call by that very name shows that the rule means it."""
    assert said(graded([{"id": "r", "at_most": {"issue_refunds": 0}}], call("issue_refunds"))) == [("broken", "fail", 0)]


def test_globs_and_questions_are_not_compared() -> None:
    """A glob may fit nothing today, and a question is the model's."""
    rules: list[dict[str, Any]] = [{"id": "g", "at_most": {"isue_*": 1}}, {"id": "a", "tool": "isue_refund", "ask": "Kind?"}]
    assert said(graded(rules, call()), passing=True) == [("kept", "pass", None), ("unchecked", "warn", None)]


def test_many_tools_and_rules_are_bounded() -> None:
    """A run that declares very many tools costs no more than comparing the first thousand."""
    rules = [{"id": f"r{n}", "at_most": {f"do_thing_{n}": 1}} for n in range(200)]
    tools = [{"name": f"do_things_{n}"} for n in range(5_000)]
    assert {f.verdict for f in graded(rules, call(), tools=tools).findings} == {"unchecked"}
