"""Which grading model a grader asks, and how code that is not async waits for it.

A model given by the caller is the caller's to close. One that the settings or the environment describe
is made once, so that budgets and the cache outlive a run; its connections, which belong to one event
loop, are closed when nobody here is using it. The child of a fork makes its own.
"""

from __future__ import annotations

import os
import sys
import threading
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING, TypeVar

from attest_otel.config import CheckName, JudgeConfig

if TYPE_CHECKING:
    from attest_otel.judge.question import Judge

KEY_ENV = "ANTHROPIC_API_KEY"
ASKS_MODEL: frozenset[CheckName] = frozenset({"tool_use", "injection", "policy", "actions", "faithfulness", "role"})
"""The checks that have questions for a model."""

_T = TypeVar("_T")


class Judges:
    """Finds the grading model: the one given, else what the settings describe, else the environment's key."""

    def __init__(self, given: Judge | None, config: JudgeConfig | None) -> None:
        self._given = given
        self._config = config
        self._lock = threading.Lock()
        self._made: Judge | None = None
        self._users = 0
        self._pid = os.getpid()

    @property
    def configured(self) -> bool:
        """Whether somebody asked for a model: gave one, or described one in the settings."""
        return self._given is not None or self._config is not None

    @property
    def available(self) -> bool:
        """Whether there is a model to ask."""
        return self.configured or bool(os.environ.get(KEY_ENV))

    def get(self) -> Judge | None:
        """Return the model; None where there is none."""
        if self._given is not None or not self.available:
            return self._given
        from attest_otel.judge.factory import build_judge  # noqa: PLC0415  # the client is imported where a model is asked

        if self._pid != os.getpid():
            self._lock, self._made, self._users, self._pid = threading.Lock(), None, 0, os.getpid()
        with self._lock:
            if self._made is None:
                self._made = build_judge(self._config or JudgeConfig())
            return self._made

    @asynccontextmanager
    async def judge(self) -> AsyncIterator[Judge | None]:
        """Lend the model for one use."""
        judge = self.get()
        self._count(1)
        try:
            yield judge
        finally:
            if self._count(-1) == 0:
                await self.aclose()

    async def aclose(self) -> None:
        """Close the connections of a model that was made here; it can be used again."""
        if self._made is not None and self._pid == os.getpid():
            await self._made.aclose()

    def _count(self, change: int) -> int:
        with self._lock:
            self._users += change
            return self._users


def run_async(work: Callable[[], Awaitable[_T]]) -> _T:
    """Run async work to its end from code that isn't: in this thread, or in one beside it where a loop runs here."""
    import anyio  # noqa: PLC0415  # only where a model is asked

    if not _loop_runs_here():
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


def _loop_runs_here() -> bool:
    asyncio = sys.modules.get("asyncio")
    if asyncio is not None and asyncio._get_running_loop() is not None:  # noqa: SLF001  # the call that doesn't raise
        return True
    trio = sys.modules.get("trio")
    return trio is not None and bool(trio.lowlevel.in_trio_run())
