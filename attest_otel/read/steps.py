"""Paired calls -> the steps of a run record, each saying what its source could not show."""

from __future__ import annotations

from collections.abc import Callable
from collections.abc import Set as AbstractSet
from typing import Any

from attest_otel import attributes as names
from attest_otel.gaps import Gap, join_gaps, write_gap
from attest_otel.read.facts import ABSENT, NEARNESS, Arguments, Execution, Request
from attest_otel.read.matching import PairedCall
from attest_otel.read.model_calls import ModelCall
from attest_otel.read.pairing import Pairing
from attest_otel.read.records import make
from attest_otel.read.span import SpanRecord
from attest_otel.read.tool_runs import equal_arguments
from attest_otel.trajectory import OutputFidelity, Recorded, Step, ToolCall

PathOf = Callable[[SpanRecord], list[str] | None]

_ARGUMENT_NAMES = (names.TOOL_CALL_ARGUMENTS, "input.value", "ai.toolCall.args", "traceloop.entity.input")
_RESULT_NAMES = (names.TOOL_CALL_RESULT, "output.value", "ai.toolCall.result", "traceloop.entity.output")


def make_steps(pairing: Pairing, path_of: PathOf, guests: AbstractSet[str], *, asks_are_shown: bool) -> list[Step]:
    """Return one step a call; what the model said while it asked stands with the first call of its turn.

    Args:
        pairing: the calls.
        path_of: names the agents a span lies below.
        guests: the traces that are in the run by their conversation's name alone.
        asks_are_shown: whether model calls show what the model asked for.
    """
    tools_run = any(call.run is not None for call in pairing.calls)
    steps: list[Step] = []
    last: ModelCall | None = None
    for call in pairing.calls:
        made = _Call(call, guests, asks_are_shown=asks_are_shown, tools_run=tools_run).make()
        found: dict[str, Any] = {"tool_call": made}
        thought = _thought(call.turn) if call.request is not None and call.turn is not last else None
        if thought is not None:
            found["thought"] = thought
        span = call.run.span if call.run is not None else call.turn.facts.span if call.turn is not None else None
        path = path_of(span) if span is not None else None
        if path is not None:
            found["agent"] = path
        if call.request is not None:
            last = call.turn
        steps.append(make(Step, found))
    return steps


def _thought(turn: ModelCall | None) -> str | None:
    texts = [m.text for m in turn.facts.outputs or () if m.text] if turn is not None else []
    return "\n".join(texts) or None


class _Call:
    """One call being written down."""

    def __init__(self, call: PairedCall, guests: AbstractSet[str], *, asks_are_shown: bool, tools_run: bool) -> None:
        self.call = call
        self.run = call.run
        self.execution = call.run.execution if call.run is not None else None
        self.is_guest = bool(guests) and _is_guest(call, guests)
        self.asks_are_shown = asks_are_shown
        self.tools_run = tools_run
        self.remarks: list[str] = []
        own = self.execution.recorded if self.execution is not None else None
        if own is not None and own.reason is not None:
            self.remarks.append(own.reason)

    def make(self) -> ToolCall:
        arguments = self._arguments()
        output, output_fidelity = self._output()
        self._say_what_is_missing(output)
        if arguments.reason is not None:
            self.remarks.append(arguments.reason)
        if _was_cut_off(self.call, arguments):
            self.remarks.append(write_gap(Gap.TRUNCATED, "the model was cut off while it wrote the arguments"))
        found: dict[str, Any] = {
            "id": self._id(),
            "name": self._name(),
            "arguments": arguments.value,
            "arguments_raw": arguments.raw,
            "arguments_received": self.execution.received if self.execution is not None else None,
            "output": output,
            "is_error": self._is_error(output),
            "turn": self._turn(),
            **self._of_the_run(),
            "recorded": self._recorded(arguments, output_fidelity),
        }
        return make(ToolCall, {name: value for name, value in found.items() if value is not None})

    def _of_the_run(self) -> dict[str, Any]:
        if self.run is None or self.execution is None:
            return {"span_id": self.call.turn.facts.span.span_id if self.call.turn is not None else None}
        return {
            "exit_code": self.execution.exit_code,
            "error_type": self.execution.error_type,
            "started_at": self.run.span.start_ns or None,
            "ended_at": self.run.span.end_ns,
            "span_id": self.run.span.span_id,
            "artifacts": list(self.execution.artifacts) or None,
        }

    def _id(self) -> str | None:
        asked = self.call.request.call_id if self.call.request is not None else None
        return asked if asked is not None or self.execution is None else self.execution.call_id

    def _name(self) -> str:
        if self.call.request is not None:
            return self.call.request.name
        return self.execution.name if self.execution is not None else ""

    def _turn(self) -> int | None:
        if self.call.request is not None and self.call.turn is not None:
            return self.call.turn.index
        if self.execution is not None and self.execution.turn is not None:
            return self.execution.turn
        return self.call.turn.index if self.call.turn is not None else None

    def _arguments(self) -> Arguments:
        """Return the arguments of the source that is nearest to the provider's bytes and not cut."""
        asked = self.call.request.arguments if self.call.request is not None else ABSENT
        ran = self.execution.arguments if self.execution is not None else ABSENT
        if self.run is not None and _is_cut(self.run.span, _ARGUMENT_NAMES):
            ran = Arguments(reason=write_gap(Gap.TRUNCATED, "the arguments were cut by the span's length limit"))
        if self.call.turn is not None and self.call.request is not None and _messages_cut(self.call.turn):
            asked = Arguments(reason=write_gap(Gap.TRUNCATED, "the arguments were cut by the span's length limit"))
        own = self.execution is not None and self.execution.own
        if NEARNESS[ran.fidelity] < NEARNESS[asked.fidelity] or (own and ran.fidelity == asked.fidelity):
            return ran
        return asked if asked is not ABSENT else ran

    def _output(self) -> tuple[str | None, OutputFidelity | None]:
        execution, result = self.execution, self.call.result
        if execution is not None and execution.output is not None:
            cut = self.run is not None and _is_cut(self.run.span, _RESULT_NAMES)
            if cut:
                self.remarks.append(write_gap(Gap.TRUNCATED, "the output was cut by the span's length limit"))
            return execution.output, "truncated" if cut else None
        if result is not None and result.output is not None:
            return result.output, None
        if execution is not None and execution.error_message is not None and execution.error_type is not None:
            return execution.error_message, None
        if self.call.ambiguous:
            self.remarks.append(write_gap(Gap.PAIRING_AMBIGUOUS, "several results could be this call's"))
            return None, "ambiguous"
        return None, None

    def _is_error(self, output: str | None) -> bool | None:
        execution, result = self.execution, self.call.result
        if execution is not None and execution.is_error is not None:
            return execution.is_error
        if (
            execution is not None
            and execution.error_type is None
            and self.run is not None
            and output is not None
            and self.run.span.status == "ok"
        ):
            return False
        return result.is_error if result is not None else None

    def _say_what_is_missing(self, output: str | None) -> None:
        if self.run is None and output is None and not self.call.ambiguous:
            how = "no tool span and no result" if self.tools_run else "no result"
            self.remarks.append(write_gap(Gap.REQUESTED_NOT_RUN, f"{how} of it is on record"))
        own = self.run is not None and (self.run.execution.own or self.run.in_model_call)
        if self.call.request is None and self.asks_are_shown and (self.is_guest or not own):
            self.remarks.append(write_gap(Gap.RUN_NOT_REQUESTED, "no model call on record asked for it"))

    def _recorded(self, arguments: Arguments, output: OutputFidelity | None) -> Recorded | None:
        own = self.execution.recorded if self.execution is not None else None
        found: dict[str, Any] = {}
        if arguments.fidelity != "verbatim":
            found["arguments"] = arguments.fidelity
        fidelity = own.output if own is not None and own.output is not None else output
        if fidelity is not None and fidelity != "recorded":
            found["output"] = fidelity
        if self.is_guest:
            found["joined"] = "conversation"
        reason = join_gaps(dict.fromkeys(self.remarks))
        if reason is not None:
            found["reason"] = reason
        return Recorded.model_construct(**found) if found else None


def _is_guest(call: PairedCall, guests: AbstractSet[str]) -> bool:
    """Return whether a guest alone shows the call: the run's own model did not ask for it, by its id or its arguments."""
    asked = call.turn if call.request is not None else None
    asked_here = asked is not None and asked.facts.span.trace_id not in guests
    if call.run is None:
        return not asked_here
    if call.run.span.trace_id not in guests:
        return False
    return not (asked_here and call.request is not None and _is_meant(call.request, call.run.execution))


def _is_meant(request: Request, ran: Execution) -> bool:
    if request.call_id is not None and request.call_id == ran.call_id:
        return True
    known = "absent" not in (request.arguments.fidelity, ran.arguments.fidelity)
    return known and equal_arguments(request.arguments, ran.arguments)


def _was_cut_off(call: PairedCall, arguments: Arguments) -> bool:
    """Return whether the arguments may be less than the model meant, and nothing of their text shows it."""
    if call.turn is None or call.request is None or call.turn.facts.cut_off is None:
        return False
    if call.request is not call.turn.requests[-1]:
        return False
    return arguments.fidelity != "verbatim" or not (arguments.raw or "").strip()


def _is_cut(span: SpanRecord, attributes: tuple[str, ...]) -> bool:
    return bool(span.cut) and any(name in span.cut for name in attributes)


def _messages_cut(turn: ModelCall) -> bool:
    """Return whether structured messages of this turn were shortened inside: their arguments then look whole."""
    span = turn.facts.span
    return names.OUTPUT_MESSAGES in span.cut and not isinstance(span.attributes.get(names.OUTPUT_MESSAGES), str)
