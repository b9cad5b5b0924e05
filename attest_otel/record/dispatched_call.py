"""Start the span of a dispatched call: whose call it is, what the provider's text was, which tool it names."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any

from opentelemetry import trace
from opentelemetry.context import Context

from attest_otel.record import open_runs
from attest_otel.record.agent_content import tools_text
from attest_otel.record.capture_limits import log_fault_once, log_outside_once
from attest_otel.record.note_stores import is_known, take, visible_store
from attest_otel.record.noted_inputs import NotedInput
from attest_otel.record.run_context import current_run, inside
from attest_otel.record.tool_requests import AskedCall, RequestReader, complete
from attest_otel.record.tool_span import ToolCallRecorder
from attest_otel.trajectory import Tool

if TYPE_CHECKING:
    from attest_otel.record.agent_run import AgentRun


class DispatcherTools:
    """The tools that a dispatcher registers; `None` where it registers none."""

    def __init__(self, tools: Sequence[Tool] | None) -> None:
        self.tools = tools

    def text_for(self, name: str) -> str | None:
        """Return what a call outside every run says of its tool: the definition, or all there are where its own is not."""
        if self.tools is None:
            return None
        return self._texts.get(name) or self._all

    @cached_property
    def _texts(self) -> dict[str, str]:
        return {tool.name: tools_text([tool]) for tool in self.tools or ()}

    @cached_property
    def _all(self) -> str:
        return tools_text(self.tools or ())


@dataclass(frozen=True, slots=True)
class _Place:
    """Whose call it is; `context` where its span's parent is not the current span."""

    run: AgentRun | None
    context: Context | None = None


def start_call(
    reader: RequestReader, registered: DispatcherTools, args: tuple[Any, ...], kwargs: dict[str, Any]
) -> ToolCallRecorder | None:
    """Start the call's span, or return None where that failed: the tool runs all the same."""
    run = current_run()
    recorder: ToolCallRecorder | None = None
    try:
        asked = reader.read(args, kwargs)
        place = _Place(run) if run is not None else _place_of(asked)
        run = place.run
        request = complete(asked, _noted(asked, run))
        recorder = ToolCallRecorder(
            request.name,
            request.arguments_raw,
            call_id=request.call_id,
            arguments=request.arguments,
            recorded=request.recorded,
            context=place.context,
            tools=registered.text_for(request.name) if run is None else None,
        )
        recorder.received = request.received
    except Exception as fault:  # noqa: BLE001  # nothing of ours may reach the application
        log_fault_once("while reading a tool call", fault)
    if run is not None:
        if run.tools is None and registered.tools is not None:
            run.tools = registered.tools
        run.note_call(recorder)
    return recorder


def _place_of(asked: AskedCall) -> _Place:
    """Return the open run whose model asked for a call that knows of no run, and where its span goes."""
    around = trace.get_current_span().get_span_context()
    run = open_runs.find(asked, surely=around.is_valid)
    if run is None:
        if not around.is_valid:
            log_outside_once()
        return _Place(None)
    is_below = around.is_valid and around.trace_id == run.span.get_span_context().trace_id
    return _Place(run, None if is_below else inside(run, run.span))


def _noted(asked: AskedCall, run: AgentRun | None) -> NotedInput | None:
    if asked.problem is not None:
        return None
    own = visible_store() if run is None else run.requests.store
    is_text = isinstance(asked.arguments, str)
    noted = take(asked.call_id, asked.name, asked.matches, own, alone=not is_text)
    if noted is None and run is not None:
        own_id = asked.call_id is None or is_known(asked.call_id, asked.name, run.requests.store)
        other = None if own_id else open_runs.find(asked, surely=True)
        if other is not None:
            return take(asked.call_id, asked.name, asked.matches, other.requests.store, alone=False)
        run.requests.took_none(asked)
    return noted
