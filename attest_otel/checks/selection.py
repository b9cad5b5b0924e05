"""Were the tools called that the task needed, and only when one was needed?

`should_call` of the case names the tools that must be called; each gives `called` or `missed_call`. An
empty list says that no call was needed: any call of any tool is then a `needless_call`. Where the case
has no `should_call`, the tools of its expected calls must be called; one that expects that nothing
happens (`expect_tool_calls: []`, side effects forbidden) needs no side-effecting call, and may read.
A call counts when the model emitted it, whether it worked or not. Source: the lesson on tool-call
correctness, which decides per task; `metadata.outcome` is its tp, fp, fn or tn.
"""

from __future__ import annotations

from typing import Literal

from attest_otel.cases import Case
from attest_otel.checks.case_lookup import unknown_case
from attest_otel.checks.view import Call, RunView
from attest_otel.findings import CheckResult, Finding, make_finding, make_result, share_passed

NAME = "selection"

Outcome = Literal["tp", "fp", "fn", "tn"]


def check(view: RunView) -> CheckResult | None:
    """Grade the decision to call; None when the run has no case or its case doesn't say what was needed."""
    case = view.case
    if case is None:
        return unknown_case(view, NAME)
    needed = needed_tools(case)
    if needed is None:
        return None
    if needed:
        return _grade_needed(view, needed)
    return _grade_not_needed(needless_calls(view, case))


def needed_tools(case: Case) -> list[str] | None:
    """Return the tools the task needed, each once; [] when it needed none; None when the case doesn't say."""
    if case.should_call is not None:
        return list(dict.fromkeys(case.should_call))
    if case.expect_tool_calls:
        return list(dict.fromkeys(expected.name for expected in case.expect_tool_calls))
    return [] if case.expect_tool_calls is not None and case.forbid_other_side_effects else None


def needless_calls(view: RunView, case: Case) -> list[Call]:
    """Return the calls nobody needed in a run whose case needed none."""
    if case.should_call is not None:
        return view.calls
    return [call for call in view.calls if call.may_have_side_effect]


def _grade_needed(view: RunView, needed: list[str]) -> CheckResult:
    first: dict[str, Call] = {}
    for call in view.calls:
        first.setdefault(call.name, call)
    findings = [_called(first[name]) if name in first else _missed(view, name) for name in needed]
    missed = [name for name in needed if name not in first]
    outcome: Outcome = "fn" if missed else "tp"
    summary = f"Not called: {', '.join(missed)}." if missed else f"Called as needed: {', '.join(needed)}."
    return _result(findings, summary, outcome)


def _grade_not_needed(calls: list[Call]) -> CheckResult:
    if not calls:
        finding = make_finding(
            NAME,
            "pass",
            "not_needed",
            "No call was needed, and none was made.",
            metadata={"claim": "selection"},
        )
        return _result([finding], "No call was needed, and none was made.", "tn")
    findings = [_needless(call) for call in calls]
    return _result(findings, f"{len(calls)} call(s) were made and none was needed.", "fp")


def _called(call: Call) -> Finding:
    return make_finding(
        NAME,
        "pass",
        "called",
        f"{call.name} was called, as the task needed.",
        subject=call.name,
        step=call.step,
    )


def _missed(view: RunView, name: str) -> Finding:
    lost = " The run is incomplete: a call may have been made and not recorded." if view.run.incomplete else ""
    reason = f"The task needed {name} and it was never called: the answer came from memory, or tells of what was not done. Look at the tool's description and the system prompt.{lost}"
    return make_finding(NAME, "fail", "missed_call", reason, subject=name)


def _needless(call: Call) -> Finding:
    reason = f"{call.name} was called where no call was needed. Look at the tool's description and the system prompt."
    return make_finding(
        NAME,
        "fail",
        "needless_call",
        reason,
        subject=call.name,
        step=call.step,
        evidence=call.call.arguments_raw,
    )


def _result(findings: list[Finding], summary: str, outcome: Outcome) -> CheckResult:
    return make_result(NAME, findings, summary, score=share_passed(findings), metadata={"outcome": outcome})
