"""Secrets that a cut went through: what stands before a mark of a cut, or at the end of a text that breaks off.

Half a secret has no end to know it by, so beside a cut a beginning is enough, and after one any token
that may be the rest of something.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

import re2

from attest_otel.redaction.patterns import Spot

WINDOW_BYTES = 4_096
MIN_HALF_BYTES = 5

_ELLIPSIS = "…".encode()
_MARK = re.compile(
    rb" ?\xe2\x80\xa6 \(\d+ characters left out\) \xe2\x80\xa6 ?|\xe2\x80\xa6\[\d+ characters, sha256 [0-9a-f]+\]\xe2\x80\xa6"
    rb"|\n\xe2\x80\xa6 \(cut here\) \xe2\x80\xa6\n|\xe2\x80\xa6|\.\.\.(?=\W|$)"
)
_BEGUN = (
    ("private_key", r"-----BEGIN(?s:.*)"),
    ("jwt", r"eyJ[\w-]{6,}(?:\.[\w-]*)*"),
    ("aws_key", r"\b(?:AKIA|ASIA|ABIA|ACCA)[A-Z0-9]+"),
    ("url_credentials", r"//[^\s/\"'<>@:\\]*:[^\s/\"'<>\\]*[^\d\s/\"'<>\\][^\s/\"'<>\\]*"),
    ("github_token", r"(?:gh[pousr]_|github_pat_)\w+"),
    ("slack_token", r"\bxox[a-z]-[\w-]+|\bxapp-[\w-]+"),
    (
        "api_key",
        r"\b(?:[srp]k[-_]|gl[a-z]{2,6}-|whsec_|npm_|pypi-|SG\.|hf_|gsk_|AIza|ya29\.|GOCSPX-|hv[sbr]\.|xai-|pplx-)[\w.-]{4,}",
    ),
    ("twilio_key", r"\b(?:SK|AC)[0-9a-f]{6,}"),
    ("authorization", r"(?i:\b(?:bearer|basic)[ +]+)[A-Za-z0-9._~+/=-]*\d[A-Za-z0-9._~+/=-]*"),
    ("email", r"[\p{L}\p{N}._%+'-]+@[\p{L}\p{N}.-]*"),
    ("iban", r"\b[A-Z]{2}\d{2}[ -]?(?:[A-Z0-9]{4}[ -]?){1,}[A-Z0-9]{0,4}"),
    ("card", r"\b[2-6](?:[ -]?\d){6,}[ -]?"),
)
_begun = re2.compile(f"(?:{'|'.join(f'({shape})' for _, shape in _BEGUN)})\\z".encode())
_RUN_BEFORE = re.compile(rb"[A-Za-z0-9+/_=-]{20,}\Z")
_RUN_AFTER = re.compile(rb"[A-Za-z0-9+/_=.~-]{8,}")
_DIGITS_AFTER = re.compile(rb"[ -]?\d(?:[ -]?\d){4,}(?![A-Za-z])")
_END_OF_ARMOUR = re.compile(rb"-----END [A-Z0-9 ]+-----")
_BEGIN_OF_ARMOUR = b"-----BEGIN "


def find_halves(data: bytes, *, cut: bool) -> Iterator[Spot]:
    """Yield the halves of secrets beside every cut; `cut` says that the text's end is one."""
    before = 0
    if _ELLIPSIS in data or b"..." in data:
        for match in _MARK.finditer(data):
            start, end = match.span()
            if start - before >= MIN_HALF_BYTES:
                yield from _before(data, max(before, start - WINDOW_BYTES), start)
            if end - start > len(_ELLIPSIS):
                yield from _after(data, end)
            before = end
    if cut or breaks_off(data):
        yield from _before(data, max(before, len(data) - WINDOW_BYTES), len(data))


def breaks_off(data: bytes) -> bool:
    """Return whether a text began as JSON and doesn't end as such."""
    first, last = data[:64].lstrip()[:1], data[-64:].rstrip()[-1:]
    return (first == b"{" and last != b"}") or (first == b"[" and last not in {b"]", b"}"} and data[1:2] in {b"{", b'"'})


def _before(data: bytes, start: int, end: int) -> Iterator[Spot]:
    window = data[start:end].rstrip(b'"')
    match = _begun.search(window)
    if match is not None:
        kind = next(kind for number, (kind, _) in enumerate(_BEGUN, 1) if match.start(number) >= 0)
        yield Spot(start + match.start(), start + match.end(), kind)
    run = _RUN_BEFORE.search(window)
    if run is not None and _is_mixed(run[0]):
        yield Spot(start + run.start(), start + run.end(), "token")


def _after(data: bytes, start: int) -> Iterator[Spot]:
    digits = _DIGITS_AFTER.match(data, start)
    run = _RUN_AFTER.match(data, start)
    if digits is not None:
        yield Spot(start, digits.end(), "card")
    elif run is not None and _is_mixed(run[0]):
        yield Spot(start, run.end(), "token")
    window = data[start : start + WINDOW_BYTES]
    armour = _END_OF_ARMOUR.search(window)
    if armour is not None and _BEGIN_OF_ARMOUR not in window[: armour.start()]:
        yield Spot(start, start + armour.end(), "private_key")


def _is_mixed(run: bytes) -> bool:
    """Return whether a run has both letters and digits, or both cases: not a word, not a number."""
    letters = run.translate(None, b"0123456789+/_=.~-")
    return bool(letters) and (any(48 <= byte <= 57 for byte in run) or not (letters[1:].islower() or letters.isupper()))  # noqa: PLR2004
