"""How much of a response the provider-bytes capture holds, and how it says that something was left out."""

from __future__ import annotations

import logging
from contextlib import suppress
from dataclasses import dataclass

_log = logging.getLogger("attest_otel.record")
_said: set[str] = set()

MAX_SAID = 256


@dataclass(frozen=True, slots=True)
class CaptureLimits:
    """How much of one response is held or followed; over a limit, a call is noted as not captured.

    `max_response_bytes` holds for a JSON body, and for all open inputs of a stream together;
    `max_stream_bytes` for how far a stream is followed after content decoding.
    """

    max_response_bytes: int = 4 * 1024 * 1024
    max_input_bytes: int = 1024 * 1024
    max_event_bytes: int = 4 * 1024 * 1024
    max_stream_bytes: int = 256 * 1024 * 1024
    max_open_inputs: int = 128


def log_once(what: str) -> None:
    """Warn, the first time in this process, that raw tool inputs were left out; `what` carries no content."""
    _say_once(f"raw tool inputs of a response were not recorded: {what}")


def log_fault_once(where: str, fault: BaseException) -> None:
    """Warn once about an internal fault, by its type only: the texts of exceptions carry content."""
    _say_once(f"something was not recorded: {type(fault).__name__} {where}")


def log_outside_once() -> None:
    """Warn once that a tool was called where no run and no span is current, and no open run's model asked for it."""
    _say_once(
        "a tool was called outside every run and span, and its run could not be told, so no run has this call; "
        "in a thread pool, attest_otel.bind_context(dispatch) keeps calls in their run"
    )


def _say_once(text: str) -> None:
    """Log a text once; never raises: a logging handler is foreign code."""
    if text in _said or len(_said) >= MAX_SAID:
        return
    _said.add(text)
    with suppress(Exception):  # the agent goes on, whatever its logging does
        _log.warning("%s (said once)", text)
