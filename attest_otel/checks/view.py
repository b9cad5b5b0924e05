"""What every check reads: one run, its calls with what follows from each, worked out once.

A `RunView` is built from a run record and the settings that apply to it. It holds the calls in step
order, each with its declared tool, its strictly parsed arguments and its outcome (an error or not, and
which evidence said so). Parsing happens once, on first use. Pure: no clock, no I/O.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, Generic, TypeVar

from attest_otel.cases import Case
from attest_otel.checks.outcome import Outcome, decide_outcome
from attest_otel.checks.side_effects import SideEffect
from attest_otel.config import AgentConfig, AttestConfig
from attest_otel.formats import strict_json
from attest_otel.trajectory import Tool, ToolCall, Trajectory

EMPTY_RAW = frozenset({"", "null"})

_Owner = TypeVar("_Owner")
_Value = TypeVar("_Value")


class once(Generic[_Owner, _Value]):  # noqa: N801  # reads as the decorator it is
    """A property worked out on first use: `functools.cached_property` without its lock, which costs more than the work."""

    def __init__(self, work: Callable[[_Owner], _Value]) -> None:
        self._work = work
        self.__doc__ = work.__doc__

    def __get__(self, instance: _Owner, owner: type[_Owner]) -> _Value:
        value = self._work(instance)
        instance.__dict__[self._work.__name__] = value
        return value


class Call:
    """One recorded call. `index` counts calls, `step` is the index of its step; `tool` is None when undeclared.

    A run may have a hundred thousand: slots, and what follows from a call is worked out on first use.
    """

    __slots__ = (
        "_canonical",
        "_outcome",
        "_parsed",
        "_plain",
        "_text_only",
        "agent",
        "call",
        "index",
        "name",
        "side_effecting",
        "step",
        "tool",
    )

    def __init__(self, index: int, step: int, call: ToolCall, tool: Tool | None, agent: str | None, text_only: bool) -> None:
        self.index = index
        self.step = step
        self.call = call
        self.tool = tool
        self.agent = agent
        self.name = call.name
        """The name the model emitted."""
        self.side_effecting = tool.side_effecting if tool is not None else None
        """What the tool is declared to be; None when nobody declared it."""
        self._text_only = text_only
        self._plain: dict[str, Any] | None = None
        self._parsed: strict_json.Parsed | None = None
        self._canonical: str | None = None
        self._outcome: Outcome | None = None

    @property
    def may_have_side_effect(self) -> bool:
        """True unless the tool is declared read-only: an undeclared tool is treated as side-effecting."""
        return self.side_effecting is not False

    @property
    def parsed(self) -> strict_json.Parsed | None:
        """The arguments as the model emitted them, strictly parsed; None when none were recorded.

        Blank or `null` raw text is `{}`. Without raw text the recorded `arguments` stand as they are.
        """
        if self._plain is None and self._parsed is None:
            self._parse()
        return self._parsed if self._plain is None else strict_json.Parsed(self._plain)

    def _parse(self) -> None:
        """Keep what the text says: of an object without a remark, which nearly all are, the object alone."""
        parsed = _parse(self.call)
        if parsed is not None and parsed.problem is None and isinstance(parsed.value, dict):
            self._plain = parsed.value
        else:
            self._parsed = parsed

    @property
    def arguments(self) -> dict[str, Any] | None:
        """The emitted arguments as an object, or None where they are absent, unreadable or no object."""
        if self._plain is not None:
            return self._plain
        parsed = self.parsed
        if parsed is None or parsed.problem == "unparseable" or not isinstance(parsed.value, dict):
            return None
        return parsed.value

    @property
    def canonical_arguments(self) -> str:
        """The key under which equal arguments are counted; unreadable text is its own key."""
        if self._canonical is None:
            self._canonical = self._count_as()
        return self._canonical

    def _count_as(self) -> str:
        parsed = self.parsed
        if parsed is None:
            return "absent"
        if parsed.problem == "unparseable":
            return f"text:{self.call.arguments_raw}"
        return strict_json.canonical(parsed.value)

    @property
    def outcome(self) -> Outcome:
        """Whether the call is an error, and which evidence said so."""
        if self._outcome is None:
            self._outcome = decide_outcome(self.call, self.tool, text_only=self._text_only)
        return self._outcome

    @property
    def is_guest(self) -> bool:
        """True where only the name of a conversation puts the call into this run: it may be a stranger's."""
        return self.call.recorded is not None and self.call.recorded.joined is not None

    @property
    def succeeded(self) -> bool:
        """True when the call is known not to be an error."""
        return self.outcome.is_error is False


def _parse(call: ToolCall) -> strict_json.Parsed | None:
    if call.arguments_raw is not None:
        text = call.arguments_raw
        return strict_json.Parsed({}) if text.strip() in EMPTY_RAW else strict_json.parse(text)
    return None if call.arguments is None else strict_json.Parsed(call.arguments)


@dataclass(frozen=True)
class RunView:
    """One run as every check reads it; `history` is what earlier runs of its conversation did."""

    run: Trajectory
    config: AttestConfig = field(default_factory=AttestConfig)
    case: Case | None = None
    history: tuple[SideEffect, ...] = ()

    @once
    def agent_config(self) -> AgentConfig:
        """The settings of the run's own agent."""
        return self.config.agent(self.run.agent)

    @once
    def tools(self) -> Mapping[str, Tool]:
        """The declared tools by name: the run's own, else the configuration's for a tool the run doesn't declare."""
        configured = {tool.name: tool for tool in self.agent_config.tools or ()}
        recorded = {tool.name: tool for tool in self.run.tools or ()}
        both = {name: _merged(tool, configured[name]) for name, tool in recorded.items() if name in configured}
        return {**configured, **recorded, **both}

    @once
    def allowed_tools(self) -> frozenset[str] | None:
        """The tools the run may call; None allows all."""
        allowed = self.run.allowed_tools if self.run.allowed_tools is not None else self.agent_config.allowed_tools
        return None if allowed is None else frozenset(allowed)

    @once
    def tool_fallbacks(self) -> Mapping[str, list[str]]:
        """For each tool, the tools that can stand in for it."""
        return {**self.agent_config.tool_fallbacks, **self.run.tool_fallbacks}

    @once
    def calls(self) -> list[Call]:
        """The recorded calls in step order."""
        text_only = self.config.error_detection == "text"
        found: list[Call] = []
        for number, step in enumerate(self.run.steps):
            if step.tool_call is not None:
                agent = step.agent[-1] if step.agent else self.run.agent
                tool = self.tools.get(step.tool_call.name)
                found.append(Call(len(found), number, step.tool_call, tool, agent, text_only))
        return found

    @once
    def user_words(self) -> list[str]:
        """What the user said and gave: the task, the other turns the source shows (`metadata.user_turns`), uploaded text."""
        turns = self.run.metadata.get("user_turns")
        said = [turn for turn in turns if isinstance(turn, str)] if isinstance(turns, list) else []
        uploads = [a.text for a in self.run.artifacts if a.source == "user_upload" and a.text is not None]
        return [*([self.run.task] if self.run.task is not None else []), *said, *uploads]

    @once
    def shared(self) -> dict[str, Any]:
        """What one check worked out about the run and another reads, by name."""
        return {}


def _merged(recorded: Tool, configured: Tool) -> Tool:
    """Let the configuration add what the record leaves at its default, and never contradict what it says."""
    said = recorded.model_fields_set
    added = {
        name: getattr(configured, name)
        for name in configured.model_fields_set - {"name"}
        if name not in said or getattr(recorded, name) is None
    }
    return recorded.model_copy(update=added) if added else recorded
