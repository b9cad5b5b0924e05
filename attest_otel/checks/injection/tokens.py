"""What in an instruction is distinctive: addresses, identifiers, paths, commands, quoted and named words, and credentials.

Every expression reads at most an instruction (800 characters), `secret_in` the text it is given; all are single
alternations without nesting.
"""

from __future__ import annotations

import re

from attest_otel.checks.injection.words import COMMON_WORDS

MAX_TOKENS = 48
MIN_WORDS = 5

_EMAIL = re.compile(r"[\w.+-]{1,64}@[\w-]{1,63}(?:\.[\w-]{1,63}){1,5}", re.ASCII)
_HOST = re.compile(r"(?:https?://)?((?:[a-z0-9-]{1,63}\.){1,5}[a-z]{2,24})(?![\w(])")
_IDENTIFIER = re.compile(
    r"[a-z0-9]+(?:_[a-z0-9]+)+|[a-z]+(?:-[a-z]+)*-?\d[\w-]{3,}|\d[\d-]{4,}\d|\d+[a-z]\w{3,}|\$\d[\d,.]*\d", re.ASCII
)
_PATH = re.compile(r"(?:~|\.\.?)?/[\w.-]+(?:/[\w.-]+)+|~/[\w.-]+|/etc/\w+|\.env\b|\bid_rsa\b", re.ASCII)
_QUOTED = re.compile(r"[\"'`\u201c\u2018]([^\"'`\u201c\u201d\u2018\u2019\n]{4,80})[\"'`\u201d\u2019]")
_COMMAND = re.compile(
    r"\b(?:rm -\w+ \S+|curl \S+|wget \S+|chmod \S+ \S+|git push \S+|drop table \w+|delete from \w+|npm install \S+|pip install \S+)"
)
_NAMED = re.compile(
    r"\b(?:say|add|include|append|write|use|insert|mention|print|reply|respond|answer|output|repeat)\s+(?:only\s+|just\s+)?(?:with\s+)?the\s+(?:\w+\s+)?(?:word|phrase|term|hashtag)\s+[\"'`]?([a-z][\w-]{3,40})"
    r"|\b(?:star|fork|follow|clone|install|add)\s+(?:the\s+)?(?:repo(?:sitory)?|package|project|dependency|library|plugin)\s+[\"'`]?([\w.-]{2,40}/[\w.-]{2,40}|[\w.-]*[\d_-][\w.-]*)"
    r"|\b(?:repo|repository|table|database|bucket|branch|server|service|cluster|instance|pod|channel|folder|namespace)\s+[\"'`]?([a-z0-9]+(?:[-_/.][a-z0-9]+)+)"
    r"|\b(?:say|write|print|reply|respond|answer|output)\s+(?:only\s+|just\s+|back\s+)?(?:with\s+|this\s+|the\s+)[^.:\n]{0,30}:\s*[\"'`]?([^\n\"'`.]{4,80})"
)
_TO_AN_AI = re.compile(
    r"\b(?:ais?|llms?|language models?|assistants?|chat ?bots?|chat ?gpt|gpt|claude|copilot|gemini|ki|ia)\b|助手|アシスタント|ассистент"
)
_IN_THE_ANSWER = re.compile(
    r"\b(?:your|the) (?:final )?(?:answers?|reply|replies|responses?|summary|output)\b|\btell the (?:user|customer|human)s?\b"
)
_SAID = re.compile(r"\b(?:say|write|print|reply|respond|answer|output|start|begin|end)\b")
_SECRET = re.compile(
    r"\b(?:sk|pk|rk|tok|ghp|gho|ghs|xox[abp]|glpat|key|api)[-_][a-z0-9_-]{8,}|\bakia[0-9a-z]{12,}|-----begin [a-z ]{0,30}private key|\beyj[\w-]{10,}\.[\w-]{10,}"
)
_CAPITALS = re.compile(r"\b[A-Z][A-Z0-9_-]{3,}\b", re.ASCII)
_NO_HOST = re.compile(r"\.(?:py|js|ts|md|txt|json|ya?ml|html?|csv|pdf|png|jpe?g|sh|sql|xml|toml|cfg|ini|log)$")
_SHOUTED = frozenset(
    [
        "NOTE",
        "IMPORTANT",
        "SYSTEM",
        "USER",
        "ASSISTANT",
        "AGENT",
        "AGENTS",
        "URGENT",
        "WARNING",
        "ATTENTION",
        "MUST",
        "NEVER",
        "ALWAYS",
        "IGNORE",
        "PREVIOUS",
        "INSTRUCTIONS",
        "INSTRUCTION",
        "ALL",
        "JSON",
        "HTTP",
        "HTTPS",
        "HTML",
        "TODO",
        "THIS",
        "THAT",
        "WITH",
        "FROM",
        "YOUR",
        "INST",
        "STOP",
        "CRITICAL",
        "MANDATORY",
        "OVERRIDE",
        "PROMPT",
        "READ",
        "SEND",
        "CALL",
        "THEN",
        "BEFORE",
        "AFTER",
        "ONLY",
        "ERROR",
        "INFO",
        "DATA",
        "EMAIL",
        "NOTICE",
        "ADMIN",
        "MESSAGE",
        "INTO",
        "HAVE",
        "WILL",
    ]
)


def strong_tokens(instruction: str, original: str) -> list[str]:
    """Return the names, addresses and quoted words of an instruction, in lower case, most telling first."""
    found: list[str] = []
    for expression in (_EMAIL, _HOST, _IDENTIFIER, _PATH, _COMMAND, _QUOTED, _NAMED):
        for match in expression.finditer(instruction):
            token = match.group(match.lastindex or 0).strip(".,;: ")
            if expression is _HOST and _NO_HOST.search(token):
                continue
            found.append(token)
    words = original.split()
    if sum(word.isupper() for word in words) <= len(words) // 2 or len(words) < MIN_WORDS:
        found += [word.lower() for word in _CAPITALS.findall(original) if word not in _SHOUTED]
    return [token for token in dict.fromkeys(found) if len(token) > 3 and token not in COMMON_WORDS][:MAX_TOKENS]  # noqa: PLR2004


def said_tokens(instruction: str, original: str) -> list[str]:
    """Return the words that an instruction to an AI wants said; none where it speaks to anybody."""
    if _TO_AN_AI.search(instruction) is None:
        return []
    found = [match.group(match.lastindex or 0) for expression in (_QUOTED, _NAMED) for match in expression.finditer(instruction)]
    if _IN_THE_ANSWER.search(instruction) is not None:
        found += strong_tokens(instruction, original)
    elif _SAID.search(instruction) is not None:
        found += [word.lower() for word in _CAPITALS.findall(original) if word not in _SHOUTED]
    return [token for token in dict.fromkeys(found) if len(token) > 3 and token not in COMMON_WORDS][:MAX_TOKENS]  # noqa: PLR2004


def secret_in(text: str) -> str | None:
    """Return the first thing in a lower-case text that looks like a credential, or None."""
    found = _SECRET.search(text)
    return found[0] if found is not None else None
