"""What phrases miss of an answer: sentences, in any words, that claim an action which no call made.

The grading model is asked of each sentence that the deterministic check did not judge already. What
that check found stays; what it only guessed makes way for the model's answers.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from attest_otel.checks.view import RunView
from attest_otel.findings import CheckResult, Finding, make_finding, make_result, share_passed
from attest_otel.judge.asking import Asker, Reply
from attest_otel.judge.claims import MAX_SENTENCE_CHARS, sentences
from attest_otel.judge.deep import MAX_ANSWER_CHARS, counted, versioned
from attest_otel.judge.evidence import calls_block, shown_text
from attest_otel.judge.prompts import ACTIONS

MAX_ACTION_SENTENCES = 40


async def read_actions(view: RunView, found: CheckResult | None, asker: Asker) -> CheckResult | None:
    """Ask of the answer's sentences whether they claim an action that no call made; adds to what phrases found."""
    answer = shown_text(view, view.run.final_answer, MAX_ANSWER_CHARS)
    judged = [f.evidence or "" for f in found.findings if "guessed" not in f.metadata] if found is not None else []
    said = [
        s[:MAX_SENTENCE_CHARS]
        for s in sentences(answer)
        if not s.endswith("?") and not any(s in j or (j and j in s) for j in judged)
    ]
    if not said:
        return found
    replies = await asker.ask(ACTIONS, [calls_block(view)], [{"sentence": s} for s in said[:MAX_ACTION_SENTENCES]])
    added = [
        finding
        for n, (s, reply) in enumerate(zip(said, replies, strict=False))
        if (finding := _action(view, n, s, reply)) is not None
    ]
    if len(said) > MAX_ACTION_SENTENCES:
        added.append(_unchecked_action("the answer has more sentences than are asked about", None, "left_out"))
    findings = _one_for_all_unasked(_settled(found, said[:MAX_ACTION_SENTENCES]), added)
    score = share_passed(findings)
    return make_result(
        "actions",
        findings,
        counted(findings) if findings else "The answer claims no action.",
        score=score,
        metadata=versioned(found, ACTIONS),
    )


def _settled(found: CheckResult | None, asked: Sequence[str]) -> list[Finding]:
    """Return what the deterministic check found, without the guesses about sentences that were asked about."""

    def was_asked(finding: Finding) -> bool:
        clause = finding.evidence or ""
        return any(clause in sentence or sentence in clause for sentence in asked)

    return [f for f in found.findings if "guessed" not in f.metadata or not was_asked(f)] if found is not None else []


def _action(view: RunView, number: int, sentence: str, reply: Reply) -> Finding | None:
    if reply.answer == "no_action":
        return None
    metadata: dict[str, Any] = {"by": "model"}
    if reply.answer == "made":
        return make_finding(
            "actions",
            "pass",
            "performed",
            reply.reason or "A call did it.",
            evidence=sentence,
            key=f"model{number}",
            metadata=metadata,
        )
    if reply.answer == "not_made" and not view.run.incomplete:
        return make_finding(
            "actions",
            "fail",
            "phantom_action",
            reply.reason or "The answer says so, but no call that succeeded did it.",
            evidence=sentence,
            key=f"model{number}",
            metadata=metadata,
        )
    if reply.answer is None:
        return _unchecked_action(reply.why, reply.limit, f"model{number}", sentence)
    why = (
        "the record of the run is incomplete, so a call may be missing"
        if reply.answer == "not_made"
        else reply.reason or "whether a call did it can't be told"
    )
    return _unchecked_action(why.rstrip("."), None, f"model{number}", sentence)


def _unchecked_action(reason: str, limit: str | None, key: str, sentence: str | None = None) -> Finding:
    metadata: dict[str, Any] = {"checked": False, "by": "model", **({"limit": limit} if limit else {})}
    return make_finding(
        "actions",
        "warn",
        "unchecked",
        f"Whether the answer claims an action that no call made was not checked: {reason}.",
        evidence=sentence,
        key=key,
        metadata=metadata,
    )


def _one_for_all_unasked(known: Sequence[Finding], added: Sequence[Finding]) -> list[Finding]:
    """Return the findings with one, in place of many, for the sentences that one limit left unasked."""
    seen: set[str] = set()
    kept_findings: list[Finding] = list(known)
    for finding in added:
        if finding.verdict == "unchecked" and "limit" in finding.metadata:
            if finding.reason in seen:
                continue
            seen.add(finding.reason)
        kept_findings.append(finding)
    return kept_findings
