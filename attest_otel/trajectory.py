"""The run record: one task from start to finish, as every check reads it and as files hold it.

The same tree is the in-memory record and the file format (`.json`, one object; `.jsonl`, one a line).
Source: the grader's run record (task ... final_answer), with the fields a live run adds. Unknown
fields are refused, so that a misspelt field is an error and not a silence. Absent is never empty:
`output=None` means nobody recorded it, `output=""` means that the tool returned nothing.

All models are frozen and may be shared between threads.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from decimal import Decimal
from typing import Annotated, Any, Literal, Self, TypeVar

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field, PlainSerializer, model_validator

ArgumentsFidelity = Literal["verbatim", "reserialized", "coerced", "absent"]
OutputFidelity = Literal["recorded", "absent", "ambiguous", "truncated"]
RetryScope = Literal["tool", "arguments"]

MAX_SHOWN_CHARS = 80

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_EXPECTED_TIME = "expected a time such as 2026-12-01T09:30:00Z or seconds since 1970"


class Record(BaseModel):
    """What all parts of the run record share: strict, frozen, no unknown fields.

    A repr ends up in logs and tracebacks, so it shows ids, names, flags and how many of something there
    are: no content, and at most `MAX_SHOWN_CHARS` of a text.
    """

    model_config = ConfigDict(extra="forbid", frozen=True, strict=True, ser_json_inf_nan="constants")

    def __repr_args__(self) -> Iterator[tuple[str | None, Any]]:
        """Yield what the repr shows: fields that are set, of a collection its size."""
        for name, field in type(self).model_fields.items():
            value = getattr(self, name, None)
            if isinstance(value, str):
                value = value if len(value) <= MAX_SHOWN_CHARS else f"{value[:MAX_SHOWN_CHARS]}…"
            elif isinstance(value, list | dict):
                value = len(value) if value or field.default_factory is None else None
            if field.repr and value is not None:
                yield name, value


def _nanoseconds(value: object) -> object:
    """Read a time as nanoseconds since 1970: RFC 3339 text, seconds, or an epoch in ms, µs or ns by its size."""
    if isinstance(value, bool) or value is None:
        return value
    if isinstance(value, str):
        return _from_rfc3339(value)
    if isinstance(value, float):
        if not math.isfinite(value):
            raise ValueError(_EXPECTED_TIME)
        return round(Decimal(repr(value)) * 1_000_000_000)
    if isinstance(value, int):
        for ceiling, factor in ((10**11, 10**9), (10**14, 10**6), (10**17, 10**3)):
            if abs(value) < ceiling:
                return value * factor
    return value


def _from_rfc3339(text: str) -> int:
    """Read RFC 3339 without losing the digits below a microsecond."""
    head, dot, tail = text.partition(".")
    digits = ""
    if dot:
        digits = tail[: len(tail) - len(tail.lstrip("0123456789"))]
        head += tail[len(digits) :]
    try:
        moment = datetime.fromisoformat(head)
    except ValueError:
        raise ValueError(_EXPECTED_TIME) from None
    if moment.tzinfo is None:
        moment = moment.replace(tzinfo=UTC)
    whole = (moment - _EPOCH) // timedelta(microseconds=1) * 1_000
    return whole + int(digits[:9].ljust(9, "0") or 0)


def _to_rfc3339(nanoseconds: int) -> str | int:
    """Write a time for people, with all nine digits; one outside the calendar stays a number."""
    seconds, rest = divmod(nanoseconds, 1_000_000_000)
    try:
        moment = datetime.fromtimestamp(seconds, UTC)
    except (OverflowError, ValueError, OSError):
        return nanoseconds
    return f"{moment.replace(tzinfo=None).isoformat()}.{rest:09d}Z"


Timestamp = Annotated[int, BeforeValidator(_nanoseconds), PlainSerializer(_to_rfc3339, when_used="json")]

_Item = TypeVar("_Item")
Items = Annotated[list[_Item], BeforeValidator(lambda value: [] if value is None else value)]
"""A list that a file may also write as null, as other recorders do for an empty one."""
Entries = Annotated[dict[str, _Item], BeforeValidator(lambda value: {} if value is None else value)]
"""A mapping of which the same holds."""


class Recorded(Record):
    """What the source of a call could not show, and why.

    `joined` is there where only the name of a conversation puts the call into this run.
    """

    arguments: ArgumentsFidelity | None = None
    output: OutputFidelity | None = None
    joined: Literal["conversation"] | None = None
    reason: str | None = Field(default=None, repr=False)


class Artifact(Record):
    """A file or image the agent received. `source="user_upload"` is never evidence."""

    name: str | None = None
    media_type: str | None = None
    source: Literal["tool", "user_upload"] = "tool"
    text: str | None = Field(default=None, repr=False)
    data_base64: str | None = Field(default=None, repr=False)
    path: str | None = Field(default=None, repr=False)

    @model_validator(mode="after")
    def _one_content(self) -> Self:
        given = [name for name in ("text", "data_base64", "path") if getattr(self, name) is not None]
        if len(given) != 1:
            raise ValueError(f"expected exactly one of text, data_base64, path; got {', '.join(given) or 'none'}")
        return self


class ToolCall(Record):
    """One request of the model that a tool be run, and what came back.

    `arguments_raw` is the provider's text to the character; `arguments_received` is what the handler
    got; `arguments` is a parsed form kept by recorders that had no text. Calls are identified by
    their position: ids repeat in real runs.
    """

    id: str | None = None
    name: str
    arguments: Any = Field(default=None, repr=False)
    arguments_raw: str | None = Field(default=None, repr=False)
    arguments_received: Any = Field(default=None, repr=False)
    output: str | None = Field(default=None, repr=False)
    is_error: bool | None = None
    exit_code: int | None = None
    error_type: str | None = None
    started_at: Timestamp | None = None
    ended_at: Timestamp | None = None
    turn: int | None = None
    span_id: str | None = None
    artifacts: Items[Artifact] = Field(default_factory=list)
    recorded: Recorded | None = None

    @property
    def arguments_fidelity(self) -> ArgumentsFidelity:
        """How close the recorded arguments are to the provider's bytes."""
        if self.recorded is not None and self.recorded.arguments is not None:
            return self.recorded.arguments
        if self.arguments_raw is not None:
            return "verbatim"
        return "reserialized" if self.arguments is not None else "absent"

    @property
    def output_fidelity(self) -> OutputFidelity:
        """Whether the output is there, whole, and surely this call's."""
        if self.recorded is not None and self.recorded.output is not None:
            return self.recorded.output
        return "absent" if self.output is None else "recorded"


class Step(Record):
    """One step of the run: a thought, a tool call, or both. `agent` is the path of sub-agents it ran in."""

    thought: str | None = Field(default=None, repr=False)
    tool_call: ToolCall | None = None
    agent: list[str] | None = None


class Tool(Record):
    """A registered tool. `side_effecting=None` means that nobody declared it."""

    name: str
    description: str | None = Field(default=None, repr=False)
    input_schema: dict[str, Any] | None = Field(default=None, repr=False)
    side_effecting: bool | None = None
    idempotent: bool | None = None
    idempotency_key: str | None = None
    repeatable: bool = False
    returns_nothing: bool = False
    ok_exit_codes: list[int] = Field(default_factory=lambda: [0])
    retry_scope: RetryScope = "tool"
    query_arguments: Items[str] = Field(default_factory=list)
    completion_phrases: Items[str] = Field(default_factory=list)


class Usage(Record):
    """Tokens the run's model calls used."""

    input_tokens: int | None = None
    output_tokens: int | None = None


class Trajectory(Record):
    """One run. `allowed_tools=None` allows every tool; an empty list allows none."""

    id: str | None = None
    agent: str | None = None
    conversation_id: str | None = None
    case_id: str | None = None
    task: str | None = Field(default=None, repr=False)
    system_prompt: str | None = Field(default=None, repr=False)
    allowed_tools: list[str] | None = None
    tools: list[Tool] | None = None
    tool_fallbacks: Entries[list[str]] = Field(default_factory=dict)
    steps: Items[Step] = Field(default_factory=list)
    artifacts: Items[Artifact] = Field(default_factory=list)
    final_answer: str | None = Field(default=None, repr=False)
    started_at: Timestamp | None = None
    ended_at: Timestamp | None = None
    incomplete: Items[str] = Field(default_factory=list)
    usage: Usage | None = None
    metadata: Entries[Any] = Field(default_factory=dict)

    @model_validator(mode="after")
    def _tool_names_are_unique(self) -> Self:
        seen: set[str] = set()
        for tool in self.tools or ():
            if tool.name in seen:
                raise ValueError(f"tools: {tool.name!r} is registered twice")
            seen.add(tool.name)
        return self
