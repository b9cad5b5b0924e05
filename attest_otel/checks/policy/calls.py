"""The rules that count and order calls: `at_most` and `order`.

`at_most` counts the calls that returned no error. An error that says its answer was lost (a time-out) may
have taken effect: where it would make the difference, the rule is `unchecked`.

`order` lists tools from first to last: each call of a listed tool must come later than a call of the
tool listed before it which returned no error. `later` is that of `checks.order`: the model must have
seen the first one's result, so a parallel sibling is not before. Where only a call of unknown outcome
came before, the rule is `unchecked`. A tool that two patterns of a list match counts for the first.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from fnmatch import fnmatchcase

from attest_otel.checks.effects import effect_of
from attest_otel.checks.policy.findings import Said, findings_for, kept
from attest_otel.checks.view import Call
from attest_otel.findings import Finding
from attest_otel.rules import Rule

MAX_GLOBBED_NAME_CHARS = 1_000
_NEVER = 2**63


def matches(name: str, pattern: str) -> bool:
    """Return whether a tool's name is, or fits, the pattern of a rule; overlong names fit no glob."""
    return name == pattern or (len(name) <= MAX_GLOBBED_NAME_CHARS and fnmatchcase(name, pattern))


def check_at_most(rule: Rule, limits: Mapping[str, int], calls: Sequence[Call]) -> list[Finding]:
    """Count the calls of each tool a rule limits."""
    findings: list[Finding] = []
    for pattern, most in limits.items():
        made = [call for call in select(calls, pattern) if effect_of(call) != "failed"]
        counted = [call for call in made if not call.outcome.is_error]
        if len(counted) > most:
            why = f"{pattern} may be called at most {most} times and was called {len(counted)} times."
            findings += findings_for(rule, [(why, call) for call in counted[most:]], [])
        elif len(made) > most:
            why = f"{pattern} may be called at most {most} times, and whether one of {len(made)} calls took effect is unknown."
            findings += findings_for(rule, [], [(why, made[most])])
    return findings or [kept(rule, "no tool was called more often than it may be.")]


def check_order(rule: Rule, order: Sequence[str], calls: Sequence[Call], run_calls: Sequence[Call]) -> list[Finding]:
    """Check that each call came after one of the tool listed before its own; `run_calls` may hold that one."""
    places = {name: _place(name, order) for name in {call.name for call in run_calls}}
    before: list[list[Call]] = [[] for _ in order]
    for call in run_calls:
        place = places[call.name]
        if place is not None and effect_of(call) != "failed":
            before[place].append(call)
    sure = [Earlier(call for call in found if call.succeeded) for found in before]
    perhaps = [Earlier(found) for found in before]
    wrong: list[Said] = []
    unknown: list[Said] = []
    for call in calls:
        place = places[call.name]
        if not place or sure[place - 1].has_before(call):
            continue
        first = order[place - 1]
        if perhaps[place - 1].has_before(call):
            unknown.append((f"{call.name} must come after {first}, and how {first} ended is unknown.", call))
        else:
            wrong.append((f"{call.name} must come after a {first} that worked.", call))
    return findings_for(rule, wrong, unknown) or [kept(rule, "every call came after the one it needs.")]


def select(calls: Iterable[Call], pattern: str) -> list[Call]:
    """Return the calls whose tool fits a pattern."""
    known: dict[str, bool] = {}
    found: list[Call] = []
    for call in calls:
        if call.name not in known:
            known[call.name] = matches(call.name, pattern)
        if known[call.name]:
            found.append(call)
    return found


class Earlier:
    """Some calls, asked whether any of them came before another one: the reverse of `order.LaterIndex`."""

    def __init__(self, calls: Iterable[Call]) -> None:
        self._turn = self._end = _NEVER
        self._index = {(turn, end): _NEVER for turn in (False, True) for end in (False, True)}
        for call in calls:
            turn, end = call.call.turn, call.call.ended_at
            self._turn = min(self._turn, _NEVER if turn is None else turn)
            self._end = min(self._end, _NEVER if end is None else end)
            kind = (turn is not None, end is not None)
            self._index[kind] = min(self._index[kind], call.index)

    def has_before(self, call: Call) -> bool:
        """Return whether `call` came later than one of these calls."""
        turn, start = call.call.turn, call.call.started_at
        if turn is not None and self._turn < turn:
            return True
        if start is not None and self._end <= start:
            return True
        return any(
            first < call.index
            for (has_turn, has_end), first in self._index.items()
            if not (has_turn and turn is not None) and not (has_end and start is not None)
        )


def _place(name: str, order: Sequence[str]) -> int | None:
    return next((place for place, pattern in enumerate(order) if matches(name, pattern)), None)
