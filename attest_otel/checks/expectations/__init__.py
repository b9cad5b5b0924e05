"""Did the run make the calls its case expects, and no others with a side effect?

Claims, each with its own verdict: how many calls were made (`count`), of which tool (`tool`), with
which values (`value`) of which types (`type`), with every required parameter (`required`), in which
order (`order`), and that nothing else with a side effect ran (`side_effect`). A call of the expected
tool is graded as the model emitted it. Source: the chapter on tool-call assertions; DESIGN 3 rule 8.

What counts: a recorded call of any tool that isn't declared read-only. With `count: succeeded` calls
that errored are left out; one whose outcome nobody recorded is counted and said to be unchecked. With
`forbid_other_side_effects` all of them are counted, else those of each expected tool. Each expected
call is assigned to a recorded one of its tool so that the fewest claims fail (`matching`); with side
effects forbidden, one left without is set against a left-over call of another tool (`wrong_tool`).
Without, `wrong_tool` is said beside the wrong count when a left-over call of another tool carries one
of the expected values. A left-over call that repeats an expected one is a wrong count; any other is an
unexpected side effect too. An expected call of a read-only tool must be found, further ones are free.

`ordered: true` compares sequences, by the order in which the model emitted the calls; false compares
multisets. Expecting nothing (`[]`) with side effects forbidden is met when nothing happened.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import pairwise
from typing import Any

from attest_otel.cases import Case
from attest_otel.checks.case_lookup import unknown_case
from attest_otel.checks.expectations.call_claims import Claim, tell
from attest_otel.checks.expectations.matching import Matching
from attest_otel.checks.view import Call, RunView
from attest_otel.findings import CheckResult, Finding, make_finding, make_result, share_passed

NAME = "expectations"
MAX_NAMES = 20


def check(view: RunView) -> CheckResult | None:
    """Grade a run against its case; None when it has none or the case says nothing about calls."""
    case = view.case
    if case is None:
        return unknown_case(view, NAME)
    if not case.expect_tool_calls and not case.forbid_other_side_effects:
        return None
    matching = Matching(view, case)
    findings = [
        *_counts(matching),
        *_calls(matching),
        *_order(matching),
        *_side_effects(matching),
        *_unknown_outcomes(matching),
    ] or [_nothing_happened()]
    graded = [finding for finding in findings if finding.verdict != "unchecked"]
    metadata = {"case_id": case.case_id}
    return make_result(NAME, findings, _summary(case, findings), score=share_passed(graded), metadata=metadata)


def _counts(matching: Matching) -> Iterator[Finding]:
    forbidding = matching.case.forbid_other_side_effects
    if forbidding:
        wanted = [expected.name for expected in matching.expected if not matching.reads_only(expected.name)]
        made = [call for call in matching.candidates if call.may_have_side_effect]
        if len(wanted) != len(made):
            yield _wrong_count(matching, "calls with a side effect", wanted, made)
    for name, rows in matching.rows.items():
        made = matching.by_tool.get(name, [])
        reads = matching.reads_only(name)
        if (reads and len(made) < len(rows)) or (not reads and not forbidding and len(made) != len(rows)):
            yield _wrong_count(matching, f"calls of {name}", [name] * len(rows), made)


def _wrong_count(matching: Matching, what: str, wanted: list[str], made: list[Call]) -> Finding:
    names = [call.name for call in made]
    extra = None
    if len(made) > len(wanted):
        extra = next((call for call in made if call.index not in matching.answering), None)
        cause = "Look at the loop (did it retry?) and at whether the prompt invites a second action."
    else:
        cause = "Look at what ended the loop early, or at an answer that tells of a call nobody made."
    which = f"{what} that did not err" if matching.case.count == "succeeded" else what
    reason = f"Expected {len(wanted)} {which} ({_listed(wanted)}), found {len(made)} ({_listed(names)}). {cause}"
    metadata = _metadata("count", None, len(wanted), len(made))
    metadata |= {
        "count": matching.case.count,
        "expected_calls": wanted[:MAX_NAMES],
        "emitted_calls": names[:MAX_NAMES],
    }
    missing = next((e.name for row, e in enumerate(matching.expected) if row not in matching.assigned), None)
    subject = extra.name if extra else missing
    step = extra.step if extra else None
    return make_finding(NAME, "fail", "wrong_count", reason, subject=subject, step=step, key=what, metadata=metadata)


def _calls(matching: Matching) -> Iterator[Finding]:
    for row, expected in enumerate(matching.expected):
        if row in matching.assigned:
            call = matching.assigned[row]
            claims = matching.claims(row, call)
            yield from (_claim_finding(matching, row, call, claim) for claim in claims)
            if not claims:
                yield _met(row, call)
        elif row in matching.stand_ins:
            yield _wrong_tool(row, expected.name, matching.stand_ins[row])


def _claim_finding(matching: Matching, row: int, call: Call, claim: Claim) -> Finding:
    told = tell(claim, call)
    outdated = _outdated(matching, call.name, claim)
    return make_finding(
        NAME,
        "warn" if claim.verdict == "unchecked" else "fail",
        claim.verdict,
        told.reason + outdated,
        subject=call.name,
        step=call.step,
        evidence=call.call.arguments_raw,
        key=f"{row}:{claim.claim}:{claim.argument}",
        metadata=_metadata(claim.claim, claim.argument, told.expected, told.emitted, expected_call=row),
    )


def _outdated(matching: Matching, name: str, claim: Claim) -> str:
    """Say where it is the case that fell behind: the tool has no such parameter."""
    parameters = matching.parameters(name)
    if claim.problem != "not_emitted" or parameters.open or claim.argument in parameters.names:
        return ""
    return f" {name} has no parameter of that name, it takes {_listed(parameters.names)}: the case is out of date."


def _met(row: int, call: Call) -> Finding:
    metadata: dict[str, Any] = {"claim": "all", "expected_call": row}
    if call.call.arguments_fidelity in ("reserialized", "coerced"):
        metadata["recorded_arguments"] = call.call.arguments_fidelity
    reason = f"{call.name} was called as expected."
    return make_finding(NAME, "pass", "met", reason, subject=call.name, step=call.step, key=str(row), metadata=metadata)


def _wrong_tool(row: int, name: str, call: Call) -> Finding:
    reason = (
        f"Expected {name}; the model called {call.name} instead. "
        "Which tool is chosen follows from the tools' descriptions: look there first."
    )
    return make_finding(
        NAME,
        "fail",
        "wrong_tool",
        reason,
        subject=call.name,
        step=call.step,
        evidence=call.call.arguments_raw,
        key=str(row),
        metadata=_metadata("tool", None, name, call.name, expected_call=row),
    )


def _order(matching: Matching) -> Iterator[Finding]:
    if not matching.case.ordered:
        return
    calls = [matching.assigned[row] for row in sorted(matching.assigned)]
    early = next((after for before, after in pairwise(calls) if after.index < before.index), None)
    if early is None:
        return
    wanted = [call.name for call in calls]
    made = [call.name for call in sorted(calls, key=lambda call: call.index)]
    reason = (
        f"Expected the sequence {_listed(wanted)}; the model emitted {_listed(made)}, with {early.name} at step "
        f"{early.step} too early. Look at whether the prompt says what must be known before acting."
    )
    metadata = _metadata("order", None, wanted[:MAX_NAMES], made[:MAX_NAMES])
    yield make_finding(NAME, "fail", "wrong_order", reason, subject=early.name, step=early.step, metadata=metadata)


def _side_effects(matching: Matching) -> Iterator[Finding]:
    if not matching.case.forbid_other_side_effects:
        return
    for call in matching.surplus:
        if not matching.repeats_expected(call):
            yield _unexpected(call)


def _unexpected(call: Call) -> Finding:
    declared = "" if call.side_effecting else " (nobody declared whether it has a side effect)"
    reason = (
        f"{call.name}{declared} was called, and the case expects no such call. "
        "Look at what in the prompt or the context invited it."
    )
    return make_finding(
        NAME,
        "fail",
        "unexpected_side_effect",
        reason,
        subject=call.name,
        step=call.step,
        evidence=call.call.arguments_raw,
        metadata=_metadata("side_effect", None, None, call.name, declared=call.side_effecting is not None),
    )


def _unknown_outcomes(matching: Matching) -> Iterator[Finding]:
    if matching.case.count != "succeeded":
        return
    unknown = [call for call in matching.candidates if call.outcome.is_error is None]
    if unknown:
        first = unknown[0]
        reason = (
            f"{len(unknown)} calls, {first.name} first, were counted as made although nobody recorded whether they succeeded."
        )
        metadata = {"claim": "count", "checked": False, "calls": len(unknown)}
        yield make_finding(
            NAME,
            "warn",
            "unchecked",
            reason,
            subject=first.name,
            step=first.step,
            key="outcome",
            metadata=metadata,
        )


def _nothing_happened() -> Finding:
    reason = "Nothing with a side effect was called, as expected."
    return make_finding(NAME, "pass", "met", reason, metadata={"claim": "side_effect"})


def _metadata(claim: str, argument: str | None, expected: object, emitted: object, **more: object) -> dict[str, Any]:
    return {"claim": claim, "argument": argument, "expected": expected, "emitted": emitted, **more}


def _listed(names: Sequence[str]) -> str:
    more = f", and {len(names) - MAX_NAMES} more" if len(names) > MAX_NAMES else ""
    return (", ".join(names[:MAX_NAMES]) or "none") + more


def _summary(case: Case, findings: list[Finding]) -> str:
    problems = [finding for finding in findings if finding.severity != "pass"]
    if not problems:
        return f"Case {case.case_id}: every claim holds."
    places = ["" if f.step is None else f" at step {f.step}" for f in problems]
    return f"Case {case.case_id}: {_listed([f.verdict + place for f, place in zip(problems, places, strict=True)])}."
