"""The spans of one run -> one Trajectory, the same way for every convention."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

from attest_otel import attributes as names
from attest_otel.read.conventions import facts_of
from attest_otel.read.definitions import enrich, merge_tools, with_declared
from attest_otel.read.facts import SpanFacts
from attest_otel.read.guests import guest_traces
from attest_otel.read.kinds import is_ours
from attest_otel.read.messages import user_texts
from attest_otel.read.missing import gaps_of_run
from attest_otel.read.model_calls import ModelCall, model_calls, owner_of
from attest_otel.read.pairing import Pairing, pair
from attest_otel.read.records import make
from attest_otel.read.span import SpanRecord
from attest_otel.read.steps import make_steps
from attest_otel.read.tool_runs import tool_runs
from attest_otel.read.tree import Tree, ordered
from attest_otel.trajectory import Trajectory, Usage


def build_trajectory(root: SpanRecord | None, spans: Sequence[SpanRecord]) -> Trajectory:
    """Rebuild one run; total: anomalies are said in the record, never raised.

    Args:
        root: the run's own span, or None when no span stands for the run.
        spans: every span of the run, the root among them or not, in any order.

    Returns:
        The run record. What the user said beside the task, earlier in the conversation or later, is
        in `metadata["user_turns"]`, in order, each text once.
    """
    members = ordered([*spans, *([root] if root is not None else [])])
    tree = Tree(members)
    facts = [facts_of(span) for span in members if not is_ours(span)]
    return _Run(root, facts, tree).trajectory()


class _Run:
    """One run being put together."""

    def __init__(self, root: SpanRecord | None, facts: list[SpanFacts], tree: Tree) -> None:
        self.root = root
        self.facts = facts
        self.tree = tree
        self.by_id = {(f.span.trace_id, f.span.span_id): f for f in facts}
        self.root_facts = self.by_id.get((root.trace_id, root.span_id)) if root is not None else None
        self.guests = guest_traces(root, facts)
        self.turns = model_calls(facts, tree)
        self.pairing: Pairing = pair(self.turns, tool_runs(facts, tree, self.guests), self.guests)
        self.agents = [f for f in facts if f.kind == "agent" and not owner_of(f.span, tree, self.by_id)[1]]
        self.agent = self._agent()

    def trajectory(self) -> Trajectory:
        task, others = self._said_by_user()
        answer = self._answer()
        found: dict[str, Any] = {
            "id": self._id(),
            "agent": self.agent,
            "conversation_id": self._first("conversation_id"),
            "case_id": self._first("case_id"),
            "task": task,
            "system_prompt": self._system(),
            "allowed_tools": self.root_facts.allowed_tools if self.root_facts else None,
            "tools": self._tools(),
            "tool_fallbacks": self.root_facts.tool_fallbacks if self.root_facts else {},
            "steps": make_steps(self.pairing, self._path_of, self.guests, asks_are_shown=self._asks_are_shown()),
            "artifacts": list(self.root_facts.artifacts) if self.root_facts else [],
            "final_answer": answer,
            "started_at": self._start(),
            "ended_at": self._end(),
            "incomplete": gaps_of_run(self.root, self.facts, self.turns, self.pairing, answered=answer is not None),
            "usage": self._usage(),
            "metadata": {"user_turns": others} if others else {},
        }
        return make(Trajectory, {name: value for name, value in found.items() if _is_said(name, value)})

    def _id(self) -> str | None:
        explicit = self._first("run_id")
        if explicit is not None:
            return explicit
        anchor = self.root or (self.facts[0].span if self.facts else None)
        return f"{anchor.trace_id}-{anchor.span_id}" if anchor is not None else None

    def _first(self, name: str) -> str | None:
        """Return what the root says, else the first span that says it."""
        candidates = [self.root_facts, *self.facts] if self.root_facts else self.facts
        return next((value for fact in candidates if (value := getattr(fact, name)) is not None), None)

    def _agent(self) -> str | None:
        """Name the run's agent: by the top-most agent span that gives a name, else by any span that does."""
        named = [f for f in [self.root_facts, *self.agents] if f is not None and f.agent]
        given = next((f.agent for f in named if f.name_is_given), None)
        if given is not None:
            return given
        others = [f.agent for f in self.facts if f.kind != "agent" and f.agent]
        return others[0] if others else named[0].agent if named else None

    def _path_of(self, span: SpanRecord) -> list[str] | None:
        """Return the names of the agents a call was made in, below the run's own; None where it was made there."""
        path: list[str] = []
        hidden = False
        for above in [span, *self.tree.ancestors(span)]:
            fact = self.by_id.get((above.trace_id, above.span_id))
            if fact is None or fact.kind != "agent" or not fact.agent or not fact.name_is_given:
                hidden = hidden or (fact is not None and fact.kind == "tool" and above is not span)
                continue
            if hidden or not path or path[-1] != fact.agent:
                path.append(fact.agent)
            hidden = False
        path.reverse()
        if path and path[0] == self.agent:
            path = path[1:]
        return path or None

    def _spoken(self) -> list[ModelCall]:
        """Return the turns in which the user's own words stand: not those of an agent that another one asked, or of a guest."""
        spoken = [turn for turn in self.turns if not turn.nested]
        return [turn for turn in spoken if turn.facts.span.trace_id not in self.guests] or spoken

    def _said_by_user(self) -> tuple[str | None, list[str]]:
        spoken = self._spoken()
        first = self._first_texts(spoken)
        transcript = self.root_facts.transcript if self.root_facts else None
        explicit = next((f.task for f in [self.root_facts, *self.agents] if f is not None and f.task), None)
        task = explicit or (first[-1] if first else None)
        if task is None and transcript:
            task = next(iter(user_texts(transcript)), None)
        groups = [first, *(user_texts(turn.inputs) for turn in spoken), user_texts(transcript or ())]
        others = dict.fromkeys(text for group in groups for text in group)
        others.pop(task or "", None)
        if explicit is not None:
            others = {text: None for text in others if not text.endswith(explicit)}
        return task, list(others)

    def _first_texts(self, spoken: list[ModelCall]) -> list[str]:
        """Return what the user had said when the run began."""
        for fact in [self.root_facts, *self.agents, *(turn.facts for turn in spoken)]:
            if fact is not None and (texts := user_texts(fact.inputs or ())):
                return texts
        return []

    def _system(self) -> str | None:
        candidates = [self.root_facts, *self.agents, *(turn.facts for turn in self._spoken())]
        return next((f.system for f in candidates if f is not None and f.system), None)

    def _tools(self) -> list[Any] | None:
        own = self.root_facts.tools if self.root_facts and self.root_facts.span.scope == names.RECORD_SCOPE else ()
        if own:
            return list(own)
        first = [f.tools for f in self.facts if f.kind in {"agent", "other"}]
        registered = merge_tools([*first, *(f.tools for f in self.facts if f.kind == "chat")])
        declared = merge_tools(f.tools for f in self.facts if f.declares_tools)
        if declared is not None:
            others = [f.execution.name for f in self.facts if f.execution is not None and not f.declares_tools]
            registered = with_declared(registered, declared, others)
        return enrich(registered, (f.tools for f in self.facts if f.kind == "tool"))

    def _answer(self) -> str | None:
        said = self._last_words()
        for fact in [self.root_facts, *self.agents]:
            if fact is None:
                continue
            answer = fact.answer or _last_text(fact, calls_too=said is None)
            if answer is not None:
                return said if said is not None and said.strip() == answer.strip() else answer
        return said

    def _last_words(self) -> str | None:
        """Return the text of the last turn, if it asked for no tool."""
        spoken = [turn for turn in self._spoken() if turn.facts.outputs is not None]
        if not spoken or spoken[-1].requests:
            return None
        texts = [m.text for m in spoken[-1].facts.outputs or () if m.text]
        return texts[-1] if texts else None

    def _start(self) -> int | None:
        if self.root is not None:
            return self.root.start_ns or None
        return min((f.span.start_ns for f in self.facts), default=0) or None

    def _end(self) -> int | None:
        if self.root is not None and self.root_facts is not None and self.root_facts.kind == "agent":
            return self.root.end_ns
        return max((f.span.end_ns for f in self.facts if f.span.end_ns is not None), default=None)

    def _usage(self) -> Usage | None:
        counted: Iterable[SpanFacts] = [turn.facts for turn in self.turns]
        if not any(f.input_tokens is not None or f.output_tokens is not None for f in counted):
            counted = [self.root_facts] if self.root_facts else []
        inputs = [f.input_tokens for f in counted if f.input_tokens is not None]
        outputs = [f.output_tokens for f in counted if f.output_tokens is not None]
        if not inputs and not outputs:
            return None
        return Usage.model_construct(
            input_tokens=sum(inputs) if inputs else None, output_tokens=sum(outputs) if outputs else None
        )

    def _asks_are_shown(self) -> bool:
        """Return whether model calls show what the model asked for, so that a run nobody asked for is news."""
        return any(turn.facts.outputs is not None for turn in self.turns)


def _is_said(name: str, value: Any) -> bool:
    """An empty list of allowed tools says a lot; any other empty collection is the default."""
    return value is not None and (name == "allowed_tools" or value not in ({}, []))


def _last_text(fact: SpanFacts, *, calls_too: bool) -> str | None:
    """Return the last thing an agent span's messages say; one beside calls only where nothing else is known."""
    for message in reversed(fact.outputs or ()):
        if message.role == "tool":
            continue
        if message.text and (calls_too or not message.calls):
            return message.text
        if message.calls and not calls_too:
            return None
    return None
