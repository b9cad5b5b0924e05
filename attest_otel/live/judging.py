"""The grading model's checks of a live run: opened in the model's own loop when the first run asks, closed with it."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from typing import TYPE_CHECKING

from attest_otel.checks import NEEDS_MODEL
from attest_otel.findings import CheckResult
from attest_otel.grader import Attest

if TYPE_CHECKING:
    from attest_otel.live.grading import Graded, ModelChecks

SHARE_OF_DEADLINE = 0.9
"""Of the time a run's questions have: what is late is named check by check, before the loop gives up on all."""

AskModel = Callable[["Graded"], Awaitable[Sequence[CheckResult]]]


class JudgeChecks:
    """Asks the grading model that the settings describe about one graded run after another."""

    def __init__(self, attest: Attest) -> None:
        self._attest = attest
        self._deadline = attest.config.limits.evaluation_deadline_seconds * SHARE_OF_DEADLINE

    async def __call__(self, graded: Graded) -> Sequence[CheckResult]:
        """Return what the model adds to a run's results, and what it changes."""
        judge = self._attest.judges.get()
        if judge is None or graded.view is None:
            return []
        return await self._attest.ask_model(
            graded.view,
            graded.results,
            judge,
            self._attest.default_checks(),
            root=graded.job.run.context,
            deadline_seconds=self._deadline,
        )

    async def aclose(self) -> None:
        """Close the model's connections, in the loop they belong to."""
        await self._attest.judges.aclose()


def model_checks_of(attest: Attest, given: ModelChecks | None) -> AskModel | None:
    """Return what asks the model: the checks given, else those of the settings' judge, else None."""
    if given is not None:
        return lambda graded: given(graded.run, graded.report) if graded.report is not None else _nothing()
    return JudgeChecks(attest) if attest.judges.configured else None


def names_unchecked(attest: Attest, given: ModelChecks | None) -> list[str]:
    """Return the checks that are unchecked when the model fails or is late."""
    return sorted(NEEDS_MODEL if given is not None else NEEDS_MODEL & set(attest.default_checks()))


async def _nothing() -> Sequence[CheckResult]:
    return []
