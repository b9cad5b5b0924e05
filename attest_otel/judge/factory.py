"""The grading model that the settings describe: Anthropic's, recorded or replayed from a file where they say so."""

from __future__ import annotations

from opentelemetry.metrics import MeterProvider
from opentelemetry.trace import TracerProvider

from attest_otel.config import JudgeConfig
from attest_otel.errors import ConfigError
from attest_otel.judge.anthropic_judge import AnthropicJudge
from attest_otel.judge.question import Judge
from attest_otel.judge.recording import RecordingJudge, ReplayJudge


def build_judge(
    config: JudgeConfig | None = None,
    *,
    meter_provider: MeterProvider | None = None,
    tracer_provider: TracerProvider | None = None,
) -> Judge:
    """Return the grading model.

    Args:
        config: `replay` names the recording that answers, `record` the one that is written.
        meter_provider: where metrics go; the global one by default.
        tracer_provider: where spans go; the global one by default.

    Raises:
        ConfigError: both are named, or the recording can't be used.
    """
    config = config or JudgeConfig()
    if config.record is not None and config.replay is not None:
        raise ConfigError("judge: expected record or replay, but both are given")
    if config.replay is not None:
        return ReplayJudge(config.replay)
    judge = AnthropicJudge(config, meter_provider=meter_provider, tracer_provider=tracer_provider)
    return judge if config.record is None else RecordingJudge(judge, config.record)
