"""Wrap a tool dispatcher so that every call it makes is a span.

The wrapper passes arguments, result and exceptions through unchanged. Raw text is what the provider
emitted (the text given, or the bytes noted by the HTTP client); received is what the dispatcher got.
"""

from __future__ import annotations

import asyncio
import concurrent.futures
import functools
import inspect
from collections.abc import Awaitable, Callable, Iterable
from contextvars import copy_context
from functools import partial
from typing import Any, ParamSpec, TypeVar, cast

from opentelemetry import context

from attest_otel.record.capture_limits import log_fault_once
from attest_otel.record.dispatched_call import DispatcherTools, start_call
from attest_otel.record.tool_requests import RequestReader
from attest_otel.record.tool_span import ToolCallRecorder
from attest_otel.trajectory import Tool

P = ParamSpec("P")
R = TypeVar("R")


def traced_dispatcher(dispatch: Callable[P, R], *, tools: Iterable[Tool] | None = None) -> Callable[P, R]:
    """Return the dispatcher with a span `execute_tool {name}` around every call.

    Args:
        dispatch: sync or async; called as `dispatch(name, arguments, ...)` with text or a dict, or as
            `dispatch(block)` with a provider's tool-use block.
        tools: the registered tools, for runs that don't name their own.

    Returns:
        A callable of the same kind and signature. Thread-safe where `dispatch` is.
    """
    reader = RequestReader(dispatch)
    registered = DispatcherTools(None if tools is None else list(tools))
    if inspect.iscoroutinefunction(dispatch) or inspect.iscoroutinefunction(getattr(dispatch, "__call__", None)):  # noqa: B004

        @functools.wraps(dispatch)
        async def traced_async(*args: P.args, **kwargs: P.kwargs) -> Any:
            recorder = start_call(reader, registered, args, kwargs)
            return await _awaited(cast("Awaitable[Any]", _called(recorder, dispatch, args, kwargs)), recorder)

        return cast("Callable[P, R]", traced_async)

    @functools.wraps(dispatch)
    def traced(*args: P.args, **kwargs: P.kwargs) -> R:
        recorder = start_call(reader, registered, args, kwargs)
        result = _called(recorder, dispatch, args, kwargs)
        if recorder is None or _ends_later(result, recorder):
            return cast("R", result)
        if _is_awaitable(result):
            return cast("R", _awaited(result, recorder))
        recorder.output = result
        recorder.end()
        return cast("R", result)

    return traced


def bind_context(function: Callable[P, R]) -> Callable[P, R]:
    """Return the function bound to the current context, for executors whose threads don't inherit it.

    `pool.map(bind_context(dispatch), blocks)` keeps tool spans in their run. Every call runs in a copy
    of its own, so that one bound function may run in many threads at once.
    """
    bound = copy_context()

    @functools.wraps(function)
    def run(*args: P.args, **kwargs: P.kwargs) -> R:
        return bound.copy().run(function, *args, **kwargs)

    return run


def _called(
    recorder: ToolCallRecorder | None, dispatch: Callable[..., Any], args: tuple[Any, ...], kwargs: dict[str, Any]
) -> Any:
    """Call the dispatcher with the tool span current; close the span where it raises."""
    if recorder is None:
        return dispatch(*args, **kwargs)
    token = context.attach(recorder.context)
    try:
        return dispatch(*args, **kwargs)
    except BaseException as error:
        recorder.end(error)
        raise
    finally:
        context.detach(token)


def _is_awaitable(result: Any) -> bool:
    try:
        return inspect.isawaitable(result)
    except Exception:  # noqa: BLE001  # a result's class is foreign code
        return False


def _ends_later(result: Any, recorder: ToolCallRecorder) -> bool:
    """Return whether the result is a future, which ends the span when it is done and stays what it is."""
    try:
        if not isinstance(result, asyncio.Future | concurrent.futures.Future):
            return False
        result.add_done_callback(partial(_end_with, recorder))
    except Exception as fault:  # noqa: BLE001  # a result's class is foreign code
        log_fault_once("while waiting for a tool call", fault)
        return False
    return True


def _end_with(recorder: ToolCallRecorder, done: asyncio.Future[Any] | concurrent.futures.Future[Any]) -> None:
    if done.cancelled():
        recorder.end(asyncio.CancelledError())
        return
    error = done.exception()
    if error is None:
        recorder.output = done.result()
    recorder.end(error)


async def _awaited(result: Awaitable[Any], recorder: ToolCallRecorder | None) -> Any:
    if recorder is None:
        return await result
    token = context.attach(recorder.context)
    try:
        output = await result
    except BaseException as error:
        recorder.end(error)
        raise
    finally:
        context.detach(token)
    recorder.output = output
    recorder.end()
    return output
