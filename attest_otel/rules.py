"""Rules: what a team forbids or asks for, as written in attest.yaml; the policy check keeps them.

Every rule has one predicate: `require` (CEL over the run and the call), `order` (tools, first to
last), `at_most` (calls a tool), or `ask` (a yes/no question for the grading model).
"""

from __future__ import annotations

from typing import Literal, Self

from pydantic import BaseModel, ConfigDict, Field, model_validator


class Rule(BaseModel):
    """One rule. `tool` is a name or glob; without it a `require` rule is about the run."""

    model_config = ConfigDict(extra="forbid", frozen=True, strict=True)

    id: str = Field(min_length=1)
    severity: Literal["fail", "warn"] = "fail"
    tool: str | None = None
    require: str | None = None
    order: list[str] | None = Field(default=None, min_length=2)
    at_most: dict[str, int] | None = None
    ask: str | None = None

    @model_validator(mode="after")
    def _one_predicate(self) -> Self:
        given = [name for name in ("require", "order", "at_most", "ask") if getattr(self, name) is not None]
        if len(given) != 1:
            raise ValueError(f"rule {self.id!r}: expected exactly one of require, order, at_most, ask; got {', '.join(given) or 'none'}")
        for tool, most in (self.at_most or {}).items():
            if most < 0:
                raise ValueError(f"rule {self.id!r}: at_most.{tool} must be 0 or more, got {most}")
        return self
