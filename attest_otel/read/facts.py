"""What one span says about a run, in words no convention owns.

Each convention's module turns a span into `SpanFacts`; the builder merges them the same way for all.
Absent is never empty: `None` is not recorded.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, Literal

from attest_otel.read.span import SpanRecord
from attest_otel.read.values import NOT_JSON, load
from attest_otel.trajectory import ArgumentsFidelity, Artifact, Recorded, Tool

Kind = Literal["agent", "chat", "tool", "other"]

NEARNESS: dict[ArgumentsFidelity, int] = {"verbatim": 0, "reserialized": 1, "coerced": 2, "absent": 3}


@dataclass(frozen=True, slots=True)
class Arguments:
    """A call's arguments as one source shows them: `raw` where the provider's own text is there, else `value`."""

    raw: str | None = None
    value: Any = None
    fidelity: ArgumentsFidelity = "absent"
    reason: str | None = None

    @property
    def parsed(self) -> Any:
        """The arguments as a value, for telling calls apart; NOT_JSON where the text is broken."""
        return load(self.raw) if self.raw is not None else self.value


ABSENT = Arguments()


def arguments_from(given: Any, fidelity: ArgumentsFidelity) -> Arguments:
    """Read arguments from what a span carries: JSON text, or the value itself.

    Args:
        given: text or a value; None where the source wrote null.
        fidelity: how close this source's text is to the provider's bytes. A value that is no text
            can't be closer than `reserialized`.
    """
    if not isinstance(given, str):
        return _from_value(given, "coerced" if fidelity == "coerced" else "reserialized")
    if fidelity == "verbatim":
        return Arguments(raw=given, fidelity="verbatim")
    value = load(given)
    if value is NOT_JSON:
        return Arguments(raw=given, fidelity="verbatim", reason="text that is not JSON was passed on as it stood")
    if isinstance(value, str):
        inner = load(value)
        if isinstance(inner, dict | list):
            return Arguments(value=inner, fidelity=fidelity, reason="the recorder encoded the text twice")
    return _from_value(value, fidelity)


def _from_value(value: Any, fidelity: ArgumentsFidelity) -> Arguments:
    """A null stands for text that was empty or null: nothing else is written that way."""
    if value is None:
        return Arguments(raw="null", fidelity=fidelity)
    return Arguments(value=value, fidelity=fidelity)


@dataclass(frozen=True, slots=True)
class Request:
    """One tool call the model asked for."""

    name: str
    call_id: str | None = None
    arguments: Arguments = ABSENT


@dataclass(frozen=True, slots=True)
class ToolResult:
    """One tool result the model was shown."""

    output: str | None
    call_id: str | None = None
    name: str | None = None
    is_error: bool | None = None


@dataclass(frozen=True, slots=True)
class Message:
    """One message of a conversation with the model."""

    role: str
    text: str | None = None
    calls: tuple[Request, ...] = ()
    results: tuple[ToolResult, ...] = ()


@dataclass(frozen=True, slots=True)
class Execution:
    """One tool that ran, as one span shows it. `mcp`: a protocol hop of a call, not a call of its own."""

    name: str
    call_id: str | None = None
    arguments: Arguments = ABSENT
    received: Any = None
    output: str | None = None
    is_error: bool | None = None
    error_type: str | None = None
    error_message: str | None = None
    exit_code: int | None = None
    turn: int | None = None
    artifacts: tuple[Artifact, ...] = ()
    recorded: Recorded | None = None
    own: bool = False
    mcp: bool = False


@dataclass(slots=True)
class SpanFacts:
    """All that one span says.

    `name_is_given`: the agent was named, not only its span. `transcript` is an agent's whole conversation,
    of which this run begins at `transcript_start`, `history` what a model call's span shows of turns between its inputs and its outputs; `cut_off` is why the
    model was made to stop. `declares_tools`: a tool's span that says, as our
    dispatcher does outside every run of ours, what the tool is registered as.
    """

    span: SpanRecord
    kind: Kind = "other"
    agent: str | None = None
    name_is_given: bool = True
    conversation_id: str | None = None
    run_id: str | None = None
    case_id: str | None = None
    task: str | None = None
    system: str | None = None
    answer: str | None = None
    inputs: tuple[Message, ...] | None = None
    outputs: tuple[Message, ...] | None = None
    transcript: tuple[Message, ...] | None = None
    transcript_start: int = 0
    history: tuple[Message, ...] = ()
    cut_off: str | None = None
    tools: tuple[Tool, ...] = ()
    declares_tools: bool = False
    allowed_tools: list[str] | None = None
    tool_fallbacks: dict[str, list[str]] = field(default_factory=dict)
    artifacts: tuple[Artifact, ...] = ()
    execution: Execution | None = None
    response_id: str | None = None
    input_tokens: int | None = None
    output_tokens: int | None = None

    @property
    def says_something(self) -> bool:
        """True for a chat span that carries content; another span of the same request may not."""
        return self.inputs is not None or self.outputs is not None


Reader = Callable[[SpanRecord, Kind], SpanFacts]
