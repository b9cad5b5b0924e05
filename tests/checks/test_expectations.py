"""The claims of a case, each with its own verdict."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from attest_otel.cases import Case
from attest_otel.checks.expectations import check
from attest_otel.findings import Finding
from tests.checks.case_runs import call, case, expected, verdicts, view

ARGS = {"order_id": "O1", "cents": 4200}
REFUND = expected("refund", ARGS)
DID_REFUND = call("refund", ARGS)
FAILED_REFUND = call("refund", ARGS, is_error=True)
CANCEL = call("cancel", {"order_id": "O1"})
EMAIL = call("email", {"to": "a@b.c"})
LOOKUP = call("lookup", {"order_id": "O1"})

RULES = [
    pytest.param([DID_REFUND], case(REFUND), [("met", 0)], id="the expected call"),
    pytest.param([LOOKUP, DID_REFUND, LOOKUP], case(REFUND, forbid_other_side_effects=True), [("met", 1)], id="reads are free"),
    pytest.param([], case(REFUND), [("wrong_count", None)], id="no call"),
    pytest.param([], case(REFUND, forbid_other_side_effects=True), [("wrong_count", None)], id="no call, forbidding"),
    pytest.param([LOOKUP], case(REFUND), [("wrong_count", None)], id="only reads"),
    pytest.param([DID_REFUND, DID_REFUND], case(REFUND), [("wrong_count", 1), ("met", 0)], id="twice"),
    pytest.param(
        [DID_REFUND, DID_REFUND],
        case(REFUND, forbid_other_side_effects=True),
        [("wrong_count", 1), ("met", 0)],
        id="twice, forbidding",
    ),
    pytest.param([DID_REFUND, DID_REFUND], case(REFUND, REFUND), [("met", 0), ("met", 1)], id="twice expected, twice made"),
    pytest.param([DID_REFUND, CANCEL], case(REFUND), [("met", 0)], id="another side effect, allowed"),
    pytest.param(
        [DID_REFUND, CANCEL],
        case(REFUND, forbid_other_side_effects=True),
        [("wrong_count", 1), ("met", 0), ("unexpected_side_effect", 1)],
        id="another side effect, forbidden",
    ),
    pytest.param(
        [DID_REFUND, call("refund", {**ARGS, "cents": 1})],
        case(REFUND, forbid_other_side_effects=True),
        [("wrong_count", 1), ("met", 0), ("unexpected_side_effect", 1)],
        id="another refund is another side effect",
    ),
    pytest.param(
        [call("rocket", {})],
        case(forbid_other_side_effects=True),
        [("wrong_count", 0), ("unexpected_side_effect", 0)],
        id="undeclared tools count as side-effecting",
    ),
    pytest.param([LOOKUP], case(forbid_other_side_effects=True), [("met", None)], id="nothing happened"),
    pytest.param([CANCEL], case(REFUND, forbid_other_side_effects=True), [("wrong_tool", 0)], id="the wrong tool"),
    pytest.param([CANCEL], case(REFUND), [("wrong_count", None), ("wrong_tool", 0)], id="the wrong tool on the same order"),
    pytest.param(
        [DID_REFUND, DID_REFUND, CANCEL],
        case(REFUND, expected("email"), forbid_other_side_effects=True),
        [("wrong_count", 1), ("met", 0), ("wrong_tool", 2)],
        id="a repeat stands in last",
    ),
    pytest.param([EMAIL], case(REFUND), [("wrong_count", None)], id="an unrelated side effect is no wrong tool"),
    pytest.param([FAILED_REFUND, DID_REFUND], case(REFUND, count="succeeded"), [("met", 1)], id="failed calls left out"),
    pytest.param([FAILED_REFUND], case(REFUND, count="succeeded"), [("wrong_count", None)], id="only a failed call"),
    pytest.param([FAILED_REFUND], case(REFUND), [("met", 0)], id="failed calls count otherwise"),
    pytest.param(
        [call("refund", ARGS, output=None)],
        case(REFUND, count="succeeded"),
        [("met", 0), ("unchecked", 0)],
        id="an outcome nobody recorded",
    ),
    pytest.param([LOOKUP], case(expected("lookup", {"order_id": "O1"})), [("met", 0)], id="an expected read"),
    pytest.param([], case(expected("lookup", {"order_id": "O1"})), [("wrong_count", None)], id="an expected read is missing"),
    pytest.param(
        [],
        case(expected("lookup", {"order_id": "O1"}), forbid_other_side_effects=True),
        [("wrong_count", None)],
        id="an expected read is missing, forbidding",
    ),
    pytest.param([LOOKUP, LOOKUP], case(expected("lookup", {"order_id": "O1"})), [("met", 0)], id="further reads are free"),
    pytest.param(
        [call("lookup", {"order_id": "O2"})],
        case(expected("lookup", {"order_id": "O1"})),
        [("wrong_argument", 0)],
        id="a read of something else",
    ),
    pytest.param(
        [call("lookup", {"order_id": "O2"}), LOOKUP],
        case(expected("lookup", {"order_id": "O1"})),
        [("met", 1)],
        id="the read that fits answers",
    ),
]


@pytest.mark.parametrize(("calls", "made", "found"), RULES)
def test_what_follows_from_the_calls(calls: list[dict[str, Any]], made: Case, found: list[tuple[str, int | None]]) -> None:
    """Count, tool and side effects: what each run leads to."""
    assert verdicts(check(view(calls, made))) == found


VALUES = [
    pytest.param('{"order_id":"O1","cents":4200}', REFUND, [], id="equal"),
    pytest.param('{"cents":4200,"order_id":"\\u004f1"}', REFUND, [], id="blind to spelling"),
    pytest.param('{"order_id":"O1","cents":4200,"note":"hi"}', REFUND, [], id="an optional parameter is let through"),
    pytest.param('{"order_id":"O1","cents":4200,"extra":1}', REFUND, [], id="an undeclared one too"),
    pytest.param('{"order_id":"O1","cents":42}', REFUND, [("value", "cents")], id="another value"),
    pytest.param('{"order_id":"O1","cents":4200.0}', REFUND, [("type", "cents")], id="float for int"),
    pytest.param('{"order_id":"O1","cents":4.2e3}', REFUND, [("type", "cents")], id="exponent for int"),
    pytest.param('{"order_id":"O1","cents":"4200"}', REFUND, [("value", "cents"), ("type", "cents")], id="text for int"),
    pytest.param('{"order_id":"O1","cents":true}', expected("refund", {"cents": 1}), [("type", "cents")], id="true for 1"),
    pytest.param('{"order_id":"O1","cents":4200}', expected("refund", ARGS, cents="number"), [], id="a number may be an int"),
    pytest.param('{"order_id":"O1","cents":4200.0}', expected("refund", ARGS, cents="number"), [], id="a number may be a float"),
    pytest.param(
        '{"order_id":"O1","cents":4200}', expected("refund", ARGS, cents="float"), [("type", "cents")], id="int for float"
    ),
    pytest.param('{"order_id":"O1","cents":null}', REFUND, [("value", "cents"), ("type", "cents")], id="null"),
    pytest.param(
        '{"cents":4200}', expected("refund", {"cents": 4200}), [("required", "order_id")], id="a required parameter is missing"
    ),
    pytest.param('{"order_id":"O1"}', REFUND, [("value", "cents"), ("required", "cents")], id="a named one is missing"),
    pytest.param(
        '{"order_id":"O1","cents":1}', expected("refund", {}, note="str"), [("type", "note")], id="a type-only one is missing"
    ),
    pytest.param('{"order_id":"O1","cents":1,"note":"x"}', expected("refund", {}, note="str"), [], id="a type-only one"),
    pytest.param(
        '{"order_id":"O1","cents":1,"note":7}',
        expected("refund", {}, note="str"),
        [("type", "note")],
        id="a type-only one of another type",
    ),
    pytest.param('{"order_id":"O1","cents":1,"cents":4200}', REFUND, [], id="of duplicate keys the last one counts"),
    pytest.param('{"order_id":"O1","cents":42', REFUND, [("value", None)], id="no JSON"),
    pytest.param('["O1",4200]', REFUND, [("value", None)], id="no object"),
    pytest.param(
        "", REFUND, [("value", "order_id"), ("value", "cents"), ("required", "order_id"), ("required", "cents")], id="blank"
    ),
    pytest.param(
        '{"order_id":"O1","cents":1,"note":[1,{"a":2.0}]}',
        expected("refund", {"note": [1, {"a": 2}]}),
        [("type", "note")],
        id="a type deep inside",
    ),
    pytest.param(
        '{"order_id":"O1","cents":99999999999999999999}',
        expected("refund", {"cents": 10**20}),
        [("value", "cents")],
        id="exact at any size",
    ),
]


@pytest.mark.parametrize(("raw", "wanted", "failing"), VALUES)
def test_what_follows_from_the_arguments(raw: str, wanted: dict[str, Any], failing: list[tuple[str, str | None]]) -> None:
    """Value, type and required parameters: which claims a call's arguments fail."""
    result = check(view([call("refund", raw)], case(wanted)))
    assert result is not None
    assert [(f.metadata["claim"], f.metadata["argument"]) for f in result.findings if f.severity == "fail"] == failing
    assert (result.findings[0].verdict == "met") is (not failing)


ORDERED = [
    pytest.param([LOOKUP, DID_REFUND], ["met", "met"], id="in order"),
    pytest.param([LOOKUP, EMAIL, LOOKUP, DID_REFUND], ["met", "met"], id="with others between"),
    pytest.param([DID_REFUND, LOOKUP], ["met", "met", "wrong_order"], id="turned round"),
    pytest.param([LOOKUP, DID_REFUND, LOOKUP], ["met", "met"], id="the first read counts"),
    pytest.param([call("lookup", {"order_id": "O2"}), DID_REFUND], ["wrong_argument", "met"], id="in order, with another value"),
]


@pytest.mark.parametrize(("calls", "found"), ORDERED)
def test_a_sequence(calls: list[dict[str, Any]], found: list[str]) -> None:
    """`ordered: true` asks for the sequence, with anything between."""
    made = case(expected("lookup", {"order_id": "O1"}), REFUND, ordered=True)
    assert [verdict for verdict, _ in verdicts(check(view(calls, made)))] == found


def test_a_multiset_is_blind_to_order() -> None:
    """Without `ordered` the order says nothing."""
    made = case(expected("lookup", {"order_id": "O1"}), REFUND)
    assert verdicts(check(view([DID_REFUND, LOOKUP], made))) == [("met", 1), ("met", 0)]


def test_a_later_read_completes_a_sequence() -> None:
    """A read that was made before and after answers the place in the sequence it fits."""
    made = case(REFUND, expected("lookup", {"order_id": "O1"}), ordered=True)
    assert verdicts(check(view([LOOKUP, DID_REFUND, LOOKUP], made))) == [("met", 1), ("met", 2)]


def test_two_of_one_tool_turned_round_are_out_of_order() -> None:
    """Where only the order is wrong, the order is what fails, not the values."""
    first, second = expected("cancel", {"order_id": "O1"}), expected("cancel", {"order_id": "O2"})
    calls = [call("cancel", {"order_id": "O2"}), call("cancel", {"order_id": "O1"})]
    assert [verdict for verdict, _ in verdicts(check(view(calls, case(first, second, ordered=True))))] == [
        "met",
        "met",
        "wrong_order",
    ]


def test_the_fewest_claims_fail() -> None:
    """The vague expectation leaves the call that only the precise one fits."""
    vague, precise = expected("refund", {"order_id": "O1"}), expected("refund", {"order_id": "O1", "cents": 1})
    calls = [call("refund", {"order_id": "O1", "cents": 1}), call("refund", {"order_id": "O1", "cents": 2})]
    assert verdicts(check(view(calls, case(vague, precise)))) == [("met", 1), ("met", 0)]


@pytest.mark.parametrize(
    ("fidelity", "wanted", "found"),
    [
        ("coerced", expected("refund", ARGS, cents="int"), ["unchecked"]),
        ("coerced", REFUND, ["met"]),
        ("reserialized", expected("refund", ARGS, cents="int"), ["met"]),
        ("verbatim", expected("refund", ARGS, cents="int"), ["met"]),
    ],
)
def test_what_the_source_cannot_show_is_unchecked(fidelity: str, wanted: dict[str, Any], found: list[str]) -> None:
    """A type that a coercion may have changed is unchecked where the case names it, and noted elsewhere."""
    made = {"name": "refund", "arguments": ARGS, "output": "ok", "recorded": {"arguments": fidelity}}
    result = check(view([made], case(wanted)))
    assert [verdict for verdict, _ in verdicts(result)] == found
    assert result is not None
    if found == ["met"] and fidelity != "verbatim":
        assert result.findings[0].metadata["recorded_arguments"] == fidelity


def test_absent_arguments_are_unchecked_and_score_nothing() -> None:
    """A call whose arguments nobody recorded is neither met nor wrong, and there is no score."""
    result = check(view([{"name": "refund", "output": "ok"}], case(REFUND)))
    assert verdicts(result) == [("unchecked", 0)]
    assert result is not None
    assert (result.score, result.passed) == (None, True)


@pytest.mark.parametrize(
    ("calls", "made", "words"),
    [
        pytest.param([DID_REFUND, DID_REFUND], case(REFUND), ["Expected 1", "found 2", "loop", "prompt"], id="count"),
        pytest.param(
            [CANCEL],
            case(REFUND, forbid_other_side_effects=True),
            ["Expected refund", "cancel instead", "descriptions"],
            id="tool",
        ),
        pytest.param(
            [call("refund", {**ARGS, "cents": 42})], case(REFUND), ["4200", "emitted 42.", "context", "prompt"], id="value"
        ),
        pytest.param(
            [call("refund", '{"order_id":"O1","cents":4200.0}')],
            case(REFUND),
            ["as int", "4200.0 (float)", "schema", "description"],
            id="type",
        ),
    ],
)
def test_a_reason_says_what_was_expected_emitted_and_where_to_look(
    calls: list[dict[str, Any]], made: Case, words: list[str]
) -> None:
    """Each claim's reason names both sides and its own cause."""
    (finding,) = _failing(calls, made)
    assert all(word in finding.reason for word in words), finding.reason


def test_a_case_behind_its_tool_is_said() -> None:
    """Where the tool has no such parameter, the reason says that the case is out of date, and what the tool takes."""
    (finding,) = _failing([DID_REFUND], case(expected("refund", {"order_id": "O1", "amount": 4200})))
    assert "takes order_id, cents, note: the case is out of date" in finding.reason
    (finding,) = _failing([DID_REFUND], case(expected("refund", {"order_id": "O1", "note": "x"})))
    assert "out of date" not in finding.reason


def test_a_finding_carries_argument_expected_and_emitted() -> None:
    """Both sides stand in the metadata as JSON text, with the raw arguments as evidence."""
    raw = '{"order_id":"O1","cents":"42"}'
    finding = _failing([call("refund", raw)], case(REFUND))[0]
    assert {k: finding.metadata[k] for k in ("claim", "argument", "expected", "emitted")} == {
        "claim": "value", "argument": "cents", "expected": "4200", "emitted": '"42"',
    }  # fmt: skip
    assert (finding.evidence, finding.subject, finding.step) == (raw, "refund", 0)


def test_ids_are_unique_and_stable() -> None:
    """No two findings of a run share an id, and the same run gives the same ones."""
    calls = [call("refund", "[]"), call("cancel", {}), EMAIL, EMAIL, call("rocket"), LOOKUP]
    made = case(REFUND, REFUND, expected("lookup", {"order_id": "O9"}), forbid_other_side_effects=True)
    first, second = check(view(calls, made)), check(view(calls, made))
    assert first == second
    assert first is not None
    assert len({finding.id for finding in first.findings}) == len(first.findings)


def test_without_a_case_there_is_nothing_to_say() -> None:
    """A run that names no case is not graded; neither is one whose case is about selection only."""
    assert check(view([DID_REFUND], None)) is None
    assert check(view([DID_REFUND], Case(case_id="c", should_call=["refund"]))) is None


def test_a_case_that_is_not_loaded_is_unchecked() -> None:
    """A run that names an unknown case is unchecked where cases are loaded, with the nearest name."""
    known = view([DID_REFUND], case(REFUND))
    lost = type(known)(known.run.model_copy(update={"case_id": "cc"}), known.config, None)
    result = check(lost)
    assert verdicts(result) == [("unchecked", None)]
    assert result is not None
    assert "'c'" in result.findings[0].reason
    assert check(view([DID_REFUND], None, case_id="x")) is None


def test_a_read_only_tool_may_stand_in_for_nothing() -> None:
    """A read never takes the place of an expected action."""
    assert verdicts(check(view([LOOKUP], case(REFUND, forbid_other_side_effects=True)))) == [("wrong_count", None)]


@pytest.mark.parametrize("size", [5_000])
def test_many_equal_side_effects_are_all_found(size: int) -> None:
    """Thousands of equal calls are graded in linear work, and each is counted."""
    result = check(view([EMAIL] * size, case(forbid_other_side_effects=True)))
    assert result is not None
    assert sum(finding.verdict == "unexpected_side_effect" for finding in result.findings) == size


CALLS = st.lists(
    st.sampled_from(
        [
            DID_REFUND,
            FAILED_REFUND,
            CANCEL,
            EMAIL,
            LOOKUP,
            call("refund", {**ARGS, "cents": 1}),
            call("rocket"),
            call("refund", "{"),
        ]
    ),
    max_size=6,
)
CASES = st.builds(
    lambda calls, **more: case(*calls, forbid_other_side_effects=True, **more),
    st.lists(
        st.sampled_from(
            [
                REFUND,
                expected("refund", {"order_id": "O1"}),
                expected("email", {"to": "a@b.c"}),
                expected("cancel", {"order_id": "O1"}),
            ]
        ),
        max_size=3,
    ),
    count=st.sampled_from(["all", "succeeded"]),
    ordered=st.just(value=False),
)


@given(CALLS, CALLS, CASES)
def test_adding_calls_never_removes_a_side_effect_finding(
    calls: list[dict[str, Any]], more: list[dict[str, Any]], made: Case
) -> None:
    """What was an unexpected side effect stays one, whatever is called afterwards."""
    before, after = _unexpected(calls, made), _unexpected(calls + more, made)
    assert before <= after


@given(CALLS, CASES)
def test_no_left_over_side_effect_goes_unsaid(calls: list[dict[str, Any]], made: Case) -> None:
    """With side effects forbidden, a run passes only when as many were made as expected."""
    result = check(view(calls, made))
    assert result is not None
    counted = [one for one in calls if one["name"] != "lookup" and not (made.count == "succeeded" and one.get("is_error"))]
    if result.passed:
        assert len(counted) == len(made.expect_tool_calls or ())


def _failing(calls: list[dict[str, Any]], made: Case) -> list[Finding]:
    result = check(view(calls, made))
    assert result is not None
    return [finding for finding in result.findings if finding.severity == "fail"]


def _unexpected(calls: list[dict[str, Any]], made: Case) -> set[int | None]:
    return {finding.step for finding in _failing(calls, made) if finding.verdict == "unexpected_side_effect"}
