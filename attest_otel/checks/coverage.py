"""Was everything recorded that the other checks grade? What is missing is said, never passed over.

Per call: `result_missing` (no result on record), `pairing_ambiguous` (several results could be its own),
`truncated` (a value was cut), `not_recorded` (no arguments), `requested_not_run` and
`run_not_requested`. Of the run: whatever its `incomplete` says, `orphan_result` among it. Each is a
`warn`. Nothing missing: one `complete`.

No result is missing where none can be: a call that is known to have failed, or whose tool returns
nothing and is known to have succeeded. No arguments are missing where the tool's schema takes none.
A run without a task or an answer is no gap by itself: checks that need them say so.
At most `MAX_FINDINGS` findings of one kind are given; the last one says how many it stands for.
Source: DESIGN 2 (`recorded`), the words in `attest_otel.gaps`.
"""

from __future__ import annotations

from functools import partial

from attest_otel.checks.capped import Capped
from attest_otel.checks.view import Call, RunView
from attest_otel.findings import CheckResult, Finding, make_finding, make_result
from attest_otel.gaps import Gap, read_gap, read_gaps

NAME = "coverage"
MAX_FINDINGS = 100

_REASONS = {
    Gap.RESULT_MISSING: "No result of {} was recorded.",
    Gap.PAIRING_AMBIGUOUS: "Several results could be that of {}, and no way to tell which.",
    Gap.ORPHAN_RESULT: "A part of {} belongs to no run or call on record.",
    Gap.TRUNCATED: "A value of {} was cut when it was recorded.",
    Gap.NOT_RECORDED: "The arguments of {} were not recorded.",
    Gap.REQUESTED_NOT_RUN: "The model asked for {}, and nothing shows that it ran.",
    Gap.RUN_NOT_REQUESTED: "{} ran, and nothing shows that the model asked for it.",
    Gap.INCOMPLETE: "The record of {} is incomplete.",
}


def check(view: RunView) -> CheckResult:
    """Say what the record of a run lacks."""
    found: dict[Gap, Capped] = {}
    whole = 0
    for call in view.calls:
        gaps = _gaps_of(call)
        whole += not gaps
        for gap, detail in gaps.items():
            found.setdefault(gap, Capped(MAX_FINDINGS)).add(partial(_of_call, call, gap, detail))
    for number, text in enumerate(view.run.incomplete):
        named, detail = read_gap(text)
        kind = named or Gap.INCOMPLETE
        found.setdefault(kind, Capped(MAX_FINDINGS)).add(partial(_of_run, kind, detail, number))
    score = whole / len(view.calls) if view.calls else None
    if not found:
        complete = make_finding(NAME, "pass", "complete", "Everything the other checks need was recorded.")
        return make_result(NAME, [complete], "The record is complete.", score=score)
    findings = [finding for gap in Gap if gap in found for finding in found[gap].findings()]
    kinds = ", ".join(f"{gap} ({found[gap].count})" for gap in Gap if gap in found)
    return make_result(NAME, findings, f"The record has gaps: {kinds}.", score=score)


def _gaps_of(call: Call) -> dict[Gap, str]:
    """Return the gaps of one call, each once, with what the record says about it."""
    record = call.call
    if record.recorded is None and record.output is not None and record.arguments_raw is not None:
        return {}
    gaps = {gap: detail for gap, detail in read_gaps(record.recorded.reason if record.recorded else None) if gap is not None}
    output = record.output_fidelity
    if output == "ambiguous":
        gaps.setdefault(Gap.PAIRING_AMBIGUOUS, "")
    elif output == "truncated":
        gaps.setdefault(Gap.TRUNCATED, "")
    elif output == "absent" and Gap.REQUESTED_NOT_RUN not in gaps and _result_is_missing(call):
        gaps.setdefault(Gap.RESULT_MISSING, "")
    explained = Gap.TRUNCATED in gaps or Gap.RUN_NOT_REQUESTED in gaps
    if record.arguments_fidelity == "absent" and not explained and _takes_arguments(call):
        gaps.setdefault(Gap.NOT_RECORDED, "")
    return gaps


def _result_is_missing(call: Call) -> bool:
    if call.call.recorded is not None and call.call.recorded.output == "absent":
        return True
    outcome = call.outcome.is_error
    returns_nothing = call.tool is not None and call.tool.returns_nothing
    return not (outcome or (outcome is False and returns_nothing))


def _takes_arguments(call: Call) -> bool:
    schema = call.tool.input_schema if call.tool is not None else None
    return schema is None or bool(schema.get("properties")) or bool(schema.get("required"))


def _of_call(call: Call, gap: Gap, detail: str) -> Finding:
    remark = call.call.recorded.reason if call.call.recorded is not None and not detail else detail
    reason = _REASONS[gap].format(call.name) + (f" ({remark})" if remark else "")
    return make_finding(NAME, "warn", gap.value, reason, subject=call.name, step=call.step)


def _of_run(gap: Gap, detail: str, number: int) -> Finding:
    reason = _REASONS[gap].format("a call" if gap is Gap.REQUESTED_NOT_RUN else "the run") + (f" ({detail})" if detail else "")
    return make_finding(NAME, "warn", gap.value, reason, key=f"{number}")
