"""How a stranger's text is put before the grading model: as JSON, in a block of its own, behind a random boundary.

A block's tag is ours alone; all that a stranger wrote, names of tools and files too, is inside it as
JSON in which nothing can look like a tag, no character is invisible and none turns the reading
direction. The boundary is drawn anew for every question, so nobody can write its end beforehand. What
a question is known by (cache, recordings) is worked out without it. Source: property 36.
"""

from __future__ import annotations

import hashlib
import json
import re
import secrets
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

Boundary = Callable[[], str]

_UNSAFE = re.compile(
    "[<>&\x7f-\xa0\xad\u034f\u061c\u115f\u1160\u180e\u200b-\u200f\u2028-\u202f\u205f-\u206f\u3164\ufe00-\ufe0f\ufeff\ufff0-\uffff"
    "\ud800-\udfff\U000e0000-\U000e0fff]"
)
_NO_BOUNDARY = "0"


@dataclass(frozen=True, slots=True)
class Block:
    """One block: `kind` and `complete` are our words, `data` is the stranger's, `ident` names it in answers."""

    kind: str
    data: Mapping[str, Any]
    ident: str | None = None
    complete: bool = True


def random_boundary() -> str:
    """Return a boundary nobody can guess."""
    return secrets.token_hex(12)


def frame(blocks: Iterable[Block], boundary: str) -> str:
    """Return the blocks as text, each between tags that carry the boundary."""
    return "\n\n".join(_framed(block, boundary) for block in blocks)


def frame_fresh(blocks: Sequence[Block], draw: Boundary) -> str:
    """Return the blocks behind a boundary that occurs nowhere in them."""
    content = frame(blocks, _NO_BOUNDARY)
    boundary = draw()
    while boundary in content:
        boundary += "-" + secrets.token_hex(4)
    return frame(blocks, boundary)


def question_key(kind: str, version: str, system: str, blocks: Sequence[Block], schema: Mapping[str, Any]) -> str:
    """Return what a question is known by: a hash of all it says but for the boundary."""
    parts = [kind, version, system, frame(blocks, _NO_BOUNDARY), json.dumps(schema, sort_keys=True)]
    return hashlib.blake2b(json.dumps(parts).encode(), digest_size=16).hexdigest()


def as_json(value: Any) -> str:
    """Write a value as JSON in which every tag character, invisible or direction-turning one is escaped."""
    return _UNSAFE.sub(_escaped, json.dumps(value, ensure_ascii=False))


def _framed(block: Block, boundary: str) -> str:
    name = f"data-{boundary}"
    ident = f' id="{block.ident}"' if block.ident is not None else ""
    complete = "" if block.complete else ' complete="false"'
    return f'<{name} kind="{block.kind}"{ident}{complete}>\n{as_json(block.data)}\n</{name}>'


def _escaped(match: re.Match[str]) -> str:
    return json.dumps(match[0])[1:-1] if ord(match[0]) > 0xA0 else f"\\u{ord(match[0]):04x}"  # noqa: PLR2004
