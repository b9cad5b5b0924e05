"""What the tests of the client share: a question, a time that stands still, and a judge on the loopback server."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import pytest

from attest_otel.config import JudgeConfig
from attest_otel.judge.anthropic_judge import AnthropicJudge
from attest_otel.judge.question import Question

KEY = "sk-ant-canary-7f3a9c1e5b"
PROXIES = ("HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY", "http_proxy", "https_proxy", "all_proxy")
SCHEMA: Mapping[str, Any] = {
    "type": "object",
    "properties": {"answer": {"type": "string", "enum": ["yes", "no"]}},
    "required": ["answer"],
    "additionalProperties": False,
}
YES = '{"answer": "yes"}'
NO = '{"answer": "no"}'


@pytest.fixture
def key(monkeypatch: pytest.MonkeyPatch) -> str:
    """The environment of a machine with a key, no proxy and nothing else set."""
    for name in (*PROXIES, "ANTHROPIC_BASE_URL", "ANTHROPIC_AUTH_TOKEN", "ATTEST_JUDGE_MODEL"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("ANTHROPIC_API_KEY", KEY)
    return KEY


def question(
    key: str = "k1",
    *,
    kind: str = "tool_use.answer",
    user: str = "data",
    version: str = "1",
    max_tokens: int = 100,
) -> Question:
    """A question that is answered with yes or no."""
    return Question(kind, version, "Answer yes or no.", user, SCHEMA, key, max_tokens)


@dataclass
class StillTime:
    """A clock that moves only when somebody sleeps; keeps what was slept."""

    now: float = 1_000.0
    slept: list[float] = field(default_factory=list)

    def clock(self) -> float:
        """The time."""
        return self.now

    async def sleep(self, seconds: float) -> None:
        """Let time pass."""
        self.slept.append(seconds)
        self.now += seconds


def judge_at(base_url: str, time: StillTime | None = None, *, jitter: float = 1.0, **settings: Any) -> AnthropicJudge:
    """The real judge on a server of the test's, in a time of the test's."""
    time = time or StillTime()
    config = JudgeConfig.model_validate({"base_url": base_url, **settings})
    return AnthropicJudge(config, clock=time.clock, sleep=time.sleep, jitter=lambda: jitter)
