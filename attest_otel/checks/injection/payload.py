"""One payload: where an instruction stands in a text, what it says, and how far it reaches.

`start` and `end` are offsets in the original text and cover the wording that gave it away; `extent`
covers the paragraph around it (in JSON: the string value), which is what counts as the attacker's
words. `instruction` is the normalised sentence with what follows it, `original` the same as spelled, `body` what
follows from the wording on.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

MAX_INSTRUCTION_CHARS = 800
MAX_EXTENT_CHARS = 2_000
MIN_BODY_CHARS = 12
_ENDS = (". ", "! ", "? ", "\n", "\u3002")


@dataclass(frozen=True, slots=True)
class Payload:
    """What was found in one text. `strong`: nobody but an attacker writes this to an agent."""

    pattern: str
    strong: bool
    names: tuple[str, ...]
    technique: str
    start: int
    end: int
    extent: tuple[int, int]
    instruction: str
    original: str
    body: str

    @property
    def hidden(self) -> bool:
        """Whether a person looking at the text would not have seen it."""
        return self.technique in ("tag_characters", "html_comment", "hidden_style", "base64", "zero_width")

    def moved(self, offset: int, length: int) -> Payload:
        """Return the payload with its offsets counted from the start of the whole text."""
        extent = (self.extent[0] + offset, min(self.extent[1] + offset, length))
        return replace(self, start=self.start + offset, end=self.end + offset, extent=extent)


def instruction_at(text: str, start: int, end: int) -> tuple[int, int]:
    """Return the sentence around a match and what follows it, up to the end of its paragraph."""
    low, high = _value_bounds(text, start, end)
    first = max(
        (
            text.rfind(mark, max(low, start - 300), start) + len(mark)
            for mark in _ENDS
            if text.rfind(mark, max(low, start - 300), start) >= 0
        ),
        default=max(low, start - 300),
    )
    last = _paragraph_end(text, end, high)
    if last - end < MIN_BODY_CHARS and last < high:
        last = _paragraph_end(text, last + 2, high)
    return first, min(last, first + MAX_INSTRUCTION_CHARS, len(text)) if last > end else end


def paragraph_at(text: str, start: int, end: int) -> tuple[int, int]:
    """Return the paragraph (in JSON: the string value) that holds an instruction, within a limit."""
    low, high = _value_bounds(text, start, end)
    blank = text.rfind("\n\n", low, start)
    first = max(blank + 2 if blank >= 0 else low, start - MAX_EXTENT_CHARS)
    return first, max(end, min(_paragraph_end(text, end, high), end + MAX_EXTENT_CHARS))


def _paragraph_end(text: str, position: int, high: int) -> int:
    blank = text.find("\n\n", position, high)
    return blank if blank >= 0 else high


def _value_bounds(text: str, start: int, end: int) -> tuple[int, int]:
    """Return the bounds of the JSON string around a match; those of the whole text where it is no JSON."""
    if text[:1] not in "{[" and text.lstrip()[:1] not in ("{", "["):
        return 0, len(text)
    low, high = start, end
    for _ in range(64):
        low = text.rfind('"', max(0, start - MAX_EXTENT_CHARS), low)
        if low <= 0 or text[low - 1] != "\\":
            break
    for _ in range(64):
        high = text.find('"', high, end + MAX_EXTENT_CHARS)
        if high < 0 or text[high - 1] != "\\":
            break
        high += 1
    return max(low + 1, 0, start - MAX_EXTENT_CHARS), high if high >= 0 else min(len(text), end + MAX_EXTENT_CHARS)
