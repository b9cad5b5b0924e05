"""On which line of a JSON text a field stands, so that an error can name it."""

from __future__ import annotations

import json
import re
from collections.abc import Sequence

_SPACE = re.compile(r"[ \t\n\r]*")
_DECODER = json.JSONDecoder()


def line_of(text: str, path: Sequence[int | str]) -> int:
    """Return the line (from 1) of the value at this path; of the innermost part that is there, where it isn't."""
    position = _skip(text, 0)
    try:
        for step in path:
            found = _member(text, position, step)
            if found is None:
                break
            position = found
    except (ValueError, IndexError, RecursionError):
        pass
    return text.count("\n", 0, position) + 1


def _skip(text: str, position: int) -> int:
    match = _SPACE.match(text, position)
    return match.end() if match is not None else position


def _member(text: str, position: int, step: int | str) -> int | None:
    """Return where a member of the object or list at `position` starts; None where there is no such member."""
    opened = text[position]
    if (opened == "{") != isinstance(step, str) or opened not in "{[":
        return None
    position = _skip(text, position + 1)
    index = 0
    while text[position] not in "}]":
        name: int | str = index
        if opened == "{":
            name, position = _DECODER.raw_decode(text, position)
            position = _skip(text, _skip(text, position) + 1)
        if name == step:
            return position
        _, position = _DECODER.raw_decode(text, position)
        position = _skip(text, position)
        if text[position] == ",":
            position = _skip(text, position + 1)
        index += 1
    return None
