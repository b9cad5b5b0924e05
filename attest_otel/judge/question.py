"""A question for the grading model, and its answer: one narrow question in, a closed answer out.

A question carries evidence as data and names the only answers it allows, as a JSON Schema. An answer
off the menu, missing, double or cut is no answer. Asking never raises: what could not be asked says why.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Protocol

from opentelemetry.trace import SpanContext


@dataclass(frozen=True, slots=True)
class Question:
    """One question.

    `kind` names it (`tool_use.answer`), `prompt_version` changes with its wording, `system` is ours
    alone, `user` holds the evidence in blocks, `schema` is the JSON Schema of the answer. `key` is what
    the cache and recordings know it by: the content without the random boundary.
    """

    kind: str
    prompt_version: str
    system: str
    user: str
    schema: Mapping[str, Any]
    key: str
    max_tokens: int = 1024


@dataclass(frozen=True, slots=True)
class Answer:
    """An answer that fits its question's schema, or (value None) the reason why there is none.

    `skipped` is a sentence for a person ("the budget of 50 calls a run is used up"); `limit` is its
    closed word: budget, rate, timeout, breaker, error, off_menu, sampling, replay_miss, no_model.
    """

    value: Mapping[str, Any] | None
    skipped: str | None = None
    limit: str | None = None
    metadata: Mapping[str, Any] = field(default_factory=dict)


class Judge(Protocol):
    """A grading model. Safe for many tasks at once."""

    def session(self, run_id: str | None, root: SpanContext | None = None, *, suspicious: bool = False) -> JudgeSession:
        """Return a session for one run; a suspicious run is never left out by sampling."""

    async def aclose(self) -> None:
        """Close connections."""


class JudgeSession(Protocol):
    """The questions of one run, under one budget."""

    async def ask(self, question: Question) -> Answer:
        """Ask; never raises but for cancellation."""
