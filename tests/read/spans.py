"""Spans for tests, written as short as they can be."""

from __future__ import annotations

import json
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from attest_otel.read.build import build_trajectory
from attest_otel.read.runs import split_runs
from attest_otel.read.span import SpanEvent, SpanRecord, Status
from attest_otel.trajectory import ToolCall, Trajectory

CAPTURES = Path(__file__).parents[1] / "data" / "captures"
TRACE = "a" * 32


def span(
    number: int,
    parent: int | None = None,
    *,
    start: int | None = None,
    end: int | None = None,
    name: str = "",
    status: Status = "unset",
    message: str = "",
    events: Iterable[SpanEvent] = (),
    scope: str = "test",
    trace: str = TRACE,
    **attributes: Any,
) -> SpanRecord:
    """A span with this number as its id; it starts at `number` and ends one later unless told otherwise."""
    begin = number * 10 if start is None else start
    return SpanRecord(
        trace_id=trace,
        span_id=f"{number:016x}",
        parent_id=None if parent is None else f"{parent:016x}",
        parent_is_remote=False,
        name=name or f"span {number}",
        start_ns=begin,
        end_ns=begin + 1 if end is None else end,
        status=status,
        status_message=message,
        attributes={key.replace("__", "."): value for key, value in attributes.items()},
        events=tuple(events),
        scope=scope,
    )


def agent(number: int, parent: int | None = None, *, agent_name: str = "support", **more: Any) -> SpanRecord:
    """An `invoke_agent` span that lasts long."""
    given = {"end": 10_000, "gen_ai__operation__name": "invoke_agent", "gen_ai__agent__name": agent_name}
    return span(number, parent, **{**given, **more})


def call_part(call_id: str | None, name: str, arguments: Any) -> dict[str, Any]:
    """A `tool_call` part of a message."""
    return {"type": "tool_call", "id": call_id, "name": name, "arguments": arguments}


def result_part(call_id: str | None, response: Any) -> dict[str, Any]:
    """A `tool_call_response` part of a message."""
    return {"type": "tool_call_response", "id": call_id, "response": response}


def message(role: str, *parts: Any) -> dict[str, Any]:
    """A message; text stands for a text part."""
    return {"role": role, "parts": [{"type": "text", "content": p} if isinstance(p, str) else p for p in parts]}


def chat(number: int, parent: int | None = None, *, inputs: Any = None, outputs: Any = None, **more: Any) -> SpanRecord:
    """A `chat` span with messages."""
    given: dict[str, Any] = {"gen_ai__operation__name": "chat"}
    if inputs is not None:
        given["gen_ai__input__messages"] = json.dumps(inputs)
    if outputs is not None:
        given["gen_ai__output__messages"] = json.dumps(outputs)
    return span(number, parent, **{**given, **more})


def tool(number: int, parent: int | None = None, *, tool_name: str = "get_order", **more: Any) -> SpanRecord:
    """An `execute_tool` span."""
    return span(number, parent, **{"gen_ai__operation__name": "execute_tool", "gen_ai__tool__name": tool_name, **more})


def build(*spans: SpanRecord) -> Trajectory:
    """The one run of these spans."""
    (found,) = runs(*spans)
    return found


def runs(*spans: SpanRecord) -> list[Trajectory]:
    """The runs of these spans."""
    return [build_trajectory(run.root, run.spans) for run in split_runs(spans)]


def calls(run: Trajectory) -> list[ToolCall]:
    """The calls of a run."""
    return [step.tool_call for step in run.steps if step.tool_call is not None]


def dump(run: Trajectory) -> str:
    """A run as bytes to compare."""
    return json.dumps(run.model_dump(), sort_keys=True, default=str)


def arguments_of(call: ToolCall) -> Any:
    """A call's arguments as a value, from wherever they are."""
    return json.loads(call.arguments_raw or "{}") if call.arguments_raw is not None else call.arguments
