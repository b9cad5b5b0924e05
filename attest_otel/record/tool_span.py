"""One tool call being recorded: the span `execute_tool {name}` and the content handed over beside it."""

from __future__ import annotations

from collections.abc import Callable, Collection
from types import TracebackType
from typing import Any, Self

from opentelemetry.context import Context, get_current
from opentelemetry.trace import INVALID_SPAN, Span, SpanKind, Status, StatusCode

from attest_otel import attributes as names
from attest_otel import content
from attest_otel.record import settings
from attest_otel.record.capture_limits import log_fault_once
from attest_otel.record.results import read_result, to_text
from attest_otel.record.run_context import inside_tool
from attest_otel.report import dump_json
from attest_otel.trajectory import Artifact, Recorded

MAX_NAME_CHARS = 128


class ToolCallRecorder:
    """Records one call; a context manager that closes the span whatever happens.

    Set `received` (what the handler got), `output` (what it returned: any value, see
    `record.results`), `is_error`, `exit_code` and `artifacts` before it closes. An exception that
    passes through is recorded and goes on. Not thread-safe: one call, one owner.
    """

    def __init__(
        self,
        name: str,
        arguments_raw: str | None = None,
        *,
        call_id: str | None = None,
        arguments: Any = None,
        recorded: Recorded | None = None,
        on_end: Callable[[ToolCallRecorder], object] | None = None,
        context: Context | None = None,
        tools: str | None = None,
    ) -> None:
        self.name = name
        self.arguments_raw = arguments_raw
        self.arguments = arguments
        self.call_id = call_id
        self._received: str | None = None
        self.output: Any = _UNSET
        self.is_error: bool | None = None
        self.exit_code: int | None = None
        self.artifacts: list[Artifact] = []
        self._recorded = recorded
        self._on_end = on_end
        self._tools = tools
        self._ended = False
        self.span: Span = INVALID_SPAN
        self.context: Context = get_current() if context is None else context
        try:
            self._start()
        except Exception as fault:  # noqa: BLE001  # nothing of ours may reach the application
            log_fault_once("while starting a tool span", fault)

    @property
    def received(self) -> str | None:
        """What the handler got, as JSON text taken when it was set: handlers change their arguments."""
        return self._received

    @received.setter
    def received(self, arguments: Any) -> None:
        self._received = None if arguments is None else _json_text(arguments)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        self.end(error)

    def end(self, error: BaseException | None = None) -> None:
        """Close the span, with the exception that ended the call if there was one; once, never raises."""
        if self._ended:
            return
        self._ended = True
        try:
            self._finish(error)
        except Exception as fault:  # noqa: BLE001  # nothing of ours may reach the application
            log_fault_once("while recording a tool call", fault)
        finally:
            end_span(self.span)
            if self._on_end is not None:
                self._on_end(self)

    def _start(self) -> None:
        setup = settings.current()
        name = setup.named(self.name)
        attributes: dict[str, Any] = {
            names.OPERATION_NAME: names.EXECUTE_TOOL,
            names.TOOL_NAME: name,
            names.TOOL_TYPE: "function",
        }
        if self.call_id is not None:
            attributes[names.TOOL_CALL_ID] = setup.named(self.call_id)
        arguments = self._arguments_text()
        if arguments is not None and (text := setup.shown(arguments)) is not None:
            attributes[names.TOOL_CALL_ARGUMENTS] = text
        self.span = setup.tracer().start_span(
            f"execute_tool {name[:MAX_NAME_CHARS]}", context=self.context, kind=SpanKind.INTERNAL, attributes=attributes
        )
        self.context = inside_tool(self.span, self.context)

    def _finish(self, error: BaseException | None) -> None:
        if not self.span.is_recording():
            return
        full = self._full(error)
        shown = {name: text for name, value in full.items() if (text := self._shown(name, value)) is not None}
        hidden = [
            n for n in (names.TOOL_CALL_ARGUMENTS, names.TOOL_CALL_RESULT) if n in full and shown.get(n) not in (None, full[n])
        ]
        if hidden:
            shown[names.RECORDED] = _marked_redacted(self._recorded, hidden)
            full.setdefault(names.RECORDED, "")  # the mark is about what the span shows, not about the content beside it
        self.span.set_attributes({k: v for k, v in shown.items() if k != names.TOOL_CALL_ARGUMENTS})
        if error is not None:
            self._record_error(error)
        content.offer(self.span.get_span_context(), full | self._hidden_names())

    def _hidden_names(self) -> dict[str, Any]:
        """Return the name and the id of the call where the span doesn't show them as they are."""
        named = settings.current().named
        given = {names.TOOL_NAME: self.name, names.TOOL_CALL_ID: self.call_id}
        return {key: text for key, text in given.items() if text is not None and named(text) != text}

    def _full(self, error: BaseException | None) -> dict[str, Any]:
        output, recorded = self._result(error)
        given: dict[str, Any] = {
            names.TOOL_CALL_ARGUMENTS: self._arguments_text(),
            names.ARGUMENTS_RECEIVED: self._received,
            names.TOOL_CALL_RESULT: output,
            names.IS_ERROR: self.is_error,
            names.EXIT_CODE: self.exit_code,
            names.TOOLS: self._tools,
        }
        full = {name: value for name, value in given.items() if value is not None}
        if self.artifacts:
            full[names.CALL_ARTIFACTS] = dump_json([a.model_dump(exclude_unset=True) for a in self.artifacts])
        if recorded is not None:
            full[names.RECORDED] = recorded.model_dump_json(exclude_none=True)
        return full

    def _result(self, error: BaseException | None) -> tuple[str | None, Recorded | None]:
        """Return the output's text, and what is to be said of the recording as a whole."""
        if error is not None:
            return _message(error), self._recorded
        if self.output is _UNSET:
            return None, self._recorded
        result = read_result(self.output)
        if self.is_error is None:
            self.is_error = result.is_error
        if result.fidelity == "recorded":
            return result.output, self._recorded
        before = self._recorded or Recorded()
        return result.output, before.model_copy(update={"output": result.fidelity, "reason": before.reason or result.reason})

    def _shown(self, name: str, value: Any) -> Any:
        if name in _CONTENT:
            return settings.current().shown(value)
        return value

    def _arguments_text(self) -> str | None:
        if self.arguments_raw is not None:
            return self.arguments_raw
        return _json_text(self.arguments) if self.arguments is not None else None

    def _record_error(self, error: BaseException) -> None:
        kind = type(error).__qualname__
        self.span.set_attribute(names.ERROR_TYPE, kind)
        message = settings.current().shown(_message(error))
        event = {"exception.type": kind} | ({"exception.message": message} if message is not None else {})
        self.span.add_event("exception", event)
        self.span.set_status(Status(StatusCode.ERROR, kind))


def end_span(span: Span) -> None:
    """End a span; what another processor of its provider raises there stays here."""
    try:
        span.end()
    except Exception as fault:  # noqa: BLE001  # nothing of ours may reach the application
        log_fault_once("while ending a span", fault)


_UNSET: Any = object()
_CONTENT = frozenset(
    {names.TOOL_CALL_ARGUMENTS, names.ARGUMENTS_RECEIVED, names.TOOL_CALL_RESULT, names.CALL_ARTIFACTS, names.TOOLS}
)


def _message(error: BaseException) -> str:
    try:
        return str(error) or type(error).__qualname__
    except Exception:  # noqa: BLE001  # __str__ is foreign code
        return type(error).__qualname__


def _json_text(value: Any) -> str:
    try:
        return to_text(value) if not isinstance(value, str) else dump_json(value)
    except Exception:  # noqa: BLE001  # a value that isn't JSON is still worth a name
        return dump_json(f"<{type(value).__name__}>")


def _marked_redacted(recorded: Recorded | None, hidden: Collection[str]) -> str:
    mark: dict[str, Any] = {"reason": "redacted"}
    if names.TOOL_CALL_ARGUMENTS in hidden:
        mark["arguments"] = "coerced"
    if names.TOOL_CALL_RESULT in hidden:
        mark["output"] = "truncated"
    return (recorded or Recorded()).model_copy(update=mark).model_dump_json(exclude_none=True)
