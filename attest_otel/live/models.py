"""Where checks that need a model run: one event loop in a thread of its own, started by the first run that asks.

The deterministic report is out before; what the model adds follows. A run's questions have a deadline,
and what was not answered by then is for the caller's checks to call unchecked.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Sequence
from queue import SimpleQueue

import anyio
import anyio.to_thread

from attest_otel.checks import unchecked
from attest_otel.config import Limits
from attest_otel.findings import CheckResult
from attest_otel.live.faults import Counter, FaultLog
from attest_otel.live.grading import Graded
from attest_otel.live.judging import AskModel
from attest_otel.quiet import quiet

CLOSE_SECONDS = 1.0

Done = Callable[[Graded, Sequence[CheckResult]], None]


class ModelLoop:
    """Runs `checks(graded)` for one graded run after another, many at once.

    What waits is bounded by number and by bytes: a model that can't keep up must not fill the memory, nor
    slow every collection of garbage. Runs beyond that are unchecked, and counted as a fault.

    Args:
        checks: the judge's; it bounds how many questions it asks at a time.
        names: the checks that are unchecked when it fails or is late.
        on_done: called from the loop with what was added; must not block.
    """

    def __init__(self, checks: AskModel, names: Sequence[str], limits: Limits, on_done: Done, faults: FaultLog) -> None:
        self._checks = checks
        self._names = tuple(names)
        self._deadline = limits.evaluation_deadline_seconds
        self._max_runs, self._max_bytes = limits.max_model_runs, limits.max_total_bytes // 4
        self._on_done = on_done
        self._faults = faults
        self._queue: SimpleQueue[Graded | None] = SimpleQueue()
        self._asked, self._answered = Counter(), Counter()
        self._waiting: dict[int, int] = {}
        self._thread: threading.Thread | None = None

    @property
    def pending(self) -> int:
        """How many runs wait for the model."""
        return max(self._asked.value - self._answered.value, 0)

    def awaits(self, root_key: int) -> bool:
        """Return whether a run waits for the model."""
        return root_key in self._waiting

    def has_room(self, size: int) -> bool:
        """Return whether one more run, of about `size` bytes, may wait."""
        sizes = list(self._waiting.values())
        return len(sizes) < self._max_runs and (not sizes or sum(sizes) + size <= self._max_bytes)

    def turned_away(self) -> list[CheckResult]:
        """Count a run there was no room for; return its checks, unchecked."""
        self._faults.say("model_queue_full", "the grading model can't keep up: runs are unchecked by it (limits.max_model_runs)")
        return self._none("too many runs wait for the grading model (limits.max_model_runs)")

    def ask(self, graded: Graded) -> None:
        """Queue a run's questions; never blocks."""
        self._asked.add()
        self._waiting[graded.job.run.root_key] = graded.job.size
        self._queue.put(graded)
        if self._thread is None or not self._thread.is_alive():
            self._thread = threading.Thread(target=self._run, name="attest-model", daemon=True)
            self._thread.start()

    def close(self) -> None:
        """Stop: what is unanswered is unchecked."""
        self._queue.put(None)

    def _run(self) -> None:
        try:
            with quiet():
                anyio.run(self._serve)
        except Exception as error:  # noqa: BLE001  # the next run starts it again
            self._faults.say("model_loop", "the grading model's event loop ended", error)

    async def _serve(self) -> None:
        try:
            async with anyio.create_task_group() as group:
                while True:
                    graded = await anyio.to_thread.run_sync(self._queue.get, abandon_on_cancel=True)
                    if graded is None:
                        group.cancel_scope.cancel()
                        return
                    group.start_soon(self._answer, graded)
        finally:
            await self._aclose()

    async def _aclose(self) -> None:
        close = getattr(self._checks, "aclose", None)
        if close is not None:
            with anyio.move_on_after(CLOSE_SECONDS, shield=True):
                await close()

    async def _answer(self, graded: Graded) -> None:
        added: Sequence[CheckResult] = self._none("the model did not answer before the deadline")
        try:
            if graded.report is not None:
                with anyio.move_on_after(self._deadline):
                    added = await self._checks(graded)
        except Exception as error:  # noqa: BLE001  # a judge that fails is a finding that says so
            added = self._none(f"the grading model's checks failed: {type(error).__name__}")
        finally:
            self._on_done(graded, added)
            self._waiting.pop(graded.job.run.root_key, None)
            self._answered.add()

    def _none(self, reason: str) -> list[CheckResult]:
        return [unchecked(name, reason) for name in self._names]


def model_loop(
    checks: AskModel | None, names: Sequence[str], limits: Limits, on_done: Done, faults: FaultLog
) -> ModelLoop | None:
    """Return the loop for a judge's checks, or None where there is no judge."""
    return None if checks is None else ModelLoop(checks, names, limits, on_done, faults)
