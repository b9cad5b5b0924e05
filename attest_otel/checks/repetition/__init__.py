"""Was the same thing done twice, and did the run turn in circles?

Calls are the same by tool and canonical arguments, never by call id. Every call of a tool that may have
side effects (declared so, or undeclared) gets one verdict:

- `repeated_side_effect`: an earlier call of the same tool had equal arguments and was not refused.
  `fail` when the tool is declared side-effecting and both calls surely took effect; `warn` when either
  outcome is unknown (`metadata.first_outcome`: a time-out, a lost connection, no recorded result), when
  nobody declared the tool, or when the earlier call was in an earlier run of the conversation: there the
  user may have asked for it again, so only declared tools are looked at and a person decides.
- `idempotent_retry`: the tool is declared idempotent, or both calls carry the same idempotency key. The
  key is not one of the arguments that are compared: the same arguments under a new key are a second
  effect, which is what a payment provider makes of them.
- `distinct`: anything else. A call after one that was refused (`effects` says what a refusal is) is
  distinct, and so is a refused repeat: nothing was done twice.
- `unchecked`: the tool was called more than once, and this call's arguments were not recorded.

Tools declared `repeatable` (a shell, a key press) or read-only never repeat a side effect. Of equal
findings a tool has at most `MAX_REPEATS` an operation and severity (operations beyond the first
`MAX_GROUPS` share them), and `MAX_PASSING` that pass; the last one says for how many it stands, and the
score counts them all.

`loop` (any tool): see `loops`. Source: DESIGN 3, table and rule 9.
"""

from __future__ import annotations

import hashlib
from collections import defaultdict
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import Any

from attest_otel.checks.capped import Capped
from attest_otel.checks.effects import effect_of
from attest_otel.checks.repetition.loops import LOOP_LENGTH, find_loops
from attest_otel.checks.side_effects import Effect, SideEffect
from attest_otel.checks.view import Call, RunView
from attest_otel.findings import CheckResult, Finding, Severity, make_finding, make_result
from attest_otel.formats.json_values import canonical

__all__ = ["MAX_REMEMBERED", "MAX_REPEATS", "NAME", "SideEffect", "check", "side_effects"]

NAME = "repetition"
MAX_REPEATS = 20
MAX_PASSING = 200
MAX_LOOPS = 100
MAX_GROUPS = 100
MAX_REMEMBERED = 1_000
_MAX_STEPS_NAMED = 20


def check(view: RunView) -> CheckResult | None:
    """Look for repeated side effects and loops; None for a run without calls."""
    if not view.calls:
        return None
    by_tool: dict[str, list[Call]] = defaultdict(list)
    for call in view.calls:
        by_tool[call.name].append(call)
    remembered = _remembered(view)
    graders: list[_ToolGrader] = []
    findings: list[Finding] = []
    for name, calls in by_tool.items():
        acts = calls[0].may_have_side_effect
        before = remembered.get(name) if calls[0].side_effecting else None
        if len(calls) == 1 and not before:
            findings += [_distinct(calls[0], None)] if acts else []
        elif acts or len(calls) >= LOOP_LENGTH:
            graders.append(_ToolGrader(calls, before or {}))
    good = len(findings) + sum(grader.count(passed=True) for grader in graders)
    bad = sum(grader.count(passed=False) for grader in graders)
    findings += [finding for grader in graders for finding in grader.findings()]
    findings.sort(key=lambda finding: finding.step or 0)
    summary = f"{bad} repetition(s) found." if bad else "Nothing was repeated."
    return make_result(NAME, findings, summary, score=good / (good + bad) if good + bad else None)


def side_effects(view: RunView) -> tuple[SideEffect, ...]:
    """Return what a run did that its conversation should remember, at most `MAX_REMEMBERED` effects, the last ones.

    These are the calls of declared side-effecting tools that may not be repeated freely and were not refused.
    """
    done = [call for call in view.calls if call.side_effecting is True and not _free_to_repeat(call)]
    found: list[SideEffect] = []
    for call in done[-MAX_REMEMBERED:]:
        effect = effect_of(call)
        if effect != "failed" and _comparable(call):
            operation, key = _operation(call)
            found.append(SideEffect(call.name, _digest(operation), _key_digest(key), effect, view.run.id, call.step))
    return tuple(found)


@dataclass(slots=True)
class _Done:
    """What was done before under one operation: by which call, how surely, and under which keys."""

    step: int
    run_id: str | None = None
    in_earlier_run: bool = False
    outcome: Effect = "failed"
    keys: set[str] = field(default_factory=set)

    def add(self, step: int, effect: Effect, key: str | None) -> None:
        """Note one more call; `step` is kept of the first one that was not refused."""
        if effect == "failed":
            return
        if self.outcome == "failed":
            self.step = step
        self.outcome = "succeeded" if "succeeded" in (effect, self.outcome) else "unknown"
        if key is not None:
            self.keys.add(key if self.in_earlier_run else _digest(key))


def _remembered(view: RunView) -> dict[str, dict[str, _Done]]:
    found: dict[str, dict[str, _Done]] = defaultdict(dict)
    for effect in view.history:
        if effect.run_id is None or effect.run_id != view.run.id:
            done = found[effect.tool].setdefault(effect.key, _Done(effect.step, effect.run_id, in_earlier_run=True))
            done.add(effect.step, effect.outcome, effect.idempotency_key)
    return found


class _ToolGrader:
    """The verdicts on the calls of one tool, the equal ones beyond a cap counted and not listed."""

    def __init__(self, calls: Sequence[Call], remembered: dict[str, _Done]) -> None:
        self._said: dict[tuple[str, str, str], Capped] = {}
        self._done: dict[str, _Done] = {}
        self._remembered = remembered
        if calls[0].may_have_side_effect:
            self._grade_all(calls)
        for streak in find_loops(calls):
            self._say(MAX_LOOPS, "loop", "warn", "", partial(_loop, streak))

    def findings(self) -> list[Finding]:
        return [finding for capped in self._said.values() for finding in capped.findings()]

    def count(self, *, passed: bool) -> int:
        return sum(capped.count for (_, severity, _), capped in self._said.items() if (severity == "pass") is passed)

    def _grade_all(self, calls: Sequence[Call]) -> None:
        for call in calls:
            if _comparable(call):
                self._grade_one(call)
            else:
                self._say(MAX_REPEATS, "unchecked", "warn", "", partial(_uncompared, call))

    def _grade_one(self, call: Call) -> None:
        operation, key = _operation(call)
        effect = effect_of(call)
        done = self._done.get(operation)
        earlier = self._remembered.get(_digest(operation)) if self._remembered else None
        before = done if done is not None and done.outcome != "failed" else earlier
        if before is None or effect == "failed" or (call.tool is not None and call.tool.repeatable):
            self._say(MAX_PASSING, "distinct", "pass", "", partial(_distinct, call, done))
        elif (why := _one_effect(call, key, done, earlier)) is not None:
            self._say(MAX_PASSING, "idempotent_retry", "pass", "", partial(_retry, call, why, before))
        else:
            severity = _severity(call, effect, before)
            self._say(
                MAX_REPEATS, "repeated_side_effect", severity, operation, partial(_repeated, call, severity, key, effect, before)
            )
        self._done.setdefault(operation, _Done(call.step)).add(call.step, effect, key)

    def _say(self, limit: int, verdict: str, severity: str, key: str, make: Callable[[], Finding]) -> None:
        kind = (verdict, severity, key)
        if kind not in self._said and len(self._said) >= MAX_GROUPS:
            kind = (verdict, severity, "")
        if kind not in self._said:
            self._said[kind] = Capped(limit)
        self._said[kind].add(make)


def _one_effect(call: Call, key: str | None, done: _Done | None, earlier: _Done | None) -> str | None:
    """Say why a repeat has no second effect, or return None where it has."""
    if key is not None and any(_digest(key) in seen.keys for seen in (done, earlier) if seen is not None):
        return "under the same idempotency key"
    return "and the tool is declared idempotent" if call.tool is not None and call.tool.idempotent else None


def _severity(call: Call, effect: Effect, before: _Done) -> Severity:
    sure = before.outcome == "succeeded" and effect == "succeeded"
    return "fail" if sure and call.side_effecting and not before.in_earlier_run else "warn"


def _retry(call: Call, why: str, before: _Done) -> Finding:
    return _finding(call, "pass", "idempotent_retry", f"{call.name} was called again {why}: one effect.", _about(before))


def _repeated(call: Call, severity: Severity, key: str | None, effect: Effect, before: _Done) -> Finding:
    where = "in an earlier run of this conversation" if before.in_earlier_run else f"at step {before.step}"
    if before.in_earlier_run:
        why = "if the user didn't ask for it again, it was done twice"
    elif before.outcome == "unknown":
        why = "how the first call ended is unknown, so it may have been done twice"
    elif effect == "unknown":
        why = "how this call ended is unknown, so it may have been done twice"
    elif call.side_effecting:
        why = "both took effect"
    else:
        why = "nobody declared whether the tool has side effects"
    new_key = " A new idempotency key makes it a new operation." if key is not None and before.keys else ""
    reason = f"{call.name} was called {where} with equal arguments: {why}.{new_key}"
    return _finding(call, severity, "repeated_side_effect", reason, {**_about(before), "outcome": effect})


def _distinct(call: Call, done: _Done | None) -> Finding:
    metadata = _about(done) if done is not None else None
    return _finding(call, "pass", "distinct", f"{call.name} did nothing a second time.", metadata, evidence=False)


def _uncompared(call: Call) -> Finding:
    reason = f"{call.name} was called more than once and these arguments were not recorded: whether it is a repeat can't be told."
    return _finding(call, "warn", "unchecked", reason, {"checked": False}, evidence=False)


def _about(before: _Done) -> dict[str, Any]:
    metadata: dict[str, Any] = {"first_outcome": before.outcome, "first_step": before.step}
    return metadata if before.run_id is None else {**metadata, "earlier_run_id": before.run_id}


def _finding(
    call: Call, severity: Severity, verdict: str, reason: str, metadata: dict[str, Any] | None, *, evidence: bool = True
) -> Finding:
    shown = call.call.arguments_raw or call.canonical_arguments if evidence else None
    return make_finding(NAME, severity, verdict, reason, subject=call.name, step=call.step, evidence=shown, metadata=metadata)


def _loop(streak: Sequence[Call]) -> Finding:
    third = streak[LOOP_LENGTH - 1]
    reason = f"{third.name} was called {len(streak)} times with equal arguments and ended the same way each time: no progress."
    metadata = {"count": len(streak), "steps": [call.step for call in streak[:_MAX_STEPS_NAMED]]}
    return _finding(third, "warn", "loop", reason, metadata)


def _free_to_repeat(call: Call) -> bool:
    return call.tool is not None and (call.tool.repeatable or bool(call.tool.idempotent))


def _operation(call: Call) -> tuple[str, str | None]:
    """Return what a call is counted under, and its idempotency key: the key is no part of the operation."""
    name = call.tool.idempotency_key if call.tool is not None else None
    arguments = call.arguments if name is not None else None
    if name is None or arguments is None or name not in arguments:
        return call.canonical_arguments, None
    key = arguments[name]
    return canonical({k: v for k, v in arguments.items() if k != name}), None if key in (None, "") else canonical(key)


def _comparable(call: Call) -> bool:
    return call.call.arguments_fidelity != "absent"


def _key_digest(key: str | None) -> str | None:
    return None if key is None else _digest(key)


def _digest(text: str) -> str:
    return hashlib.blake2b(text.encode("utf-8", "surrogatepass"), digest_size=16).hexdigest()
