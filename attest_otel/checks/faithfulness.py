"""Is each claim of the final answer backed by what the tools returned?

The grading model splits the answer into atomic claims (one question) and checks them in batches
against the evidence. Each claim is one finding: `supported` (pass), `unsupported`, the evidence says
otherwise (fail), `unverifiable`, it says neither (warn), or `unchecked`, with the limit that stopped it.

A claim is supported only by words that stand, to the letter, in one piece of evidence from which no
instruction had to be taken out; the list of calls can back nothing but the agent's own actions. A quote
that is nowhere in the evidence makes the answer no answer. The score is the share of supported claims
among those that were answered, null where there is none. Source: the page on claims and verdicts.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any, Literal

from attest_otel.checks.view import RunView
from attest_otel.findings import CheckResult, Finding, make_finding, make_result
from attest_otel.judge.asking import Asker, Reply
from attest_otel.judge.claims import Claim, Claims, extract_claims
from attest_otel.judge.evidence import MAX_EVIDENCE_CHARS, Evidence, gather, holds_quote, redactor_of
from attest_otel.judge.prompts import EXTRACT_KIND, EXTRACT_VERSION, claims_prompt

NAME = "faithfulness"

AnswerKind = Literal["factual", "plan", "code", "auto"]

_DIFF = re.compile(r"^(?:diff --git |@@ -\d+(?:,\d+)? \+\d+(?:,\d+)? @@|--- a/|\+\+\+ b/)", re.MULTILINE)
_ANSWERED = ("supported", "unsupported", "unverifiable")


async def check(
    view: RunView,
    asker: Asker,
    answer_kind: AnswerKind = "factual",
    *,
    extract: bool = False,
    allow_paths: bool = False,
) -> CheckResult:
    """Check the claims of a run's answer.

    Args:
        view: the run.
        asker: asks the grading model.
        answer_kind: what counts as supported; `auto` picks `code` where the evidence holds a diff, else `factual`.
        extract: also read binary artifacts, within limits.
        allow_paths: also read artifacts given by path.
    """
    evidence = gather(view, extract=extract, allow_paths=allow_paths)
    kind = _picked(answer_kind, evidence)
    metadata = _metadata(evidence, kind)
    if view.run.final_answer is None:
        return _result([_unchecked("no final answer was recorded", None)], metadata)
    claims = await extract_claims(asker, redactor_of(view).redact(view.run.final_answer))
    if claims.skipped is not None:
        return _result([_unchecked(claims.skipped, claims.limit)], metadata)
    findings = await _check_claims(view, asker, claims, evidence, kind)
    if claims.left_out is not None:
        findings.append(_unchecked(claims.left_out, None, key="left_out"))
    return _result(findings, metadata)


async def _check_claims(view: RunView, asker: Asker, claims: Claims, evidence: Evidence, kind: str) -> list[Finding]:
    if not view.calls and not evidence.pieces:
        return [
            _finding(n, claim, "unverifiable", "No tool was called and nothing was recorded that could back it.")
            for n, claim in enumerate(claims.claims)
        ]
    items = [{"claim": claim.text, "kind": claim.kind} for claim in claims.claims]
    replies = await asker.ask(claims_prompt(kind), evidence.blocks(), items)
    return [
        _grade(number, claim, reply, evidence) for number, (claim, reply) in enumerate(zip(claims.claims, replies, strict=True))
    ]


def _grade(number: int, claim: Claim, reply: Reply, evidence: Evidence) -> Finding:
    if reply.answer is None:
        return _finding(number, claim, "unchecked", f"The claim was not checked: {reply.why}.", limit=reply.limit)
    piece = evidence.find(reply.quote) if reply.quote else None
    in_calls = bool(reply.quote) and holds_quote(evidence.calls_text, reply.quote)
    step = piece.step if piece is not None else None
    quote = reply.quote if piece is not None or in_calls else None
    if reply.answer != "supported":
        return _finding(number, claim, reply.answer, reply.reason, quote=quote, step=step)
    if piece is not None and not piece.flagged:
        return _finding(number, claim, "supported", reply.reason, quote=quote, step=step)
    if in_calls and claim.kind == "action":
        return _finding(number, claim, "supported", reply.reason, quote=quote)
    if piece is not None:
        why = "What would back it comes from an output that carries instructions, and such an output backs nothing."
        return _finding(number, claim, "unverifiable", why, quote=quote, step=step, flagged=True)
    if in_calls:
        return _finding(
            number,
            claim,
            "unverifiable",
            "Only the arguments of a call say so; what a tool was asked is no evidence of what is true.",
            quote=quote,
        )
    why = "the words that are said to back it stand nowhere in the evidence"
    return _finding(number, claim, "unchecked", f"The claim was not checked: {why}.", limit="off_menu")


def _finding(
    number: int,
    claim: Claim,
    verdict: str,
    reason: str,
    *,
    quote: str | None = None,
    step: int | None = None,
    limit: str | None = None,
    flagged: bool = False,
) -> Finding:
    metadata: dict[str, Any] = {"claim_kind": claim.kind, "sentence": claim.sentence}
    if limit is not None:
        metadata["limit"] = limit
    if verdict == "unchecked":
        metadata["checked"] = False
    if flagged:
        metadata["evidence_flagged"] = True
    severity: Any = {"supported": "pass", "unsupported": "fail"}.get(verdict, "warn")
    return make_finding(
        NAME,
        severity,
        verdict,
        reason or _DEFAULT_REASON[verdict],
        subject=claim.text,
        step=step,
        evidence=quote,
        key=str(number),
        metadata=metadata,
    )


def _unchecked(reason: str, limit: str | None, key: str = "") -> Finding:
    metadata: dict[str, Any] = {"checked": False}
    if limit is not None:
        metadata["limit"] = limit
    return make_finding(NAME, "warn", "unchecked", f"The claims were not checked: {reason}.", key=key, metadata=metadata)


_DEFAULT_REASON = {
    "supported": "The evidence says so.",
    "unsupported": "The evidence says otherwise.",
    "unverifiable": "The evidence doesn't say either way.",
}


def _picked(answer_kind: AnswerKind, evidence: Evidence) -> str:
    if answer_kind != "auto":
        return answer_kind
    return "code" if any(_DIFF.search(piece.text[:MAX_EVIDENCE_CHARS]) for piece in evidence.pieces) else "factual"


def _metadata(evidence: Evidence, kind: str) -> dict[str, Any]:
    prompt = claims_prompt(kind)
    metadata: dict[str, Any] = {
        "answer_kind": kind,
        "artifacts_unread": list(evidence.unread),
        "prompt_versions": {EXTRACT_KIND: EXTRACT_VERSION, prompt.kind: prompt.version},
    }
    if evidence.left_out:
        metadata["evidence_left_out"] = evidence.left_out
    return metadata


def _result(findings: Sequence[Finding], metadata: dict[str, Any]) -> CheckResult:
    verdicts = [finding.verdict for finding in findings]
    answered = sum(verdict in _ANSWERED for verdict in verdicts)
    score = verdicts.count("supported") / answered if answered else None
    counts = ", ".join(f"{verdicts.count(verdict)} {verdict}" for verdict in (*_ANSWERED, "unchecked") if verdict in verdicts)
    limits = sorted({str(finding.metadata["limit"]) for finding in findings if "limit" in finding.metadata})
    if limits:
        metadata = {**metadata, "limit": limits[0] if len(limits) == 1 else limits}
    return make_result(
        NAME,
        findings,
        f"{len(findings)} claim{'s' if len(findings) != 1 else ''}: {counts}." if findings else "The answer claims nothing.",
        score=score,
        metadata=metadata,
    )
