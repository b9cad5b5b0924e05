"""Normalising: disguises are undone on a copy, and the way back is kept."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from attest_otel.checks.injection.normalise import normalise


@pytest.mark.parametrize(
    ("text", "plain"),
    [
        ("ABC def", "abc def"), ("\uff21\uff22", "ab"), ("p\u0430y", "pay"), ("a\u200bb", "ab"), ("\\u0041b", "ab"), ("a\\nb", "a\nb"),
        ("%41%62", "ab"), ("&#65;&#x62;", "ab"), ("caf\u00e9", "cafe"), ("\u043c\u0438\u0440", "\u043c\u0438\u0440"), ("\\ud83d\\ude00", "\U0001f600"),
        ("50% off & more", "50% off & more"), ("\ufb01x", "fix"),
    ],
)  # fmt: skip
def test_disguises_are_undone(text: str, plain: str) -> None:
    """Each disguise has one plain spelling; words of another script keep theirs."""
    assert normalise(text).text == plain


@given(st.text(alphabet=st.sampled_from("ab \u200b\uff49\u00e9\\u0041n%69&#105;\U000e0061\U0001f3f4\u0430\ufb01")))
def test_spans_stay_inside_the_original(text: str) -> None:
    """Every span of the copy maps into the original, in order."""
    copy = normalise(text)
    places = [copy.span(i, i + 1) for i in range(len(copy.text))]
    assert all(0 <= start < end <= len(text) for start, end in places)
    assert places == sorted(places)


@given(st.text())
def test_any_text_can_be_normalised(text: str) -> None:
    """No text, lone surrogates included, makes it fail."""
    normalise(text + "\ud800")
