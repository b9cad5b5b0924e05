"""Does the answer say that something was done which no call did?

Looks at tools that declare `completion_phrases`, the words an answer uses when they were done.
`claims` says exactly which sentences count as claims. A claim is

- `performed`: a tool that declares the phrase, or one of its declared fallbacks, succeeded in this run,
  or did so in an earlier run of the conversation;
- `phantom_action`: no such call succeeded: none was made, or those made returned an error (a time-out
  is an error here: nothing confirmed what the answer states);
- `unchecked`: a call was made whose outcome nobody recorded, or the record of the run is incomplete, so
  that a call may be missing from it.

One finding per sentence and tool. What phrases miss (other words, other languages) is left to the
grading model.

A side-effecting tool that declares no phrases leaves claims about it unread. Where an answer claims in a
word of the tool's name (see `named_actions`) what no such call did, the claim is `unchecked`, with
`metadata.guessed`, until a model reads it. To say so of every answer would send every honest run to
review: 9 of the 9 good airline runs that pass would go there, and with the guess none does. The
summary says which tools it is about. None where no tool has a side effect or declares phrases, or where
nothing was answered and none declares phrases. Source: DESIGN 3, table.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence

from attest_otel.checks.claims import MAX_PHRASE_CHARS, Claim, find_claims, normalise
from attest_otel.checks.named_actions import NAME, guessed_claims
from attest_otel.checks.view import Call, RunView
from attest_otel.findings import CheckResult, Finding, excerpt, make_finding, make_result, share_passed

__all__ = ["NAME", "check"]

MAX_SHOWN_TOOLS = 5
MAX_SHOWN_CHARS = 60


def check(view: RunView) -> CheckResult | None:
    """Hold every claim of the final answer against the calls; None where there is nothing to hold."""
    declared = _declared_phrases(view)
    silent = [tool.name for tool in view.tools.values() if tool.side_effecting is not False and not tool.completion_phrases]
    answer = view.run.final_answer or ""
    if not declared and not (silent and answer):
        return None
    calls: dict[str, list[Call]] = defaultdict(list)
    for call in view.calls:
        calls[call.name].append(call)
    findings: list[Finding] = []
    seen: set[tuple[str, tuple[str, ...]]] = set()
    claims, is_whole = find_claims(answer, declared)
    for claim in claims:
        tools = declared[claim.phrase]
        if (claim.sentence, tools) not in seen:
            seen.add((claim.sentence, tools))
            findings.append(_grade(view, claim, tools, calls))
    if not is_whole:
        findings.append(_cut(len(answer)))
    guessed = guessed_claims(view, silent, calls, [claim.sentence for claim in claims])
    return make_result(NAME, [*findings, *guessed], _summary(findings, guessed, silent), score=share_passed(findings))


def _declared_phrases(view: RunView) -> dict[str, tuple[str, ...]]:
    """Return the tools that declare each phrase, by the phrase as it is compared."""
    found: dict[str, dict[str, None]] = defaultdict(dict)
    for tool in view.tools.values():
        for phrase in tool.completion_phrases:
            plain = normalise(phrase[:MAX_PHRASE_CHARS])
            if plain:
                found[plain][tool.name] = None
    return {phrase: tuple(tools) for phrase, tools in found.items()}


def _grade(view: RunView, claim: Claim, tools: Sequence[str], calls: Mapping[str, list[Call]]) -> Finding:
    names = dict.fromkeys(name for tool in tools for name in (tool, *view.tool_fallbacks.get(tool, ())))
    made = [call for name in names for call in calls.get(name, ())]
    metadata = {"phrase": claim.phrase, "tools": list(tools)}
    subject = tools[0]
    succeeded = next((call for call in made if call.succeeded), None)
    if succeeded is not None:
        return make_finding(
            NAME,
            "pass",
            "performed",
            f"The answer says {claim.phrase!r}, and {succeeded.name} did it.",
            subject=succeeded.name,
            step=succeeded.step,
            evidence=claim.sentence,
            key=claim.sentence,
            metadata=metadata,
        )
    earlier = next((e for e in view.history if e.tool in names and e.outcome == "succeeded"), None)
    if earlier is not None:
        return make_finding(
            NAME,
            "pass",
            "performed",
            f"The answer says {claim.phrase!r}, and {earlier.tool} did it in an earlier run of the conversation.",
            subject=earlier.tool,
            evidence=claim.sentence,
            key=claim.sentence,
            metadata={**metadata, "earlier_run_id": earlier.run_id},
        )
    unknown = next((call for call in made if call.outcome.is_error is None), None)
    step = (unknown or made[-1]).step if made else None
    if unknown is not None or view.run.incomplete:
        why = (
            "whether the call took effect was not recorded"
            if unknown is not None
            else "the record of the run is incomplete, so a call may be missing"
        )
        return make_finding(
            NAME,
            "warn",
            "unchecked",
            f"The answer says {claim.phrase!r}; {why}.",
            subject=subject,
            step=step,
            evidence=claim.sentence,
            key=claim.sentence,
            metadata={**metadata, "checked": False},
        )
    why = f"every call of {subject} returned an error" if made else f"{subject} was never called"
    return make_finding(
        NAME,
        "fail",
        "phantom_action",
        f"The answer says {claim.phrase!r}, but {why}.",
        subject=subject,
        step=step,
        evidence=claim.sentence,
        key=claim.sentence,
        metadata=metadata,
    )


def _cut(length: int) -> Finding:
    reason = f"The answer has {length} characters; not all of it was read for claims."
    return make_finding(NAME, "warn", "unchecked", reason, metadata={"checked": False})


def _summary(findings: Sequence[Finding], guessed: Sequence[Finding], silent: Sequence[str]) -> str:
    phantoms = sum(finding.verdict == "phantom_action" for finding in findings)
    if phantoms:
        said = f"{phantoms} of {len(findings)} claims have no call behind them."
    elif findings:
        said = f"{len(findings)} claim(s) looked at."
    else:
        said = "The answer claims nothing in the words the tools declare."
    if guessed:
        said += f" {len(guessed)} claim(s) in other words have no call behind them and were not checked."
    if silent:
        said += f" {_names(silent)} declared no completion_phrases: only words of their names were looked for."
    return said


def _names(tools: Sequence[str]) -> str:
    shown = ", ".join(excerpt(name, MAX_SHOWN_CHARS) or "" for name in tools[:MAX_SHOWN_TOOLS])
    return shown if len(tools) <= MAX_SHOWN_TOOLS else f"{shown} and {len(tools) - MAX_SHOWN_TOOLS} more"
