"""The Anthropic judge's limits, over HTTP: budgets, breaker, concurrency, cache, sampling."""

from __future__ import annotations

import threading
from typing import Any

import anyio
import anyio.to_thread
import pytest
from opentelemetry.trace import SpanContext

from attest_otel.judge.anthropic_judge import AnthropicJudge
from attest_otel.judge.breaker import FAILURES, PAUSE_SECONDS
from attest_otel.judge.question import Answer
from attest_otel.testing import Failure, MessagesServer, Reply, Wire
from tests.judge.offline import NO, YES, StillTime, judge_at, key, question
from tests.judge.test_anthropic_judge import together

__all__ = ["key"]

pytestmark = [pytest.mark.usefixtures("key"), pytest.mark.anyio]


@pytest.mark.parametrize(
    ("limits", "limit", "said"),
    [
        ({"max_calls_per_run": 2}, "budget", "2 calls a run"),
        ({"max_calls_per_minute": 2}, "rate", "2 calls a minute"),
        ({"max_calls_per_day": 2}, "budget", "2 calls a day"),
        ({"max_tokens_per_run": 250}, "budget", "250 tokens a run"),
        ({"max_tokens_per_minute": 250}, "rate", "250 tokens a minute"),
        ({"max_tokens_per_day": 250}, "budget", "250 tokens a day"),
    ],
)
async def test_each_budget_ends_the_asking(limits: dict[str, Any], limit: str, said: str) -> None:
    """Two questions are asked; the third is not, and names its limit. An estimate is under 250 tokens."""
    with MessagesServer(
        [Reply(YES, input_tokens=20, output_tokens=10), Reply(YES, input_tokens=20, output_tokens=100)]
    ) as server:
        judge = judge_at(server.base_url, None, **limits)
        session = judge.session("r")
        answers = [await session.ask(question(name)) for name in "abc"]
        await judge.aclose()
        assert [answer.value is not None for answer in answers] == [True, True, False]
        assert answers[2].limit == limit
        assert said in (answers[2].skipped or "")
        assert len(server.requests) == 2


async def test_attempts_are_calls() -> None:
    """Each request counts, also those that failed; a budget ends the attempts too."""
    with MessagesServer([Failure(500)] * 5) as server:
        judge = judge_at(server.base_url, max_calls_per_run=2, max_retries=4)
        answer = await judge.session("r").ask(question())
        await judge.aclose()
        assert answer == Answer(None, "the budget of 2 calls a run is used up", "budget")
        assert len(server.requests) == 2


async def test_the_minute_passes() -> None:
    """What a minute's budget stopped is asked when it has passed."""
    time = StillTime()
    with MessagesServer([YES, NO]) as server:
        judge = judge_at(server.base_url, time, max_calls_per_minute=1)
        session = judge.session("r")
        await session.ask(question("a"))
        assert (await session.ask(question("b"))).limit == "rate"
        time.now += 62
        assert (await session.ask(question("b"))).value == {"answer": "no"}
        await judge.aclose()


async def test_the_breaker() -> None:
    """It opens after failures in a row, asks nothing, lets one through after the pause, and closes when that one works."""
    time = StillTime()
    with MessagesServer([*[Failure(500)] * FAILURES, YES, NO]) as server:
        judge = judge_at(server.base_url, time, max_retries=0)
        session = judge.session("r")
        failed = [await session.ask(question(f"f{number}")) for number in range(FAILURES)]
        assert {answer.limit for answer in failed} == {"error"}
        open_answer = await session.ask(question("a"))
        assert open_answer == Answer(None, "the grading model failed 5 times in a row and is left alone for 30 s", "breaker")
        assert len(server.requests) == FAILURES
        time.now += PAUSE_SECONDS
        assert (await session.ask(question("a"))).value == {"answer": "yes"}
        assert (await session.ask(question("b"))).value == {"answer": "no"}
        await judge.aclose()


@pytest.mark.parametrize("reply", [Failure(400), Failure(413), Reply("nonsense"), Reply(YES, stop_reason="refusal")])
async def test_what_is_the_question_s_fault_leaves_the_breaker_closed(reply: Any) -> None:
    """A service that answers works, whatever it thinks of the question."""
    with MessagesServer([*[reply] * (FAILURES + 2), YES]) as server:
        judge = judge_at(server.base_url, max_retries=0)
        session = judge.session("r")
        for number in range(FAILURES + 2):
            await session.ask(question(f"f{number}"))
        assert (await session.ask(question("a"))).value == {"answer": "yes"}
        await judge.aclose()


async def test_never_more_at_once_than_allowed() -> None:
    """Three places, nine questions: three are with the server and six wait; then all are answered."""
    crowd = Crowd(3)
    with MessagesServer(crowd.reply) as server:
        judge = judge_at(server.base_url, max_concurrency=3)
        values: list[Any] = []

        async def ask() -> None:
            values.extend(await together(judge, 9))

        async with anyio.create_task_group() as group:
            group.start_soon(ask)
            await anyio.to_thread.run_sync(crowd.arrived.wait, 20)
            places = judge._running_loop().places.statistics()
            assert (places.borrowed_tokens, places.tasks_waiting, len(server.requests)) == (3, 6, 3)
            crowd.go.set()
        await judge.aclose()
    assert values == [{"answer": "yes"}] * 9
    assert crowd.most == 3


async def test_what_the_server_refused_costs_no_tokens() -> None:
    """A run has tokens for one question; two refusals before its answer take none of them."""
    with MessagesServer([Failure(500), Failure(429), YES]) as server:
        judge = judge_at(server.base_url, max_tokens_per_run=250, max_retries=2)
        assert (await judge.session("r").ask(question())).value == {"answer": "yes"}
        await judge.aclose()


async def test_what_may_have_been_read_costs_its_estimate() -> None:
    """Where the connection broke, nobody knows what was spent."""
    with MessagesServer([Reply(YES, wire=Wire(cut_after_bytes=9)), YES]) as server:
        judge = judge_at(server.base_url, max_tokens_per_run=250, max_retries=2)
        assert (await judge.session("r").ask(question())).limit == "budget"
        await judge.aclose()


async def test_asked_once_by_content() -> None:
    """The same question is one request, for every run; what failed is asked again; another wording is another question."""
    with MessagesServer([Reply("nonsense"), YES, NO]) as server:
        judge = judge_at(server.base_url)
        first = await judge.session("r1").ask(question("a", user="boundary 1"))
        again = await judge.session("r1").ask(question("a", user="boundary 2"))
        cached = await judge.session("r2").ask(question("a", user="boundary 3"))
        other = await judge.session("r2").ask(question("a", version="2"))
        await judge.aclose()
        assert [answer.value for answer in (first, again, cached, other)] == [
            None,
            {"answer": "yes"},
            {"answer": "yes"},
            {"answer": "no"},
        ]
        assert cached.metadata["cached"] is True
        assert len(server.requests) == 3


async def test_a_known_answer_costs_no_budget() -> None:
    """It is given where nothing more may be asked, too."""
    with MessagesServer([YES]) as server:
        judge = judge_at(server.base_url, max_calls_per_day=1)
        await judge.session("r").ask(question("a"))
        assert (await judge.session("r").ask(question("a"))).value == {"answer": "yes"}
        assert (await judge.session("r").ask(question("b"))).limit == "budget"
        await judge.aclose()


async def test_the_sample_leaves_out_runs_but_never_suspicious_ones() -> None:
    """A share of none: no run is asked about, but for one that a check found suspicious."""
    with MessagesServer([YES]) as server:
        judge = judge_at(server.base_url, sample=0.0)
        left_out = await judge.session("r").ask(question("a"))
        assert left_out.value is None
        assert left_out.limit == "sampling"
        assert "share of 0 of the runs" in (left_out.skipped or "")
        assert (await judge.session("r", suspicious=True).ask(question("a"))).value == {"answer": "yes"}
        await judge.aclose()


async def test_a_run_is_sampled_as_a_whole() -> None:
    """All its questions or none: by its id, else its root span, else its first question."""
    roots = [SpanContext(number + 1, 7, is_remote=False) for number in range(30)]
    with MessagesServer(lambda _request: YES) as server:
        judge = judge_at(server.base_url, sample=0.5)
        by_id = [await included(judge, f"run-{number}", None) for number in range(30)]
        by_root = [await included(judge, None, root) for root in roots]
        by_question = [await included(judge, None, None, first=f"first-{number}") for number in range(30)]
        again = [await included(judge, f"run-{number}", None) for number in range(30)]
        await judge.aclose()
    for found in (by_id, by_root, by_question):
        assert {len(set(run)) for run in found} == {1}
        assert {run[0] for run in found} == {True, False}
    assert again == by_id


def test_threads_share_the_budget() -> None:
    """Each with an event loop of its own: together they ask no more than allowed."""
    with MessagesServer(lambda _request: YES) as server:
        judge = judge_at(server.base_url, max_calls_per_day=10)
        values: list[Any] = []

        async def ask(thread: int) -> None:
            session = judge.session(f"r{thread}")
            for number in range(5):
                values.append((await session.ask(question(f"t{thread}-{number}"))).value)
            await judge.aclose()

        threads = [threading.Thread(target=anyio.run, args=(ask, number)) for number in range(4)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert len(values) == 20
        assert sum(value is not None for value in values) == 10
        assert len(server.requests) == 10


async def included(judge: AnthropicJudge, run_id: str | None, root: SpanContext | None, first: str = "q0") -> list[bool]:
    """Whether each of three questions of a run was asked."""
    session = judge.session(run_id, root)
    return [(await session.ask(question(name))).limit != "sampling" for name in (first, "q1", "q2")]


class Crowd:
    """Holds its answers until it is told to go, and notes the most requests there ever were at once."""

    def __init__(self, expected: int) -> None:
        self.most = 0
        self.arrived = threading.Event()
        self.go = threading.Event()
        self._expected = expected
        self._inside = 0
        self._lock = threading.Lock()

    def reply(self, _request: dict[str, Any]) -> str:
        """Answer yes."""
        with self._lock:
            self._inside += 1
            self.most = max(self.most, self._inside)
            if self._inside == self._expected:
                self.arrived.set()
        self.go.wait(20)
        with self._lock:
            self._inside -= 1
        return YES
