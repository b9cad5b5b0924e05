"""The Anthropic judge over HTTP: what is asked, what counts as an answer, what is asked again."""

from __future__ import annotations

import os
import pickle
import signal
from typing import Any

import anyio
import pytest

from attest_otel.judge.anthropic_judge import DEFAULT_MODEL, AnthropicJudge, is_sampled
from attest_otel.judge.messages_client import MAX_BODY_BYTES, THOUGHT_TOKENS
from attest_otel.judge.question import Answer, Question
from attest_otel.testing import Failure, MessagesServer, RawBlock, RawReply, Reply, Text, ToolUse, Wire
from attest_otel.testing.script import Answer as Scripted
from tests.judge.offline import NO, YES, StillTime, judge_at, key, question

__all__ = ["key"]

pytestmark = [pytest.mark.usefixtures("key"), pytest.mark.anyio]

TOO_MANY = Failure(429)
REFUSES_TEMPERATURE = Failure(400, "`temperature` is deprecated for this model.")


async def asked(
    script: list[Scripted | str], *questions: Question, time: StillTime | None = None, **settings: Any
) -> tuple[list[Answer], MessagesServer]:
    """The answers of one run's questions, one after another, and the server that gave them."""
    with MessagesServer(script) as server:
        judge = judge_at(server.base_url, time, **settings)
        session = judge.session("run-1")
        answers = [await session.ask(one) for one in questions or (question(),)]
        await judge.aclose()
        return answers, server


async def test_what_is_sent() -> None:
    """The system prompt, the data, the menu as a closed schema, temperature 0; the API version that knows it."""
    answers, server = await asked([YES], question(user="the data", max_tokens=77))
    request = server.requests[0]
    assert request.json == {
        "model": DEFAULT_MODEL,
        "max_tokens": 77,
        "system": "Answer yes or no.",
        "messages": [{"role": "user", "content": "the data"}],
        "output_config": {
            "format": {
                "type": "json_schema",
                "schema": {
                    "type": "object",
                    "properties": {"answer": {"enum": ["yes", "no"]}},
                    "required": ["answer"],
                    "additionalProperties": False,
                },
            }
        },
        "temperature": 0,
    }
    assert request.headers["anthropic-version"] == "2023-06-01"
    assert answers == [Answer({"answer": "yes"}, metadata={"model": DEFAULT_MODEL, "input_tokens": 10, "output_tokens": 10})]


async def test_a_model_that_refuses_temperature_is_asked_without_from_then_on() -> None:
    """Once more without, at once; then never with. It thinks by itself, so it gets room for that."""
    time = StillTime()
    answers, server = await asked([REFUSES_TEMPERATURE, YES, NO], question("a"), question("b"), time=time, max_retries=0)
    assert [answer.value for answer in answers] == [{"answer": "yes"}, {"answer": "no"}]
    sent = [request.json or {} for request in server.requests]
    assert ["temperature" in one for one in sent] == [True, False, False]
    assert [one["max_tokens"] for one in sent] == [100, 100 + THOUGHT_TOKENS, 100 + THOUGHT_TOKENS]
    assert server.requests[1].headers["anthropic-version"] != "2023-06-01"
    assert time.slept == []


async def test_questions_at_once_may_all_be_refused_temperature() -> None:
    """Each is asked again without, whoever found out first."""

    def reply(request: dict[str, Any]) -> Scripted | str:
        return REFUSES_TEMPERATURE if "temperature" in request else YES

    with MessagesServer(reply) as server:
        judge = judge_at(server.base_url, max_retries=0)
        assert await together(judge, 5) == [{"answer": "yes"}] * 5
        await judge.aclose()


@pytest.mark.parametrize(
    ("reply", "why"),
    [
        (Reply('{"answer": "maybe"}'), "off the menu"),
        (Reply("I think yes."), "no strict JSON"),
        (Reply('{"answer": "yes", "answer": "no"}'), "no strict JSON"),
        (Reply([Text(YES), Text(YES)]), "2 answers"),
        (Reply([]), "no answer"),
        (Reply([ToolUse("answer", YES)], stop_reason="end_turn"), "something else"),
        (Reply(YES, stop_reason="max_tokens"), "cut"),
        (Reply(YES, stop_reason="refusal"), "refused"),
        (Reply(YES, stop_reason="pause_turn"), "without ending"),
    ],
)
async def test_an_answer_off_the_menu_is_none_and_is_final(reply: Reply, why: str) -> None:
    """Off the menu, double, missing, cut, refused: no answer, and no second chance to give a better one."""
    answers, server = await asked([reply, YES])
    assert answers[0].value is None
    assert answers[0].limit == "off_menu"
    assert why in (answers[0].skipped or "")
    assert len(server.requests) == 1


async def test_thoughts_before_the_answer_are_passed_over() -> None:
    """A model that thinks answers all the same."""
    answers, _ = await asked([Reply([RawBlock('{"type":"thinking","thinking":"hm","signature":"s"}'), Text(NO)])])
    assert answers[0].value == {"answer": "no"}


@pytest.mark.parametrize(
    "fault",
    [
        Failure(429),
        Failure(500),
        Failure(503),
        Failure(529),
        Failure(408),
        RawReply("<html>busy</html>", content_type="text/html"),
        RawReply('{"type": "message", "content": ['),
        RawReply(""),
        Reply(YES, wire=Wire(cut_after_bytes=30)),
        Reply(YES, wire=Wire(cut_after_bytes=0)),
    ],
    ids=["429", "500", "503", "529", "408", "html", "truncated", "blank", "cut", "cut_at_once"],
)
async def test_what_failed_on_its_way_is_asked_again(fault: Scripted) -> None:
    """With jittered back-off that doubles, as often as the settings allow."""
    time = StillTime()
    answers, server = await asked([fault, fault, YES], time=time, max_retries=2)
    assert answers[0].value == {"answer": "yes"}
    assert len(server.requests) == 3
    assert time.slept == [0.5, 1.0]


@pytest.mark.parametrize(
    ("fault", "limit", "said"),
    [
        (Failure(429), "rate", "the grading model's API answered 429 (rate_limit_error)"),
        (Failure(529), "error", "the grading model's API answered 529 (overloaded_error)"),
        (Failure(500, error_type="CANARY error"), "error", "the grading model's API answered 500"),
        (
            RawReply("{"),
            "error",
            "the grading model's response could not be read: it is no message of the Messages API",
        ),
        (
            Reply(YES, wire=Wire(cut_after_bytes=30)),
            "error",
            "the connection to the grading model failed or was cut",
        ),
    ],
)
async def test_what_keeps_failing_says_so(fault: Scripted, limit: str, said: str) -> None:
    """After the last attempt the reason is the last failure's, in words of ours."""
    answers, server = await asked([fault] * 3, max_retries=2)
    assert answers == [Answer(None, said, limit)]
    assert len(server.requests) == 3


@pytest.mark.parametrize("status", [400, 401, 403, 404, 413, 422])
async def test_what_asking_again_cannot_help_is_not_asked_again(status: int) -> None:
    """A refused request is final."""
    answers, server = await asked([Failure(status, "CANARY"), YES])
    assert answers[0].limit == "error"
    assert str(status) in (answers[0].skipped or "")
    assert "CANARY" not in repr(answers[0])
    assert len(server.requests) == 1


async def test_nobody_is_there() -> None:
    """A port where nothing listens is an answer's reason, not an exception."""
    with MessagesServer([]) as server:
        gone = server.base_url
    time = StillTime()
    judge = judge_at(gone, time, max_retries=1)
    answer = await judge.session("r").ask(question())
    assert answer == Answer(None, "the connection to the grading model failed or was cut", "error")
    assert time.slept == [0.5]
    await judge.aclose()


async def test_retry_after_is_respected() -> None:
    """Never before the server allows it, jitter comes on top."""
    time = StillTime()
    answers, _ = await asked(
        [Failure(429, headers={"retry-after": "7"}), Failure(529, headers={"retry-after-ms": "2500"}), YES],
        time=time,
    )
    assert answers[0].value == {"answer": "yes"}
    assert time.slept == [7.5, 3.5]


async def test_waiting_never_exceeds_the_time_limit() -> None:
    """Where the server asks for more than is left, the question ends at once and says so."""
    time = StillTime()
    answers, server = await asked([Failure(429, headers={"retry-after": "31"}), YES], time=time, timeout_seconds=30)
    assert answers == [
        Answer(
            None,
            "the grading model's API answered 429 (rate_limit_error), and asking again would take longer than the limit of 30 s",
            "rate",
        )
    ]
    assert time.slept == []
    assert len(server.requests) == 1


async def test_the_server_s_pause_holds_for_every_question() -> None:
    """After a 429 the next question, of any run, waits too; or ends where there is no time for it."""
    time = StillTime()
    with MessagesServer([Failure(429, headers={"retry-after": "31"}), YES]) as server:
        judge = judge_at(server.base_url, time, timeout_seconds=30)
        await judge.session("r1").ask(question("a"))
        late = await judge.session("r2").ask(question("b"))
        assert late == Answer(None, "the grading model's API asked to wait longer than the limit of 30 s", "rate")
        time.now += 11
        assert (await judge.session("r2").ask(question("b"))).value == {"answer": "yes"}
        await judge.aclose()
    assert time.slept == [20.0]
    assert len(server.requests) == 2


async def test_a_pause_is_believed_for_a_minute_at_most() -> None:
    """A server that asks for thirty years doesn't get them."""
    time = StillTime()
    with MessagesServer([Failure(429, headers={"retry-after": "999999999"}), YES]) as server:
        judge = judge_at(server.base_url, time)
        await judge.session("r1").ask(question("a"))
        time.now += 61
        assert (await judge.session("r1").ask(question("a"))).value == {"answer": "yes"}
        await judge.aclose()


@pytest.mark.parametrize("wire", [Wire(delay_seconds=60), Wire(pause_seconds=60, chunk_bytes=10)], ids=["silent", "slow_body"])
async def test_the_time_limit(wire: Wire) -> None:
    """A server that doesn't answer in time, or never ends its answer, is left."""
    answers, server = await asked([Reply(YES, wire=wire), YES], timeout_seconds=0.3)
    assert answers == [Answer(None, "the grading model did not answer within the limit of 0.3 s", "timeout")]
    assert len(server.requests) == 1


async def test_a_body_without_end_is_not_read_to_its_end() -> None:
    """A response of many megabytes is refused."""
    answers, _ = await asked([RawReply(b" " * (MAX_BODY_BYTES + 100_000))])
    assert answers == [Answer(None, f"the grading model's response has more than {MAX_BODY_BYTES} bytes", "error")]


async def test_redirects_are_not_followed() -> None:
    """Another host gets neither the question nor the key."""
    with MessagesServer([YES]) as other:
        answers, _ = await asked([RawReply("", status=307, headers={"location": f"{other.base_url}/v1/messages"})])
        assert answers[0].value is None
        assert other.requests == []


async def test_a_key_is_needed(monkeypatch: pytest.MonkeyPatch) -> None:
    """Without one the answer says what is missing."""
    monkeypatch.delenv("ANTHROPIC_API_KEY")
    monkeypatch.setenv("HOME", "/nonexistent")
    answers, server = await asked([YES])
    assert answers == [Answer(None, "there is no API key for the grading model: ANTHROPIC_API_KEY is not set", "no_model")]
    assert server.requests == []


async def test_a_schema_that_the_api_cannot_take() -> None:
    """A fault in a question is that question's answer."""
    one = question()
    answers, _ = await asked([YES], Question(one.kind, one.prompt_version, one.system, one.user, {"not": {}}, "k"))
    assert answers[0].value is None
    assert answers[0].limit == "error"


@pytest.mark.parametrize(
    ("settings", "environment", "model"),
    [("a", "b", "a"), (None, "b", "b"), (None, None, DEFAULT_MODEL), (None, "", DEFAULT_MODEL)],
)
async def test_which_model_is_asked(
    monkeypatch: pytest.MonkeyPatch, settings: str | None, environment: str | None, model: str
) -> None:
    """The settings', else the environment's, else the default."""
    if environment is not None:
        monkeypatch.setenv("ATTEST_JUDGE_MODEL", environment)
    _, server = await asked([YES], model=settings)
    assert (server.requests[0].json or {})["model"] == model


async def test_the_base_url_of_the_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    """It holds where the settings name none."""
    with MessagesServer([YES]) as server:
        monkeypatch.setenv("ANTHROPIC_BASE_URL", server.base_url)
        judge = AnthropicJudge()
        assert (await judge.session("r").ask(question())).value == {"answer": "yes"}
        await judge.aclose()


async def test_cancellation_is_let_through() -> None:
    """Whoever gives up waiting gets away at once, and the next question is asked as ever."""
    with MessagesServer([Reply(YES, wire=Wire(delay_seconds=60)), YES]) as server:
        judge = judge_at(server.base_url)
        session = judge.session("r")
        with anyio.move_on_after(0.2) as scope:
            await session.ask(question("a"))
        assert scope.cancelled_caught
        assert (await session.ask(question("b"))).value == {"answer": "yes"}
        await judge.aclose()


async def test_closed_and_used_again() -> None:
    """Closing ends the connections, not the judge; closing twice is closing once."""
    with MessagesServer([YES, NO]) as server:
        judge = judge_at(server.base_url)
        session = judge.session("r")
        await session.ask(question("a"))
        await judge.aclose()
        await judge.aclose()
        assert (await session.ask(question("b"))).value == {"answer": "no"}
        await judge.aclose()


def test_sampling_is_the_same_everywhere() -> None:
    """By the run's name alone; about the share that was asked for; a larger share keeps what a smaller one had."""
    names = [f"run-{number}" for number in range(2_000)]
    tenth = [name for name in names if is_sampled(name, 0.1)]
    assert 150 < len(tenth) < 250
    assert all(is_sampled(name, 0.5) for name in tenth)
    assert all(is_sampled(name, 1.0) for name in names)
    assert not any(is_sampled(name, 0.0) for name in names)
    assert is_sampled("run-0", 0.5) is is_sampled("run-0", 0.5)


def test_a_pickle_holds_settings_only(key: str) -> None:
    """A judge is made anew where it is unpickled."""
    judge = judge_at("http://127.0.0.1:1", model="m")
    data = pickle.dumps(judge)
    assert key.encode() not in data
    assert pickle.loads(data).config == judge.config


@pytest.mark.skipif(not hasattr(os, "fork"), reason="needs fork")
def test_a_forked_child_asks_by_itself() -> None:
    """With connections of its own, also where the parent's locks were held."""
    with MessagesServer(lambda _request: YES) as server:
        judge = judge_at(server.base_url)

        async def ask(name: str) -> bool:
            answer = await judge.session("r").ask(question(name))
            await judge.aclose()
            return answer.value == {"answer": "yes"}

        assert anyio.run(ask, "parent")
        with judge._means.budgets._lock, judge._breaker._lock, judge._cache._lock:
            child = os.fork()
            if child == 0:
                signal.alarm(20)
                os._exit(0 if anyio.run(ask, "child") else 1)
        assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0


async def together(judge: AnthropicJudge, number: int) -> list[Any]:
    """Ask so many questions at once; the values of their answers."""
    values: list[Any] = [None] * number

    async def ask(place: int) -> None:
        values[place] = (await judge.session("r").ask(question(f"q{place}"))).value

    async with anyio.create_task_group() as group:
        for place in range(number):
            group.start_soon(ask, place)
    return values
