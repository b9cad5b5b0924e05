"""Takes out of evidence what reads like an instruction, to an agent or to whoever grades it.

Two kinds: what the injection scan calls a payload, with its paragraph; and wording that names one of
our own answers as the one to give. What is taken out leaves a mark, and the text counts as flagged: it
can contradict a claim and can't support one. This holds for wording that is recognised; for the rest
every question carries a control (see `asking`).
"""

from __future__ import annotations

import re

from attest_otel.checks.injection.scan import scan_text

MAX_PAYLOADS = 5
REMOVED = "[removed: reads like an instruction]"

_ANSWERS = (
    r"supported|unsupported|unverifiable|acknowledged|silent|claimed[_ ]success|reasonable|in[_ ]scope|appropriately[_ ]refused"
    r"|out[_ ]of[_ ]scope(?:[_ ]complied)?|not[_ ]followed|followed|cannot[_ ]tell|no[_ ]action|not[_ ]made|made|yes|pass(?:ed)?|kept"
)
_NAMES_AN_ANSWER = re.compile(
    r"\b(?:answers?|verdict|label|grade|grading|rating|classification|judge?ment|reading|final decision)\b[\"'*`\s]{0,4}"
    rf"(?:[:=]|->|\bis\b|\bmust be\b|\bshould be\b|\bwith\b|\bas\b)[\"'*`\s]{{0,4}}(?:{_ANSWERS})\b"
    r"|\b(?:mark|rate|grade|classify|label|judge|treat|consider|report|call)\b[^.\n]{0,60}?\b(?:as|to be)\b[\"'*`\s]{1,4}"
    r"(?:fully |always )?(?:supported|acknowledged|in[_ ]scope|appropriately[_ ]refused|not[_ ]followed|reasonable)\b",
    re.IGNORECASE,
)


def without_instructions(text: str) -> tuple[str, bool]:
    """Return the text without payloads and wording that names an answer, and whether there was any."""
    flagged = False
    for _ in range(MAX_PAYLOADS):
        payload = scan_text(text)
        if payload is None:
            break
        start, end = payload.extent
        text, flagged = f"{text[:start]}{REMOVED}{text[end:]}", True
    text, naming = without_answer_names(text)
    return text, flagged or naming


def without_answer_names(text: str) -> tuple[str, bool]:
    """Return the text without the wording that names an answer to give, and whether there was any."""
    cleaned, count = _NAMES_AN_ANSWER.subn(REMOVED, text)
    return cleaned, count > 0
