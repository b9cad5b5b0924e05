"""The words by which an effect is told: what in an instruction is distinctive, and what asks to say something.

Regular expressions here read at most an instruction (800 characters), or are single alternations
without nesting.
"""

from __future__ import annotations

import re

MAX_TOKENS = 48
MIN_WORDS = 5

thought_keys = frozenset({"thought", "thoughts", "thinking", "reasoning", "rationale", "reflection"})

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
    r"|\b(?:say|write|print|reply|respond|answer|output)\s+(?:only\s+|just\s+|back\s+)?(?:with\s+|this\s+|the\s+)[^.:\n]{0,30}:\s*[\"'`]?([^\n\"'`.]{4,80})"
)
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

SAY_VERB = re.compile(
    r"\b(?:say|says|print|include|output|reply|respond|answer|tell|inform|add|append|write|mention|recommend|suggest|link|insert|end|start|begin|display|show|render|return|sign|repeat|state|claim|reveal|post|put|direct|point|refer|urge|advise|ask|embed|quote|sing|praise|promote|advertise|compose|translate|rate"
    r"|sage?|antworte\w*|schreib\w*|gib|gebe|nenne|erwahne|empfiehl|fuge|zeige|repond(?:s|ez|re)|dis|dites|ecri(?:s|vez)|affiche[rz]?|ajoute[rz]?|mentionne[rz]?|recommande[rz]?|responde[rd]?|escrib[ae]|di|muestr[ae]|incluye|agrega|anad[ea]|recomienda|rispondi|scrivi|mostra|aggiungi|responda|escrev[ae]|diga|adicione|antwoord|zeg|schrijf|odpowiedz|napisz|yaz|cevapla|soyle)\b"
    r"|\b(?:ответь|напиши|скажи|выведи|добавь|укажи)|回复|回覆|回答|输出|輸出|写上|加上|添加|显示|顯示|返信|答え|出力|表示|書い|言っ|대답|답변|답하|출력|말하|추가|أجب|اكتب|قل|लिखें|कहें|उत्तर"
)
CONTENT_WORD = re.compile(r"[a-z]{5,40}")
COMMON_WORDS = frozenset(
    [
        "about",
        "above",
        "after",
        "again",
        "agent",
        "agents",
        "algorithm",
        "answer",
        "assistant",
        "assistants",
        "before",
        "being",
        "below",
        "between",
        "cannot",
        "chatbot",
        "claude",
        "could",
        "developer",
        "different",
        "disregard",
        "during",
        "either",
        "every",
        "everything",
        "first",
        "follow",
        "following",
        "forget",
        "further",
        "having",
        "human",
        "ignore",
        "immediately",
        "important",
        "include",
        "instead",
        "instruction",
        "instructions",
        "language",
        "large",
        "later",
        "message",
        "messages",
        "models",
        "model",
        "other",
        "output",
        "please",
        "previous",
        "prior",
        "prompt",
        "prompts",
        "proceed",
        "provide",
        "reading",
        "reply",
        "respond",
        "response",
        "results",
        "return",
        "rules",
        "should",
        "since",
        "something",
        "still",
        "summarise",
        "summarize",
        "system",
        "their",
        "there",
        "these",
        "thing",
        "things",
        "those",
        "through",
        "tools",
        "under",
        "until",
        "update",
        "using",
        "value",
        "visible",
        "where",
        "which",
        "while",
        "whole",
        "whose",
        "without",
        "would",
        "write",
        "writing",
        "words",
        "your",
        "yours",
        "yourself",
        "always",
        "never",
        "information",
        "content",
        "document",
        "order",
        "orders",
        "request",
        "requests",
        "current",
        "entire",
        "earlier",
        "customer",
        "customers",
        "users",
        "report",
        "never",
        "their",
        "given",
        "needs",
        "right",
        "continue",
        "complete",
        "completed",
        "ready",
        "simply",
        "really",
        "actual",
        "actually",
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


def secret_in(text: str) -> str | None:
    """Return the first thing in a lower-case text that looks like a credential, or None."""
    found = _SECRET.search(text)
    return found[0] if found is not None else None
