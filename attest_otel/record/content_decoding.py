"""Undo an HTTP body's Content-Encoding piece by piece, without holding the body.

gzip and deflate come with Python; br and zstd are used where an importable library has them, the same
ones httpx looks for. A decoder yields at most `MAX_PIECE_BYTES` at a time, so that a small body that
inflates without end never does so in memory. Decoders raise what their library raises.
"""

from __future__ import annotations

import zlib
from collections.abc import Callable, Iterator
from importlib import import_module
from typing import Any

MAX_PIECE_BYTES = 512 * 1024
MAX_ENCODINGS = 5

Decode = Callable[[bytes], Iterator[bytes]]


def decoder_for(content_encoding: str) -> Decode | None:
    """Return a function from encoded chunks to decoded pieces, or None where an encoding is not known.

    Args:
        content_encoding: the header's value, encodings in the order they were applied.
    """
    names = [name for part in content_encoding.split(",") if (name := part.strip().lower())]
    names = [name for name in names if name != "identity"]
    if len(names) > MAX_ENCODINGS:
        return None
    decode: Decode = _identity
    for name in names:
        inner = _single(name)
        if inner is None:
            return None
        decode = _after(inner, decode)
    return decode


def _identity(chunk: bytes) -> Iterator[bytes]:
    yield chunk


def _after(first: Decode, then: Decode) -> Decode:
    def decode(chunk: bytes) -> Iterator[bytes]:
        for piece in first(chunk):
            yield from then(piece)

    return decode


def _single(name: str) -> Decode | None:
    if name in {"gzip", "x-gzip"}:
        return _inflate(zlib.decompressobj(zlib.MAX_WBITS | 16))
    if name == "deflate":
        return _deflate()
    if name == "br":
        return _brotli()
    return _zstd() if name == "zstd" else None


def _inflate(state: Any) -> Decode:
    def decode(chunk: bytes) -> Iterator[bytes]:
        piece = state.decompress(chunk, MAX_PIECE_BYTES)
        while piece:
            yield piece
            piece = state.decompress(state.unconsumed_tail, MAX_PIECE_BYTES)

    return decode


def _deflate() -> Decode:
    """Accept both meanings in use: RFC 9110's zlib wrapper, and the bare stream some servers send."""
    chosen: list[Decode] = []

    def decode(chunk: bytes) -> Iterator[bytes]:
        if not chosen and chunk:
            wrapped = chunk[0] & 0x0F == zlib.DEFLATED
            chosen.append(_inflate(zlib.decompressobj(zlib.MAX_WBITS if wrapped else -zlib.MAX_WBITS)))
        if chosen:
            yield from chosen[0](chunk)

    return decode


def _brotli() -> Decode | None:
    library = _first_importable("brotli", "brotlicffi")
    if library is None:
        return None
    state = library.Decompressor()
    process = getattr(state, "decompress", None) or state.process

    def decode(chunk: bytes) -> Iterator[bytes]:
        piece = process(chunk, output_buffer_limit=MAX_PIECE_BYTES)
        while piece:
            yield piece
            piece = process(b"", output_buffer_limit=MAX_PIECE_BYTES)

    return decode


def _zstd() -> Decode | None:
    library = _first_importable("compression.zstd", "backports.zstd")
    if library is None:
        return None
    state = library.ZstdDecompressor()

    def decode(chunk: bytes) -> Iterator[bytes]:
        nonlocal state
        while chunk or not state.needs_input:
            if state.eof:
                chunk, state = state.unused_data + chunk, library.ZstdDecompressor()
                if not chunk:
                    return
            piece = state.decompress(chunk, MAX_PIECE_BYTES)
            chunk = b""
            if piece:
                yield piece

    return decode


def _first_importable(*names: str) -> Any:
    for name in names:
        try:
            return import_module(name)
        except ImportError:
            continue
    return None
