"""The grading model on Anthropic's Messages API: affordable, bounded, and honest when it could not ask.

A question passes, in this order: sampling (a share of runs, by a hash of the run's id; suspicious runs
always), the cache, a free place among `max_concurrency`, the circuit breaker, and for every request the
budgets of the run, the day and the minute. What stops it is the answer's `skipped` and `limit`. A
request that failed on its way (connection, 429, 5xx, a broken body) is repeated with jittered back-off,
never before the server's `retry-after` and never beyond the question's time limit, which runs from the
moment it has its place. What the model said is final: an answer off the menu is never asked again, or
asking on would select for answers.

Thread-safe: budgets, breaker and cache are shared behind locks; connections and places belong to one
event loop each (asyncio or trio), so `max_concurrency` holds for each loop, and `aclose` closes the
running loop's. A forked child keeps the counts and opens connections of its own. Source: property 37.
"""

from __future__ import annotations

import hashlib
import os
import random
import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import anyio
from anyio.lowlevel import RunVar
from opentelemetry.metrics import MeterProvider
from opentelemetry.trace import SpanContext, TracerProvider

from attest_otel.attributes import JUDGE_MODEL_ENV
from attest_otel.config import JudgeConfig
from attest_otel.judge.attempts import Attempts, Clock, Ended, Means, Pause, Sleep
from attest_otel.judge.breaker import Breaker
from attest_otel.judge.budget import Budgets
from attest_otel.judge.cache import AnswerCache
from attest_otel.judge.messages_client import MessagesClient
from attest_otel.judge.question import Answer, Question
from attest_otel.judge.telemetry import JudgeTelemetry

DEFAULT_MODEL = "claude-sonnet-4-6"
"""Reads closely at a moderate price, and takes temperature 0."""


@dataclass(frozen=True, slots=True)
class _Loop:
    """What belongs to one event loop."""

    client: MessagesClient
    places: anyio.CapacityLimiter


class AnthropicJudge:
    """A `Judge` that asks Anthropic's Messages API; the key comes from the environment only.

    Args:
        config: the model, the base URL and the limits.
        tracer_provider: where spans go; the global one by default.
        meter_provider: where metrics go; the global one by default.
        clock: seconds that only grow; budgets, breaker and time limit go by it.
        sleep: waits between attempts.
        jitter: gives a random number from 0 to 1 for the back-off.
    """

    def __init__(
        self,
        config: JudgeConfig | None = None,
        *,
        meter_provider: MeterProvider | None = None,
        tracer_provider: TracerProvider | None = None,
        clock: Clock = time.monotonic,
        sleep: Sleep = anyio.sleep,
        jitter: Callable[[], float] | None = None,
    ) -> None:
        self.config = config or JudgeConfig()
        self.model = model_name(self.config)
        self._breaker = Breaker(clock)
        self._cache = AnswerCache()
        self._telemetry = JudgeTelemetry(self.model, tracer_provider, meter_provider)
        jitter = jitter or random.Random().random  # noqa: S311  # spreads retries, guards nothing
        self._means = Means(self.config, Budgets(self.config, clock), Pause(clock), self._telemetry, clock, sleep, jitter)
        self._loop: RunVar[_Loop] = RunVar("attest_judge")
        self._pid = os.getpid()

    def __repr__(self) -> str:
        return f"AnthropicJudge(model={self.model!r})"

    def __reduce__(self) -> tuple[Any, ...]:
        return (AnthropicJudge, (self.config,))

    def session(self, run_id: str | None, root: SpanContext | None = None, *, suspicious: bool = False) -> AnthropicSession:
        """Return a session for one run, under a budget of its own."""
        return AnthropicSession(self, Attempts(self._means, run_id, root), run_id, root, suspicious=suspicious)

    async def aclose(self) -> None:
        """Close the connections of the running event loop; asking again opens new ones."""
        loop = self._loop.get(None)
        if loop is not None:
            await loop.client.aclose()

    async def ask(self, question: Question, attempts: Attempts) -> Answer:
        """Ask a question of a run that is included in the sample."""
        loop = self._running_loop()
        key = (question.key, question.prompt_version, self.model)
        known = self._cache.get(key)
        if known is not None:
            self._telemetry.count("cached")
            return Answer(known, metadata={"model": self.model, "cached": True})
        async with loop.places:
            ended = await self._past_breaker(loop.client, question, attempts)
        if ended.text is not None:
            self._cache.put(key, ended.text)
        return ended.answer

    def left_out(self) -> Answer:
        """Return the answer where the run is not in the sample."""
        self._telemetry.count("sampling")
        return Answer(
            None,
            f"the grading model is asked about a share of {self.config.sample:g} of the runs, and this run is not among them",
            "sampling",
        )

    async def _past_breaker(self, client: MessagesClient, question: Question, attempts: Attempts) -> Ended:
        permit = self._breaker.admit()
        if permit is None:
            self._telemetry.count("breaker")
            why = f"the grading model failed {self._breaker.failures} times in a row and is left alone for {self._breaker.pause_seconds:g} s"
            return Ended(Answer(None, why, "breaker"))
        works: bool | None = None
        try:
            ended = await attempts.ask(client, question)
            works = ended.works
        finally:
            self._breaker.settle(permit, works=works)
        return ended

    def _running_loop(self) -> _Loop:
        if self._pid != os.getpid():
            self._after_fork()
        loop = self._loop.get(None)
        if loop is None:
            client = MessagesClient(self.model, self.config.base_url, self.config.timeout_seconds, self._means.sampling)
            loop = _Loop(client, anyio.CapacityLimiter(self.config.max_concurrency))
            self._loop.set(loop)
        return loop

    def _after_fork(self) -> None:
        self._pid, self._loop = os.getpid(), RunVar("attest_judge")
        self._means.budgets.after_fork()
        self._breaker.after_fork()
        self._cache.after_fork()


class AnthropicSession:
    """The questions of one run. Thread-safe."""

    def __init__(
        self,
        judge: AnthropicJudge,
        attempts: Attempts,
        run_id: str | None,
        root: SpanContext | None,
        *,
        suspicious: bool,
    ) -> None:
        self._judge = judge
        self._attempts = attempts
        self._suspicious = suspicious
        self._name = run_id or (f"{root.trace_id:032x}{root.span_id:016x}" if root is not None else None)

    async def ask(self, question: Question) -> Answer:
        """Ask; never raises but for cancellation."""
        try:
            if not self._is_included(question):
                return self._judge.left_out()
            return await self._judge.ask(question, self._attempts)
        except Exception as error:  # noqa: BLE001  # no fault of ours costs the run its other findings
            return Answer(None, f"asking the grading model failed: {type(error).__name__}", "error")

    def _is_included(self, question: Question) -> bool:
        """Decide for the whole run; one that has no name goes by the first question asked."""
        if self._name is None:
            self._name = question.key
        return self._suspicious or is_sampled(self._name, self._judge.config.sample)


def model_name(config: JudgeConfig) -> str:
    """Return the model that is asked: the settings', else the environment's, else DEFAULT_MODEL."""
    return config.model or os.environ.get(JUDGE_MODEL_ENV) or DEFAULT_MODEL


def is_sampled(name: str, share: float) -> bool:
    """Return whether the run of this name is in the sample: always the same for the same name, in any process."""
    place = int.from_bytes(hashlib.blake2b(name.encode("utf-8", "replace"), digest_size=8).digest(), "big")
    return place < share * 2**64
