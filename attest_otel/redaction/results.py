"""Reports without secrets: every text of every finding, and what else the run's stranger wrote.

A value that the run passes under a secret name (`"password": "…"`) is taken out of a finding's words as
well, where its name no longer stands beside it. What holds nothing to hide is returned as it is, after
one look at all its text.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Collection, Iterator, Sequence
from typing import Any, NamedTuple

from attest_otel.findings import CheckResult, Finding, changed
from attest_otel.redaction.redactor import FAILED, MAX_DEPTH, REPLACED, Redactor
from attest_otel.trajectory import Trajectory

MIN_NAMED_CHARS = 4
MAX_NAMED_VALUES = 256
MIN_CARD = 10**12
_ORDINARY = frozenset({"none", "null", "true", "false", "undefined", "string", "integer", "number", "required", "redacted"})

Redact = Callable[[str], str]


class Shown(NamedTuple):
    """What a report shows of a run, redacted."""

    run_id: str | None
    agent: str | None
    case_id: str | None
    incomplete: list[str]
    results: list[CheckResult]


def redact_run(run: Trajectory, results: Sequence[CheckResult], redactor: Redactor) -> Shown:
    """Return all that a report shows, redacted; where there is nothing to hide, the results are the same objects."""
    named = _named_values(run, redactor)
    texts = _texts(run, results)
    if not redactor.finds_any(texts) and not _holds_any(texts, named):
        return Shown(run.id, run.agent, run.case_id, list(run.incomplete), list(results))
    redact = _remembering(redactor, named)
    return Shown(
        run_id=_optional(run.id, redactor),
        agent=_optional(run.agent, redactor),
        case_id=_optional(run.case_id, redactor),
        incomplete=[redactor.redact(reason) for reason in run.incomplete],
        results=[_result(result, redact) for result in results],
    )


def _optional(text: str | None, redactor: Redactor) -> str | None:
    return None if text is None else redactor.redact(text)


def _holds_any(texts: Collection[str], named: list[str]) -> bool:
    joined = "\n".join(texts) if named else ""
    return any(value in joined for value in named)


def _remembering(redactor: Redactor, named: list[str]) -> Redact:
    known: dict[str, str] = {}

    def redact(text: str) -> str:
        if text not in known:
            found = redactor.redact(text)
            for value in named:
                found = found.replace(value, REPLACED)
            known[text] = found
        return known[text]

    return redact


def _named_values(run: Trajectory, redactor: Redactor) -> list[str]:
    values: set[str] = set()
    prompt = run.system_prompt or ""
    for value in redactor.named_values("\n".join(_run_texts(run))) | redactor.named_values_of_prompt(prompt):
        values.add(value)
        values.add(_unescaped(value))
    long = [v for v in values if len(v) >= MIN_NAMED_CHARS and v.lower() not in _ORDINARY and not v.startswith("[redacted")]
    return sorted(long, key=lambda value: (-len(value), value))[:MAX_NAMED_VALUES]


def _run_texts(run: Trajectory) -> Iterator[str]:
    yield from (text for text in (run.task, run.final_answer) if text)
    for step in run.steps:
        call = step.tool_call
        if step.thought:
            yield step.thought
        if call is None:
            continue
        if call.arguments_raw:
            yield call.arguments_raw
        elif call.arguments is not None:
            yield _json(call.arguments)
        if call.arguments_received is not None:
            yield _json(call.arguments_received)
        if call.output:
            yield call.output


def _json(value: Any) -> str:
    try:
        return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False, default=str)
    except (TypeError, ValueError, RecursionError):
        return ""


def _unescaped(value: str) -> str:
    try:
        return str(json.loads(f'"{value}"')) if "\\" in value else value
    except ValueError:
        return value


def _texts(run: Trajectory, results: Sequence[CheckResult]) -> Collection[str]:
    """Return every text of a report, each once, in order."""
    found = dict.fromkeys(text for text in (run.id, run.agent, run.case_id, *run.incomplete) if text)
    for result in results:
        found[result.summary] = None
        _add_texts(found, result.metadata, 0)
        for finding in result.findings:
            found[finding.reason] = None
            if finding.subject:
                found[finding.subject] = None
            if finding.evidence:
                found[finding.evidence] = None
            if finding.metadata:
                _add_texts(found, finding.metadata, 0)
    return found.keys()


def _add_texts(found: dict[str, None], value: Any, depth: int) -> None:
    if isinstance(value, str):
        found[value] = None
    elif isinstance(value, dict) and depth < MAX_DEPTH:
        for key, part in value.items():
            if isinstance(part, str):
                found[f'"{key}": "{part}"'] = None
            else:
                found[str(key)] = None
                if part is not None and not isinstance(part, bool):
                    _add_texts(found, part, depth + 1)
    elif isinstance(value, list | tuple) and depth < MAX_DEPTH:
        for part in value:
            _add_texts(found, part, depth + 1)
    elif isinstance(value, int) and value >= MIN_CARD:
        found[str(value) if value.bit_length() < 512 else ""] = None  # noqa: PLR2004


def _result(result: CheckResult, redact: Redact) -> CheckResult:
    return changed(
        result,
        summary=redact(result.summary),
        findings=[_finding(finding, redact) for finding in result.findings],
        metadata=_value(result.metadata, redact, 0),
    )


def _finding(finding: Finding, redact: Redact) -> Finding:
    texts = {
        name: shown
        for name in ("subject", "reason", "evidence")
        if (text := getattr(finding, name)) and (shown := redact(text)) != text
    }
    if finding.metadata:
        return changed(finding, **texts, metadata=_value(finding.metadata, redact, 0))
    return changed(finding, **texts) if texts else finding


def _value(value: Any, redact: Redact, depth: int) -> Any:
    if isinstance(value, str):
        return redact(value)
    if isinstance(value, int) and not isinstance(value, bool) and value >= MIN_CARD:
        text = str(value) if value.bit_length() < 512 else FAILED  # noqa: PLR2004
        shown = redact(text)
        return value if shown == text and text != FAILED else shown
    if depth >= MAX_DEPTH:
        return FAILED
    if isinstance(value, dict):
        return {redact(key): _member(key, part, redact, depth + 1) for key, part in value.items()}
    if isinstance(value, list | tuple):
        return [_value(part, redact, depth + 1) for part in value]
    return value


def _member(key: str, value: Any, redact: Redact, depth: int) -> Any:
    """Redact one member: its key's name may say that its value is secret."""
    if isinstance(value, str) and len(value) >= MIN_NAMED_CHARS and redact(f'"{key}": "x"') != f'"{key}": "x"':
        return REPLACED
    return _value(value, redact, depth)
