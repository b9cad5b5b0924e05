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

Tools declared `repeatable` (a shell, a key press) or read-only never repeat a side effect. At most
`MAX_REPEATS` findings name a repeat of one operation; one more says how many there are.

`loop` (any tool): equal calls, with equal recorded outcomes, three times or more in a row, and no later
equal call ended differently: polling that changes, and batches whose arguments differ, are no loops.
Source: DESIGN 3, table and rule 9.
"""

from __future__ import annotations

import hashlib
from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any

from attest_otel.checks.effects import Effect, SideEffect, effect_of
from attest_otel.checks.view import Call, RunView
from attest_otel.findings import SEVERITY_RANK, CheckResult, Finding, make_finding, make_result, share_passed
from attest_otel.json_values import canonical

__all__ = ["MAX_REMEMBERED", "MAX_REPEATS", "NAME", "SideEffect", "check", "side_effects"]

NAME = "repetition"
MAX_REPEATS = 20
MAX_REMEMBERED = 1_000
LOOP_LENGTH = 3
_MAX_STEPS_NAMED = 20


def check(view: RunView) -> CheckResult | None:
    """Look for repeated side effects and loops; None for a run without calls."""
    if not view.calls:
        return None
    by_tool: dict[str, list[Call]] = defaultdict(list)
    for call in view.calls:
        by_tool[call.name].append(call)
    remembered = _remembered(view)
    findings: list[Finding] = []
    for name, calls in by_tool.items():
        findings += _grade_tool(calls, remembered.get(name, {}))
    findings.sort(key=lambda finding: finding.step or 0)
    problems = [f for f in findings if f.severity != "pass"]
    summary = f"{len(problems)} repetition(s) found." if problems else "Nothing was repeated."
    return make_result(NAME, findings, summary, score=share_passed(findings))


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
    outcome: Effect = "failed"
    keys: set[str | None] = field(default_factory=set)

    def add(self, effect: Effect, key: str | None) -> None:
        if effect != "failed":
            self.outcome = "succeeded" if "succeeded" in (effect, self.outcome) else "unknown"
            if key is not None:
                self.keys.add(key)


def _remembered(view: RunView) -> dict[str, dict[str, _Done]]:
    found: dict[str, dict[str, _Done]] = defaultdict(dict)
    for effect in view.history:
        if effect.run_id is None or effect.run_id != view.run.id:
            done = found[effect.tool].setdefault(effect.key, _Done(effect.step, effect.run_id))
            done.add(effect.outcome, effect.idempotency_key)
    return found


def _grade_tool(calls: Sequence[Call], remembered: dict[str, _Done]) -> list[Finding]:
    """Grade the calls of one tool; arguments are only compared where there is something to compare with."""
    first = calls[0]
    costly = first.may_have_side_effect
    if len(calls) == 1 and not remembered:
        return [_distinct(first, None)] if costly else []
    findings: list[Finding] = []
    if costly:
        groups: dict[str, list[tuple[Call, str | None]]] = defaultdict(list)
        for call in calls:
            if _comparable(call):
                operation, key = _operation(call)
                groups[operation].append((call, key))
            else:
                findings.append(_uncompared(call))
        for operation, group in groups.items():
            earlier = remembered.get(_digest(operation)) if remembered else None
            findings += _grade_group(group, earlier if first.side_effecting else None)
    if len(calls) >= LOOP_LENGTH:
        findings += _loops(calls)
    return findings


def _grade_group(group: Sequence[tuple[Call, str | None]], earlier: _Done | None) -> list[Finding]:
    done: _Done | None = None
    findings: list[Finding] = []
    repeats: list[Finding] = []
    for call, key in group:
        effect = effect_of(call)
        finding = _grade(call, key, effect, done, earlier)
        (repeats if finding.verdict == "repeated_side_effect" else findings).append(finding)
        done = done or _Done(call.step)
        if done.outcome == "failed" and effect != "failed":
            done.step = call.step
        done.add(effect, key)
    return findings + _capped(repeats)


def _grade(call: Call, key: str | None, effect: Effect, done: _Done | None, earlier: _Done | None) -> Finding:
    before = done if done is not None and done.outcome != "failed" else earlier
    if before is None or effect == "failed" or (call.tool is not None and call.tool.repeatable):
        return _distinct(call, done)
    same_key = key is not None and any(key in seen.keys or _key_digest(key) in seen.keys for seen in (done, earlier) if seen is not None)
    if same_key or (call.tool is not None and call.tool.idempotent):
        why = "under the same idempotency key" if same_key else "and the tool is declared idempotent"
        return _finding(call, "pass", "idempotent_retry", f"{call.name} was called again {why}: one effect.", _about(before))
    return _repeated(call, key, effect, before, within_run=before is done)


def _repeated(call: Call, key: str | None, effect: Effect, before: _Done, *, within_run: bool) -> Finding:
    sure = before.outcome == "succeeded" and effect == "succeeded"
    severity = "fail" if sure and within_run and call.side_effecting else "warn"
    where = f"at step {before.step}" if within_run else "in an earlier run of this conversation"
    if not within_run:
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


def _finding(call: Call, severity: Any, verdict: str, reason: str, metadata: dict[str, Any] | None, *, evidence: bool = True) -> Finding:
    shown = call.call.arguments_raw or call.canonical_arguments if evidence else None
    return make_finding(NAME, severity, verdict, reason, subject=call.name, step=call.step, evidence=shown, metadata=metadata)


def _capped(repeats: list[Finding]) -> list[Finding]:
    """Keep the first repeats of one operation; the last one kept stands for the rest and says how many."""
    if len(repeats) <= MAX_REPEATS:
        return repeats
    rest = repeats[MAX_REPEATS - 1 :]
    worst = max(rest, key=lambda finding: SEVERITY_RANK[finding.severity])
    reason = f"{worst.reason} This finding stands for {len(rest)} repeats, up to step {rest[-1].step}."
    last = worst.model_copy(update={"reason": reason, "metadata": {**worst.metadata, "count": len(rest), "last_step": rest[-1].step}})
    return [*repeats[: MAX_REPEATS - 1], last]


def _loops(calls: Iterable[Call]) -> list[Finding]:
    streaks: dict[str, list[Call]] = {}
    for call in calls:
        if call.call.output is None or call.call.output_fidelity != "recorded" or not _comparable(call):
            continue
        streak = streaks.setdefault(call.canonical_arguments, [])
        if streak and not _ended_alike(streak[-1], call):
            streak.clear()
        streak.append(call)
    return [_loop(streak) for streak in streaks.values() if len(streak) >= LOOP_LENGTH]


def _ended_alike(a: Call, b: Call) -> bool:
    return a.call.output == b.call.output and a.outcome.is_error == b.outcome.is_error


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
