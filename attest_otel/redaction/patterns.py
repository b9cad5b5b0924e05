"""What a secret looks like by itself: vendors' tokens, keys in armour, credentials in addresses, e-mail (RE2).

Patterns run over UTF-8 bytes in linear time. Those that share a pass wait for their end over the same
characters and eat the rest of the run, so that no hostile text is read again and again. What needs a
second look (a checksum, a key's name) is in `numbers` and `keys`.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

import re2


class Spot(NamedTuple):
    """Where something is to be taken out of a text, in bytes, and what it is."""

    start: int
    end: int
    kind: str


_REST = r"[\w-]*"
_AT_BOUNDARY = (
    ("aws_key", ("AKIA", "ASIA", "ABIA", "ACCA"), r"[A-Z0-9]{16}"),
    ("gitlab_token", ("glpat-", "gldt-", "glrt-", "glptt-", "glcbt-", "glsoat-", "glft-", "glimt-", "glagent-", "gloas-"), r"[\w-]{8,}"),
    ("slack_token", ("xoxa-", "xoxb-", "xoxe-", "xoxo-", "xoxp-", "xoxr-", "xoxs-", "xoxc-", "xoxd-", "xapp-"), r"[\w-]{8,}"),
    ("stripe_key", ("sk_live_", "sk_test_", "pk_live_", "pk_test_", "rk_live_", "rk_test_", "whsec_"), r"\w{8,}"),
    ("api_key", ("sk-ant-", "sk-proj-", "sk-or-", "sk-svcacct-", "sk-admin-", "sk-live-", "sk-test-", "sk-lf-"), r"[\w-]{8,}"),
    ("api_key", ("gsk_", "hf_", "r8_", "xai-", "pplx-", "nvapi-", "tvly-", "csk-", "figd_", "lin_api_"), r"[A-Za-z0-9]{20}"),
    ("api_key", ("dckr_pat_", "glsa_", "glc_", "sntrys_", "sbp_", "dop_v1_", "doo_v1_", "dor_v1_", "rubygems_"), r"[A-Za-z0-9]{20}"),
    ("api_key", ("PMAK-", "NRAK-", "NRJS-", "sq0atp-", "sq0csp-", "sq0idp-", "EAAAl", "AGE-SECRET-KEY-1"), r"[\w-]{16,}"),
    ("api_key", ("dapi", "key-"), r"[0-9a-f]{32}"),
    ("api_key", ("shpat_", "shpca_", "shppa_", "shpss_"), r"[0-9a-fA-F]{24}"),
    ("npm_token", ("npm_",), r"[A-Za-z0-9]{24}"),
    ("pypi_token", ("pypi-",), r"[\w-]{24,}"),
    ("twilio_key", ("SK", "AC"), r"[0-9a-f]{32}"),
)  # fmt: skip
_ANYWHERE = (
    ("github_token", ("ghp_", "gho_", "ghu_", "ghs_", "ghr_", "github_pat_"), r"\w{16,}"),
    ("google_key", ("AIza",), r"[\w-]{30,}"),
    ("google_key", ("GOCSPX-",), r"[\w-]{16,}"),
)
_DOTTED = (
    ("jwt", ("eyJ",), r"[\w-]{6,}\.[\w-]{6,}(?:\.[\w-]*)*"),
    ("sendgrid_key", ("SG.",), r"[\w-]{12,}\.[\w-]{12,}"),
    ("google_key", ("ya29.",), r"[\w-]{16,}"),
    ("vault_token", ("hvs.", "hvb.", "hvr."), r"[\w-]{16,}"),
    ("api_key", ("dp.pt.", "dp.st.", "dp.ct.", "dp.sa."), r"[\w.-]{16,}"),
)
_URL = r"://[^\s/\"'<>@:\\]*:[^\s/\"'<>\\]+@|://[^\s/\"'<>@:\\]{16,}@"
_ALONE: tuple[tuple[str, str], ...] = (
    ("private_key", r"(?s:-----BEGIN [A-Z0-9 ]+-----.*?(?:-----END [A-Z0-9 ]+-----|\z))"),
    ("webhook_url", r"(?:hooks\.slack\.com/[a-z]+|discord(?:app)?\.com/api/webhooks|webhook\.office\.com)/[\w@./+-]{16,}"),
    ("telegram_token", r"\b\d{8,10}:AA[\w-]{30,}"),
    ("azure_key", r"[\w~.-]{3}\dQ~[\w~.-]{28,}|(?i:(?:account|shared ?access)key=)[A-Za-z0-9+/=]{16,}|[?&]sig=[A-Za-z0-9%/+=_-]{16,}"),
    ("api_key", r"\b\w{10,}\.atlasv1\.[\w-]{20,}"),
    ("email", r"[\p{L}\p{N}._%+'-]+@(?:[\p{L}\p{N}-]+\.)+\p{L}{2,}"),
)  # fmt: skip
_DOUBTFUL: tuple[tuple[str, str], ...] = (
    ("api_key", r"\bsk[-_][\w-]{16,}"),
    ("authorization", r"(?i:\b(?:bearer|basic|negotiate)(?:[ +]|%20){1,4})[A-Za-z0-9._~+/=-]{8,}"),
)

Rows = tuple[tuple[str, tuple[str, ...], str], ...]


def find_tokens(data: bytes) -> Iterator[Spot]:
    """Yield every token of a known shape."""
    for pattern, prefixes in _FAMILIES:
        for match in pattern.finditer(data):
            start, end = match.span()
            yield Spot(start, end, _kind(data[start : start + 20], prefixes))
    for kind, pattern in _SINGLE:
        yield from (Spot(match.start(), match.end(), kind) for match in pattern.finditer(data))
    yield from (Spot(match.start() + 3, match.end() - 1, "url_credentials") for match in _URL_CREDENTIALS.finditer(data))
    for kind, pattern in _LOOKED_AT:
        yield from (Spot(match.start(), match.end(), kind) for match in pattern.finditer(data) if _is_random(match.group()))


def shapes() -> list[str]:
    """Return all shapes, for the one pattern that tells whether a text may hold any."""
    rows = (*_AT_BOUNDARY, *_ANYWHERE, *_DOTTED)
    return [f"(?:{'|'.join(map(_quoted, p))}){s}" for _, p, s in rows] + [s for _, s in (*_ALONE, *_DOUBTFUL)] + [_URL]


def _quoted(prefix: str) -> str:
    return prefix.replace(".", r"\.")


def _family(rows: Rows, before: str, rest: str) -> tuple[re2._Regexp, tuple[tuple[bytes, str], ...]]:
    each = (f"(?:{'|'.join(map(_quoted, prefixes))}){shape}" for _, prefixes, shape in rows)
    pattern = re2.compile(f"{before}(?:{'|'.join(each)}){rest}".encode())
    return pattern, tuple((prefix.encode(), kind) for kind, prefixes, _ in rows for prefix in prefixes)


def _kind(head: bytes, prefixes: tuple[tuple[bytes, str], ...]) -> str:
    return next(kind for prefix, kind in prefixes if head.startswith(prefix))


def _is_random(token: bytes) -> bool:
    """Return whether a token has a digit, or capitals inside: words of a sentence have neither."""
    word = token.replace(b"+", b" ").split(b" ")[-1].lstrip(b"-_")
    return any(48 <= byte <= 57 for byte in word) or word.endswith(b"=") or not (word[1:].islower() or word.isupper())  # noqa: PLR2004


_FAMILIES = (_family(_AT_BOUNDARY, r"\b", _REST), _family(_ANYWHERE, "", _REST), _family(_DOTTED, r"\b", r"[\w.-]*"))
_SINGLE = tuple((kind, re2.compile(shape.encode())) for kind, shape in _ALONE)
_URL_CREDENTIALS = re2.compile(_URL.encode())
_LOOKED_AT = tuple((kind, re2.compile(shape.encode())) for kind, shape in _DOUBTFUL)
