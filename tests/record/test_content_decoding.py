"""Content encodings are undone piece by piece, within memory."""

from __future__ import annotations

import gzip
import importlib
import zlib
from collections.abc import Callable

import pytest

from attest_otel.record.content_decoding import MAX_ENCODINGS, MAX_PIECE_BYTES, decoder_for

BODY = '{"e": "é😀"}'.encode() * 50


def bare_deflate(body: bytes) -> bytes:
    """Compress without the zlib wrapper."""
    state = zlib.compressobj(wbits=-zlib.MAX_WBITS)
    return state.compress(body) + state.flush()


def brotli(body: bytes) -> bytes:
    """Compress with brotli, where it is installed."""
    compressed: bytes = pytest.importorskip("brotli").compress(body)
    return compressed


def zstd(body: bytes) -> bytes:
    """Compress with Zstandard, where it is installed."""
    try:
        library = importlib.import_module("compression.zstd")
    except ImportError:
        library = pytest.importorskip("backports.zstd")
    compressed: bytes = library.compress(body)
    return compressed


ENCODERS: list[tuple[str, Callable[[bytes], bytes]]] = [
    ("", bytes),
    ("identity", bytes),
    ("gzip", gzip.compress),
    (" GZIP ", gzip.compress),
    ("x-gzip", gzip.compress),
    ("deflate", zlib.compress),
    ("deflate", bare_deflate),
    ("br", brotli),
    ("zstd", zstd),
    ("zstd", lambda body: zstd(body[:100]) + zstd(body[100:])),
    ("deflate, gzip", lambda body: gzip.compress(zlib.compress(body))),
]


@pytest.mark.parametrize(("header", "encode"), ENCODERS)
@pytest.mark.parametrize("size", [1, 7, 10_000])
def test_a_body_comes_back(header: str, encode: Callable[[bytes], bytes], size: int) -> None:
    """Every encoding is undone whatever the sizes of its chunks."""
    body, decode = encode(BODY), decoder_for(header)
    assert decode is not None
    chunks = (body[at : at + size] for at in range(0, len(body), size))
    assert b"".join(piece for chunk in chunks for piece in decode(chunk)) == BODY


@pytest.mark.parametrize("header", ["snappy", "gzip, snappy", ", ".join(["gzip"] * (MAX_ENCODINGS + 1))])
def test_an_unknown_encoding_has_no_decoder(header: str) -> None:
    """What cannot be undone is not guessed at."""
    assert decoder_for(header) is None


@pytest.mark.parametrize("encode", [gzip.compress, zlib.compress, brotli, zstd])
def test_a_bomb_comes_in_bounded_pieces(encode: Callable[[bytes], bytes]) -> None:
    """A few bytes that inflate to many are handed out in pieces that can be stopped."""
    names = {gzip.compress: "gzip", zlib.compress: "deflate", brotli: "br", zstd: "zstd"}
    decode = decoder_for(names[encode])
    assert decode is not None
    sizes = [len(piece) for piece in decode(encode(bytes(20 * MAX_PIECE_BYTES)))]
    assert sum(sizes) == 20 * MAX_PIECE_BYTES
    assert max(sizes) <= 4 * MAX_PIECE_BYTES
