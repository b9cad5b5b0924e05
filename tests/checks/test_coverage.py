"""What a record lacks, and what is no gap."""

from __future__ import annotations

from typing import Any

import pytest

from attest_otel.checks.coverage import MAX_FINDINGS, check
from attest_otel.checks.view import RunView
from attest_otel.gaps import Gap, join_gaps, read_gap, read_gaps, write_gap
from attest_otel.trajectory import Recorded
from tests.checks.call_runs import LOOKUP, REFUND, call, said, view
from tests.shared import taubench_runs

QUIET = {"name": "set_lamp", "side_effecting": True, "returns_nothing": True}


def test_a_whole_record_is_complete() -> None:
    """Nothing missing: one passing finding, and every call counts as whole."""
    result = check(view(call(), call("lookup_order", output="")))
    assert said(result, passing=True) == [("complete", "pass", None)]
    assert result.score == 1.0


def test_a_run_without_calls_has_no_score() -> None:
    """Nothing to grade is not 1.0."""
    assert check(view()).score is None


@pytest.mark.parametrize(
    ("fields", "verdict"),
    [
        ({"output": None}, "result_missing"),
        ({"output": None, "recorded": {"output": "absent"}}, "result_missing"),
        ({"output": None, "is_error": False}, "result_missing"),
        ({"output": None, "recorded": {"output": "absent", "reason": "the result is streamed"}}, "result_missing"),
        ({"output": None, "recorded": {"output": "ambiguous"}}, "pairing_ambiguous"),
        ({"output": "x", "recorded": {"output": "truncated"}}, "truncated"),
        ({"raw": None}, "not_recorded"),
        ({"raw": None, "recorded": {"arguments": "absent"}}, "not_recorded"),
        ({"raw": None, "recorded": {"arguments": "absent", "reason": write_gap(Gap.TRUNCATED, "1024 characters")}}, "truncated"),
        ({"output": None, "recorded": {"reason": write_gap(Gap.REQUESTED_NOT_RUN)}}, "requested_not_run"),
        (
            {"output": None, "recorded": {"output": "absent", "reason": "requested_not_run: the provider stopped"}},
            "requested_not_run",
        ),
        ({"raw": None, "recorded": {"reason": write_gap(Gap.RUN_NOT_REQUESTED)}}, "run_not_requested"),
        ({"recorded": {"reason": "orphan_result: call_7"}}, "orphan_result"),
    ],
)
def test_each_gap_has_its_word(fields: dict[str, Any], verdict: str) -> None:
    """A gap of a call is one warning at its step, with one verdict."""
    assert said(check(view(call(), call(**fields)))) == [(verdict, "warn", 1)]


@pytest.mark.parametrize(
    "made",
    [
        call(output=None, is_error=True),
        call(output=None, error_type="TimeoutError"),
        call("set_lamp", output=None, is_error=False),
        call("ping", raw=None),
        call(recorded={"arguments": "reserialized", "reason": "the recorder encoded the text twice"}),
        call(raw=None, arguments={"id": 1}),
    ],
)
def test_what_cannot_be_missing_is_no_gap(made: dict[str, Any]) -> None:
    """A known failure needs no result, a silent tool gives none, an empty schema takes nothing, a remark is no gap."""
    ping = {"name": "ping", "side_effecting": False, "input_schema": {"type": "object", "properties": {}}}
    assert said(check(view(made, tools=[REFUND, QUIET, ping]))) == []


def test_two_gaps_of_one_call_are_two_findings() -> None:
    """Arguments and result can both be missing."""
    assert {f[0] for f in said(check(view(call(raw=None, output=None))))} == {"result_missing", "not_recorded"}


@pytest.mark.parametrize(
    ("reason", "verdict"),
    [
        ("still open: execute_tool x", "incomplete"),
        ("3 spans were left out", "incomplete"),
        (write_gap(Gap.ORPHAN_RESULT, "no call asked for it"), "orphan_result"),
        (write_gap(Gap.TRUNCATED, "2 values"), "truncated"),
    ],
)
def test_a_gap_of_the_run_goes_to_review(reason: str, verdict: str) -> None:
    """Whatever a run says is missing from it is a finding of the run."""
    assert said(check(view(call(), incomplete=[reason]))) == [(verdict, "warn", None)]


def test_each_reason_of_a_run_has_its_own_id() -> None:
    """Two reasons are two findings with two ids."""
    ids = [f.id for f in check(view(incomplete=["a", "b"])).findings]
    assert len(set(ids)) == 2


def test_many_gaps_are_counted_not_listed() -> None:
    """At most 100 of a kind are given, and the last one says for how many it stands."""
    findings = check(view(*[call(output=None)] * 1_000)).findings
    assert len(findings) == MAX_FINDINGS
    assert findings[-1].metadata["count"] + MAX_FINDINGS - 1 == 1_000


def test_the_words_survive_the_trip() -> None:
    """What is written as a gap is read as that gap, its separators taken out of the detail."""
    texts = [write_gap(gap, "a; b: c") for gap in Gap] + ["a plain remark"]
    assert [gap for gap, _ in read_gaps(join_gaps(texts))] == [*Gap, None]
    assert read_gap(write_gap(Gap.TRUNCATED, "a; b: c")) == (Gap.TRUNCATED, "a, b: c")
    assert Recorded(reason=join_gaps([])).reason is None


def test_the_airline_runs_are_complete() -> None:
    """No recorded run has a gap."""
    assert {f for run in taubench_runs() for f in said(check(RunView(run)), passing=True)} == {("complete", "pass", None)}


def test_a_lookup_without_a_result_is_a_gap() -> None:
    """Read-only tools return something too."""
    assert said(check(view(call("lookup_order", output=None), tools=[LOOKUP]))) == [("result_missing", "warn", 0)]
