"""Did the agent call tools it may use, and recover from their errors or tell the user about them?

Each call gets one verdict, decided in this order: disallowed_tool, error_claimed_success,
error_silent, incorrect, unchecked, correct. An error is recovered by a later call of the same tool that
is no error (`retried`) or of one of its declared fallbacks (`fallback`); a call of some other tool
never recovers it. Nor does a call that only the name of a conversation puts into the run recover one of
the run's own: it may be a stranger's. What the final answer says of an unrecovered error only a reader
can tell: `readings` carries what the grading model read, and without one the recovery is `unchecked`.
Source: the tool-use page; DESIGN 3 rules 1 to 4.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Literal

from attest_otel.checks.order import LaterIndex
from attest_otel.checks.view import Call, RunView
from attest_otel.findings import (
    CheckResult,
    Finding,
    Severity,
    excerpt,
    make_finding,
    make_result,
    share_passed,
)

NAME = "tool_use"

AnswerReading = Literal["acknowledged", "silent", "claimed_success", "unchecked"]


@dataclass(frozen=True, slots=True)
class Reading:
    """What the grading model said about one call: how the answer treats its error, and whether the choice was good."""

    answer: AnswerReading | None = None
    answer_reason: str = ""
    appropriate: bool | None = None
    choice_failed: bool = False
    choice_reason: str = ""


@dataclass(frozen=True, slots=True)
class Recovery:
    """How an error was recovered: `retried` or `fallback`, and by the call at which step."""

    kind: Literal["retried", "fallback"]
    step: int


def check(view: RunView, readings: Mapping[int, Reading] | None = None) -> CheckResult:
    """Grade every call of a run; `readings` are by call index."""
    recoveries = find_recoveries(view)
    readings = readings or {}
    findings = [_grade(view, call, recoveries.get(call.index), readings.get(call.index)) for call in view.calls]
    return make_result(NAME, findings, _summary(view, findings), score=share_passed(findings))


def unrecovered_errors(view: RunView) -> list[Call]:
    """Return the errors nothing recovered and no rule decides already: those the final answer must be read for."""
    recoveries = find_recoveries(view)
    return [c for c in view.calls if c.outcome.is_error and c.index not in recoveries and _is_allowed(view, c)]


def find_recoveries(view: RunView) -> dict[int, Recovery]:
    """Return how each recovered error was recovered, by call index; worked out once a run."""
    found: dict[int, Recovery] | None = view.shared.get("recoveries")
    if found is None:
        failed = [call for call in view.calls if call.outcome.is_error]
        found = view.shared["recoveries"] = _recoveries(view, failed) if failed else {}
    return found


def _recoveries(view: RunView, failed: list[Call]) -> dict[int, Recovery]:
    worked = [call for call in view.calls if call.succeeded]
    of_guests = [call for call in failed if call.is_guest]
    of_run = [call for call in failed if not call.is_guest] if of_guests else failed
    found = _recovered_by([call for call in worked if not call.is_guest], view, of_run)
    return found | _recovered_by(worked, view, of_guests) if of_guests else found


def _recovered_by(worked: list[Call], view: RunView, failed: list[Call]) -> dict[int, Recovery]:
    succeeded: dict[object, list[Call]] = defaultdict(list)
    for call in worked:
        succeeded[call.name].append(call)
        if _scoped(call):
            succeeded[call.name, call.canonical_arguments].append(call)
    indexes: dict[object, LaterIndex] = {}

    def first_later(call: Call, key: object) -> int | None:
        if key not in succeeded:
            return None
        if key not in indexes:
            indexes[key] = LaterIndex(succeeded[key])
        return indexes[key].first_after(call)

    found: dict[int, Recovery] = {}
    for call in failed:
        retried = first_later(call, (call.name, call.canonical_arguments) if _scoped(call) else call.name)
        if retried is not None:
            found[call.index] = Recovery("retried", view.calls[retried].step)
            continue
        stand_in = first_later(call, _fallbacks_of(view, call.name, succeeded))
        if stand_in is not None:
            found[call.index] = Recovery("fallback", view.calls[stand_in].step)
    return found


def _fallbacks_of(view: RunView, name: str, succeeded: dict[object, list[Call]]) -> object:
    """Return the key under which the successful calls of all fallbacks of a tool stand, gathered once a tool."""
    key = ("fallbacks", name, "")
    if key not in succeeded:
        stand_ins = dict.fromkeys(view.tool_fallbacks.get(name, ()))
        succeeded[key] = [call for stand_in in stand_ins for call in succeeded.get(stand_in, ())]
    return key


def _scoped(call: Call) -> bool:
    return call.tool is not None and call.tool.retry_scope == "arguments"


_UNREAD = Reading()


def _is_allowed(view: RunView, call: Call) -> bool:
    return view.allowed_tools is None or call.name in view.allowed_tools


def _grade(view: RunView, call: Call, recovery: Recovery | None, reading: Reading | None) -> Finding:
    reading = reading or _UNREAD
    outcome = call.outcome
    metadata: dict[str, Any] = {
        "allowed": _is_allowed(view, call),
        "recovery": _recovery_name(recovery, reading) if outcome.is_error else None,
        "recovered_at": recovery.step if recovery else None,
        "appropriate": reading.appropriate,
    }
    if outcome.source is not None:
        metadata["error_source"] = outcome.source
    severity, verdict, reason, evidence = _verdict(call, recovery, reading, metadata)
    return make_finding(NAME, severity, verdict, reason, subject=call.name, step=call.step, evidence=evidence, metadata=metadata)


def _recovery_name(recovery: Recovery | None, reading: Reading) -> str:
    return recovery.kind if recovery else reading.answer or "unchecked"


def _verdict(
    call: Call, recovery: Recovery | None, reading: Reading, metadata: dict[str, Any]
) -> tuple[Severity, str, str, str | None]:
    if not metadata["allowed"]:
        return "fail", "disallowed_tool", f"{call.name} is not among the allowed tools.", None
    if call.outcome.is_error and recovery is None:
        output = excerpt(call.call.output)
        if reading.answer == "claimed_success":
            return (
                "fail",
                "error_claimed_success",
                _because(
                    "The tool returned an error, nothing recovered it, and the final answer says it succeeded.",
                    reading.answer_reason,
                ),
                output,
            )
        if reading.answer == "silent":
            return (
                "fail",
                "error_silent",
                _because(
                    "The tool returned an error, nothing recovered it, and the final answer doesn't mention it.",
                    reading.answer_reason,
                ),
                output,
            )
        if reading.answer != "acknowledged":
            why = reading.answer_reason or "no grading model was available to read the final answer"
            return (
                "fail",
                "error_silent",
                f"The tool returned an error ({call.outcome.reason}) and nothing recovered it; {why}.",
                output,
            )
    if reading.appropriate is False:
        return "fail", "incorrect", _because("The tool was a poor choice for this step.", reading.choice_reason), None
    if reading.choice_failed:
        return "warn", "unchecked", _because("The choice of tool wasn't checked.", reading.choice_reason), None
    if call.outcome.is_error is None:
        return "warn", "unchecked", f"Whether the tool errored can't be told: {call.outcome.reason}.", None
    return "pass", "correct", _correct_reason(call, recovery), None


def _correct_reason(call: Call, recovery: Recovery | None) -> str:
    if not call.outcome.is_error:
        return "The tool is allowed and returned no error."
    if recovery is None:
        return "The tool returned an error, and the final answer tells the user."
    if recovery.kind == "retried":
        return f"The tool returned an error; a retry at step {recovery.step} worked."
    return f"The tool returned an error; a declared fallback at step {recovery.step} worked."


def _because(sentence: str, reason: str) -> str:
    return f"{sentence} {reason}" if reason else sentence


def _summary(view: RunView, findings: list[Finding]) -> str:
    if not findings:
        return "No tool was called."
    names = [call.name for call in view.calls]
    sequence = " → ".join(names[:20]) + (f" → … ({len(names) - 20} more)" if len(names) > 20 else "")  # noqa: PLR2004
    problems = [f"{f.verdict} at step {f.step} ({f.subject})" for f in findings if f.severity != "pass"]
    if not problems:
        return f"{sequence}: every call correct."
    more = f"; and {len(problems) - 20} more" if len(problems) > 20 else ""  # noqa: PLR2004
    return f"{sequence}: {'; '.join(problems[:20])}{more}."
