"""Values are cut out of JSON text to the character."""

from __future__ import annotations

import json

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from attest_otel.record.json_cut import (
    MAX_ITEMS,
    TooManyItemsError,
    array_elements,
    document_members,
    string_at,
)

VALUES = [
    "4200.0",
    "1E2",
    "-0",
    "1e999",
    "NaN",
    "-Infinity",
    "9" * 6000,
    '{ "a":1 ,"a": 2}',
    '"\\u00e9\\ud83d\\ude00\\ud800 é"',
    "[ ]",
    "{}",
    '["}", "]", "\\"", "\\\\"]',
]


@pytest.mark.parametrize("value", VALUES, ids=range(len(VALUES)))
def test_a_member_is_cut_as_it_stands(value: str) -> None:
    """Spelling, spacing, escapes and duplicate keys survive."""
    text = f' {{"x" : {value}\n, "y":[{value}]}} '
    start, end = document_members(text)["x"]
    assert text[start:end] == value


@pytest.mark.parametrize("value", VALUES, ids=range(len(VALUES)))
def test_an_element_is_cut_as_it_stands(value: str) -> None:
    """The same holds for arrays."""
    text = f"[ {value} , {value}]"
    assert [text[start:end] for start, end in array_elements(text, 0)] == [value, value]


def test_of_duplicate_keys_the_last_counts() -> None:
    """As in every parser that an application uses."""
    text = '{"a": 1, "\\u0061": 2}'
    start, end = document_members(text)["a"]
    assert text[start:end] == "2"


@pytest.mark.parametrize(
    "text",
    [
        "",
        "[",
        "{",
        '{"a"}',
        '{"a":}',
        '{"a":1,}',
        '{"a":1 "b":2}',
        "{1:2}",
        "{a:1}",
        "{} x",
        "[1]",
        '{"a":1',
        '{"a" 1}',
    ],
)
def test_a_malformed_object_raises_value_error(text: str) -> None:
    """What no parser accepts is not cut."""
    with pytest.raises(ValueError, match=r".+"):
        document_members(text)


@pytest.mark.parametrize("text", ["", "{}", "[", "[1", "[1,]", "[,]", "[1 2]"])
def test_a_malformed_array_raises_value_error(text: str) -> None:
    """What no parser accepts is not cut."""
    with pytest.raises(ValueError, match=r".+"):
        array_elements(text, 0)


def test_more_items_than_any_message_has_are_refused() -> None:
    """The work and the memory of cutting are bounded."""
    many = MAX_ITEMS + 1
    with pytest.raises(TooManyItemsError, match="more than 4096"):
        array_elements(f"[{','.join('1' * many)}]", 0)
    with pytest.raises(TooManyItemsError, match="more than 4096"):
        document_members("{" + ",".join(f'"{number}":1' for number in range(many)) + "}")
    assert len(array_elements(f"[{','.join('1' * MAX_ITEMS)}]", 0)) == MAX_ITEMS


def test_string_at_gives_strings_only() -> None:
    """Numbers, objects and absent members are no strings."""
    text = '{"a": "\\u00e9", "b": 1}'
    members = document_members(text)
    assert [string_at(text, members.get(key)) for key in "abc"] == ["é", None, None]


json_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(), inner, max_size=3),
    max_leaves=10,
)


@settings(deadline=None)
@given(st.dictionaries(st.text(), json_values, max_size=5), st.booleans(), st.sampled_from([None, 1]))
def test_every_cut_is_the_members_own_text(value: dict[str, object], ascii_only: bool, indent: int | None) -> None:
    """For any JSON, what is cut at a key parses to that key's value."""
    text = json.dumps(value, ensure_ascii=ascii_only, indent=indent)
    cut = {key: json.loads(text[start:end]) for key, (start, end) in document_members(text).items()}
    assert repr(cut) == repr(value)
