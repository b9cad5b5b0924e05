"""Keep a report small without hiding a number: the first findings of a kind, the last of which counts the rest."""

from __future__ import annotations

from collections.abc import Callable

from attest_otel.findings import Finding, changed


class Capped:
    """Findings of one kind, of which `limit` are kept; those beyond it are counted and never made."""

    __slots__ = ("_kept", "_limit", "count")

    def __init__(self, limit: int) -> None:
        self._limit = limit
        self._kept: list[Finding] = []
        self.count = 0

    def add(self, make: Callable[[], Finding]) -> None:
        """Count one more; `make` is called only if the finding is kept."""
        self.count += 1
        if self.count <= self._limit:
            self._kept.append(make())

    def findings(self) -> list[Finding]:
        """Return what was kept; where more were counted, the last one says for how many it stands."""
        if self.count <= self._limit:
            return self._kept
        stands_for = self.count - self._limit + 1
        last = self._kept[-1]
        reason = f"{last.reason} This finding stands for {stands_for} of its kind."
        return [*self._kept[:-1], changed(last, reason=reason, metadata={**last.metadata, "count": stands_for})]
