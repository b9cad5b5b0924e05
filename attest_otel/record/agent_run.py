"""One run of an agent, recorded: the span `invoke_agent {name}` around the loop as it was.

    with agent_run("refund-agent", task=question, tools=tools) as run:
        ...
        run.final_answer = text
    report = run.report(timeout=5)

Works with `with` and `async with`, in threads and tasks. What it records is what the checks read; a
fault of the recorder never reaches the agent.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from contextlib import ExitStack, suppress
from types import TracebackType
from typing import Any, Self

from opentelemetry import baggage
from opentelemetry.trace import INVALID_SPAN, Span, SpanKind, Status, StatusCode

from attest_otel import attributes as names
from attest_otel import content
from attest_otel.errors import ReportTimeoutError
from attest_otel.gaps import Gap, write_gap
from attest_otel.record import open_runs, settings
from attest_otel.record.agent_content import agent_content
from attest_otel.record.capture_limits import log_fault_once
from attest_otel.record.note_stores import visible_store
from attest_otel.record.run_context import current_run, enter, is_in_tool
from attest_otel.record.run_requests import RunRequests, place_by_hand
from attest_otel.record.tool_requests import AskedCall
from attest_otel.record.tool_span import ToolCallRecorder, end_span
from attest_otel.report import Report
from attest_otel.trajectory import Artifact, Tool

MAX_ID_CHARS = 256


class AgentRun:
    """A run being recorded. Set `final_answer` (and `artifacts`) inside the block; ask for the report after it."""

    def __init__(
        self,
        name: str,
        *,
        task: str | None,
        system_prompt: str | None = None,
        tools: Iterable[Tool] | None = None,
        allowed_tools: Iterable[str] | None = None,
        tool_fallbacks: Mapping[str, Iterable[str]] | None = None,
        conversation_id: str | None = None,
        case_id: str | None = None,
    ) -> None:
        self.name = name
        self.task = task
        self.system_prompt = system_prompt
        self.tools = tools
        self.allowed_tools = None if allowed_tools is None else list(allowed_tools)
        self.tool_fallbacks = {tool: list(others) for tool, others in (tool_fallbacks or {}).items()}
        self.conversation_id = conversation_id
        self.case_id = case_id
        self.final_answer: str | None = None
        self.artifacts: list[Artifact] = []
        self._waiter: content.Waiter | None = None
        self._entered = self._ended = False
        self._open: dict[int, ToolCallRecorder] = {}
        self._lost = 0
        self.span: Span = INVALID_SPAN
        self.requests: RunRequests
        self._findable, self._current = ExitStack(), ExitStack()

    def tool_call(
        self, name: str, arguments_raw: str | None = None, call_id: str | None = None, *, arguments: Any = None
    ) -> ToolCallRecorder:
        """Record a call by hand.

        Args:
            name: the tool's name as the model emitted it.
            arguments_raw: the provider's text, to the character.
            call_id: the provider's id of the call.
            arguments: parsed arguments, where there is no raw text.

        Returns:
            A context manager; set `output`, `received`, `is_error`, `exit_code` inside it. Without a
            `with` block it closes with the run.
        """
        asked = AskedCall(name, arguments if arguments_raw is None else arguments_raw, call_id)
        raw, around = place_by_hand(self, asked) if self._entered else (None, None)
        recorder = ToolCallRecorder(
            name,
            raw if arguments_raw is None else arguments_raw,
            call_id=call_id,
            arguments=arguments,
            on_end=self._closed,
            context=around,
        )
        self._open[id(recorder)] = recorder
        self.note_call(recorder)
        return recorder

    def note_call(self, recorder: ToolCallRecorder | None) -> None:
        """Count a call that is not on record: its recorder failed, or its span was dropped while the run's was not."""
        if recorder is None or not recorder.span.is_recording():
            self._lost += 1

    def report(self, timeout: float | None = None) -> Report:
        """Wait for the verdict.

        Args:
            timeout: seconds to wait; None waits for the pipeline's own deadlines.

        Raises:
            ReportTimeoutError: the run hasn't ended, nobody grades it, or no report came in time.
        """
        return self._claim().wait(timeout)

    async def areport(self, timeout: float | None = None) -> Report:  # noqa: ASYNC109  # the face takes seconds, as `report` does
        """Wait for the verdict under asyncio or trio; as `report`."""
        return await self._claim().wait_async(timeout)

    def __enter__(self) -> Self:
        if self._entered:
            raise RuntimeError("an agent run is entered once; make a new one for each run")
        self._entered = True
        try:
            self._start()
        except Exception as fault:  # noqa: BLE001  # nothing of ours may reach the application
            log_fault_once("while starting an agent run", fault)
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        if self._ended:
            return
        self._ended = True
        for recorder in list(self._open.values()):
            recorder.end()
        self._findable.close()
        try:
            self._finish(error)
        except Exception as fault:  # noqa: BLE001  # nothing of ours may reach the application
            log_fault_once("while recording an agent run", fault)
            self._say_incomplete()
        finally:
            self._current.close()
            end_span(self.span)

    async def __aenter__(self) -> Self:
        return self.__enter__()

    async def __aexit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        self.__exit__(kind, error, trace)

    def _start(self) -> None:
        if self.case_id is None:
            carried = baggage.get_baggage(names.CASE_ID)
            self.case_id = carried[:MAX_ID_CHARS] if isinstance(carried, str) else None
        setup = settings.current()
        shown = {name: setup.named(text) for name, text in self._names().items()}
        attributes: dict[str, Any] = {names.OPERATION_NAME: names.INVOKE_AGENT, **shown}
        name = shown[names.AGENT_NAME][:MAX_ID_CHARS]
        self.span = setup.tracer().start_span(f"invoke_agent {name}", kind=SpanKind.INTERNAL, attributes=attributes)
        in_tool, above = is_in_tool(), current_run()
        self.requests = RunRequests(None if in_tool else visible_store())
        if above is not None and not in_tool:
            above.requests.ran_agent(self.name, self.task)
        self._current.callback(enter(self, self.span))
        if self.span.get_span_context().is_valid:
            self._findable.callback(open_runs.opened(self))

    def _names(self) -> dict[str, str]:
        given = {names.AGENT_NAME: self.name, names.CONVERSATION_ID: self.conversation_id, names.CASE_ID: self.case_id}
        return {name: text for name, text in given.items() if text is not None}

    def _finish(self, error: BaseException | None) -> None:
        if not self.span.is_recording():
            return
        setup = settings.current()
        full, shown = agent_content(self, setup)
        if self._lost:
            full[names.INCOMPLETE] = shown[names.INCOMPLETE] = [
                write_gap(Gap.INCOMPLETE, f"{self._lost} tool calls were not recorded")
            ]
        self.span.set_attributes(shown)
        if error is not None:
            kind = type(error).__qualname__
            self.span.set_attribute(names.ERROR_TYPE, kind)
            self.span.set_status(Status(StatusCode.ERROR, kind))
        span_context = self.span.get_span_context()
        hidden = {name: text for name, text in self._names().items() if setup.named(text) != text}
        content.offer(span_context, full | hidden)
        self._waiter = content.waiter_for(span_context)

    def _say_incomplete(self) -> None:
        """Let the run be known as one of which the recorder failed to write down the content."""
        with suppress(Exception):
            self.span.set_attribute(
                names.INCOMPLETE, [write_gap(Gap.INCOMPLETE, "the recorder failed to write down the run's content")]
            )
            self._waiter = content.waiter_for(self.span.get_span_context())

    def _closed(self, recorder: ToolCallRecorder) -> None:
        self._open.pop(id(recorder), None)

    def _claim(self) -> content.Waiter:
        if not self._ended:
            raise ReportTimeoutError(f"run {self.name!r} has not ended: ask for its report after the `with` block")
        if self._waiter is None:
            raise ReportTimeoutError(
                f"nobody grades run {self.name!r}: no AttestSpanProcessor is installed, it was shut down, "
                "or the sampler dropped the run's spans"
            )
        return self._waiter


def agent_run(
    name: str,
    *,
    task: str | None,
    system_prompt: str | None = None,
    tools: Iterable[Tool] | None = None,
    allowed_tools: Iterable[str] | None = None,
    tool_fallbacks: Mapping[str, Iterable[str]] | None = None,
    conversation_id: str | None = None,
    case_id: str | None = None,
) -> AgentRun:
    """Return a context manager, sync and async, that records one run of an agent.

    Args:
        name: the agent's name; its rules and cases are found by it.
        task: what the user asked.
        system_prompt: the agent's instructions.
        tools: the registered tools, usually a `Tools`.
        allowed_tools: names the run may call; None allows every tool, an empty list none.
        tool_fallbacks: for each tool, the tools that can stand in for it when it errors.
        conversation_id: joins the runs of one conversation.
        case_id: the case whose expectations this run must meet; by default the baggage entry
            `attest.case_id`.
    """
    return AgentRun(
        name,
        task=task,
        system_prompt=system_prompt,
        tools=tools,
        allowed_tools=allowed_tools,
        tool_fallbacks=tool_fallbacks,
        conversation_id=conversation_id,
        case_id=case_id,
    )
