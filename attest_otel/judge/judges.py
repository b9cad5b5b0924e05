"""Which grading model a grader asks, and how code that is not async waits for it.

A model given by the caller is the caller's to close. One that the settings or the environment describe
is made once, so that budgets and the cache outlive a run; its connections, which belong to one event
loop each, are closed when nobody in that loop uses it any more. The child of a fork makes its own.
"""

from __future__ import annotations

import contextlib
import os
import sys
import threading
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING, TypeVar

from attest_otel.config import JudgeConfig

if TYPE_CHECKING:
    from opentelemetry.metrics import MeterProvider
    from opentelemetry.trace import TracerProvider

    from attest_otel.judge.question import Judge

KEY_ENV = "ANTHROPIC_API_KEY"
_T = TypeVar("_T")


class Judges:
    """Finds the grading model: the one given, else what the settings describe, else the environment's key.

    Raises:
        ConfigError: the settings describe a model that can't be used.
    """

    def __init__(self, given: Judge | None, config: JudgeConfig | None) -> None:
        self._given = given
        self._config = config
        self._lock = threading.Lock()
        self._made: Judge | None = None
        self._users: dict[object, int] = {}
        self._pid = os.getpid()
        self._providers: tuple[TracerProvider | None, MeterProvider | None] = (None, None)
        if given is None and config is not None:
            self.get()

    @property
    def configured(self) -> bool:
        """Whether somebody asked for a model: gave one, or described one in the settings."""
        return self._given is not None or self._config is not None

    @property
    def available(self) -> bool:
        """Whether there is a model to ask."""
        return self.configured or bool(os.environ.get(KEY_ENV))

    def provide(self, tracer_provider: TracerProvider | None, meter_provider: MeterProvider | None) -> None:
        """Say where a model that is made here sends its own spans and metrics."""
        self._providers, self._made = (tracer_provider, meter_provider), None

    def get(self) -> Judge | None:
        """Return the model; None where there is none."""
        if self._given is not None or not self.available:
            return self._given
        from attest_otel.judge.factory import build_judge  # noqa: PLC0415  # the client is imported where a model is asked

        if self._pid != os.getpid():
            self._lock, self._made, self._users, self._pid = threading.Lock(), None, {}, os.getpid()
        with self._lock:
            if self._made is None:
                tracers, meters = self._providers
                self._made = build_judge(self._config or JudgeConfig(), tracer_provider=tracers, meter_provider=meters)
            return self._made

    @asynccontextmanager
    async def judge(self) -> AsyncIterator[Judge | None]:
        """Lend the model for one use."""
        judge = self.get()
        loop = _running_loop()
        self._count(loop, 1)
        try:
            yield judge
        finally:
            if self._count(loop, -1) == 0:
                await self.aclose()

    async def aclose(self) -> None:
        """Close the running loop's connections of a model that was made here; it can be used again."""
        if self._made is not None and self._pid == os.getpid():
            await self._made.aclose()

    def _count(self, loop: object, change: int) -> int:
        with self._lock:
            users = self._users.pop(loop, 0) + change
            if users:
                self._users[loop] = users
            return users


def run_async(work: Callable[[], Awaitable[_T]]) -> _T:
    """Run async work to its end from code that isn't: in this thread, or in one beside it where a loop runs here."""
    import anyio  # noqa: PLC0415  # only where a model is asked

    if _running_loop() is None:
        return anyio.run(work)
    results: list[_T] = []
    faults: list[BaseException] = []

    def run() -> None:
        try:
            results.append(anyio.run(work))
        except BaseException as error:  # noqa: BLE001  # it belongs to the thread that waits
            faults.append(error)

    thread = threading.Thread(target=run, name="attest-evaluate")
    thread.start()
    thread.join()
    if faults:
        raise faults[0]
    return results[0]


def _running_loop() -> object:
    """Return what stands for the event loop that runs in this thread, None where none does."""
    asyncio = sys.modules.get("asyncio")
    loop: object = asyncio._get_running_loop() if asyncio is not None else None  # noqa: SLF001  # the call that doesn't raise
    trio = sys.modules.get("trio")
    if loop is None and trio is not None:
        with contextlib.suppress(RuntimeError):
            loop = trio.lowlevel.current_trio_token()
    return loop
