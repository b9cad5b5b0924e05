"""The arguments check: the raw text, what the source can show, recovered calls, the given cases and real runs."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
import yaml

from attest_otel import VerdictPolicy
from attest_otel.checks.arguments import check
from attest_otel.checks.view import RunView
from attest_otel.trajectory import Trajectory
from tests.checks.argument_runs import call, findings, tool, view, words
from tests.shared import taubench_runs

CASES = yaml.safe_load((Path(__file__).parents[1] / "data" / "runs.yaml").read_text(encoding="utf-8"))
ERROR: dict[str, Any] = {"output": "Error: invalid arguments", "is_error": True}


@pytest.mark.parametrize("case", CASES, ids=[case["id"] for case in CASES])
def test_given_case(case: dict[str, Any]) -> None:
    """Every expected arguments finding is there with its severity and disposition, and no excluded one is."""
    result = VerdictPolicy().apply([check(RunView(Trajectory.model_validate(case["run"])))])[0]
    found = [(f.verdict, f.step, f.severity, f.disposition) for f in result.findings]
    for expected in case["expect"]["findings"]:
        if expected["check"] == "arguments":
            assert (expected["verdict"], expected["step"], expected["severity"], expected["disposition"]) in found
    for absent in case["expect"]["absent"]:
        if absent["check"] == "arguments":
            assert not [f for f in found if f[0] in absent["verdicts"] and f[1] == absent.get("step", f[1])]
    if case["expect"]["verdict"] == "pass":
        assert {f[3] for f in found} <= {"pass"}


def test_good_real_runs_are_not_blocked() -> None:
    """Of the real runs with full reward none is blocked, and one goes to review: it passes keys nobody declared."""
    bad = [(run.id, f.verdict) for run in taubench_runs() for f in check(RunView(run)).findings if f.severity != "pass"]
    assert set(bad) == {("airline-005-1", "undeclared_key")}


@pytest.mark.parametrize("raw", ["", "  \n", "null", " null "])
def test_blank_raw_text_is_an_empty_object(raw: str) -> None:
    """Blank or null text is {}, and the schema decides whether that is enough."""
    assert words(findings(call(raw, name="t"), tools=[tool()])) == [("valid", "pass", None)]
    needy = tool(required=("q",), properties={"q": {"type": "string"}})
    assert words(findings(call(raw, name="t"), tools=[needy])) == [("schema_invalid", "fail", "$.q")]


@pytest.mark.parametrize(
    ("raw", "verdict", "path"),
    [
        ('{"cents":', "unparseable", "$"), ('{"cents":1}{"cents":2}', "unparseable", "$"), ('{"cents":' + "9" * 5000 + "}", "unparseable", "$"),
        ('{"a":' * 200, "unparseable", "$"), ("[1]", "not_object", "$"), ('"x"', "not_object", "$"), ("7", "not_object", "$"),
        ('{"cents":1,"cents":2}', "duplicate_keys", "$"), ('{"fee":NaN}', "non_finite", "$.fee"), ('{"fee":1e999}', "non_finite", "$.fee"),
    ],
)  # fmt: skip
def test_the_raw_text_is_read_strictly(raw: str, verdict: str, path: str) -> None:
    """Each fault of the text is a failure of its own name, at its place, and the model's."""
    found = [f for f in findings(call(raw)) if f.verdict != "schema_invalid"]
    assert words(found) == [(verdict, "fail", path)]
    assert found[0].metadata["look_at"] == "model"


def test_metadata_has_one_key_order() -> None:
    """path, emitted, expected, received, look_at, kind, fidelity, cannot_show: always in this order."""
    step = call(None, {"cents": 5, "zz": 1}, arguments={"cents": "5", "zz": 1})
    order = ["path", "emitted", "expected", "received", "look_at", "kind", "fidelity", "cannot_show"]
    found = findings(step)
    assert {f.verdict for f in found} == {"schema_invalid", "undeclared_key", "rewritten"}
    for finding in found:
        assert list(finding.metadata) == [key for key in order if key in finding.metadata]
        assert finding.metadata["fidelity"] == "reserialized"


def test_finding_ids_differ_within_a_call() -> None:
    """Two problems of one call have two ids, the same on every run."""
    first, second = (findings(call('{"x":1,"y":2}')) for _ in range(2))
    assert len({f.id for f in first}) == len(first) == 2
    assert [f.id for f in first] == [f.id for f in second]


def test_absent_arguments_are_unchecked() -> None:
    """Nothing recorded is not checked, whatever else stands there, and has no score."""
    for step in (call(None), call('{"cents":1}', recorded={"arguments": "absent"})):
        result = check(view(step))
        assert words(result.findings) == [("unchecked", "warn", "$")]
        assert result.findings[0].metadata["look_at"] == "recorder"
        assert result.score is None


@pytest.mark.parametrize(
    ("recorded", "verdict"),
    [
        ({"arguments": "reserialized", "reason": "arguments truncated at 1024 characters"}, "unchecked"),
        ({"reason": "cut by the attribute length limit"}, "unchecked"),
        ({"arguments": "absent", "reason": "attribute at its limit"}, "unchecked"),
        ({"output": "truncated", "reason": "the output was truncated"}, "unparseable"),
        ({"arguments": "verbatim", "reason": "the provider's stream ended inside the arguments"}, "unparseable"),
    ],
)
def test_text_the_recorder_cut_is_unchecked(recorded: dict[str, Any], verdict: str) -> None:
    """What the recorder broke isn't the model's fault; what the model broke is."""
    assert [f.verdict for f in findings(call('{"order_id":"OR', recorded=recorded))] == [verdict]


def test_a_recorder_that_dumps_twice_is_told_from_a_model_that_does() -> None:
    """Text within text is the model's only where the source is verbatim."""
    raw = '"{\\"cents\\": 1}"'
    assert words(findings(call(raw, {"cents": 1}))) == [("not_object", "fail", "$"), ("rewritten", "warn", "$")]
    assert "not_object" not in [f.verdict for f in findings(call(raw, recorded={"arguments": "reserialized"}))]


def test_redacted_arguments_are_not_blamed() -> None:
    """What a redactor put there is nobody's schema violation."""
    recorded = {"arguments": "coerced", "reason": "redacted"}
    assert [f.verdict for f in findings(call('{"cents":"[redacted]"}', recorded=recorded))] == ["unchecked"]


def test_coerced_sources_make_no_claim_of_type() -> None:
    """Where types were coerced before recording, a type-only difference says nothing."""
    recorded = {"arguments": "coerced"}
    assert words(findings(call('{"fee":1.0}', {"fee": 1}, recorded=recorded))) == [("valid", "pass", None)]


def test_unknown_tools_are_only_unknown_where_tools_are_declared() -> None:
    """Without declared tools nobody knows; a tool that is allowed is known."""
    assert words(findings(call("{}", name="nope"))) == [("unknown_tool", "fail", "$")]
    assert words(findings(call("{}", name="nope"), tools=[])) == [("valid", "pass", None)]
    assert words(findings(call("{}", name="nope"), allowed_tools=["nope"])) == [("valid", "pass", None)]
    assert findings(call("{}", name="nope"), tools=[])[0].metadata == {"schema": None}


@pytest.mark.parametrize("raw", ['{"cents":"x"}', '{"cents":', "[]", '{"cents":1,"cents":2}'])
def test_an_invalid_call_that_was_refused_and_recovered_is_a_warning(raw: str) -> None:
    """Errored, never ran to success, recovered later: a warning. Anything less: a failure."""
    good = call('{"cents":1}')
    refused = findings(call(raw, **ERROR), good)
    assert {f.severity for f in refused if f.step == 0} == {"warn"}
    for steps in ([call(raw, **ERROR)], [call(raw), good], [call(raw, **ERROR), call(raw), good]):
        assert "fail" in {f.severity for f in findings(*steps) if f.step == 0}


def test_explicit_nulls_of_optional_keys() -> None:
    """Ran or recovered: null_optional. Failed for good, or not alone: schema_invalid."""
    raw, good = '{"cents":1,"note":null}', call('{"cents":1}')
    assert words(findings(call(raw))) == [("null_optional", "warn", "$.note")]
    assert words(findings(call(raw, **ERROR), good))[0] == ("null_optional", "warn", "$.note")
    assert words(findings(call(raw, **ERROR))) == [("schema_invalid", "fail", "$.note")]
    assert words(findings(call('{"cents":"x","note":null}')))[0][0] == "schema_invalid"
    required = tool(required=("q",), properties={"q": {"type": "string"}})
    assert words(findings(call('{"q":null}', name="t"), tools=[required])) == [("schema_invalid", "fail", "$.q")]


def test_the_score_is_the_share_of_valid_calls() -> None:
    """Two problems of one call count once, unchecked calls not at all, and no call is no score."""
    assert check(view(call("{}"), call('{"x":1,"y":1}'), call(None))).score == 0.5
    assert check(view()).score is None
    assert check(view()).summary == "No tool was called."


@pytest.mark.parametrize(
    "raw",
    [
        "{" + ",".join(f'"k{i}":{i}' for i in range(300_000)) + "}", '{"tags":[' + "1," * 300_000 + "1]}", '{"tags":["' + '","'.join(["<a>"] * 200_000) + '"]}',
        '{"note":"' + "<invoke " * 500_000 + '"}', '{"note":"' + "</parameter" * 300_000 + '"}', '{"tags":' + "[" * 90 + "1.0," * 100_000 + "1" + "]" * 90 + "}",
        '{"\\ud800":"\\ud800","cents":"\\ud800"}', "x" * 10_000_000,
    ],
    ids=["keys", "wrong items", "markup-like items", "open tags", "closing tags", "floats", "surrogates", "10 MB"],
)  # fmt: skip
@pytest.mark.timeout(20)
def test_hostile_arguments_are_bounded(raw: str) -> None:
    """Huge or odd arguments cost bounded time and give few findings that can be written as JSON."""
    result = check(view(call(raw, {"note": "x"})))
    assert 1 <= len(result.findings) <= 60
    assert len(result.model_dump_json()) < 60_000


def test_foreign_arguments_of_any_shape_are_graded() -> None:
    """Values of a handler's own making, cycles included, are findings and not crashes."""
    cycle: dict[str, Any] = {}
    cycle["x"] = cycle
    odd: list[Any] = [cycle, {"cents": float("nan")}, {1: {2, 3}}, {"cents": b"x"}, ["x"], {"tags": ("a",)}]
    verdicts = [[f.verdict for f in findings(call(None, arguments=value))] for value in odd]
    assert verdicts[0] == ["unchecked"]
    assert "non_finite" in verdicts[1]
    assert verdicts[4] == ["not_object"]
    assert verdicts[5] == ["valid"]
    assert [f.verdict for f in findings(call("{}", cycle))] == ["unchecked"]


def test_a_cut_list_says_so_and_hides_no_worse_kind() -> None:
    """Ten problems of a kind are listed, the tenth says there are more, and a leak behind them is still found."""
    found = findings(call(json.dumps({"tags": ["TODO"] * 50 + ["</invoke>"]})))
    assert [f.verdict for f in found] == ["placeholder"] * 10 + ["markup_leak"]
    assert found[9].reason.endswith("There are more of this kind.")


@pytest.mark.timeout(20)
def test_many_bad_calls_cost_no_more_than_their_number() -> None:
    """Two thousand leaks of two thousand kinds, beside big outputs, are each graded without reading the outputs again."""
    steps = [call(json.dumps({"note": f'<invoke name="{i}">'}), output="x" * 20_000, is_error=True) for i in range(2000)]
    assert {f.verdict for f in findings(*steps)} == {"markup_leak"}


def test_the_same_run_gives_the_same_bytes() -> None:
    """Twice graded, the report is the same to the byte."""
    steps = [call('{"cents":"1","zz":2,"note":"TODO"}', {"cents": 1, "a": 1, "b": 2}), call("[", {})]
    assert check(view(*steps)).model_dump_json() == check(view(*steps)).model_dump_json()
