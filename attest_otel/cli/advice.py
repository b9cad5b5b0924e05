"""What a person can do about a finding, in one sentence a verdict. The reason says what happened; this, what is next."""

from __future__ import annotations

from collections.abc import Mapping

EVERY = "*"

_EMITTED = (
    "The model emitted this text itself: look at the tool's schema and description, and refuse such a call when you dispatch it."
)
_CASE = (
    "The reason says where to look first. Is it the case that fell behind the tools? Then "
    "`attest-otel contract CASES.yaml --tools TOOLS.json` names it."
)
_RECORD = "Record what is missing (README, `Put it into your agent`); `attest-otel runs PATH` shows what the record has."
_MODEL = "Configure a grading model (`judge: {}` in attest.yaml), or leave the check out of `checks`."

ADVICE: Mapping[str, Mapping[str, str]] = {
    "tool_use": {
        "disallowed_tool": "Take the tool away from the model, or add it to `allowed_tools` if the agent may use it.",
        "error_claimed_success": "The answer says that it worked and it did not: let the agent read each tool's result before it answers.",
        "error_silent": "Let the agent retry, use a fallback (`tool_fallbacks`), or tell the user (a grading model, `judge: {}`, "
        "reads whether it did). Is an empty output normal? Declare `returns_nothing`.",
        "incorrect": "The model took the tool for another one: say in its description what it is for, and what it is not for.",
        "unchecked": _RECORD,
    },
    "arguments": {
        "unparseable": _EMITTED,
        "not_object": _EMITTED,
        "duplicate_keys": _EMITTED,
        "non_finite": _EMITTED,
        "unknown_tool": "Declare the tool (`Tools`, or `tools` in attest.yaml), or look where the model has its name from.",
        "schema_invalid": "Compare the value with the schema, and say in the parameter's description what is expected.",
        "markup_leak": "Markup of a tool call stands inside a value: look at the provider's parser and at the prompt's examples.",
        "rewritten": "The handler got something else than the model emitted: look at what parses or repairs arguments between them.",
        "type_mismatch": "The schema lets the value through and a strict handler won't: say the type in the parameter's description.",
        "undeclared_key": "Declare the key in the tool's schema, or refuse it there with `additionalProperties: false`.",
        "placeholder": "The model had no value: put it into the context, or let the model ask for it.",
        "low_quality": "The query has little to do with the task: look at the tool's description, or at its `query_arguments`.",
        "null_optional": "Let the schema allow null, or tell the model to leave the key out.",
        "unchecked": "Record the raw arguments (`traced_dispatcher`, `http_client=`), and declare the tool with its schema.",
    },
    "expectations": {EVERY: _CASE, "unchecked": _RECORD},
    "selection": {
        "missed_call": "A call that the case needs is missing: say in the tool's description when it is to be used.",
        "needless_call": "The case needs no such call: say in the tool's description when it is not to be used.",
        "unchecked": _RECORD,
    },
    "repetition": {
        "repeated_side_effect": "Give the tool an idempotency key (`idempotency_key`), or declare it `idempotent` or `repeatable` "
        "if doing it again is normal.",
        "loop": "Nothing changed from call to call: let the tool's result say so, and bound the agent's turns.",
        "unchecked": _RECORD,
    },
    "actions": {
        "phantom_action": "The answer claims what no call did: let the agent confirm only what a tool's result says.",
        "unchecked": "Name the words that tell of the tool's work (`completion_phrases`), or configure a grading model.",
    },
    "provenance": {
        "ungrounded": "The value stands in nothing the run has seen: look at where it came from, or let a tool look it up.",
        "tainted": "The value came from a tool's output that gives orders: keep such outputs out of calls with a side effect.",
        "unchecked": _RECORD,
    },
    "policy": {
        "broken": "The rule stands in attest.yaml under its id: mend the agent, or the rule.",
        "unchecked": "The rule could not be evaluated on this run, as its reason says: mend the rule, or record what it reads.",
    },
    "injection": {
        "suspicious": "A tool's output sounds like orders: look at its source before it is trusted.",
        "compromised": "The agent did what a tool's output asked for: treat the run as an incident, and keep that source out.",
        "unchecked": _RECORD,
    },
    "faithfulness": {
        "unsupported": "The answer says what the evidence doesn't: let the agent quote what its tools returned.",
        "unverifiable": "Nothing in the evidence speaks to the claim: record the sources (`artifacts`), or let the agent leave it out.",
        "unchecked": _MODEL,
    },
    "role": {
        "out_of_scope_complied": "The request lies outside the agent's job: say in the system prompt what it must refuse.",
        "unchecked": _MODEL,
    },
    "coverage": {
        EVERY: _RECORD,
        "truncated": "Raise the limit that cut the value (`limits` in attest.yaml, or the SDK's), or record less.",
        "requested_not_run": 'Say what became of the call: `with run.tool_call(name, call_id=...) as call: call.output = "refused"`.',
        "run_not_requested": "The application made this call by itself, or the model's request was not recorded (`http_client=`).",
    },
}  # fmt: skip


def advice(check: str, verdict: str) -> str | None:
    """Return what to do about a verdict; None where there is nothing to do."""
    row = ADVICE.get(check, {})
    return row.get(verdict, row.get(EVERY))
