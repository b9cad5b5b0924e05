"""What a record could not show, in closed words: who rebuilds a run writes them, the coverage check reads them.

A gap of one call stands in `ToolCall.recorded.reason`, a gap of the whole run in `Trajectory.incomplete`.
Both are text for people that starts with one of these words: `truncated: 1024 characters, the span's
limit`. Several gaps of one call are joined by `; `. Text that starts with none of the words is a plain
remark: on a run it says that the record is incomplete, on a call it explains and is no gap.
"""

from __future__ import annotations

from collections.abc import Iterable
from enum import StrEnum

_BETWEEN_WORD_AND_DETAIL = ": "
_BETWEEN_GAPS = "; "


class Gap(StrEnum):
    """The kinds of gaps, named as the coverage check names its verdicts."""

    RESULT_MISSING = "result_missing"
    """The call has no result on record."""
    PAIRING_AMBIGUOUS = "pairing_ambiguous"
    """Several results could be this call's, or several calls a result's."""
    ORPHAN_RESULT = "orphan_result"
    """A result, a tool span or a fragment that belongs to no call or run on record."""
    TRUNCATED = "truncated"
    """A value was cut by a limit: what is there is not all there was."""
    NOT_RECORDED = "not_recorded"
    """A value that must have existed was never written down."""
    REQUESTED_NOT_RUN = "requested_not_run"
    """The model asked for the call, and nothing shows that it ran."""
    RUN_NOT_REQUESTED = "run_not_requested"
    """The tool ran, and nothing shows that the model asked for it."""
    INCOMPLETE = "incomplete"
    """Anything else that is missing from a run: spans still open, left out, or dropped."""


def write_gap(gap: Gap, detail: str = "") -> str:
    """Return the text of one gap, ready for `incomplete` or `recorded.reason`; `detail` is for people."""
    detail = detail.replace(_BETWEEN_GAPS, ", ").strip()
    return f"{gap}{_BETWEEN_WORD_AND_DETAIL}{detail}" if detail else str(gap)


def join_gaps(texts: Iterable[str]) -> str | None:
    """Return several gaps or remarks of one call as one `recorded.reason`; None where there is none."""
    return _BETWEEN_GAPS.join(texts) or None


def read_gap(text: str) -> tuple[Gap | None, str]:
    """Return which gap a text names and its detail; (None, text) for a plain remark."""
    word, _, detail = text.partition(":")
    gap = _BY_WORD.get(word.strip().casefold().replace(" ", "_").replace("-", "_")) if len(word) <= _LONGEST else None
    return (None, text) if gap is None else (gap, detail.strip())


def read_gaps(reason: str | None) -> list[tuple[Gap | None, str]]:
    """Return every gap and remark of a `recorded.reason`, in order."""
    return [read_gap(part) for part in reason.split(_BETWEEN_GAPS)] if reason else []


_BY_WORD = {str(gap): gap for gap in Gap}
_LONGEST = max(map(len, _BY_WORD)) + 2
