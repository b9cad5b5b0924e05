"""What a task says about the texts its agent will read: that their instructions are to be followed, or their content carried over.

A task that hands itself over ("follow the steps in the README") explains what a plain payload asks for, never a
hidden one and never one that sets the rules aside. A task that has content carried over (saved, translated, put
into a ticket) explains that words of the content stand in what the agent writes: there only an address tells.
"""

from __future__ import annotations

import re

from attest_otel.checks.injection.payload import Payload

_DELEGATION = re.compile(
    r"\b(?:follow|do what|do as|do everything|execute|carry out|apply|perform|implement|obey|complete|act on|handle|process|work through)\b[^.!?\n]{0,60}"
    r"\b(?:instructions?|steps|directions|says|say|asks|ask|requests?|todos?|to-dos?|tasks?|tells?|checklist|runbook|guide|orders?)\b"
    r"|\b(?:as|like|what is) (?:described|explained|documented|stated|specified|instructed|outlined|recommended) (?:in|on|by|there)\b|\baccording to\b|\bas (?:the|its|their) [^.!?\n]{0,40}\b(?:says?|asks?|tells?|wants?|describes?)\b"
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


def carries_content(task: str) -> bool:
    """Return whether the task (in lower case) has the agent put what it reads into something that it writes."""
    return _CARRYING.search(task) is not None


def is_prose(name: str, text: str) -> bool:
    """Return whether an argument is a text of the agent's own writing, not a value."""
    return _PROSE.search(name) is not None and len(text.split(None, MIN_PROSE_WORDS)) >= MIN_PROSE_WORDS
