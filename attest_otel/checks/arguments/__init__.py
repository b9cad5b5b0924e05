"""Are the arguments of each call what the model should have emitted, and did the handler get them as they were?

One finding per call and problem, `valid` for a call without one. In this order:

- `unknown_tool`: the run or the settings declare tools, and neither they nor the allowed tools name this one.
- `unchecked`: no arguments were recorded, the recorder cut or redacted them, or the schema can't be used.
- `unparseable`, `not_object`, `duplicate_keys`, `non_finite`: the raw text. Blank or `null` text is `{}`.
- `schema_invalid`, `null_optional`, `type_mismatch`, `undeclared_key`: the tool's schema. Where explicit nulls of
  optional keys are all that is wrong, they are `null_optional`: the tool took them as left out, or the call was
  recovered. If the call failed and nothing recovered it, they are `schema_invalid`.
- `markup_leak`, `placeholder`, `low_quality`: what no schema can say.
- `rewritten`: the handler got something else; `kind` is value, type, encoding or keys.

An invalid call that errored, whose arguments never ran to success and that was then recovered is a warning.
Arguments of a tool without a schema are `valid` when they are an object; the finding says that no schema was there.
The score is the share of valid calls among those that could be checked.
Source: DESIGN 3, table and rules 5 to 7; tool-call assertions; the lesson on tool-call correctness.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import replace
from functools import cached_property
from typing import Any

from attest_otel.checks.arguments.problems import NAME, Problem, fidelity, path_text, to_finding
from attest_otel.checks.arguments.rewriting import Rewrite, find_rewrites, is_plainly_same, repaired
from attest_otel.checks.arguments.schema import NO_SCHEMA, CompiledSchema, compile_schema, value_at
from attest_otel.checks.arguments.values import (
    MAX_PER_VERDICT,
    Quotable,
    capped,
    non_finite_paths,
    quality_problems,
    schema_problems,
)
from attest_otel.checks.tool_use import find_recoveries
from attest_otel.checks.view import Call, RunView
from attest_otel.findings import CheckResult, Finding, make_finding, make_result
from attest_otel.formats import strict_json
from attest_otel.formats.json_values import is_deeper_than

_SOFTENED = frozenset({"unparseable", "not_object", "duplicate_keys", "non_finite", "schema_invalid"})
_CUT = re.compile(r"truncat|\bcut\b|length limit|size limit|too long", re.IGNORECASE)
_OF_OUTPUT_ONLY = re.compile(r"output|result", re.IGNORECASE)


def check(view: RunView) -> CheckResult:
    """Grade the arguments of every call of a run."""
    run = _Run(view)
    graded = [(call, run.problems(call)) for call in view.calls]
    findings = [finding for call, problems in graded for finding in _findings(run, call, problems)]
    checked = [problems for _, problems in graded if not problems or not all(p.verdict == "unchecked" for p in problems)]
    score = sum(not problems for problems in checked) / len(checked) if checked else None
    return make_result(NAME, findings, _summary(view, findings), score=score)


class _Run:
    """One run being graded: what is worked out once for all its calls, and only if a call needs it."""

    def __init__(self, view: RunView) -> None:
        self.view = view
        self._schemas: dict[str, CompiledSchema] = {}
        self._quotable = Quotable(view)

    def schema(self, call: Call) -> CompiledSchema:
        if call.tool is None:
            return NO_SCHEMA
        if call.name not in self._schemas:
            self._schemas[call.name] = compile_schema(call.tool.input_schema)
        return self._schemas[call.name]

    def problems(self, call: Call) -> list[Problem]:
        if self._is_surely_fine(call):
            return []
        found = capped([*self._name_problems(call), *self._argument_problems(call)])
        if any(p.verdict in _SOFTENED for p in found) and self._is_recovered(call):
            return [_softened(p) for p in found]
        return found

    def _is_surely_fine(self, call: Call) -> bool:
        """The quick answer for nearly every call: recorded, of no unknown tool, read without a remark, fine by its schema, and not rewritten."""
        parsed, tool, record = call.parsed, call.tool, call.call
        if parsed is None or parsed.problem is not None or record.arguments_fidelity == "absent":
            return False
        if self.view.tools if tool is None else tool.query_arguments:
            return False
        if record.arguments_received is not None and not is_plainly_same(parsed.value, record.arguments_received):
            return False
        return self.schema(call).is_surely_fine(parsed.value)

    def _name_problems(self, call: Call) -> list[Problem]:
        if call.tool is not None or not self.view.tools or call.name in (self.view.allowed_tools or ()):
            return []
        known = ", ".join(list(self.view.tools)[:20])
        return [
            Problem(
                "unknown_tool",
                "fail",
                "model",
                f"No tool of this name is declared; declared are {known}.",
                expected="a declared tool",
            )
        ]

    def _argument_problems(self, call: Call) -> list[Problem]:
        parsed = call.parsed
        if parsed is None or call.call.arguments_fidelity == "absent":
            return [_unchecked(call, "the arguments weren't recorded")]
        found = list(self._read_problems(call, parsed))
        if found and _is_redacted(call):
            return [_unchecked(call, "the recorder redacted them")]
        return found

    def _read_problems(self, call: Call, parsed: strict_json.Parsed) -> Iterator[Problem]:
        raw = call.call.arguments_raw
        if parsed.problem == "unparseable":
            yield from _unreadable(call, parsed, raw or "")
            return
        if raw is None and is_deeper_than(parsed.value, strict_json.MAX_DEPTH):
            yield _unchecked(call, f"they are nested deeper than {strict_json.MAX_DEPTH} levels")
            return
        if not isinstance(parsed.value, dict):
            yield from self._no_object(call, parsed.value)
        else:
            yield from _text_problems(parsed, raw)
            yield from schema_problems(self.schema(call), parsed.value, nulls_count=lambda: self._is_unrecovered_error(call))
            yield from quality_problems(self.view, self._quotable, call, parsed.value)
        yield from self._rewrites(call, parsed.value)

    def _no_object(self, call: Call, value: Any) -> Iterator[Problem]:
        if call.call.arguments_fidelity != "verbatim" and isinstance(value, str):
            yield _unchecked(call, "they were recorded as text within text, by the model or by the recorder")
            return
        reason = f"The arguments are {strict_json.type_name(value)}, not an object."
        yield Problem("not_object", "fail", "model", reason, emitted=value, expected="a JSON object")

    def _rewrites(self, call: Call, value: Any) -> Iterator[Problem]:
        received = call.call.arguments_received
        if received is None or is_plainly_same(value, received):
            return
        if is_deeper_than(received, 2 * strict_json.MAX_DEPTH):
            yield _unchecked(call, "what the handler got is nested too deep to compare")
            return
        coerced = call.call.arguments_fidelity == "coerced"
        schema = self.schema(call).schema
        for rewrite in find_rewrites(value, received, schema, MAX_PER_VERDICT + 1):
            if not (coerced and rewrite.kind == "type"):
                yield _rewritten(rewrite)

    def _is_unrecovered_error(self, call: Call) -> bool:
        return call.outcome.is_error is True and not self._is_recovered(call)

    def _is_recovered(self, call: Call) -> bool:
        """Return whether the call errored, was recovered, and no call with its arguments succeeded."""
        if not call.outcome.is_error or call.index not in self._recoveries:
            return False
        return (call.name, call.canonical_arguments) not in self._succeeded

    @cached_property
    def _recoveries(self) -> frozenset[int]:
        return frozenset(find_recoveries(self.view))

    @cached_property
    def _succeeded(self) -> frozenset[tuple[str, str]]:
        return frozenset((call.name, call.canonical_arguments) for call in self.view.calls if call.succeeded)


def _unreadable(call: Call, parsed: strict_json.Parsed, raw: str) -> Iterator[Problem]:
    if _was_cut(call):
        yield _unchecked(call, "the recorder cut their text")
        return
    yield Problem(
        "unparseable", "fail", "model", f"The arguments can't be read: {parsed.reason}.", emitted=raw, expected="a JSON object"
    )
    received = call.call.arguments_received
    if received is not None and not parsed.over_limit and (rewrite := repaired(raw, received)) is not None:
        yield _rewritten(rewrite)


def _text_problems(parsed: strict_json.Parsed, raw: str | None) -> Iterator[Problem]:
    if parsed.problem == "duplicate_keys":
        keys = list(parsed.details)
        yield Problem(
            "duplicate_keys",
            "fail",
            "model",
            f"In the arguments {parsed.reason}; which one counts is the reader's choice.",
            emitted=keys,
            expected="each key once",
        )
    if raw is not None and parsed.problem is None:
        return
    path = next(non_finite_paths(parsed.value), None)
    if path is not None:
        literal = parsed.details[0] if parsed.problem == "non_finite" else value_at(parsed.value, path)
        yield Problem(
            "non_finite", "fail", "model", f"{path_text(path)} is not a finite number.", path, literal, "a finite number"
        )


def _rewritten(rewrite: Rewrite) -> Problem:
    reason = f"{path_text(rewrite.path)} was rewritten on the way to the handler: {rewrite.reason}."
    expected = "what the model emitted"
    return Problem(
        "rewritten",
        rewrite.severity,
        "dispatcher",
        reason,
        rewrite.path,
        rewrite.emitted,
        expected,
        rewrite.received,
        rewrite.kind,
    )


def _softened(problem: Problem) -> Problem:
    if problem.verdict not in _SOFTENED:
        return problem
    return replace(problem, severity="warn", reason=f"{problem.reason} The call was refused, and a later one recovered it.")


def _unchecked(call: Call, why: str) -> Problem:
    said = call.call.recorded.reason if call.call.recorded is not None else None
    return Problem("unchecked", "warn", "recorder", f"The arguments weren't checked: {why}{f' ({said[:200]})' if said else ''}.")


def _was_cut(call: Call) -> bool:
    recorded = call.call.recorded
    if recorded is None or recorded.reason is None or not _CUT.search(recorded.reason):
        return False
    return "argument" in recorded.reason.lower() or not (
        recorded.output == "truncated" and _OF_OUTPUT_ONLY.search(recorded.reason)
    )


def _is_redacted(call: Call) -> bool:
    recorded = call.call.recorded
    return recorded is not None and recorded.arguments == "coerced" and "redact" in (recorded.reason or "").lower()


def _findings(run: _Run, call: Call, problems: list[Problem]) -> list[Finding]:
    if problems:
        return [to_finding(call, problem) for problem in problems]
    metadata = fidelity(call)
    reason = "The arguments are valid by the tool's schema."
    if run.schema(call).validator is None:
        reason, metadata = (
            "The arguments are an object; the tool declares no schema to check them against.",
            {"schema": None, **metadata},
        )
    return [make_finding(NAME, "pass", "valid", reason, subject=call.name, step=call.step, metadata=metadata)]


def _summary(view: RunView, findings: list[Finding]) -> str:
    if not view.calls:
        return "No tool was called."
    problems = [f"{f.verdict} at step {f.step} ({f.subject})" for f in findings if f.severity != "pass"]
    if not problems:
        return f"The arguments of all {len(view.calls)} calls are valid." if len(view.calls) > 1 else "The arguments are valid."
    shown = "; ".join(problems[:20])
    return f"{shown}; and {len(problems) - 20} more." if len(problems) > 20 else f"{shown}."  # noqa: PLR2004
