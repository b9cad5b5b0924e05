"""The rules in CEL: what `run` and `call` hold, and how much work a rule may do on one run.

`call.is_error` is the outcome the package decided (DESIGN 3 rule 1); `call.arguments` the object as
the model emitted it. A field is left out, so that using it makes the rule `unchecked`, where nothing
was recorded, the outcome is unknown, the output was cut or is ambiguous, the arguments are no JSON
object or say a key twice, or CEL cannot hold the value exactly (integers beyond 64 bits).

A rule about calls is evaluated once a call. The calls of a run beyond its budget of steps and copied
characters are not looked at; one finding says how many.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from attest_otel.cel import EvaluationError, Program, compile_expression, to_cel
from attest_otel.checks.policy.calls import select
from attest_otel.checks.policy.findings import Said, findings_for, kept, unjudged
from attest_otel.checks.view import Call, RunView
from attest_otel.findings import Finding, excerpt
from attest_otel.rules import Rule

MAX_RULE_STEPS = 1_000_000
MAX_RULE_CHARS = 64_000_000
_MAX_SHOWN_CHARS = 300


class Values:
    """What the rules of one run read, each value converted once."""

    def __init__(self, view: RunView) -> None:
        self._view = view
        self._calls: dict[int, dict[str, Any]] = {}

    def run(self, program: Program) -> dict[str, Any]:
        """Return `run` with the fields a program reads, and no more."""
        run, wanted = self._view.run, program.shape.fields
        given: dict[str, Any] = {"task": run.task, "final_answer": run.final_answer, "agent": run.agent}
        values = {name: value for name, value in given.items() if name in wanted and _fits(value)}
        if "usage" in wanted and run.usage is not None:
            values["usage"] = {k: v for k, v in run.usage.model_dump().items() if v is not None and _fits(v)}
        if "calls" in wanted:
            values["calls"] = [self.call(call, program) for call in self._view.calls]
        return values

    def call(self, call: Call, program: Program) -> dict[str, Any]:
        """Return `call` with the fields a program reads, and its index."""
        known = self._calls.setdefault(call.index, {"index": call.index})
        for name in program.shape.fields:
            if name in _READERS and name not in known:
                known[name] = _converted(_READERS[name](call))
        wanted = program.shape.fields | {"index"}
        return {name: value for name, value in known.items() if name in wanted and value is not None}


def check_expression(rule: Rule, source: str, calls: Sequence[Call], values: Values) -> list[Finding]:
    """Evaluate a rule on the run, or on each of `calls` that its tool fits."""
    program = compile_expression(source, about_call=rule.tool is not None)
    about: list[Call | None] = [None] if rule.tool is None else list(select(calls, rule.tool))
    if not about:
        return [kept(rule, f"{rule.tool} was not called.")]
    run = values.run(program)
    given = [None if call is None else values.call(call, program) for call in about]
    affordable = _affordable(program, run, given)
    wrong: list[Said] = []
    unknown: list[Said] = []
    for call, value in zip(about[:affordable], given[:affordable], strict=True):
        try:
            if not program.evaluate(run, value):
                wrong.append((f"{_who(call)} does not keep {_shown(source)}", call))
        except EvaluationError as error:
            unknown.append((f"it has no answer for {_who(call)}: {error}.", call))
    left = len(about) - affordable
    unread = [unjudged(rule, f"the run is too big for it; {left} of {len(about)} evaluations were left out.")] if left else []
    return findings_for(rule, wrong, unknown) + unread or [kept(rule, f"{_shown(source)} holds.")]


def _affordable(program: Program, run: dict[str, Any], given: Sequence[dict[str, Any] | None]) -> int:
    """Return how many of the evaluations, from the first on, fit a rule's budget."""
    calls = len(run.get("calls", ()))
    run_chars, run_widest = _measure(run)
    steps = chars = 0
    for number, value in enumerate(given):
        call_chars, call_widest = _measure(value)
        widest = max(run_widest, call_widest)
        steps += program.steps(calls, widest)
        chars += program.chars(calls, widest, run_chars + call_chars)
        if steps > MAX_RULE_STEPS or chars > MAX_RULE_CHARS:
            return number
    return len(given)


def _measure(value: Any) -> tuple[int, int]:
    """Return the characters in a value, and the length of the longest list or object in it."""
    chars = widest = 0
    stack: list[Any] = [value]
    while stack:
        item = stack.pop()
        if isinstance(item, str):
            chars += len(item)
        elif isinstance(item, dict | list):
            widest = max(widest, len(item))
            stack.extend(item.values() if isinstance(item, dict) else item)
    return chars, widest


def _arguments(call: Call) -> Any:
    parsed = call.parsed
    return None if parsed is None or parsed.problem is not None else call.arguments


_READERS: dict[str, Any] = {
    "name": lambda call: call.name,
    "arguments": _arguments,
    "arguments_raw": lambda call: call.call.arguments_raw,
    "output": lambda call: call.call.output if call.call.output_fidelity == "recorded" else None,
    "is_error": lambda call: call.outcome.is_error,
    "agent": lambda call: call.agent,
    "side_effecting": lambda call: call.side_effecting,
}


def _converted(value: Any) -> Any:
    """Return a value as CEL holds it; None, which is as good as not recorded, where it cannot."""
    try:
        return None if value is None else to_cel(value)
    except EvaluationError:
        return None


def _fits(value: Any) -> bool:
    return _converted(value) is not None


def _who(call: Call | None) -> str:
    return "the run" if call is None else f"{excerpt(call.name, _MAX_SHOWN_CHARS)} at step {call.step}"


def _shown(source: str) -> str:
    return excerpt(" ".join(source.split()), _MAX_SHOWN_CHARS) or ""
