"""Looks for instructions in what tools returned: which outputs carry a payload, where, and how it was hidden.

Every tool output (error outputs too) and every text artifact a tool returned is one text to scan; what
the user uploaded is the user's own word. A text without a trigger word and without anything to decode
is clean after one linear pass. Otherwise a normalised copy is read, and beside it what stands hidden
in comments, in invisible styles, in tag characters and in base64. Bounded by size, in place of a
clock: what lies beyond a limit was not scanned, and that is said.
"""

from __future__ import annotations

import base64
import binascii
from collections.abc import Iterator
from dataclasses import dataclass

from attest_otel.checks.injection.groups import Pattern
from attest_otel.checks.injection.normalise import ESCAPE_KINDS, Normalised, normalise
from attest_otel.checks.injection.patterns import (
    BASE64,
    COMMENT,
    HIDDEN_PATTERNS,
    PATTERNS,
    PatternSet,
    is_mentioned,
    may_carry,
)
from attest_otel.checks.injection.payload import Payload, instruction_at, paragraph_at
from attest_otel.checks.view import Call, RunView
from attest_otel.trajectory import Artifact

MAX_TEXT_CHARS = 1_048_576
MAX_DISGUISED_TEXT_CHARS = 262_144
MAX_RUN_CHARS = 33_554_432
MAX_RUN_READ_CHARS = 2_097_152
MAX_BASE64_CHARS = 16_384
MIN_HIDDEN_LETTERS = 4
MIN_READABLE = 0.95

_PLAIN = PatternSet(PATTERNS)
_HIDDEN = PatternSet(HIDDEN_PATTERNS)
_OPENING = frozenset("\"'`\u201c\u2018\u201e\u00ab")
_CLOSING = frozenset("\"'`\u201d\u2019\u00bb,.")
_TEXT_TYPES = ("text/", "application/json", "application/xml", "application/xhtml", "image/svg")


@dataclass(slots=True)
class Scanned:
    """One text that was looked at: whose, and what was found. `unscanned` says what could not be, and why."""

    subject: str
    step: int | None
    call: Call | None
    text: str | None
    payload: Payload | None = None
    unscanned: str | None = None


@dataclass(slots=True)
class Scan:
    """All texts of a run, in order, and the names of the artifacts that hold no text to read."""

    texts: list[Scanned]
    unread: list[str]


def scan_run(view: RunView) -> Scan:
    """Return what every tool output and text artifact of the run carries."""
    unread: list[str] = []
    scan = Scan(list(_texts(view, unread)), unread)
    if not _surely_clean(scan.texts):
        budget = _Budget()
        for item in scan.texts:
            if item.text:
                _scan(item, budget)
    return scan


def scan_text(text: str) -> Payload | None:
    """Return the first payload of a text on its own, within the limits of one text."""
    item = Scanned("text", None, None, text)
    _scan(item, _Budget())
    return item.payload


@dataclass(slots=True)
class _Budget:
    searched: int = MAX_RUN_CHARS
    read: int = MAX_RUN_READ_CHARS


def _texts(view: RunView, unread: list[str]) -> Iterator[Scanned]:
    for call in view.calls:
        record = call.call
        output = record.output
        missing = None
        if output is None:
            missing = "no result was recorded"
        elif record.recorded is not None and record.recorded.output == "truncated":
            missing = "the recorded output was cut"
        yield Scanned(call.name, call.step, call, output, unscanned=missing)
        for artifact in record.artifacts:
            yield from _artifact(artifact, call, unread)
    for artifact in view.run.artifacts:
        yield from _artifact(artifact, None, unread)


def _artifact(artifact: Artifact, call: Call | None, unread: list[str]) -> Iterator[Scanned]:
    if artifact.source != "tool":
        return
    name = artifact.name or artifact.media_type or "artifact"
    text = artifact.text if artifact.text is not None else _decoded(artifact)
    if text is None:
        unread.append(name)
    else:
        yield Scanned(name, call.step if call else None, call, text)


def _decoded(artifact: Artifact) -> str | None:
    data = artifact.data_base64
    if data is None or len(data) > MAX_TEXT_CHARS or not (artifact.media_type or "").startswith(_TEXT_TYPES):
        return None
    try:
        return base64.b64decode(data).decode("utf-8")
    except (binascii.Error, UnicodeDecodeError):
        return None


def _surely_clean(texts: list[Scanned]) -> bool:
    """One pass over everything together: an ordinary run ends here."""
    outputs = [item.text for item in texts if item.text]
    if sum(map(len, outputs)) > MAX_TEXT_CHARS:
        return False
    joined = "\n".join(outputs)
    return joined.isascii() and not may_carry(joined)


def _scan(item: Scanned, budget: _Budget) -> None:
    text = item.text or ""
    plain = text.isascii()
    if plain and len(text) <= budget.searched:
        budget.searched -= len(text)
        if not may_carry(text):
            return
    limit = min(MAX_TEXT_CHARS if plain and "\\u" not in text else MAX_DISGUISED_TEXT_CHARS, budget.read)
    windows = [(0, len(text))] if len(text) <= limit else [(0, limit * 3 // 4), (len(text) - limit // 4, len(text))]
    for start, end in windows:
        budget.read -= end - start
        found = _read(text[start:end], plain)
        if found is not None and item.payload is None:
            item.payload = found.moved(start, len(text))
    if len(windows) > 1:
        item.unscanned = f"{len(text) - limit} of {len(text)} characters are beyond the limit"


def _read(text: str, plain: bool) -> Payload | None:
    copy = Normalised.plain(text) if plain and not _escapes(text) else normalise(text)
    visible = None
    if not copy.text.isascii() or may_carry(copy.text):
        visible = _visible(text, copy)
    hidden = next(
        (h for h in (_in_tags(copy), _in_comments(text, copy), _in_base64(text if plain else _encodable(text))) if h is not None),
        None,
    )
    return hidden or visible


def _encodable(text: str) -> str:
    """Return the text with every lone surrogate replaced by one character that can be encoded."""
    return text.encode("utf-8", "replace").decode("utf-8")


def _escapes(text: str) -> bool:
    return "\\" in text or "&#" in text or "%" in text


def _visible(text: str, copy: Normalised) -> Payload | None:
    hits = _PLAIN.first(copy.text)
    if not hits:
        return None
    pattern, start, end = hits[0]
    first, last = min(hit[1] for hit in hits), max(hit[2] for hit in hits)
    near = first if start - first <= 400 else start  # noqa: PLR2004  # one payload often matches several patterns
    origin = copy.span(start, end)
    low, high = instruction_at(copy.text, near, max(end, last if last - near <= 400 else end))  # noqa: PLR2004
    kinds = copy.techniques(low, high)
    technique = next((kind for kind in ESCAPE_KINDS if kind in kinds), "plain")
    return Payload(
        pattern=pattern.name,
        strong=not _quoted(copy.text, start, end)
        and not is_mentioned(copy.text, start)
        and (any(hit[0].strong for hit in hits) or technique in ("zero_width", "homoglyphs")),
        names=tuple(sorted({hit[0].name for hit in hits})),
        technique=technique,
        start=origin[0],
        end=origin[1],
        extent=copy.span(*paragraph_at(copy.text, low, high)),
        instruction=copy.text[low:high],
        original=text[slice(*copy.span(low, high))],
        body=copy.text[near:high],
    )


def _quoted(text: str, start: int, end: int) -> bool:
    """Whether the wording stands in quotation marks, as in an article about it."""
    return text[start - 1 : start] in _OPENING and text[end : end + 1] in _CLOSING and start > 0 and end < len(text)


def _in_tags(copy: Normalised) -> Payload | None:
    for hidden, start, end in copy.hidden:
        if sum(c.isalpha() for c in hidden) >= MIN_HIDDEN_LETTERS:
            hits = _HIDDEN.first(hidden.lower())
            name = hits[0][0].name if hits else "hidden_text"
            return _hidden(name, "tag_characters", hidden, start, end)
    return None


def _in_comments(text: str, copy: Normalised) -> Payload | None:
    if "<" not in copy.text and "]:" not in copy.text:
        return None
    for match in COMMENT.finditer(copy.text):
        group = match.lastindex or 0
        inner = match.group(group)
        hits = _HIDDEN.first(inner)
        if hits:
            start, end = copy.span(*match.span(group))
            kind = "hidden_style" if group == 3 else "html_comment"  # noqa: PLR2004
            return _hidden(hits[0][0].name, kind, text[start:end], start, end)
    return None


def _in_base64(text: str) -> Payload | None:
    for match in BASE64.finditer(text):
        decoded = _readable(match.group())
        if decoded is None:
            continue
        inner = normalise(decoded)
        if not may_carry(inner.text) and "secret" not in inner.text:
            continue
        hits: list[tuple[Pattern, int, int]] = _HIDDEN.first(inner.text)
        if hits:
            return _hidden(hits[0][0].name, "base64", decoded, match.start(), match.end())
    return None


def _readable(run: str) -> str | None:
    """Return what a base64 run says, or None when it holds no readable words."""
    data = run.replace("\\r", "").replace("\\n", "").replace("\n", "")[:MAX_BASE64_CHARS].rstrip("=")
    data = data[: len(data) - (len(data) % 4 == 1)].replace("-", "+").replace("_", "/")
    try:
        raw = base64.b64decode(data + "=" * (-len(data) % 4))
    except binascii.Error:
        return None
    text = raw.decode("utf-8", "ignore")
    readable = sum(c.isprintable() or c.isspace() for c in text)
    return (
        text if " " in text and len(text.encode()) >= MIN_READABLE * len(raw) and readable >= MIN_READABLE * len(text) else None
    )


def _hidden(pattern: str, technique: str, inner: str, start: int, end: int) -> Payload:
    words = normalise(inner[:2000]).text[:800]
    return Payload(
        pattern=pattern,
        strong=True,
        names=(pattern,),
        technique=technique,
        start=start,
        end=end,
        extent=(start, end),
        instruction=words,
        original=inner[:800],
        body=words,
    )
