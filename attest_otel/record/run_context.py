"""Where the code inside a run finds it: in a context variable, and in the OpenTelemetry context.

The second is what instrumentations and frameworks carry into their threads, and it goes first: a span's
parent comes from there, and a call belongs to the run that its span is below of.
"""

from __future__ import annotations

from collections.abc import Callable
from contextvars import ContextVar
from typing import TYPE_CHECKING

from opentelemetry import context
from opentelemetry.context import Context
from opentelemetry.trace import Span, set_span_in_context

from attest_otel.record.note_stores import STORE_KEY, current_store

if TYPE_CHECKING:
    from attest_otel.record.agent_run import AgentRun

_RUN_KEY = context.create_key("attest_otel-run")
_TOOL_KEY = context.create_key("attest_otel-in-tool")

current: ContextVar[AgentRun | None] = ContextVar("attest_otel_run", default=None)


def current_run() -> AgentRun | None:
    """Return the run that this code is inside of, or None."""
    carried: AgentRun | None = context.get_value(_RUN_KEY)  # type: ignore[assignment]  # the key is this module's own
    return current.get() if carried is None else carried


def is_in_tool() -> bool:
    """Return whether this code runs inside a dispatched tool of the current run."""
    return bool(context.get_value(_TOOL_KEY))


def inside(run: AgentRun, span: Span) -> Context:
    """Return the current context as it is inside a run, with one of its spans current."""
    within = context.set_value(STORE_KEY, run.requests.store, set_span_in_context(span))
    return context.set_value(_TOOL_KEY, None, context.set_value(_RUN_KEY, run, within))


def inside_tool(span: Span, around: Context) -> Context:
    """Return a context as it is inside a tool."""
    return context.set_value(_TOOL_KEY, value=True, context=set_span_in_context(span, around))


def enter(run: AgentRun, span: Span) -> Callable[[], None]:
    """Make a run the current one; return what ends that."""
    tokens = context.attach(inside(run, span)), current.set(run), current_store.set(run.requests.store)

    def leave() -> None:
        try:
            current_store.reset(tokens[2])
            current.reset(tokens[1])
        except ValueError:
            return  # left in another context than it was entered in: that context's own values stand
        context.detach(tokens[0])

    return leave
