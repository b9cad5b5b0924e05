"""One narrow question each, where rules end: was a payload followed, was a rule asked in words kept.

Each function takes what the deterministic check found and returns the whole result with what the model
added. Findings of the deterministic check are kept, but for those that waited for this answer. What was
not answered is `unchecked` and says which limit stopped it.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from attest_otel.checks.injection import shared_scan
from attest_otel.checks.injection.scan import Scanned
from attest_otel.checks.order import is_later
from attest_otel.checks.policy.findings import findings_for, kept, unjudged
from attest_otel.checks.view import Call, RunView
from attest_otel.findings import CheckResult, Finding, make_finding, make_result, share_passed
from attest_otel.judge.asking import Asker, Reply
from attest_otel.judge.boundary import Block
from attest_otel.judge.evidence import call_data, gather, holds_quote, shown_text
from attest_otel.judge.prompts import INJECTION, POLICY_ASK, Prompt
from attest_otel.rules import Rule

MAX_PAYLOADS = 20
MAX_LATER_CALLS = 50
MAX_TEXT_CHARS = 4_000
MAX_ANSWER_CHARS = 12_000
MAX_TURNS = 20

TOO_MANY = "there are more than are asked about"


async def deepen_injection(view: RunView, found: CheckResult, asker: Asker) -> CheckResult:
    """Ask of each suspicious output whether anything afterwards had no authority but its payload."""
    texts = shared_scan(view).texts
    asked = [
        (n, item)
        for n, (finding, item) in enumerate(zip(found.findings, texts, strict=False))
        if finding.verdict == "suspicious" and _can_be_followed(view, item)
    ]
    replies = await asker.ask_each(INJECTION, [_injection_item(view, item) for _, item in asked[:MAX_PAYLOADS]])
    findings = list(found.findings)
    for number, (position, item) in enumerate(asked):
        reply = replies[number] if number < len(replies) else Reply(None, skipped=TOO_MANY, limit="budget")
        findings[position] = _followed(view, found.findings[position], item, reply)
    added = versioned(found, INJECTION) if asked else found.metadata
    return make_result(found.check, findings, counted(findings), score=found.score, metadata=added)


async def ask_rules(view: RunView, found: CheckResult, asker: Asker) -> CheckResult:
    """Answer the rules that are asked in words; their `unchecked` findings make way for the answers."""
    rules = _rules_asked(view)
    waiting = [f for f in found.findings if f.verdict == "unchecked" and f.step is None and f.subject in rules]
    if not waiting:
        return found
    shared = [Block("conversation", _conversation(view)), *gather(view).blocks()]
    items = [{"question": rules[str(f.subject)].ask, "about_calls_of": rules[str(f.subject)].tool or "any tool"} for f in waiting]
    replies = await asker.ask(POLICY_ASK, shared, items)
    answers = {id(f): _rule_finding(rules[str(f.subject)], reply) for f, reply in zip(waiting, replies, strict=True)}
    findings = [answers.get(id(f), f) for f in found.findings]
    return make_result(
        found.check,
        findings,
        counted(findings),
        score=share_passed(findings),
        metadata=versioned(found, POLICY_ASK),
    )


def _can_be_followed(view: RunView, item: Scanned) -> bool:
    return bool((view.run.final_answer or "").strip()) or bool(_later_calls(view, item))


def _later_calls(view: RunView, item: Scanned) -> list[Call]:
    return [call for call in view.calls if item.call is None or is_later(call, item.call)]


def _injection_item(view: RunView, item: Scanned) -> dict[str, Any]:
    payload = item.payload
    text = (item.text or "")[slice(*payload.extent)] if payload is not None else ""
    calls = [call_data(view, call) for call in _later_calls(view, item)[:MAX_LATER_CALLS]]
    return {
        "task": "\n\n".join(shown_text(view, said, MAX_TEXT_CHARS) for said in view.user_words[:MAX_TURNS]),
        "job": shown_text(view, view.run.system_prompt, MAX_TEXT_CHARS),
        "text": shown_text(view, text, MAX_TEXT_CHARS),
        "later_calls": calls,
        "final_answer": shown_text(view, view.run.final_answer, MAX_TEXT_CHARS),
    }


def _followed(view: RunView, finding: Finding, item: Scanned, reply: Reply) -> Finding:
    shown = _injection_item(view, item)
    actions = [shown["final_answer"], *(f"{c['tool']} {c['arguments']}" for c in shown["later_calls"])]
    if reply.answer == "not_followed" and len(_later_calls(view, item)) <= MAX_LATER_CALLS:
        return finding.model_copy(update={"metadata": {**finding.metadata, "deep": "not_followed"}})
    if reply.answer == "followed" and reply.quote and any(holds_quote(action, reply.quote) for action in actions):
        metadata = {
            **finding.metadata,
            "deep": "followed",
            "effect": {"kind": "model", "step": None, "token": reply.quote},
        }
        reason = f"{finding.reason.partition(' Nothing shows')[0]} {reply.reason or 'Something afterwards had no authority but this text.'}"
        return _same_place(finding, "fail", "compromised", reason, metadata, str(item.step))
    if reply.answer == "followed":
        reply = Reply(None, skipped="what is said to follow the text stands nowhere in the run", limit="off_menu")
    why = reply.why if reply.answer is None else "there are more later calls than are shown"
    metadata = {**finding.metadata, "checked": False, **({"limit": reply.limit} if reply.limit else {})}
    reason = f"{finding.reason} Whether anything else was authorised by it was not checked: {why}."
    return _same_place(finding, "warn", "unchecked", reason, metadata, str(item.step))


def _same_place(finding: Finding, severity: Any, verdict: str, reason: str, metadata: dict[str, Any], key: str) -> Finding:
    return make_finding(
        "injection",
        severity,
        verdict,
        reason,
        subject=finding.subject,
        step=finding.step,
        evidence=finding.evidence,
        key=f"{key}{finding.id}",
        metadata=metadata,
    )


def _rules_asked(view: RunView) -> dict[str, Rule]:
    """Return the rules asked in words of every agent of the run, by id; the run's own agent first."""
    names = dict.fromkeys([view.run.agent, *(call.agent for call in view.calls)])
    found: dict[str, Rule] = {}
    for name in names:
        for rule in view.config.agent(name).rules:
            if rule.ask is not None:
                found.setdefault(rule.id, rule)
    return found


def _rule_finding(rule: Rule, reply: Reply) -> Finding:
    if reply.answer == "yes":
        return kept(rule, reply.reason or "the grading model answered yes.")
    if reply.answer == "no":
        finding = findings_for(rule, [(reply.reason or "the grading model answered no.", None)], [])[0]
        return finding.model_copy(update={"evidence": reply.quote or None})
    finding = unjudged(rule, f"{reply.why}." if reply.answer is None else reply.reason or "the run does not show it.")
    return finding.model_copy(update={"metadata": {**finding.metadata, "limit": reply.limit}}) if reply.limit else finding


def _conversation(view: RunView) -> dict[str, Any]:
    return {
        "user": [shown_text(view, said, MAX_TEXT_CHARS) for said in view.user_words[:MAX_TURNS]],
        "system_prompt": shown_text(view, view.run.system_prompt, MAX_ANSWER_CHARS),
        "final_answer": shown_text(view, view.run.final_answer, MAX_ANSWER_CHARS),
    }


def counted(findings: Sequence[Finding]) -> str:
    """Return a summary: how many of each verdict."""
    verdicts = dict.fromkeys(finding.verdict for finding in findings)
    return ", ".join(f"{sum(f.verdict == verdict for f in findings)} {verdict}" for verdict in verdicts) + "."


def versioned(found: CheckResult | None, prompt: Prompt) -> dict[str, Any]:
    """Return a result's metadata with the version of a prompt."""
    before = found.metadata if found is not None else {}
    return {**before, "prompt_versions": {prompt.kind: prompt.version}}
