"""Which grading model is asked, when, and how code that is not async waits for it."""

from __future__ import annotations

import asyncio
import sys
import threading
import types
from collections.abc import Callable
from typing import Any

import anyio
import anyio.lowlevel
import pytest

from attest_otel import Attest, Trajectory
from attest_otel.config import JudgeConfig
from attest_otel.errors import ConfigError
from attest_otel.judge.judges import KEY_ENV, Judges, run_async
from tests.judge.scripted import ScriptedJudge

RUN = Trajectory.model_validate({"task": "t", "final_answer": "It is 7.", "steps": [{"tool_call": {"name": "a", "output": "7"}}]})


class Closing(ScriptedJudge):
    """Counts how often its connections were closed."""

    closed = 0

    async def aclose(self) -> None:
        """Count."""
        self.closed += 1


@pytest.fixture
def built(monkeypatch: pytest.MonkeyPatch) -> list[tuple[JudgeConfig, Closing]]:
    """The judges that the factory made."""
    made: list[tuple[JudgeConfig, Closing]] = []

    def build_judge(config: JudgeConfig, *_: Any, **__: Any) -> Closing:
        made.append((config, Closing(lambda _k, _i: ("supported", "7"))))
        return made[-1][1]

    factory = types.ModuleType("attest_otel.judge.factory")
    factory.build_judge = build_judge  # type: ignore[attr-defined]
    monkeypatch.setitem(sys.modules, "attest_otel.judge.factory", factory)
    monkeypatch.delenv(KEY_ENV, raising=False)
    return made


def test_no_model_is_no_model(built: list[Any]) -> None:
    """Nothing given, nothing described, no key: nothing is built and the check says so."""
    report = Attest({}).evaluate(RUN)
    result = report.result("faithfulness")
    assert result is not None
    assert result.findings[0].metadata["limit"] == "no_model"
    assert built == []


def test_the_given_model_wins_and_stays_open(built: list[Any], monkeypatch: pytest.MonkeyPatch) -> None:
    """A judge of the caller's is used whatever the settings say, and is the caller's to close."""
    monkeypatch.setenv(KEY_ENV, "k")
    judge = Closing(lambda _k, _i: ("supported", "7"))
    Attest({"judge": {"model": "m"}}, judge=judge).evaluate(RUN)
    assert (len(judge.questions) > 0, judge.closed, built) == (True, 0, [])


def test_the_settings_describe_one(built: list[tuple[JudgeConfig, Closing]]) -> None:
    """It is made once, so that budgets last, and its connections are closed after each use."""
    attest = Attest({"judge": {"model": "m"}})
    attest.evaluate(RUN)
    attest.evaluate(RUN)
    assert [(config.model, judge.closed) for config, judge in built] == [("m", 2)]


@pytest.mark.parametrize(
    ("checks", "asked"),
    [
        (None, True),
        (["faithfulness"], True),
        (["role", "tool_use"], True),
        (["tool_use"], False),
        (["injection", "coverage"], False),
    ],
)
def test_the_environments_key(built: list[Any], monkeypatch: pytest.MonkeyPatch, checks: Any, asked: bool) -> None:
    """A key alone counts for the default checks and those that need a model, and for no others."""
    monkeypatch.setenv(KEY_ENV, "k")
    attest = Attest({})
    attest.evaluate(RUN, checks=checks)
    assert bool(built) is asked
    assert "faithfulness" not in attest.default_checks()


def test_a_model_that_cannot_be_used_fails_at_the_start() -> None:
    """A recording that isn't there is found when the grader is made, and named (property 5)."""
    with pytest.raises(ConfigError, match=r"nowhere\.jsonl"):
        Attest({"judge": {"replay": "/nowhere.jsonl"}})


def test_a_described_model_adds_to_the_default_checks() -> None:
    """With a judge in the settings every check runs; `checks:` still narrows them."""
    assert "role" in Attest({"judge": {}}).default_checks()
    assert Attest({"judge": {}, "checks": ["coverage", "role"]}).default_checks() == ("role", "coverage")


async def _answer() -> int:
    await anyio.lowlevel.checkpoint()
    return 42


async def _fail() -> int:
    raise ValueError("no")


def test_waiting_from_plain_code() -> None:
    """The work runs in this thread, and its errors come out."""
    assert run_async(_answer) == 42
    with pytest.raises(ValueError, match="no"):
        run_async(_fail)


@pytest.mark.parametrize(
    "run",
    [lambda f: asyncio.run(_in(f)), lambda f: anyio.run(_in, f, backend="trio")],
    ids=["asyncio", "trio"],
)
def test_waiting_inside_a_loop(run: Callable[[Callable[[], int]], int]) -> None:
    """Inside a loop it runs in a thread beside it, which is gone afterwards."""
    before = threading.active_count()
    assert run(lambda: run_async(_answer)) == 42
    with pytest.raises(ValueError, match="no"):
        run(lambda: run_async(_fail))
    assert threading.active_count() == before


async def _in(work: Callable[[], int]) -> int:
    return work()


def test_the_child_of_a_fork_makes_its_own(built: list[Any], monkeypatch: pytest.MonkeyPatch) -> None:
    """Connections and budgets of the parent are not the child's."""
    judges = Judges(None, JudgeConfig())
    first = judges.get()
    assert judges.get() is first
    monkeypatch.setattr("attest_otel.judge.judges.os.getpid", lambda: -1)
    assert judges.get() is not first


def test_connections_stay_open_while_somebody_in_the_loop_uses_them(
    built: list[tuple[JudgeConfig, Closing]],
) -> None:
    """The last to leave a loop closes its connections."""
    attest = Attest({"judge": {}})

    async def both() -> None:
        async with attest.judges.judge():
            await attest.aevaluate(RUN)
            assert built[0][1].closed == 0

    anyio.run(both)
    assert built[0][1].closed == 1
