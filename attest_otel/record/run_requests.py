"""What the model asked for in one run, as its HTTP client noted it, and which of that nothing took.

A noted input is a call that was requested and not run when a later request gave it a result, or when it
stands in the run's last whole response. It is none

- when a call took it: dispatched, recorded by hand, or recorded under its tool's name without anything that
  says which of several it was; a nested agent that was run in its place;
- when the run went on without it: an attempt that was cut or thrown away, a route that was only read;
- when its input is what the application wanted: the answer, or one of its texts or parts, is the run's
  final answer, or the request left the model no other choice. Of a side-effecting tool that is never so.

What the model was not heard to say (another client, another provider) is never claimed. Thread-safe.
"""

from __future__ import annotations

import re
from collections import Counter, deque
from collections.abc import Collection, Iterable
from decimal import Decimal
from typing import TYPE_CHECKING, Any

from opentelemetry.context import Context

from attest_otel.formats import strict_json
from attest_otel.record.capture_limits import log_fault_once
from attest_otel.record.note_stores import is_known, take
from attest_otel.record.noted_inputs import Note, accepts
from attest_otel.record.provider_bytes import ProviderBytes
from attest_otel.record.run_context import inside
from attest_otel.record.tool_requests import AskedCall
from attest_otel.tool_names import akin
from attest_otel.trajectory import Tool

if TYPE_CHECKING:
    from attest_otel.record.agent_run import AgentRun

MAX_REMEMBERED = 4096
MAX_PARTS = 10_000
MAX_PARTS_COMPARED = 100


class RunRequests:
    """The noted inputs of one run, and the calls that took none.

    Args:
        above: the store of the enclosing run, where its calls may be dispatched inside this one: not inside
            one of its tools, which makes calls of its own.
    """

    def __init__(self, above: ProviderBytes | None = None) -> None:
        self.store = ProviderBytes(above=above)
        self._unnoted: deque[str] = deque(maxlen=MAX_REMEMBERED)
        self._nested: deque[tuple[str, str | None]] = deque(maxlen=MAX_REMEMBERED)

    def recorded_by_hand(self, asked: AskedCall) -> str | None:
        """Take the note of a call recorded by hand; return the provider's text where it is surely this call's."""
        noted = take(asked.call_id, asked.name, asked.matches, self.store)
        if noted is None:
            self.took_none(asked)
            return None
        if noted.text is None or not noted.complete or noted.ambiguous or asked.call_id is None:
            return None
        return noted.text if asked.arguments is None or accepts(asked.matches, noted.text) else None

    def took_none(self, asked: AskedCall) -> None:
        """Remember a call of this run that took no note, and may be one of those that wait all the same."""
        is_another = asked.call_id is not None and is_known(asked.call_id, asked.name, self.store)
        if not is_another and self.store.waits(asked.name, lambda _: True):
            self._unnoted.append(asked.name)

    def ran_agent(self, name: str, task: str | None) -> None:
        """Remember an agent that was run inside this run, and not inside a tool of it."""
        self._nested.append((name, task))

    def not_run(self, answer: str | None, tools: Collection[Tool] | None) -> list[tuple[str, str]]:
        """Return the (call id, name) of each input that was requested and not run, oldest first.

        Args:
            answer: the run's final answer as text.
            tools: the registered tools, which say what is side-effecting.
        """
        if not len(self.store):
            return []
        effects = {tool.name for tool in tools or () if tool.side_effecting}
        said = _Answer(answer)
        left = [note for note in self.store.left() if _is_request(note, said, effects=note.key[1] in effects)]
        return [note.key for note in _without(left, Counter(list(self._unnoted)), list(self._nested))]


def place_by_hand(run: AgentRun, asked: AskedCall) -> tuple[str | None, Context | None]:
    """Return the provider's text of a call recorded by hand, where it was noted, and what its span is below of."""
    try:
        return run.requests.recorded_by_hand(asked), inside(run, run.span)
    except Exception as fault:  # noqa: BLE001  # nothing of ours may reach the application
        log_fault_once("while recording a call by hand", fault)
        return None, None


def _is_request(note: Note, said: _Answer, *, effects: bool) -> bool:
    if note.answered:
        return True
    if note.followed or not note.whole or note.noted.text is None:
        return False
    text = note.noted.text if note.noted.text.strip() else "{}"
    parsed = strict_json.parse(text)
    if parsed.problem == "unparseable" and not parsed.over_limit:
        return False
    return effects or not (note.forced or said.repeats(parsed.value))


def _without(left: list[Note], unnoted: Counter[str], nested: list[tuple[str, str | None]]) -> list[Note]:
    """Leave out as many inputs of a tool as calls of it took no note, and those that a nested agent stood for."""
    found: list[Note] = []
    for note in left:
        agent = _agent_for(note, nested) if nested else None
        if agent is not None:
            nested.remove(agent)
        elif (name := next((one for one in unnoted if akin(one, note.key[1])), None)) is not None:
            unnoted -= Counter([name])
        else:
            found.append(note)
    return found


def _agent_for(note: Note, nested: list[tuple[str, str | None]]) -> tuple[str, str | None] | None:
    """Return the agent that was run for a call: it is named as the tool is (`ask_researcher`), or got its text as task."""
    words = _WORDS.findall(note.key[1].casefold())
    texts = _texts(strict_json.parse(note.noted.text or "").value)
    for name, task in nested:
        named = _WORDS.findall(name.casefold())
        if (named and words[-len(named) :] == named) or (task is not None and task.strip() in texts):
            return name, task
    return None


class _Answer:
    """The final answer, as text and as a value where it is JSON."""

    def __init__(self, text: str | None) -> None:
        self._text = None if text is None else text.strip()
        parsed = None if text is None else strict_json.parse(text)
        self._value = None if parsed is None or parsed.problem == "unparseable" else parsed.value

    def repeats(self, value: Any) -> bool:
        """Return whether the answer is this input, a part or a text of it, or holds all of its members."""
        if not self._text:
            return False
        if isinstance(value, dict) and isinstance(self._value, dict) and value and value.keys() <= self._value.keys():
            return all(strict_json.equal(part, self._value[key]) for key, part in value.items())
        return self._text in _texts(value) or self._is_part(value)

    def _is_part(self, value: Any) -> bool:
        kinds = (int, float, Decimal) if isinstance(self._value, int | float | Decimal) else (dict, list)
        if not isinstance(self._value, kinds):
            return False
        parts = [part for part in _parts(value) if isinstance(part, kinds)]
        return any(strict_json.equal(part, self._value) for part in parts[:MAX_PARTS_COMPARED])


def _texts(value: Any) -> set[str]:
    return {part.strip() for part in _parts(value) if isinstance(part, str)}


def _parts(value: Any) -> Iterable[Any]:
    """Yield a value and everything in it, within bounds."""
    waiting = deque([value])
    for _ in range(MAX_PARTS):
        if not waiting:
            return
        part = waiting.popleft()
        yield part
        if isinstance(part, dict):
            waiting.extend(part.values())
        elif isinstance(part, list):
            waiting.extend(part)


_WORDS = re.compile(r"[^\W_]+")
