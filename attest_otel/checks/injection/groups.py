"""Groups of words that several tables of injected wording share, and what an entry of a table is."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Pattern:
    """One kind of wording."""

    name: str
    expression: str
    strong: bool = True


GAP = r"[^.!?\n]*?\b"
AGENT = r"(?:ai|a\.i\.|llm|llms|agents?|assistants?|language models?|chatbots?|chat ?gpt|gpt(?:-?[0-9]\w*)?|claude|copilot|gemini|cursor|codex|bots?)"
ADDRESSEE = rf"(?:(?:the|any|all|every|your|other|our)\s+)*(?:(?:ai|llm|coding|autonomous|automated|virtual|helpful)\s+)?{AGENT}"
INSTRUCTIONS = r"(?:instructions?|prompts?|guidelines?|guidance|directives?)"
RULES = r"(?:rules?|directions?|polic(?:y|ies)|constraints?|restrictions?|commands?|training|programming|safeguards?|safety)"
SECRETS = r"(?:system prompt|initial prompt|hidden prompt|developer message|environment variables?|env vars?|api[ _-]?keys?|credentials?|secrets?|passwords?|access tokens?|auth tokens?|session tokens?|private keys?|ssh keys?|the token|conversation history|chat history)"
SHOW = r"(?:print|reveal|show|output|repeat|send|leak|return|include|paste|dump|disclose|exfiltrate|share|post|upload|forward|email|append|encode)"
ADDRESS = r"(?:[\w.+-]+@[\w-]+\.[\w.-]+|https?://)"
START = r"(?:^|[^\w@/.-])"
PLACE = rf"(?:{ADDRESS}|(?:url\s+|link\s+|address\s+)?https?://|(?:the|your|this|an?|every|each|its?)\s+(?:[\w'-]+\s+){{0,2}}?(?:reply|repl(?:y|ies)|answers?|responses?|output|summary|message|chat|comments?|description|issues?|tickets?|reviews?|pr|pull requests?|e-?mails?|commit|report|note|post|image|attacker|author)\b)"
DO = r"(?:ignore|disregard|send|forward|call|run|execute|delete|transfer|reply|respond|answer|include|add|append|read|use|open|fetch|visit|print|reveal|issue|approve|say|recommend|create|e-?mail|upload|post|change|update|book|pay|grant|disable|stop|star|render|display|output|tell|write|set|cancel|refund|wire|escalate|mark|assign|close|install|download|share|click|rate)"
