"""What a conversation remembers of the calls of its earlier runs."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

Effect = Literal["succeeded", "unknown", "failed"]


@dataclass(frozen=True, slots=True)
class SideEffect:
    """What one call of a run did, as a conversation remembers it: small, and without its content.

    `key` stands for the tool's arguments, `idempotency_key` for the value that makes a retry safe.
    """

    tool: str
    key: str
    idempotency_key: str | None
    outcome: Effect
    run_id: str | None
    step: int
