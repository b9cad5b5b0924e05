"""One JSON document -> what it is: a run record, a trace request, a Jaeger answer, or an error for a person."""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from typing import Any, NoReturn

from pydantic import ValidationError

from attest_otel.errors import RunFileError
from attest_otel.formats.yaml_files import describe
from attest_otel.read import jaeger, otlp
from attest_otel.read.locate import line_of
from attest_otel.read.span import SpanEvent, SpanRecord
from attest_otel.read.values import is_deeper_than
from attest_otel.trajectory import Trajectory

MAX_DEPTH = 200
EXPECTED = "a run record (task, steps, ...), OTLP JSON (resourceSpans) or Jaeger JSON (data)"

_SPAN_FIELDS = ("resourceSpans", "resource_spans")
_LOG_FIELDS = ("resourceLogs", "resource_logs")
_METRIC_FIELDS = ("resourceMetrics", "resource_metrics")
_REQUEST_FIELDS = frozenset({*_SPAN_FIELDS, *_LOG_FIELDS, *_METRIC_FIELDS, "batches"})


@dataclass(frozen=True, slots=True)
class Document:
    """What one document holds: a run, or spans and log records; `remarks` name what had to be left out."""

    run: Trajectory | None = None
    spans: list[SpanRecord] = field(default_factory=list)
    events: dict[tuple[str, str], list[SpanEvent]] = field(default_factory=dict)
    remarks: list[str] = field(default_factory=list)


def parse_document(text: str, where: str, *, first_line: int = 1, one_line: bool = False) -> Document:
    """Read one document.

    Args:
        text: the JSON text.
        where: the file, for errors.
        first_line: the line of the file on which the text starts.
        one_line: the document is one line of many.

    Raises:
        RunFileError: the text is no JSON, or none of the documents this package reads.
    """
    value = _load(text, where, first_line)
    place = f"{where}:{first_line}"
    if isinstance(value, list):
        value = _wrapped_list(value, place)
    if not isinstance(value, dict):
        raise RunFileError(f"{place}: expected {EXPECTED}; got {_kind(value)}")
    if not value:
        raise RunFileError(f"{place}: the object is empty; expected {EXPECTED}")
    if _REQUEST_FIELDS & value.keys():
        return _request(value, place)
    if isinstance(value.get("data"), list):
        return _answer(value["data"], place)
    return Document(run=_run(value, text, where, first_line, one_line=one_line))


def _load(text: str, where: str, first_line: int) -> Any:
    try:
        value = json.loads(text, parse_constant=_refuse)
    except json.JSONDecodeError as error:
        line = first_line + error.lineno - 1
        raise RunFileError(f"{where}:{line}: not JSON: {error.msg} (column {error.colno})") from None
    except RecursionError:
        raise RunFileError(f"{where}:{first_line}: nested too deep to read; at most {MAX_DEPTH} levels are read") from None
    except ValueError as error:
        raise RunFileError(f"{where}:{first_line}: not JSON that can be read: {error}") from None
    return value


def _refuse(literal: str) -> NoReturn:
    raise ValueError(f"{literal} is not a JSON value")


def _wrapped_list(value: list[Any], place: str) -> dict[str, Any]:
    """Accept a bare list of `resourceSpans` entries, and a bare list of Jaeger traces."""
    if value and all(isinstance(part, dict) and ("scopeSpans" in part or "scope_spans" in part) for part in value):
        return {"resourceSpans": value}
    if value and all(isinstance(part, dict) and "traceID" in part and "spans" in part for part in value):
        return {"data": value}
    raise RunFileError(f"{place}: expected {EXPECTED}; got a list (several run records go one a line into a .jsonl file)")


def _request(value: dict[str, Any], place: str) -> Document:
    spans: list[SpanRecord] = []
    remarks: list[str] = []
    for name in (*_SPAN_FIELDS, "batches"):
        if name in value:
            if not isinstance(value[name], list):
                raise RunFileError(f"{place}: {name}: expected a list, got {_kind(value[name])}")
            spans.extend(otlp.read_spans({"resourceSpans": value[name]}))
            remarks.extend(_left_out(_count(value[name]), len(spans), place, f"{name}: spans without a usable spanId"))
    for name in _LOG_FIELDS:
        if name in value and not isinstance(value[name], list):
            raise RunFileError(f"{place}: {name}: expected a list, got {_kind(value[name])}")
    return Document(spans=spans, events=otlp.read_logs(value), remarks=remarks)


def _count(resources: list[Any]) -> int:
    scoped = [s for r in resources if isinstance(r, dict) for s in _list(r.get("scopeSpans", r.get("scope_spans")))]
    return sum(len(_list(scope.get("spans"))) for scope in scoped if isinstance(scope, dict))


def _list(value: Any) -> list[Any]:
    return value if isinstance(value, list) else []


def _answer(data: list[Any], place: str) -> Document:
    spans = list(jaeger.read_spans({"data": data}))
    given = sum(len(_list(trace.get("spans"))) for trace in data if isinstance(trace, dict))
    if data and not given:
        raise RunFileError(f"{place}: data: expected Jaeger traces with spans; got {_kind(data[0])}")
    return Document(spans=spans, remarks=_left_out(given, len(spans), place, "data: spans without a spanID"))


def _left_out(given: int, read: int, place: str, what: str) -> list[str]:
    return [f"{place}: {what}: {given - read} of {given} were left out"] if read < given else []


def _run(value: dict[str, Any], text: str, where: str, first_line: int, *, one_line: bool) -> Trajectory:
    if text.count("{") + text.count("[") > MAX_DEPTH and is_deeper_than(value, MAX_DEPTH):
        raise RunFileError(f"{where}:{first_line}: nested deeper than {MAX_DEPTH} levels")
    try:
        return Trajectory.model_validate(value)
    except ValidationError as error:
        line = first_line
        if not one_line:
            location = error.errors(include_url=False, include_input=False, include_context=False)[0]["loc"]
            line += line_of(text, location) - 1
        raise RunFileError(describe(error, f"{where}:{line}", is_yaml=False)) from None
    except RecursionError:
        raise RunFileError(f"{where}:{first_line}: nested too deep to read") from None


def _kind(value: Any) -> str:
    if value is None:
        return "null"
    names = {dict: "an object", list: "a list", str: "a text", bool: "true or false", int: "a number", float: "a number"}
    return names.get(type(value), type(value).__name__)
