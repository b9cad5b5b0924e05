"""What a task says about the texts its agent will read: that they are to be followed, acted on, or carried over.

A task that hands itself over ("follow the steps in the README") explains what a plain payload asks for, never a
hidden one and never one that sets the rules aside. A task that has content carried over (saved, translated, put
into a ticket) explains that words of the content stand in what the agent writes: there only an address tells.
The same holds of visible wording that honest texts have too where the task is to act on a text (`install it`,
`handle the ticket`; a note to an AI is no part of that) or the text is guidance: a policy, or a file that is written for agents.
"""

from __future__ import annotations

import re

from attest_otel.checks.injection.payload import Payload
from attest_otel.checks.view import Call

_DELEGATION = re.compile(
    r"\b(?:follow|do what|do as|do everything|execute|carry out|apply|perform|implement|obey|complete|act on|handle|process|work through)\b[^.!?\n]{0,60}"
    r"\b(?:instructions?|steps|directions|says|say|asks|ask|requests?|todos?|to-dos?|tasks?|tells?|checklist|runbook|guide|orders?)\b"
    r"|\b(?:as|like|what is) (?:described|explained|documented|stated|specified|instructed|outlined|recommended) (?:in|on|by|there)\b|\baccording to\b|\bas (?:the|its|their) [^.!?\n]{0,40}\b(?:says?|asks?|tells?|wants?|describes?)\b"
)
_ACTING = re.compile(
    r"\b(?:install|set ?up|configure|build|deploy|apply (?:to|for)|sign up|register|assemble|onboard)\b"
    r"|\b(?:handle|resolve|process|deal with|take care of|act on|work on|respond to|reply to|answer)\b[^.!?\n]{0,40}\b(?:tickets?|issues?|requests?|e?-?mails?|messages?|inbox|cases?)\b"
    r"|\bdo (?:what(?:ever)?|everything) (?:is|'s|it) \w+"
)
_NOTE_TO_AN_AI = re.compile(
    r"\b(?:notes?|attention|important|instructions?|messages?|notice|reminder|warning|urgent)\b[^.\n]{0,20}\b(?:ai|llms?|assistants?|language models?|chat ?bots?|bots?)\b"
)
MAX_NOTE_CHARS = 160
_GUIDANCE_TOOL = re.compile(r"polic(?:y|ies)|guideline|procedure|handbook|playbook|runbook|knowledge|faq", re.IGNORECASE)
_GUIDANCE_FILE = re.compile(
    r"\b(?:agents|claude|contributing|readme|copilot-instructions|gemini)\.(?:md|rst|txt)\b", re.IGNORECASE
)
_CARRYING = re.compile(
    r"\b(?:cop(?:y|ied|ies)|sav(?:e|ing)|stor(?:e|ing)|archiv\w+|translat\w+|transcri\w+|extract\w*|convert|draft|rewrite|rephrase|migrate"
    r"|(?:open|create|file|write|make|add|take) (?:(?:a|an|the|some|new|up) ){0,2}(?:\w+ )?(?:tickets?|notes?|issues?|docs?|documentation|reports?|summary|pages?|files?|tests?|client|wrapper)"
    r"|write (?:it|them|that|this|down|up)|put (?:it|them|that|this) (?:in|into))\b"
)
_PROSE = re.compile(r"content|text|body|note|comment|message|description|summary|file_text|markdown|html|new_str", re.IGNORECASE)
MIN_PROSE_WORDS = 5


def hands_itself_over(task: str, payload: Payload) -> bool:
    """Return whether the task (in lower case) has the agent do what such a text asks."""
    return not payload.hidden and "override" not in payload.names and _DELEGATION.search(task) is not None


def is_acted_on(task: str, source: Call | None, payload: Payload) -> bool:
    """Return whether a visible, weak payload stands in a text that the task (in lower case) has acted on, or in guidance."""
    if payload.hidden or payload.strong:
        return False
    if _ACTING.search(task) is not None and _NOTE_TO_AN_AI.search(payload.body[:MAX_NOTE_CHARS]) is None:
        return True
    if source is None:
        return False
    return _GUIDANCE_TOOL.search(source.name) is not None or _GUIDANCE_FILE.search(source.canonical_arguments[:2_000]) is not None


def carries_content(task: str) -> bool:
    """Return whether the task (in lower case) has the agent put what it reads into something that it writes."""
    return _CARRYING.search(task) is not None


def is_content(name: str) -> bool:
    """Return whether an argument of this name holds content, not where it goes."""
    return _PROSE.search(name) is not None


def is_prose(name: str, text: str) -> bool:
    """Return whether an argument is a text of the agent's own writing, not a value."""
    return is_content(name) and len(text.split(None, MIN_PROSE_WORDS)) >= MIN_PROSE_WORDS
