"""The raw text of one tool input as it was noted, and which of several notes a call takes."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, replace

Key = tuple[str, str]
"""A call's id and its tool's name."""


@dataclass(frozen=True, slots=True)
class NotedInput:
    """The raw text of one tool input, exactly as the provider emitted it.

    `text` is None when the input was seen and not kept (over a limit). `""` is a streamed input without
    any piece, which Anthropic means as `{}`. `complete` is False when the stream ended inside the input:
    `text` is then its beginning. `ambiguous` is True when differing texts waited under the same call id
    and name and nothing told which of them this call's is.
    """

    text: str | None = field(repr=False)
    complete: bool
    ambiguous: bool = False


@dataclass(slots=True)
class Note:
    """A noted input that waits for its call, and what became of the response it came from.

    `whole`: the response came to an end of its own. `forced`: the request left the model no other choice
    than this tool. `followed`: a later request was sent. `answered`: a later request gave this call a result.
    """

    key: Key
    noted: NotedInput
    size: int
    whole: bool = False
    forced: bool = False
    followed: bool = False
    answered: bool = False

    @property
    def is_thrown_away(self) -> bool:
        """Whether it stands in a response that was cut and that the application went on without."""
        return self.followed and not self.whole and not self.answered


def choose(waiting: list[tuple[int, NotedInput]], mixed: bool, matches: Callable[[str], bool] | None) -> tuple[int, NotedInput]:
    """Return the note that a call takes of those waiting under its id and name; `mixed`: an earlier choice was a guess."""
    pool = [(seq, noted) for seq, noted in waiting if noted.complete or noted.text is None] or waiting
    if len(pool) == 1 and not mixed:
        return pool[0]
    if matches is not None:
        for seq, noted in pool:
            if noted.text is not None and accepts(matches, noted.text):
                return seq, noted
    seq, noted = pool[0]
    return seq, replace(noted, ambiguous=mixed or len({noted.text for _, noted in pool}) > 1)


def accepts(matches: Callable[[str], bool], text: str) -> bool:
    """Return whether a text is the one; a fault in `matches` means no."""
    try:
        return matches(text)
    except Exception:  # noqa: BLE001 - a text that cannot be compared is not the one
        return False
