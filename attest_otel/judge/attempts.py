"""The attempts at one question: each under the budgets, with back-off between them, all within one time limit."""

from __future__ import annotations

import json
import math
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field
from typing import NamedTuple

import anyio
from opentelemetry.trace import SpanContext

from attest_otel.config import JudgeConfig
from attest_otel.judge.backoff import backoff_seconds
from attest_otel.judge.budget import Budgets, Shortage
from attest_otel.judge.menu import Message, read_message
from attest_otel.judge.messages_client import Failure, MessagesClient, Sampling
from attest_otel.judge.question import Answer, Question
from attest_otel.judge.telemetry import JudgeTelemetry

MAX_PAUSE_SECONDS = 60.0

Clock = Callable[[], float]
Sleep = Callable[[float], Awaitable[None]]


class Ended(NamedTuple):
    """How asking ended: the answer, its text where it is a good one, and whether the model works (None: not shown)."""

    answer: Answer
    text: str | None = None
    works: bool | None = None


class Pause:
    """The time before which the server asked for no further request, from anybody; at most MAX_PAUSE_SECONDS away."""

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self._until = -math.inf

    def extend(self, seconds: float) -> None:
        """Note what the server asked for."""
        self._until = max(self._until, self._clock() + min(seconds, MAX_PAUSE_SECONDS))

    @property
    def left(self) -> float:
        """Seconds still to wait."""
        return max(0.0, self._until - self._clock())


@dataclass(frozen=True)
class Means:
    """What all questions to one model share."""

    config: JudgeConfig
    budgets: Budgets
    pause: Pause
    telemetry: JudgeTelemetry
    clock: Clock
    sleep: Sleep
    jitter: Callable[[], float]
    sampling: Sampling = field(default_factory=Sampling)


class Attempts:
    """Asks the questions of one run. Thread-safe."""

    def __init__(self, means: Means, run_id: str | None, root: SpanContext | None) -> None:
        self._means = means
        self._run_id, self._root = run_id, root
        self._budget = means.budgets.of_run()

    async def ask(self, client: MessagesClient, question: Question) -> Ended:
        """Ask until there is an answer, or no attempt, budget or time is left."""
        fault = await client.prepare()
        if fault is not None:
            return Ended(Answer(None, fault.reason, fault.limit))
        ends = self._means.clock() + self._means.config.timeout_seconds
        failed = 0
        while True:
            waiting = self._means.pause.left
            if waiting > 0:
                if not await self._wait(waiting, ends):
                    self._means.telemetry.count("rate")
                    return Ended(Answer(None, f"the grading model's API asked to wait longer than {self._limit}", "rate"))
                continue
            got = await self._request(client, question, ends)
            if isinstance(got, Ended):
                return got
            if got.error_type == "temperature":
                continue
            if got.retry_after is not None and got.retried:
                self._means.pause.extend(got.retry_after)
            if not got.retried or failed >= self._means.config.max_retries:
                return Ended(Answer(None, got.reason, got.limit), works=got.works)
            if not await self._wait(backoff_seconds(failed, got.retry_after, self._means.jitter()), ends):
                return Ended(
                    Answer(
                        None,
                        f"{got.reason}, and asking again would take longer than {self._limit}",
                        got.limit,
                    ),
                    works=got.works,
                )
            failed += 1

    @property
    def _limit(self) -> str:
        return f"the limit of {self._means.config.timeout_seconds:g} s"

    async def _wait(self, seconds: float, ends: float) -> bool:
        """Wait, if there is time for it; return whether there was."""
        if self._means.clock() + seconds >= ends:
            return False
        await self._means.sleep(seconds)
        return True

    async def _request(self, client: MessagesClient, question: Question, ends: float) -> Ended | Failure:
        """Make one request under the budgets."""
        reserved = self._means.budgets.reserve(self._budget, self._means.sampling.estimated_tokens(question))
        if isinstance(reserved, Shortage):
            self._means.telemetry.count(reserved.limit)
            return Ended(Answer(None, reserved.reason, reserved.limit))
        with self._means.telemetry.request(question, self._run_id, self._root) as span:
            got: bytes | Failure = Failure(
                f"the grading model did not answer within {self._limit}", "timeout", "timeout", spent=True
            )
            with anyio.move_on_after(max(0.0, ends - self._means.clock())):
                got = await client.send(question)
            if isinstance(got, Failure):
                span.refused(got)
                if not got.spent:
                    self._means.budgets.settle(reserved, 0)
                return got
            message = read_message(got, question.schema)
            span.answered(message)
        if message.broken:
            return Failure(message.reason, "broken_response", retried=True, spent=True)
        self._means.budgets.settle(reserved, message.input_tokens + message.output_tokens)
        return self._read(message)

    def _read(self, message: Message) -> Ended:
        metadata = {
            "model": message.model,
            "input_tokens": message.input_tokens,
            "output_tokens": message.output_tokens,
        }
        if message.text is None:
            return Ended(Answer(None, message.reason, "off_menu", metadata), works=True)
        return Ended(Answer(json.loads(message.text), metadata=metadata), message.text, works=True)
