"""Orders to an agent in other words than the plain ones: a table, and the signs by which a text may hold one.

Most are weak: manuals, policies and forms hold such wording too, and only a name or an address that nothing else
explains shows that one was followed. `ORDER_SIGNS` must let through whatever a pattern needs; a test holds that.
"""

from __future__ import annotations

from attest_otel.checks.injection.groups import ADDRESSEE, AGENT, DO, INSTRUCTIONS, START, Pattern

_TOOL = r"[`\"']?[a-z]\w*_\w+[`\"']?(?:\([^)\n]{0,80}\))?"
_ANSWER = r"(?:answers?|responses?|reply|replies|summary|output)"
_SENSITIVE = r"(?:~/\.(?:ssh|aws)\S*|\.env\b|id_rsa\b|/etc/(?:passwd|shadow)\b)"

ORDERS: tuple[Pattern, ...] = (
    Pattern("override", r"\bignore what (?:the )?(?:user|human|customer) (?:asked|said|says|wants|requested)\b"),
    Pattern("override", rf"\b(?:ignore|disregard|forget) (?:all (?:of )?)?the (?:above|foregoing|preceding)(?: \w+)?\s*[,;.]?\s+(?:and |instead,? |then )?(?:{DO}|end|begin|start|give|show)\b"),
    Pattern("override", rf"\bpay no attention to (?:the|your|any|all|those|these)\s+(?:\w+\s+){{0,3}}?{INSTRUCTIONS}\b"),
    Pattern("override", rf"\b(?:your|previous|prior|above|earlier|original)\s+(?:\w+\s+)?{INSTRUCTIONS}\s+(?:have changed|(?:are|were) (?:now )?(?:void|cancell?ed|invalid|revoked|superseded|overridden)|no longer apply|do not apply)\b", strong=False),
    Pattern("override", r"\b(?:do not|don't) listen to (?:your|the) (?:developers?|users?|owners?|operators?|creators?)\b"),
    Pattern("override", r"\bforget your (?:role|training|identity|purpose)\b"),
    Pattern("override", r"\b(?:override|bypass|ignore)\s+(?:the |all |your |any )?(?:safety|security) (?:protocols?|filters?|measures|guardrails?)\b", strong=False),
    Pattern("override", r"\boverrides? (?:all |any )?(?:previous|prior|earlier|your|existing)\s+(?:\w+\s+)?(?:instructions?|prompts?|polic(?:y|ies)|rules|guidelines?)\b", strong=False),
    Pattern("secret_request", rf"\b(?:(?:print|repeat|show|output|reveal) your|what (?:were|are) your)\s+(?:\w+\s+)?(?:original|initial|exact|hidden|full)\s+{INSTRUCTIONS}\b"),
    Pattern("secret_request", r"\brepeat (?:everything|all (?:of )?the (?:text|words)|the (?:text|words)) above\b|\bcontents? of your (?:context|memory|prompt)\b"),
    Pattern("secret_request", rf"\b(?:paste|upload|send|post|share|leak|e-?mail|forward|exfiltrate|dump|reveal)\s+(?:\S+\s+){{0,4}}?{_SENSITIVE}", strong=False),
    Pattern("persona", r"\b(?:act as|pretend (?:to be|you are|you're)|role-?play as|you are)\s+(?:an?\s+)?(?:unrestricted|unfiltered|uncensored|jailbroken|(?:malicious|evil)\s+(?:ai|assistant|agent|bot|model|hacker))\b|\bpretend (?:to be|you are|you're) dan\b"),
    Pattern("persona", r"\byou have been (?:upgraded|granted|promoted|switched) (?:to )?(?:admin|developer|root|debug)\b|\b(?:all|your) restrictions (?:are|have been) (?:lifted|removed|disabled)\b", strong=False),
    Pattern("role_marker", r"\{\{\s*system\s*:|\b(?:begin|start|end) system (?:message|prompt|instructions?)\b|\bend of (?:user|system) (?:input|prompt|message)\b|\bi am the system\b", strong=False),
    Pattern("role_marker", rf"(?:^|\n)#+[ \t]?instructions?\s*:\s*{DO}\b|<instructions?>\s*(?:please\s+)?{DO}\b", strong=False),
    Pattern("addressed", rf"\bp\.?\s?s\.?,?\s+(?:to|for) {ADDRESSEE}\b", strong=False),
    Pattern("addressed", rf"@(?:assistant|agent|bot|claude|chatgpt|copilot)\b[ ,:]+(?:please\s+)?{DO}\b", strong=False),
    Pattern("addressed", rf"{START}(?:bot|llm|ai|assistant|agent|ai agent)\s+(?:instructions?|task|directive|orders?|command)\s*:\s*\S", strong=False),
    Pattern("addressed", rf"\bto (?:any|all|every)\s+(?:\w+\s+)?{AGENT}\s+(?:reading|processing|parsing|visiting|viewing|summari[sz]ing|handling)\b", strong=False),
    Pattern("addressed", r"\b(?:notes?|messages?|attention|instructions?|notice|important|warning)\s*(?::|,|-|to|for)\s*(?:for\s+|to\s+|all\s+|any\s+){0,3}(?:ai|llm)\s+\w+\s*[:,]", strong=False),
    Pattern("addressed", rf"\bfor (?:all |any |the )?(?:ai |llm )?(?:agents|assistants|bots|llms|chatbots)\s*:\s*(?:please\s+)?{DO}\b", strong=False),
    Pattern("addressed", rf"\b(?:is|are) (?:only |intended |meant |just )*for {ADDRESSEE}\b|\b(?:is|are) (?:only |intended |meant |just )*for the model\b", strong=False),
    Pattern("addressed", rf"{START}(?:assistants?|agents?|ai|models?) (?:must|shall) (?:comply|obey)\b", strong=False),
    Pattern("addressed", r"\bi (?:hereby )?(?:instruct|order|command|direct) you to\b|\b(?:orders?|instructions?|messages?|commands?) from your (?:operator|developer|owner|admin\w*|creator)\b", strong=False),
    Pattern("addressed", r"\bthe (?:user|human) (?:will not|won't|cannot|can't|does not|doesn't) (?:see|read|know|notice) (?:this|these|about)\b|\bon behalf of the user\s*[:,]", strong=False),
    Pattern("addressed", rf"\bwhen(?:ever)? (?:asked|you are asked|summari[sz]ing|answering|responding)\b[^.!?\n]{{0,60}}?\b(?:always|you must|you should)\s+(?:say|state|mention|include|recommend|claim|respond|reply|answer)\b|\bin your {_ANSWER},? (?:please\s+|also\s+)?(?:include|mention|add|say|write|use|insert|state)\b", strong=False),
    Pattern("addressed", rf"\byour {_ANSWER} (?:must|has to|needs to) (?:begin|start|end|include|contain|say|mention|state|be)\b|\b(?:only|just) (?:answer|reply|respond) with\b|\b(?:answer|reply|respond) (?:only|just) with\b", strong=False),
    Pattern("conceal", r"\b(?:do not|don't|never) (?:reveal|mention|admit|disclose) that you\b|\bkeep (?:this|it) (?:a )?(?:secret|hidden) from (?:the )?(?:users?|humans?|customers?)\b", strong=False),
    Pattern("before_answering", r"\bbefore you (?:answer|respond|reply|summari[sz]e),? (?:please\s+|first\s+)?(?:open|visit|fetch|call|send|go to|run|execute|load)\b", strong=False),
    Pattern("tool_order", rf"\b(?:call|invoke|run|execute|use) (?:the )?(?:(?:tool|function) )?{_TOOL}(?: (?:tool|function))? (?:immediately|now|right away|at once|without (?:asking|delay))\b", strong=False),
)  # fmt: skip

ORDER_SIGNS = (
    r"(?i)pay no attention|listen to (?:your|the)|unrestricted|unfiltered|uncensored|jailbroken|malicious|\bevil\b|pretend|upgraded|granted|promoted|switched|restrictions"
    r"|\{\{\s*system|system (?:message|prompt|instruction)|end of (?:user|system)|i am the system|repeat |contents? of your|\.env|\.ssh|\.aws|id_rsa|/etc/(?:passwd|shadow)"
    r"|for the model|models? (?:must|shall)|\bllm|(?:instruct|order|command|direct) you|from your (?:operator|developer|owner|admin|creator)"
    r"|(?:user|human) (?:will not|won't|cannot|can't|does not|doesn't)|behalf of the user|when(?:ever)? (?:asked|you are asked|summari|answering|responding)|(?:in )?your (?:answer|response|reply|replies|summary|output)"
    r"|(?:only|just) (?:answer|reply|respond)|(?:answer|reply|respond) (?:only|just)|(?:reveal|mention|admit|disclose) that|before you (?:answer|respond|reply|summari)|keep (?:this|it)"
    r"|\w_\w[^\n]* (?:immediately|now|right away|at once|without)\b"
)
