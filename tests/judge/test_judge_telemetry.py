"""The judge's spans and metrics, and what must be in none of them."""

from __future__ import annotations

import logging
from typing import Any

import pytest
from opentelemetry import trace
from opentelemetry.sdk.metrics import MeterProvider
from opentelemetry.sdk.metrics.export import InMemoryMetricReader
from opentelemetry.sdk.trace import ReadableSpan, TracerProvider
from opentelemetry.sdk.trace.export import SimpleSpanProcessor
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter
from opentelemetry.trace import SpanKind, StatusCode

from attest_otel.attributes import JUDGE_SCOPE
from attest_otel.config import JudgeConfig
from attest_otel.judge.anthropic_judge import DEFAULT_MODEL, AnthropicJudge
from attest_otel.judge.question import Answer
from attest_otel.judge.telemetry import OUTCOMES
from attest_otel.quiet import QUIET_TRACE
from attest_otel.testing import Failure, MessagesServer, RawReply, Reply, Wire
from attest_otel.testing.script import Answer as Scripted
from tests.judge.offline import YES, StillTime, key, question

__all__ = ["key"]

pytestmark = [pytest.mark.usefixtures("key"), pytest.mark.anyio]


class Watched:
    """A judge whose spans and metrics are kept."""

    def __init__(self, base_url: str, **settings: Any) -> None:
        self.exporter = InMemorySpanExporter()
        self.reader = InMemoryMetricReader()
        self.provider = TracerProvider()
        self.provider.add_span_processor(SimpleSpanProcessor(self.exporter))
        self.time = StillTime()
        config = JudgeConfig.model_validate({"base_url": base_url, "max_retries": 1, **settings})
        self.judge = AnthropicJudge(
            config,
            tracer_provider=self.provider,
            meter_provider=MeterProvider([self.reader]),
            clock=self.time.clock,
            sleep=self.time.sleep,
            jitter=lambda: 1.0,
        )

    @property
    def spans(self) -> list[ReadableSpan]:
        """The judge's spans, in the order they ended."""
        return [
            span
            for span in self.exporter.get_finished_spans()
            if span.instrumentation_scope is not None and span.instrumentation_scope.name == JUDGE_SCOPE
        ]

    def counts(self, metric: str, label: str) -> dict[str, int]:
        """A counter's values by one label."""
        data = self.reader.get_metrics_data()
        assert data is not None
        found = [m for r in data.resource_metrics for s in r.scope_metrics for m in s.metrics if m.name == metric]
        return {
            str((point.attributes or {})[label]): int(getattr(point, "value", -1)) for m in found for point in m.data.data_points
        }


async def test_a_span_a_request() -> None:
    """By the GenAI conventions, a root of its own, linked to the run's root; the caller's current span stays."""
    with MessagesServer([Reply(YES, input_tokens=30, output_tokens=5, model="m-2", id="msg_9")]) as server:
        watched = Watched(server.base_url)
        with watched.provider.get_tracer("app").start_as_current_span("invoke_agent a") as root:
            await watched.judge.session("run-1", root.get_span_context()).ask(question())
            assert trace.get_current_span() is root
        await watched.judge.aclose()
    (span,) = watched.spans
    assert (span.name, span.kind, span.parent) == (f"chat {DEFAULT_MODEL}", SpanKind.CLIENT, None)
    assert [link.context for link in span.links] == [root.get_span_context()]
    assert span.get_span_context() is not None
    assert dict(span.attributes or {}) == {
        "gen_ai.operation.name": "chat",
        "gen_ai.provider.name": "anthropic",
        "gen_ai.request.model": DEFAULT_MODEL,
        "gen_ai.response.model": "m-2",
        "gen_ai.response.id": "msg_9",
        "gen_ai.usage.input_tokens": 30,
        "gen_ai.usage.output_tokens": 5,
        "attest.judge.question": "tool_use.answer",
        "attest.run_id": "run-1",
    }


@pytest.mark.parametrize(
    ("script", "errors"),
    [
        ([Failure(429), YES], ["429", None]),
        ([Failure(401)], ["401"]),
        ([RawReply("{"), RawReply("{")], ["broken_response", "broken_response"]),
        ([Reply("x")], ["off_menu"]),
        ([Reply(YES, wire=Wire(cut_after_bytes=9)), YES], ["connection", None]),
        ([Reply(YES, wire=Wire(delay_seconds=60))], ["timeout"]),
        ([Failure(400, "temperature is deprecated"), YES], ["temperature", None]),
    ],
)
async def test_what_failed_is_on_its_span(script: list[Any], errors: list[str | None]) -> None:
    """`error.type` and the status; every attempt has a span."""
    with MessagesServer(script) as server:
        watched = Watched(server.base_url, timeout_seconds=0.4 if errors == ["timeout"] else 30.0)
        await watched.judge.session("r").ask(question())
        await watched.judge.aclose()
    assert [(span.attributes or {}).get("error.type") for span in watched.spans] == errors
    assert [span.status.status_code is StatusCode.ERROR for span in watched.spans] == [error is not None for error in errors]


async def test_what_the_client_s_own_instrumentation_makes_is_in_the_quiet_trace(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """The SDK's own spans have a place that is never judged and, by their parent, isn't sampled."""
    seen = InMemorySpanExporter()
    everything = TracerProvider(sampler=trace_everything())
    everything.add_span_processor(SimpleSpanProcessor(seen))
    monkeypatch.setattr(trace, "get_tracer", lambda *args, **_kwargs: everything.get_tracer(str(args[0])))
    with MessagesServer([YES]) as server:
        watched = Watched(server.base_url)
        await watched.judge.session("r").ask(question())
        await watched.judge.aclose()
    made = [span.context.trace_id for span in seen.get_finished_spans() if span.context is not None]
    assert made == [QUIET_TRACE] * len(made)
    assert made


def trace_everything() -> Any:
    """A sampler that doesn't ask the parent."""
    from opentelemetry.sdk.trace.sampling import ALWAYS_ON

    return ALWAYS_ON


async def test_counters_stand_at_nothing_from_the_start() -> None:
    """Every outcome and both directions, so that the first one raises an alert."""
    watched = Watched("http://127.0.0.1:1")
    assert watched.counts("attest.judge.requests", "attest.outcome") == dict.fromkeys(OUTCOMES, 0)
    assert watched.counts("attest.judge.tokens", "attest.direction") == {"input": 0, "output": 0}


async def test_what_is_counted() -> None:
    """Requests by how they ended, questions that were not asked by what stopped them, tokens by direction."""
    script: list[Scripted | str] = [
        Failure(429),
        Failure(500),
        Reply(YES, input_tokens=30, output_tokens=5),
        Reply("x", input_tokens=7, output_tokens=1),
    ]
    with MessagesServer(script) as server:
        watched = Watched(server.base_url, max_calls_per_run=4, max_retries=2)
        session = watched.judge.session("r")
        for name in ("a", "a", "b", "c"):
            await session.ask(question(name))
        await watched.judge.aclose()
    counts = watched.counts("attest.judge.requests", "attest.outcome")
    assert {name: number for name, number in counts.items() if number} == {
        "rate_limited": 1,
        "error": 1,
        "ok": 1,
        "off_menu": 1,
        "cached": 1,
        "budget": 1,
    }
    assert watched.counts("attest.judge.tokens", "attest.direction") == {"input": 37, "output": 6}


@pytest.mark.parametrize("spoilt", ["{}", "{}\n", "{}\nx", "{} x", "\u00fc{}"])
async def test_the_key_is_nowhere(
    key: str, spoilt: str, caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    """In no repr, log, span, metric, answer or dump, also where the server repeats it or it can't be sent (property 43)."""
    caplog.set_level(logging.DEBUG)
    monkeypatch.setenv("ANTHROPIC_API_KEY", spoilt.format(key))
    echo = Failure(401, f"invalid x-api-key: {key}", error_type=f"error {key}")
    script: list[Scripted | str] = [
        YES,
        echo,
        Failure(400, f"temperature {key}"),
        RawReply(f'{{"key": "{key}"}}'),
        RawReply(key),
        Reply(f'{{"answer": "{key}"}}'),
    ]
    answers: list[Answer] = []
    with MessagesServer(script) as server:
        watched = Watched(server.base_url)
        session = watched.judge.session("r")
        for number in range(5):
            answers.append(await session.ask(question(f"q{number}")))
        shown = [
            repr(watched.judge),
            repr(session),
            repr(vars(watched.judge)),
            repr(watched.judge._running_loop()),
            repr(vars(watched.judge._running_loop().client)),
        ]
        await watched.judge.aclose()
    usable = spoilt.format(key).strip() == key
    assert answers[0].value == ({"answer": "yes"} if usable else None)
    assert usable or "holds a character that HTTP refuses" in (answers[0].skipped or "")
    texts = [
        *shown,
        repr(answers),
        caplog.text,
        *(span.to_json() for span in watched.exporter.get_finished_spans()),
        str(watched.reader.get_metrics_data()),
    ]
    assert [text for text in texts if key in text] == []
