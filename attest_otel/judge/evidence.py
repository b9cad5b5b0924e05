"""What the grading model is shown of a run: the calls that were made, and what came back, each in its own block.

Evidence is what tools returned (error results too) and the artifacts they returned: an artifact right
after its tool's output, the run's artifacts last. The list of calls with their outcomes says what was
done, and nothing about what is true. The agent's thoughts are never shown; what the user said and
uploaded is no evidence. Text is redacted, then freed of instructions, then cut to a fair share; what was
cut is marked `complete="false"`.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any

from attest_otel.artifacts import ArtifactText, read_artifacts
from attest_otel.checks.view import Call, RunView
from attest_otel.judge.boundary import Block, as_json
from attest_otel.judge.flagging import without_instructions
from attest_otel.redaction import Redactor

MAX_EVIDENCE_CHARS = 64_000
MAX_BLOCKS = 100
MAX_SCANNED_CHARS = 4 * MAX_EVIDENCE_CHARS
MAX_CALLS_SHOWN = 100
MAX_ARGUMENTS_CHARS = 600
MAX_ARGUMENTS_SCANNED_CHARS = 2_400
MAX_NAME_CHARS = 128

CALLS = "calls"
OUTPUT = "tool_output"
ARTIFACT = "artifact"
_CUT = "\n… (cut here) …\n"


@dataclass(frozen=True, slots=True)
class Piece:
    """One block of evidence: whose, what it says as the model sees it, and whether an instruction was taken out."""

    kind: str
    name: str
    step: int | None
    text: str
    outcome: str | None = None
    complete: bool = True
    flagged: bool = False

    def block(self, number: int) -> Block:
        """Return the piece as it is put before the model."""
        data: dict[str, Any] = {"name": self.name}
        if self.outcome is not None:
            data["outcome"] = self.outcome
        return Block(self.kind, {**data, "text": self.text}, f"E{number + 1}", self.complete)


@dataclass(frozen=True, slots=True)
class Evidence:
    """A run's evidence: its pieces in order, the artifacts left unread, and how many pieces there was no room for."""

    calls: Block
    calls_text: str
    pieces: tuple[Piece, ...]
    unread: tuple[str, ...] = ()
    left_out: int = 0

    def blocks(self) -> list[Block]:
        """Return every block, the calls first."""
        return [self.calls, *(piece.block(number) for number, piece in enumerate(self.pieces))]

    def find(self, quote: str) -> Piece | None:
        """Return the piece that holds a quote, one without instructions before one with; None where none does."""
        holders = [piece for piece in self.pieces if holds_quote(piece.text, quote)]
        return min(holders, key=lambda piece: piece.flagged, default=None)


def gather(view: RunView, *, extract: bool = False, allow_paths: bool = False) -> Evidence:
    """Return the evidence of a run."""
    texts, unread = read_artifacts(view.run, extract=extract, allow_paths=allow_paths)
    pieces = list(_pieces(view, texts))
    redacted = [_redacted(view, piece) for piece in pieces[:MAX_BLOCKS]]
    kept = _fitted([_cleaned(piece) for piece in _fitted(redacted, MAX_SCANNED_CHARS)], MAX_EVIDENCE_CHARS)
    block = calls_block(view)
    return Evidence(block, as_json(block.data), tuple(kept), tuple(unread), max(len(pieces) - MAX_BLOCKS, 0))


def calls_block(view: RunView) -> Block:
    """Return the calls that were made, in order, with their outcomes: facts of the record."""
    shown = [call_data(view, call) for call in view.calls[:MAX_CALLS_SHOWN]]
    data: dict[str, Any] = {"number_of_calls": len(view.calls), "calls": shown}
    if view.history:
        data["earlier_in_the_conversation"] = [
            {"tool": name_data(view, e.tool), "outcome": e.outcome} for e in view.history[-MAX_CALLS_SHOWN:]
        ]
    return Block(CALLS, data, None, complete=len(shown) == len(view.calls) and not view.run.incomplete)


def shown_text(view: RunView, text: str | None, limit: int) -> str:
    """Return any other text of the run as the model may see it: redacted, then cut."""
    return cut_middle(redactor_of(view).redact(text or ""), limit)[0]


def redactor_of(view: RunView) -> Redactor:
    """Return the run's redactor, made once."""
    found = view.shared.get("redactor")
    if not isinstance(found, Redactor):
        found = view.shared["redactor"] = Redactor(view.config.redaction)
    return found


def outcome_word(call: Call) -> str:
    """Return a call's outcome in a word."""
    return {True: "error", False: "succeeded", None: "not recorded"}[call.outcome.is_error]


def call_data(view: RunView, call: Call) -> dict[str, Any]:
    """Return one call as the model may see it: tool, arguments and outcome."""
    redactor = redactor_of(view)
    raw = call.call.arguments_raw
    written = raw if raw is not None else as_json(call.call.arguments)
    arguments = cut_middle(
        without_instructions(cut_middle(redactor.redact(written), MAX_ARGUMENTS_SCANNED_CHARS)[0])[0],
        MAX_ARGUMENTS_CHARS,
    )[0]
    return {
        "call": call.index,
        "tool": name_data(view, call.name),
        "arguments": arguments,
        "outcome": outcome_word(call),
    }


def name_data(view: RunView, name: str) -> str:
    """Return a tool's or file's name as the model may see it."""
    return redactor_of(view).redact(name)[:MAX_NAME_CHARS]


def cut_middle(text: str, limit: int) -> tuple[str, bool]:
    """Return the text, or its head and tail around a mark, and whether it is whole."""
    if len(text) <= limit:
        return text, True
    head = limit * 2 // 3
    return f"{text[:head]}{_CUT}{text[len(text) - (limit - head) :]}", False


def holds_quote(text: str, quote: str) -> bool:
    """Return whether a text holds a quote to the letter, blind to spacing, case and JSON's escapes; `…` may skip."""
    parts = [part for part in (_plain(part) for part in re.split(r"…|\.\.\.", quote)) if part]
    if not parts:
        return False
    plain = _plain(text)
    position = 0
    for part in parts:
        found = plain.find(part, position)
        if found < 0:
            return False
        position = found + len(part)
    return True


def _plain(text: str) -> str:
    return re.sub(r"[\s\\]+", " ", text.replace("\\n", " ").replace("\\t", " ")).replace(' "', '"').strip().casefold()


def _pieces(view: RunView, artifacts: Sequence[ArtifactText]) -> Iterator[Piece]:
    for call in view.calls:
        if call.call.output is not None and call.call.output_fidelity != "ambiguous":
            outcome = {True: "error", False: "succeeded", None: None}[call.outcome.is_error]
            whole = call.call.output_fidelity != "truncated"
            yield Piece(OUTPUT, call.name, call.step, call.call.output, outcome, whole)
        yield from (_artifact(one) for one in artifacts if one.step == call.step)
    yield from (_artifact(one) for one in artifacts if one.step is None)


def _artifact(one: ArtifactText) -> Piece:
    return Piece(ARTIFACT, one.name, one.step, one.text, None, one.complete)


def _redacted(view: RunView, piece: Piece) -> Piece:
    return replace(piece, name=name_data(view, piece.name), text=redactor_of(view).redact(piece.text))


def _cleaned(piece: Piece) -> Piece:
    text, flagged = without_instructions(piece.text)
    return replace(piece, text=text, complete=piece.complete and not flagged, flagged=flagged)


def _fitted(pieces: list[Piece], limit: int) -> list[Piece]:
    """Cut the longest pieces until all fit: what the short ones don't use, the long ones share."""
    left, share = limit, limit
    for rank, size in enumerate(sorted(len(piece.text) for piece in pieces)):
        share = left // (len(pieces) - rank)
        if size > share:
            break
        left -= size
    else:
        return pieces
    return [_shortened(piece, share) for piece in pieces]


def _shortened(piece: Piece, share: int) -> Piece:
    text, whole = cut_middle(piece.text, share)
    return replace(piece, text=text, complete=piece.complete and whole)
