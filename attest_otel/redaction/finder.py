"""Everything that is to be taken out of a text, wherever it hides: as it stands, escaped, split, or in base64."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterable, Iterator

import re2

from attest_otel.redaction.edges import breaks_off, find_halves
from attest_otel.redaction.keys import KeyNames
from attest_otel.redaction.layers import Layer, base64_runs, has_escapes
from attest_otel.redaction.numbers import CARD, IBAN, find_numbers
from attest_otel.redaction.patterns import Spot, find_tokens, shapes

MAX_DEPTH = 4
MAX_NAMES = 4_096


class Finder:
    """Finds secrets in UTF-8 text; thread-safe, its work linear in the text.

    Args:
        patterns: the user's own, in RE2 syntax; what they match is of kind `custom`.
        key_names: more names of keys whose values are secret.
    """

    def __init__(self, patterns: Iterable[str] = (), key_names: Iterable[str] = ()) -> None:
        self._keys = KeyNames(key_names)
        self._names: dict[str, bool] = {}
        own = list(patterns)
        self.is_anchored = any(anchor in pattern for pattern in own for anchor in ("^", "$", r"\A", r"\z"))
        """Whether a pattern may ask where a text begins or ends, so that texts can't be looked at together."""
        self._own = [re2.compile(pattern.encode()) for pattern in own]
        self._any = re2.compile("|".join(f"(?:{s})" for s in (*shapes(), self._keys.shape, CARD, IBAN, *own)).encode())

    def find(self, data: bytes, *, cut: bool = False, depth: int = 0) -> list[Spot]:
        """Return what is to be taken out, in no order; `cut` says that the text goes on after its end."""
        spots: list[Spot] = []
        if self._any.search(data) is not None:
            spots += find_tokens(data)
            spots += self._keys.find(data)
            spots += find_numbers(data)
            for pattern in self._own:
                spots += (
                    Spot(match.start(), match.end(), "custom") for match in pattern.finditer(data) if match.end() > match.start()
                )
        spots += find_halves(data, cut=cut)
        if depth < MAX_DEPTH:
            whole = [spot for spot in spots if data[spot.start : spot.start + 1] in {b"{", b"["}]
            spots += _outside(whole, self._decoded(data, cut or breaks_off(data), depth + 1))
        return spots

    def named_values(self, data: bytes) -> Iterator[bytes]:
        """Yield the values that are secret because of their key's name, as the text spells them."""
        layer = Layer(data) if b"\\" in data else None
        for text in (data,) if layer is None else (data, layer.data):
            yield from (text[start:end] for start, end, _ in self._keys.find(text))

    def is_key_name(self, name: str) -> bool:
        """Return whether a key of this name holds a secret."""
        found = self._names.get(name)
        if found is None:
            found = any(True for _ in self._keys.find(f"{name[:256]}=x".encode("utf-8", "replace")))
            if len(self._names) < MAX_NAMES:
                self._names[name] = found
        return found

    def _decoded(self, data: bytes, cut: bool, depth: int) -> Iterator[Spot]:
        if has_escapes(data):
            layer = Layer(data)
            if layer.changed:
                for start, end, kind in self.find(layer.data, cut=cut, depth=depth):
                    yield Spot(*layer.back(start, end), kind)
        for start, end, text in base64_runs(data):
            found = self.find(text, cut=cut and end == len(data), depth=depth)
            if found:
                yield Spot(start, end, found[0].kind)


def _outside(whole: list[Spot], found: Iterable[Spot]) -> Iterator[Spot]:
    """Yield what does not begin in an object or list that goes as a whole: decoded, its end can't be told."""
    if not whole:
        yield from found
        return
    starts = sorted((spot.start, spot.end) for spot in whole)
    for spot in found:
        number = bisect_right(starts, (spot.start, starts[-1][1])) - 1
        if number < 0 or spot.start >= starts[number][1]:
            yield spot
