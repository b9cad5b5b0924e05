"""Cases: what one known input must lead to, kept in data beside the input.

Source: the chapter on tool-call assertions (expectations live in data; one generic checker reads it).
"""

from __future__ import annotations

from typing import Any, Literal

from pydantic import BaseModel, ConfigDict, Field

ArgType = Literal["int", "float", "number", "bool", "str", "null", "list", "dict"]


class ExpectedCall(BaseModel):
    """One call that must have been made, with the arguments that matter and their types."""

    model_config = ConfigDict(extra="forbid", frozen=True, strict=True)

    name: str
    args: dict[str, Any] = Field(default_factory=dict)
    arg_types: dict[str, ArgType] = Field(default_factory=dict)


class Case(BaseModel):
    """One case. `expect_tool_calls=None` says nothing about side effects; `[]` expects none (with the forbid flag)."""

    model_config = ConfigDict(extra="forbid", frozen=True, strict=True)

    case_id: str
    input: str | None = None
    expect_tool_calls: list[ExpectedCall] | None = None
    forbid_other_side_effects: bool = False
    ordered: bool = False
    count: Literal["all", "succeeded"] = "all"
    should_call: list[str] | None = None
