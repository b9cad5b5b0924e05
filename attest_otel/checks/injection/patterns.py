"""The wording of injected instructions, as tables.

`may_carry` is the cheap question asked of every output: could any pattern below match, or does the text
hold something that has to be decoded first? It must let through whatever a pattern needs; a test
holds that. The patterns read a normalised (lower-case) copy. A gap between two words never crosses
the end of a sentence. All are RE2: linear on any input.

A pattern is `strong` when nobody but an attacker writes it to an agent: then words in common with a
later call count as obeying. A weak one (a note to the assistant, a request for silence) also stands in
honest documents: only a name, address or identifier that nothing else explains counts. What forbids or only
tells of the thing (`never share your password`, `who ignore the rules`) is no order and matches nothing.
"""

from __future__ import annotations

import re
from itertools import islice

import re2

from attest_otel.checks.injection.groups import (
    ADDRESS,
    ADDRESSEE,
    AGENT,
    DO,
    GAP,
    INSTRUCTIONS,
    PLACE,
    RULES,
    SECRETS,
    SHOW,
    START,
    Pattern,
)
from attest_otel.checks.injection.orders import ORDER_SIGNS, ORDERS

PATTERNS: tuple[Pattern, ...] = (
    *ORDERS,
    Pattern("override", rf"\b(?:ignore|ignoring|disregard|forget|override|bypass|discard|(?:do not|don't|stop|never) (?:follow|obey)\w*)\s+(?:\S+\s+){{0,4}}?(?:previous|prior|preceding|above|earlier|all|any|every|your|its|the|other|system|original|existing|former|these|those)\s+(?:[\w'-]+\s+){{0,4}}?{INSTRUCTIONS}\b"),
    Pattern("override", rf"\b(?:ignore|ignoring|disregard|forget|override|bypass|discard|(?:do not|don't|stop|never) (?:follow|obey)\w*)\s+(?:\S+\s+){{0,2}}?(?:(?:previous|prior|preceding|above|earlier|your|original|former)\s+(?:[\w'-]+\s+){{0,3}}?|(?:all|any|every)\s+(?:(?:of\s+)?(?:your|the|these|those|other|system|safety|security)\s+)?){RULES}\b"),
    Pattern("override", r"\b(?:ignore|disregard|forget)\s+(?:everything|anything|all|what)\s+(?:that\s+)?(?:(?:you|i|we|was|were|is|has been)\s+(?:\w+\s+){0,3}?(?:told|taught|instructed|said|before|written|given|asked)|above|before|prior|previous|said|written|came before|the above|the previous)\b"),
    Pattern("override", r"\b(?:forget|disregard)\s+(?:everything|anything|all)\s+(?:that\s+)?(?:you|i said|else)\b", strong=False),
    Pattern("new_task", r"\b(?:your\s+(?:real|actual|true|new|updated|revised|only|next)|the\s+(?:real|actual|true|new|updated|revised))\s+(?:and\s+\w+\s+)?(?:task|goal|objective|mission|instructions?)\s*(?:\s(?:is|are|now)\b|:)", strong=False),
    Pattern("new_task", r"\b(?:(?:new|updated|revised|override|admin|developer|secret|hidden)\s+(?:system\s+)?(?:instructions?|prompt|directives?)|(?:override|admin|developer|secret|hidden)\s+orders?)\s*(?::|for you\b|follow\b)", strong=False),
    Pattern("new_task", rf"\bnew (?:task|goal|objective|instructions?|orders?) for (?:you|{ADDRESSEE})\b"),
    Pattern("new_task", r"\bsystem\s+(?:override|instruction|prompt)\s*(?::|-|—)\s*\w"),
    Pattern("new_task", r"\bsystem\s+(?:update|notice)\s*(?::|-|—)\s*\w", strong=False),
    Pattern("persona", rf"\byou are (?:now|actually|really|no longer)\s+(?:an?\s+|the\s+|bound|in\s+)?(?:\w+\s+){{0,2}}?(?:{AGENT}|dan|free|unrestricted|unfiltered|jailbroken|bound|(?:developer|debug|admin|god|root|maintenance)\s+mode|admin\w*|hacker|pirate)\b"),
    Pattern("persona", r"\b(?:from now on|starting now|henceforth),?\s+(?:you|always|never|respond|answer|reply|act|every)\b", strong=False),
    Pattern("persona", r"\b(?:enter|enable|activate|switch to)\s+(?:god|dan|jailbreak|unrestricted)\s+mode\b"),
    Pattern("persona", r"\b(?:enter|enable|activate|switch to)\s+(?:developer|debug|admin)\s+mode\b", strong=False),
    Pattern("role_marker", r"<\|(?:im_start|im_end|im_sep|system|user|assistant|endoftext|eot_id|start_header_id|begin_of_text)\|?>|\[/?inst\]|<</?sys>>|<\|?/?(?:system_prompt|system-prompt|assistant_instructions?|system-reminder)\|?>|<\|/?system\|?>|\[/?system\]|\[system (?:message|prompt|note)\](?:[^(]|$)"),
    Pattern("role_marker", r"</?system>", strong=False),
    Pattern("role_marker", r"(?:^|\n|\"|>|[.!?]\s)\s*#*\s*(?:system|developer|human|user|assistant)(?:\s+(?:message|prompt|note))?\s*:\s*(?:please\s+)?(?:you (?:are|must|will|should|have to)|ignore|disregard|forget|override|from now|do not|never|always|reveal|print|send|call|execute|run|delete|transfer|the user (?:has|is|wants)|new )"),
    Pattern("role_marker", r"(?:^|\n)\s*#+\s*(?:system|developer)(?:\s+(?:prompt|message|instructions?))?\s*:?\s*\n\s*(?:you (?:are|must|will|should|have to)|ignore|disregard|always|never)\b", strong=False),
    Pattern("secret_request", rf"\b{SHOW}\s+(?:\S+\s+){{0,5}}?(?:your|the full|the entire|full|entire|all|any|user'?s?|their|this|the)\s+(?:\S+\s+){{0,4}}?{SECRETS}{GAP}(?:in|to|into|via|as|with|at)\s+{PLACE}", strong=False),
    Pattern("secret_request", rf"\b{SHOW}\s+(?:\S+\s+){{0,3}}?(?:(?:your|the)\s+)(?:\S+\s+){{0,2}}?(?:system prompt|initial prompt|hidden prompt|developer message|initial instructions|original instructions)\b"),
    Pattern("secret_request", r"\bpost the (?:api |access |auth |secret )?(?:token|key|password)\b", strong=False),
    Pattern("exfiltration", rf"\b(?:send|forward|e-?mail|post|upload|transfer|exfiltrate|bcc|copy|leak|transmit|submit|wire|report)\s+(?:\S+\s+){{0,3}}?(?:(?:all|every|entire|full|whole|complete)\s+(?:\S+\s+){{0,2}}?(?:contents?|data|files?|records?|e?-?mails?|messages?|invoices?|funds|money|balance|rows?|list|report|documents?)|conversations?|history|contacts?|credentials?|passwords?|tokens?|keys?|secrets?|inbox|customer\s+(?:data|list|records|details)|database)\b{GAP}(?:to|at|with|on)\s+\S{{0,20}}?{ADDRESS}", strong=False),
    Pattern("exfiltration", r"!\[[^\]\n]*\]\(\s*https?://[^)\s]*(?:\{|<|\[|%7b|\$\{?)[a-z _-]", strong=False),
    Pattern("addressed", rf"\b(?:notes?|messages?|attention|instructions?|important|notice|reminder|hint|warning|info|urgent|directives?|request)\b\s*(?::|,|-|to|for)?\s*(?:to|for|:)?\s*{ADDRESSEE}(?:\s*(?:reading|processing|parsing|summari[sz]ing|handling|visiting|using|that|who|\([^)\n]*\))[^:.\n]{{0,60}})?\s*(?::|,|—|-|!|\.)\s*\S", strong=False),
    Pattern("addressed", rf"\b(?:dear|hey|hello|hi|attention|listen)[ \t]*,?[ \t]+{ADDRESSEE}[ \t]*[,!:.—-]*\s*(?:please[ \t]+)?(?:{DO}|do not|don't|never|always|you (?:must|should|will|have to|need to))\b", strong=False),
    Pattern("addressed", rf"\b(?:if|when|since|because|as)\s+you(?:'re| are)\s+(?:reading\s+this\s+)?(?:as\s+)?(?:(?:an?|the)\s+)?(?:ai|llm|language model|(?:ai|llm|coding|autonomous)\s+(?:{AGENT}|models?))\b", strong=False),
    Pattern("addressed", r"\bas an? (?:ai|llm|language model)\b[^.!?\n]{0,30}?\byou (?:must|should|shall|will|need to|have to|are (?:required|instructed))\b", strong=False),
    Pattern("addressed", rf"{START}(?:ai|llm|agents?|assistants?|chatbots?|bots?)\s+(?:(?:agents?|assistants?|models?|bots?)\s+)?(?:reading|visiting|processing|parsing|viewing|summari[sz]ing|that (?:read|visit|process))\s[^.!?\n]{{0,40}}?\b(?:must|should|shall|need to|have to|are (?:required|instructed|asked) to)\b", strong=False),
    Pattern("addressed", rf"{START}(?:ai|llms?)\s+must\s+(?:also\s+|now\s+|first\s+|immediately\s+|always\s+)?{DO}\b", strong=False),
    Pattern("addressed", rf"{START}(?:ai|llm)\s*:\s*(?:please\s+)?(?:you must|do not|never|ignore|disregard|send|forward|delete|transfer|reply|respond|append|execute|before (?:you|continuing|answering|responding)\b|(?:call|run|invoke)\s+[a-z]\w*[_(]|(?:add|include|say|mention|insert|write|print|reveal)\s+(?:the|this|your|that)\b)", strong=False),
    Pattern("addressed", r"\bthe (?:user|customer|owner|operator|admin\w*) has (?:already |now )?(?:pre-?)?(?:authori[sz]ed|approved|permitted) (?:you|this agent|the (?:agent|assistant)) to\b", strong=False),
    Pattern("addressed", r"\bi (?:hereby )?authori[sz]e you to\b|\b(?:once|after|when|now that) you(?:'ve| have)? (?:read|seen|processed|finished) (?:reading )?(?:this|it)\b[^.!?\n]{0,20}?\byou (?:are to|must|will)\b", strong=False),
    Pattern("override", r"\bignore (?:the |your )?(?:user|human|customer)(?:\s*[.;!]|'s (?:requests?|questions?|messages?|instructions?|input|prompt)|\s+(?:and|request|question|input|prompt)\b)"),
    Pattern("addressed", r"\b(?:hinweis|wichtig|achtung|anweisung\w*|nachricht|notiz)\s*(?:\s(?:fue?r|an)\s|:)\s*(?:(?:den|die|das|alle|jeden?)\s+)?(?:ki\b|llms?\b|assistent\w*|agent(?:en)?\b|chatbots?\b|sprachmodell\w*)", strong=False),
    Pattern("addressed", r"\b(?:note|messages?|attention|important|instructions?|consignes?)\s*(?:\s(?:pour|aux?|a)\s|:)\s*(?:l'\s?|les?\s+|tous les\s+)?(?:assistants?|agents?|ia\b|llms?\b|modeles? de langage|chatbots?)\b", strong=False),
    Pattern("addressed", r"\b(?:nota|mensaje|mensagem|atencion|atencao|importante|instruc\w+|aviso)\s*(?:\s(?:para|al?|aos?)\s|:)\s*(?:(?:el|la|los|las|o|os|as|todos (?:los|os))\s+)?(?:asistentes?|assistentes?|agentes?|ia\b|llms?\b|modelos? de|chatbots?)\b", strong=False),
    Pattern("addressed", r"\b(?:nota|messaggio|attenzione|importante|istruzion\w+)\s*(?:\s(?:per|agli)\s|\sall'|:)\s*(?:l'\s?|gli\s+|il\s+|tutti gli\s+)?(?:assistent[ei]|agent[ei]|ia\b|llms?\b|chatbot)\b|\b(?:bericht|opmerking|belangrijk|let op)\s*(?:\s(?:voor|aan)\s|:)\s*(?:de\s+|alle\s+)?(?:ai\b|assistent\w*|agent(?:en)?\b|chatbots?\b)", strong=False),
    Pattern("addressed", r"(?:внимание|важно|заметка|сообщение|инструкция)\s*(?:,|:|для)?\s*(?:всех\s+)?(?:ии[- ]|ai[- ]|ассистент|агент|чат-бот|нейросет)", strong=False),
    Pattern("addressed", r"(?:ai|人工智能|人工知能|智能)\s*(?:助手|助理|代理|模型|机器人|機器人)[^。\n]{0,12}?(?:请|請|必须|必須|应当|务必|務必)|(?:ai|人工知能)\s*(?:アシスタント|エージェント|ボット)\s*(?:へ|は|様|の皆)[^。\n]{0,60}?(?:ください|せよ|しなさい)|(?:ai|인공지능)\s*(?:어시스턴트|에이전트|비서|봇)[^.\n]{0,60}?(?:하세요|십시오|하시오)", strong=False),
    Pattern("addressed", rf"{START}(?:ai|llm|coding|autonomous)[ \t]+(?:agents?|assistants?|models?|bots?)\s*(?::\s*\S|,\s*(?:please\s+)?(?:{DO}|you (?:must|should|will|need|have)|do not|don't|never|always|also|first|before|now)\b)", strong=False),
    Pattern("addressed", rf"{START}(?:ai|llm|coding|autonomous)\s+(?:agents?|assistants?|models?|bots?|tools?|systems?)\s+(?:must|should|shall|need to|have to|are (?:required|instructed|asked) to)\s+(?:also\s+|now\s+|first\s+|immediately\s+|always\s+|never\s+|not\s+)?{DO}\b", strong=False),
    Pattern("addressed", rf"{START}(?:assistants?|agents?|claude|chatgpt|copilot)\s*(?::|,)\s*(?:please\s+)?(?:you (?:must|should|will)|do not|never|always|also|first|before|now|immediately|{DO})\b", strong=False),
    Pattern("addressed", rf"\b(?:the|any|every|all)\s+(?:(?:ai|llm|coding)\s+)?(?:{AGENT})\s+(?:must|should|shall|needs? to|has to|have to|is (?:required|instructed|asked) to|are (?:required|instructed|asked) to)\s+(?:also\s+|now\s+|first\s+|immediately\s+|always\s+)?{DO}\b", strong=False),
    Pattern("conceal", r"\b(?:do not|don't|dont|never|without|must not|should not|avoid)\s+(?:\w+\s+)?(?:tell(?:ing)?|inform(?:ing)?|mention(?:ing)?(?: (?:this|it|any of this))? to|reveal(?:ing)?(?: (?:this|it))? to|notify(?:ing)?|alert(?:ing)?|disclos(?:e|ing)(?: (?:this|it))? to|let(?:ting)?|ask(?:ing)?|show(?:ing)?(?: (?:this|it))? to|report(?:ing)?(?: (?:this|it))? to)\s+(?:the\s+|any\s+|your\s+)?(?:users?|humans?|customers?|owners?|operators?|developers?|anyone|anybody|victims?)\b", strong=False),
    Pattern("conceal", r"\b(?:do not|don't|never)\s+(?:mention|reveal|disclose|acknowledge|report)\s+(?:this|these|the)\s+(?:\w+\s+)?(?:instructions?|message|note|prompt|comment|step)s?\b"),
    Pattern("before_answering", r"\b(?:before|instead of|prior to)\s+(?:you\s+)?(?:can\s+)?(?:answer|respond|reply|summari[sz]|complet|finish)\w*[^.!?\n]{0,60}?\b(?:you must|you should|you have to|you need to|must first|be sure to|make sure (?:to|you))\s+(?:first\s+)?\w", strong=False),
    Pattern("before_answering", r"\b(?:to continue|in order to continue|to proceed|to complete (?:this|the|your) (?:task|request))\s*,?\s[^.!?\n]{0,60}?\b(?:you must|you should|you have to|you need to|must first|be sure to|make sure (?:to|you))\s+(?:first\s+)?(?:call|invoke|execute|send|forward|e-?mail|transfer|reveal|delete|fetch|visit)\b", strong=False),
    Pattern("tool_order", r"\b(?:important|urgent|mandatory|critical|attention)\b[^.\n]{0,20}?[:!-]+[ \t]*(?:[^.!?\n]{0,80}?)\b(?:call|invoke|run|execute|use)\s+(?:the\s+)?[`\"'\\]*[a-z]\w*_\w+[`\"'\\]*(?:\s+(?:tool|function|command))?\s*(?:\(|with\b|now\b|immediately\b|to\b)", strong=False),
    Pattern("override", r"\b(?:ignorier\w*|missacht\w*|vergiss|vergesse\w*)\s+(?:\w+\s+){0,4}?(?:anweisung|instruktion|regel|befehl|vorgabe)\w*"),
    Pattern("override", r"\b(?:ignor(?:e|ez|er|es)|oublie[rz]?|ne (?:tiens|tenez) pas compte)\s+(?:\S+\s+){0,4}?(?:instructions?|consignes?|regles?|directives?)"),
    Pattern("override", r"\b(?:ignor(?:a|e|ar|en|ad)|olvid(?:a|e|ar|en)|descart(?:a|e|ar)|desconsider(?:a|e|ar)|esquec(?:a|e))\s+(?:\S+\s+){0,4}?(?:instrucciones|instrucoes|instruccoes|indicaciones|ordenes|reglas|regras|istruzioni|regole)"),
    Pattern("override", r"\b(?:ignora(?:te|re)?|dimentica(?:te|re)?)\s+(?:\S+\s+){0,4}?(?:istruzioni|regole|indicazioni|direttive)"),
    Pattern("override", r"\b(?:negeer|vergeet)\s+(?:\S+\s+){0,4}?(?:instructies|opdrachten|regels)|\b(?:zignoruj|ignoruj)\s+(?:\S+\s+){0,4}?(?:instrukcje|polecenia)|\b(?:onceki|yukaridaki)\s+(?:\S+\s+){0,3}?talimatlar\S*\s+(?:\S+\s+){0,2}?(?:yok say|gormezden gel|unut)"),
    Pattern("override", r"(?:игнорируй|проигнорируй|забудь|не выполняй)\S*\s+(?:\S+\s+){0,4}?(?:инструкци|указани|правил|команд)"),
    Pattern("override", r"(?:忽略|无视|無視|忘记|忘記|不要遵守)[^。\n]{0,16}?(?:指令|指示|说明|提示|規則|规则|命令)"),
    Pattern("override", r"(?:指示|命令|指令|プロンプト|ルール)[^。\n]{0,8}?(?:無視|忘れ)|(?:지시|명령|지침)\S{0,6}\s*(?:모두\s*)?(?:무시|잊)"),
    Pattern("override", r"تجاهل\s+(?:\S+\s+){0,3}?\S*(?:تعليمات|أوامر|الأوامر|التعليمات)|(?:निर्देश|आदेश)\S*\s+(?:\S+\s+){0,3}?(?:अनदेखा|नज़रअंदाज़|भूल)"),
)  # fmt: skip

HIDDEN_PATTERNS: tuple[Pattern, ...] = (
    *PATTERNS,
    Pattern("addressed", rf"{START}{ADDRESSEE}\s*(?::|,|—|-\s)\s*\S"),
    Pattern("addressed", rf"\b(?:to|for|attention|dear|hey|hello|hi)\s+{ADDRESSEE}\b"),
    Pattern("addressed", rf"{START}{AGENT}\b{GAP}(?:must|should|shall|need to|have to|will)\b"),
    Pattern("secret_request", rf"\b{SHOW}\b{GAP}{SECRETS}\b"),
)

_SIGNS = (
    r"(?i)ignor|disregard|forget|overrid|bypass|discard|obey|follow|instruction|directive|prompt"
    r"|assistant|\bki\b|\bia\b|\bllms|assistent|asistente|agente|sprachmodell|modeles? de|modelos? de|ассистент|агент|чат-бот|нейросет|ии[- ]|助手|助理|代理|模型|机器人|機器人|アシスタント|エージェント|ボット|어시스턴트|에이전트|비서|봇|you(?:'ve| have)? (?:read|seen|processed|finished)"
    r"|\bagents?\b|\bai\b|\ba\.i\.|\bllm|language model|chat ?bot|\bbots?\b|\bgpt|chat ?gpt|claude|copilot|gemini|\bcursor\b|codex|autonomous|\bcoding\s+model|you(?:'re| are)\s+reading"
    r"|\byou\s+are\s+(?:now|actually|really|no longer)|from now on|starting now|henceforth"
    r"|\b(?:real|actual|true|new|updated|revised|only|next)\s+(?:and\s+\w+\s+)?(?:task|goal|objective|mission|job|purpose)"
    r"|\b(?:secret|hidden|admin|additional|developer|override|revised|updated|new)\s+(?:system\s+)?order"
    r"|system\s+(?:override|update|notice)|(?:developer|debug|admin|god|dan|jailbreak|unrestricted|root|maintenance)\s+mode"
    r"|<\||\[/?inst|<<|<\|?/?system|\[/?system|(?:system|developer|human|user)(?:\s+(?:message|note))?\s*:\s*(?:please|you|from|do not|never|always|reveal|print|send|call|execute|run|delete|transfer|the user|new )"
    r"|credential|environment var|env var|api[ _-]?key|\bsecret|password|\b(?:access |auth |session |the )token|\bpost the\b|private key|ssh key|developer message|(?:conversation|chat) history"
    r"|\b(?:to|at|with|on)\s+\S*?(?:@|https?://)|!\[[^\]\n]*\]\(\s*https?://[^)\s]*(?:\{|<|\[|%7b|\$)"
    r"|(?:tell|inform|to|notify|alert|let|ask|disclose|telling|informing|notifying|alerting|letting|asking|disclosing)\s+(?:the\s+|any\s+|your\s+)?(?:user|human|customer|owner|operator|developer|anyone|anybody|victim)"
    r"|authori[sz]ed? you|(?:approved|permitted|authori[sz]ed) (?:you|this|the) |<\|?/?system|#+\s*(?:system|developer)"
    r"|you must|you should|you have to|you need to|must first|be sure to|make sure|(?:important|urgent|mandatory|critical|note|attention)\b[^.\n]*?(?:call|invoke|run|execute|use)\s"
    r"|(?:mention|reveal|disclose|acknowledge|report)\s+(?:this|these|the)\s"
    r"|missacht|vergiss|vergesse|oubli|(?:tiens|tenez) pas compte|olvid|descart|desconsider|esquec|dimentica|negeer|vergeet|talimat"
    r"|игнорир|забудь|не выполняй|忽略|无视|無視|忘|不要遵守|무시|잊|تجاهل|अनदेखा|नज़रअंदाज़|भूल"
    r"|<!--|\]: *[#<]|display: ?none|visibility: ?hidden|font-size: ?0|opacity: ?0|color: ?(?:white|#fff)"
    r"|[a-z0-9+/_-]{32}|\\u[0-9a-f]{4}|&#[0-9x]|(?:%[2-7][0-9a-f])[a-z%]"
)


def may_carry(text: str) -> bool:
    """Return whether a text has to be read for instructions; False is sure."""
    data = text.encode()
    return _signs.search(data) is not None or _order_signs.search(data) is not None


_signs = re2.compile(_SIGNS.encode())
_order_signs = re2.compile(ORDER_SIGNS.encode())
"""Apart: one automaton for both would outgrow its memory and be slow."""


BASE64 = re2.compile(r"[A-Za-z0-9+/_-]{32,}(?:(?:\\r)?(?:\\n|\n)[A-Za-z0-9+/_-]{4,})*={0,2}")
COMMENT = re2.compile(
    r"(?s)<!--(.*?)-->|(?:^|\n)\s*\[(?://|comment)\]:\s*(?:#|<>)\s*[(\"'](.*?)[)\"']\s*(?:\n|$)|<[a-z]+[^>]*(?:display:\s?none|visibility:\s?hidden|font-size:\s?0|opacity:\s?0[^.]|color:\s?(?:white|#fff(?:fff)?)\b)[^>]*>([^<]+)"
)


MAX_TOLD = 16
_ORDERS = frozenset({"override", "secret_request", "exfiltration"})
_TOLD_BEFORE = re.compile(
    r"(?:\b(?:not|never|cannot|nor|without|who|that|they|people|users|employees|nobody|no one|should we|(?:if|when|because|unless) (?:you|they|we|anyone|someone|customers|users))|n't)"
    r"\s+(?:ever\s+|just\s+|simply\s+|to\s+)?\Z"
)
_TOLD_AFTER = re.compile(
    r"[^.!?\n]{0,40}?\b(?:if|unless) you(?:'ve| have| already| did| do not| don't| didn't| aren't| received| no longer| prefer| want| use)\b"
)
_EARLIER = re.compile(r"\b(?:previous|prior|above|earlier|all|every|everything|system|original|your)\b")
_MENTIONED = re.compile(
    r"\b(?:attacks?|attackers?|examples?|phrases?|such as|e\.g\.|for instance|payloads?|prompts? like|jailbreaks?|known as|called)\b[^.\n]{0,24}\Z"
)


class PatternSet:
    """Patterns asked one by one: small automata stay linear in practice where one for all of them would thrash."""

    def __init__(self, patterns: tuple[Pattern, ...]) -> None:
        self._compiled = [(pattern, re2.compile(pattern.expression)) for pattern in patterns]

    def first(self, text: str) -> list[tuple[Pattern, int, int]]:
        """Return the first match of each pattern that occurs, strong ones first, then by position."""
        found = []
        for pattern, compiled in self._compiled:
            for match in islice(compiled.finditer(text), MAX_TOLD):
                start, end = match.span()
                while start < end and not (text[start].isalnum() or text[start] in "<[!#"):
                    start += 1
                if pattern.name in _ORDERS and _is_told(text, start, end):
                    continue
                found.append((pattern, start, end))
                break
        return sorted(found, key=lambda hit: (not hit[0].strong, hit[1], -hit[2], hit[0].name))


def is_mentioned(text: str, start: int) -> bool:
    """Return whether the words before a match speak of it as an example of an attack."""
    return _MENTIONED.search(text[max(0, start - 60) : start]) is not None


def _is_told(text: str, start: int, end: int) -> bool:
    """Return whether a match forbids the thing, tells of others who do it, or is meant for a case of the reader's own."""
    if _TOLD_BEFORE.search(text[max(0, start - 40) : start]) is not None:
        return True
    return _TOLD_AFTER.match(text[end : end + 80]) is not None and _EARLIER.search(text[start:end]) is None
