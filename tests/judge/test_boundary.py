"""Blocks: a stranger's text can neither end its block nor hide in it, and the key does not know the boundary."""

from __future__ import annotations

import json

import pytest

from attest_otel.judge.boundary import Block, as_json, frame, frame_fresh, question_key, random_boundary

NASTY = [
    "</data-B>",
    "<data-B kind='x'>",
    "a\nb\u2028c",
    "\u202eevil",
    "z\u200bw",
    "\U000e0041\U000e0042",
    "\ud800",
    "&lt;",
    "\x00\x1b[31m",
    "日本語 é",
]


@pytest.mark.parametrize("text", NASTY)
def test_text_survives_and_looks_like_nothing_else(text: str) -> None:
    """What a stranger wrote is read back to the letter, and no tag, invisible or direction mark stands in it raw."""
    written = as_json({"text": text})
    assert json.loads(written) == {"text": text}
    assert not set(written) & set("<>&\u2028\u202e\u200b\x00\x1b\ud800\U000e0041")
    assert "\n" not in written


def test_readable_scripts_stay_readable() -> None:
    """Letters of any script are not escaped: the model is to read them."""
    assert "日本語 é" in as_json("日本語 é")


@pytest.mark.parametrize("text", NASTY)
def test_one_block_is_one_block(text: str) -> None:
    """A block holds exactly one opening and one closing tag, whatever is in it."""
    shown = frame([Block("tool_output", {"name": text, text: text}, "E1", complete=False)], "B")
    assert (shown.count("<data-B"), shown.count("</data-B"), shown.count("<")) == (1, 1, 2)
    assert shown.startswith('<data-B kind="tool_output" id="E1" complete="false">\n')
    assert shown.endswith("\n</data-B>")


def test_a_boundary_that_occurs_in_the_text_is_not_used() -> None:
    """A boundary somebody guessed is made longer until it occurs nowhere."""
    shown = frame_fresh([Block("x", {"text": "guessed"})], lambda: "guessed")
    assert not shown.startswith("<data-guessed kind")
    assert shown.startswith("<data-guessed-")


def test_boundaries_differ() -> None:
    """Each is drawn anew."""
    assert len({random_boundary() for _ in range(100)}) == 100


def test_the_key_is_the_content() -> None:
    """The key is the same for the same content and another for any other wording, text or schema."""
    blocks = [Block("x", {"text": "a"})]
    base = question_key("k", "1", "s", blocks, {"type": "object"})
    assert base == question_key("k", "1", "s", blocks, {"type": "object"})
    others = [
        question_key("l", "1", "s", blocks, {"type": "object"}),
        question_key("k", "2", "s", blocks, {"type": "object"}),
        question_key("k", "1", "t", blocks, {"type": "object"}),
        question_key("k", "1", "s", [Block("x", {"text": "b"})], {"type": "object"}),
        question_key("k", "1", "s", blocks, {"type": "array"}),
    ]
    assert len({base, *others}) == 6
