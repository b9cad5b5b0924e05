"""Names that stand for nothing: what is said, and which names are slips of others."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from attest_otel.suggestions import MAX_COMPARED_CHARS, MAX_LISTED_NAMES, did_you_mean, listing, slip_of, unknown


@pytest.mark.parametrize(
    ("name", "other"),
    [
        ("isue_refund", "issue_refund"),
        ("issue_refnd", "issue_refund"),
        ("issue_refunds", "issue_refund"),
        ("issue_reufnd", "issue_refund"),
        ("issue_rafund", "issue_refund"),
        ("isue_refnd", "issue_refund"),
        ("issueRefund", "issue_refund"),
        ("IssueRefund", "issue_refund"),
        ("issue-refund", "issue_refund"),
        ("issuerefund", "issue_refund"),
        ("look_up_order", "lookup_order"),
        ("issue_refund", "mcp__shop__issue_refund"),
        ("issue_refund", "shop.issue_refund"),
        ("issue_refund", "functions:issue_refund"),
        ("HTTPRequets", "http_request"),
        ("sendEmial", "send_email"),
    ],
)
def test_what_is_a_slip(name: str, other: str) -> None:
    """Another spelling of the same words, each at most one letter off, or the name without where it comes from."""
    assert slip_of(name, ["lookup", other, "cancel_order"]) == other


@pytest.mark.parametrize(
    ("name", "other"),
    [
        ("get_order", "set_order"),
        ("list_files", "lint_files"),
        ("lock_door", "unlock_door"),
        ("activate_card", "deactivate_card"),
        ("enable_user", "disable_user"),
        ("search_v1", "search_v2"),
        ("step_10", "step_11"),
        ("issue_refund", "issue_credit"),
        ("issue_refund", "issue_refund_now"),
        ("lookup", "lookup_order"),
        ("refund", "issue_refund"),
        ("import_data", "export_data"),
        ("read_file", "load_file"),
        ("cat", "cut"),
        ("_", "-"),
        ("", "x"),
        ("x" * 1_000, "x" * 1_001),
    ],
)
def test_what_is_no_slip(name: str, other: str) -> None:
    """Other words, opposites, versions and short names are other tools, which a run may lack."""
    assert slip_of(name, [other]) is None
    assert slip_of(other, [name]) is None


def test_a_known_name_is_no_slip() -> None:
    """A name that is there is right, whatever else is like it."""
    assert slip_of("get_user", ["get_users", "get_user"]) is None


@given(st.text(max_size=30), st.lists(st.text(max_size=30), max_size=5))
def test_any_names_can_be_compared(name: str, known: list[str]) -> None:
    """Whatever the names hold, the answer is one of them or none, and never the name itself."""
    found = slip_of(name, known)
    assert found is None or (found in known and found != name)
    assert did_you_mean(name, known) == "" or "did you mean" in did_you_mean(name, known)


@given(st.sampled_from(["issue_refund", "lookup_order", "update_reservation"]), st.data())
def test_one_letter_dropped_is_a_slip(name: str, data: st.DataObject) -> None:
    """Leaving out any letter that doesn't begin a word is a slip."""
    starts = {0, name.index("_"), name.index("_") + 1}
    at = data.draw(st.sampled_from([n for n in range(len(name)) if n not in starts]))
    assert slip_of(name[:at] + name[at + 1 :], [name]) == name


def test_what_is_said_of_an_unknown_name() -> None:
    """What was written, what may be meant, and what there is."""
    assert unknown("check", "tool_usage", ["tool_use", "role"]) == (
        "unknown check 'tool_usage'; did you mean 'tool_use'? The checks are tool_use, role"
    )
    assert unknown("case", "zzz", [], plural="cases") == "unknown case 'zzz'; the cases are none"
    assert did_you_mean("PLACEHODER", ["placeholder"]) == "; did you mean 'placeholder'?"


def test_what_is_said_is_bounded() -> None:
    """Overlong names are cut, long lists counted."""
    said = unknown("tool", "n" * 10_000, [f"tool_{n}" for n in range(5_000)])
    assert len(said) < 1_000
    assert said.endswith(f"and {5_000 - MAX_LISTED_NAMES} more")
    assert listing([]) == "none"


def test_comparing_is_bounded() -> None:
    """Of a hundred thousand overlong or alike names the first are compared, and the answer comes at once."""
    names = [
        *("issue_refund" + "x" * (MAX_COMPARED_CHARS + n % 7) for n in range(50_000)),
        *(f"issue_refun{n}" for n in range(50_000)),
    ]
    assert slip_of("issue_refund", names) is None
    assert slip_of("isue_refund", [*names, "issue_refund"]) is None
    assert did_you_mean("issue_refund", names) == ""
