"""What is wrong with an arguments object as the model emitted it: by the tool's schema, and by its quality.

Quality looks at every text once: leaked tool-call markup, placeholder words, blank required texts. A word
that the task itself says, or that the schema names, is no placeholder; markup that the task or an earlier
output holds was quoted, not leaked. Source: DESIGN 3 rules 6 and 7.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from dataclasses import replace
from decimal import Decimal
from functools import cached_property
from typing import Any

from attest_otel.checks.arguments.declared import declares_literal, is_required, type_mismatches, undeclared_keys
from attest_otel.checks.arguments.leaks import blank_is_a_value, is_placeholder, leaked_markup
from attest_otel.checks.arguments.problems import Problem, path_text
from attest_otel.checks.arguments.quality import query_text, shares_a_word
from attest_otel.checks.arguments.schema import CompiledSchema, Path, Violation, value_at
from attest_otel.checks.view import Call, RunView
from attest_otel.findings import excerpt
from attest_otel.formats.json_values import MAX_NODES
from attest_otel.trajectory import Tool

MAX_PER_VERDICT = 10
_ONE_MORE = MAX_PER_VERDICT + 1
MAX_QUOTE_SEARCHES = 50


def schema_problems(compiled: CompiledSchema, arguments: dict[str, Any], *, nulls_count: Callable[[], bool]) -> Iterator[Problem]:
    """Yield what the schema says; `nulls_count`, asked only when needed, makes an explicit null of an optional key a violation like any other."""
    schema = compiled.schema
    if compiled.problem:
        yield Problem("unchecked", "warn", "schema", f"The arguments weren't checked: {compiled.problem}.")
        return
    if compiled.skipped_patterns:
        patterns = ", ".join(compiled.skipped_patterns[:3])
        yield Problem(
            "unchecked",
            "warn",
            "schema",
            f"A pattern of the schema can't run in linear time and wasn't checked: {excerpt(patterns, 200)}.",
        )
    valid = compiled.is_valid(arguments)
    if valid is None and compiled.validator is not None:
        yield Problem(
            "unchecked",
            "warn",
            "schema",
            "The arguments weren't checked: holding them against the schema's branches would cost too much.",
        )
        return
    if valid is False:
        yield from _violations(compiled, arguments, nulls_count)
    for path in type_mismatches(compiled, arguments, _ONE_MORE):
        reason = f"{path_text(path)} is a whole number written as a float; the schema wants an integer and lets it through."
        yield Problem(
            "type_mismatch",
            "warn",
            "model",
            reason,
            path,
            value_at(arguments, path),
            "an integer written without point or exponent",
        )
    for path in undeclared_keys(schema, arguments, _ONE_MORE):
        reason = f"{path_text(path)} is not declared by the schema, which doesn't forbid it either."
        yield Problem(
            "undeclared_key", "warn", "model", reason, path, value_at(arguments, path), "only keys that the schema declares"
        )


def _violations(compiled: CompiledSchema, arguments: dict[str, Any], nulls_count: Callable[[], bool]) -> Iterator[Problem]:
    nulls = compiled.null_members(arguments)
    if nulls and not nulls_count():
        for path in nulls[:_ONE_MORE]:
            reason = f"{path_text(path)} is an explicit null; the key is optional, and the schema doesn't allow null for it: leave it out or allow null."
            yield Problem("null_optional", "warn", "schema", reason, path, None, "no such key, or a value that isn't null")
        return
    for violation in compiled.violations(arguments)[:_ONE_MORE]:
        yield Problem(
            "schema_invalid", "fail", "model", _violation_reason(violation), violation.path, violation.emitted, violation.expected
        )


def _violation_reason(violation: Violation) -> str:
    where = path_text(violation.path)
    if violation.keyword == "required":
        return f"{where} is missing: the schema requires it."
    if violation.keyword == "schema":
        return "The arguments break the tool's schema; they or the schema are too large to say where."
    return f"{where} breaks the tool's schema ({violation.keyword}): expected {violation.expected}."


def capped(problems: list[Problem]) -> list[Problem]:
    """Return the first `MAX_PER_VERDICT` problems of each verdict; the last of more says that there are more."""
    if len(problems) <= MAX_PER_VERDICT:
        return problems
    kept: list[Problem] = []
    counts: dict[str, int] = {}
    for problem in problems:
        counts[problem.verdict] = count = counts.get(problem.verdict, 0) + 1
        if count <= MAX_PER_VERDICT:
            kept.append(problem)
    last = {problem.verdict: number for number, problem in enumerate(kept)}
    for verdict, number in last.items():
        if counts[verdict] > MAX_PER_VERDICT:
            kept[number] = replace(kept[number], reason=f"{kept[number].reason} There are more of this kind.")
    return kept


class Quotable:
    """What the model could quote in a run: its task, and the outputs before a call. Looked up at most so many times."""

    def __init__(self, view: RunView) -> None:
        self._view = view
        self._first: dict[str, int | None] = {}

    def holds_before(self, call: Call, markup: str) -> bool:
        """Return whether the task or the output of an earlier call holds this text."""
        if markup not in self._first and len(self._first) < MAX_QUOTE_SEARCHES:
            self._first[markup] = self._search(markup)
        first = self._first.get(markup)
        return first is not None and first < call.index

    def task_says(self, text: str) -> bool:
        """Return whether the task holds this text, in any case."""
        return text.strip().lower() in self._lower_task

    @cached_property
    def _lower_task(self) -> str:
        return (self._view.run.task or "").lower()

    def _search(self, markup: str) -> int | None:
        if markup in (self._view.run.task or ""):
            return -1
        return next((c.index for c in self._view.calls if c.call.output is not None and markup in c.call.output), None)


def quality_problems(view: RunView, quotable: Quotable, call: Call, arguments: dict[str, Any]) -> list[Problem]:
    """Return leaked markup, placeholders and queries that have nothing to do with the task."""
    tool = call.tool
    schema = tool.input_schema if tool is not None else None
    found = list(_text_problems(quotable, call, arguments, schema))
    if tool is not None and tool.query_arguments:
        seen = {p.path[0] for p in found if p.path and not _is_blank(p.emitted)}
        if seen.isdisjoint(tool.query_arguments):
            found += _query_problem(view, tool, arguments)
    return found


def _text_problems(quotable: Quotable, call: Call, arguments: dict[str, Any], schema: Any) -> Iterator[Problem]:
    leaks = placeholders = 0
    for path, key, text in _texts(arguments):
        if not text or text.isspace():
            if (
                placeholders < _ONE_MORE
                and isinstance(path[-1], str)
                and is_required(schema, path)
                and not blank_is_a_value(key)
                and not declares_literal(schema, path, text)
            ):
                placeholders += 1
                yield Problem(
                    "placeholder",
                    "warn",
                    "model",
                    f"{path_text(path)} is blank; the schema requires it.",
                    path,
                    text,
                    "a text that says something",
                )
            continue
        markup = leaked_markup(text, key) if leaks < _ONE_MORE else None
        if markup is not None and not quotable.holds_before(call, markup):
            leaks += 1
            reason = f"{path_text(path)} holds tool-call markup: {markup[:80]}"
            yield Problem("markup_leak", "fail", "model", reason, path, text, "a value without the protocol's own markup")
        elif (
            placeholders < _ONE_MORE
            and is_placeholder(text, key)
            and not quotable.task_says(text)
            and not declares_literal(schema, path, text)
        ):
            placeholders += 1
            yield Problem(
                "placeholder",
                "warn",
                "model",
                f"{path_text(path)} is a placeholder, not a value.",
                path,
                text,
                "a value for this case",
            )


def _query_problem(view: RunView, tool: Tool, arguments: dict[str, Any]) -> list[Problem]:
    query = query_text(tool, arguments)
    names = [name for name in tool.query_arguments if isinstance(arguments.get(name), str | list)]
    if not names or not view.run.task or shares_a_word(query, view.run.task):
        return []
    path = (names[0],)
    why = "shares no content word with the task" if query.strip() else "is blank: there is nothing to look for"
    return [
        Problem(
            "low_quality",
            "warn",
            "model",
            f"{path_text(path)} {why}.",
            path,
            arguments[names[0]],
            "a query with a word of the task",
        )
    ]


def _is_blank(value: Any) -> bool:
    return isinstance(value, str) and not value.strip()


def _texts(arguments: dict[str, Any]) -> Iterator[tuple[Path, str, str]]:
    """Yield every text of an object with its path and the key it stands for, in order; keys count as texts of their own."""
    stack: list[tuple[Path, str, Any]] = [((), "", arguments)]
    budget = MAX_NODES
    while stack and budget:
        path, key, value = stack.pop()
        budget -= 1
        if isinstance(value, str):
            yield path, key, value
        elif isinstance(value, dict):
            yield from (((*path, name), key, name) for name in value if isinstance(name, str) and "<" in name)
            stack.extend(
                [((*path, name), str(name), child) for name, child in value.items() if isinstance(child, _HOLDS_TEXT)][::-1]
            )
        else:
            stack.extend([((*path, i), key, child) for i, child in enumerate(value) if isinstance(child, _HOLDS_TEXT)][::-1])


def non_finite_paths(value: Any) -> Iterator[Path]:
    """Yield the paths of NaN and the infinities, literals that overflow a double included."""
    stack: list[tuple[Path, Any]] = [((), value)]
    budget = MAX_NODES
    while stack and budget:
        path, item = stack.pop()
        budget -= 1
        if isinstance(item, dict):
            stack.extend([((*path, k), v) for k, v in item.items()][::-1])
        elif isinstance(item, list | tuple):
            stack.extend([((*path, i), v) for i, v in enumerate(item)][::-1])
        elif (isinstance(item, Decimal) and item.is_nan()) or (isinstance(item, float | Decimal) and not math.isfinite(item)):
            yield path


_HOLDS_TEXT = (str, dict, list, tuple)
