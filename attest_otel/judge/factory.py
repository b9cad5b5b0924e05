"""The grading model that the settings describe."""

from __future__ import annotations

from opentelemetry.metrics import MeterProvider
from opentelemetry.trace import TracerProvider

from attest_otel.config import JudgeConfig
from attest_otel.judge.anthropic_judge import AnthropicJudge
from attest_otel.judge.question import Judge


def build_judge(
    config: JudgeConfig | None = None, *, meter_provider: MeterProvider | None = None, tracer_provider: TracerProvider | None = None
) -> Judge:
    """Return the grading model: Anthropic's."""
    return AnthropicJudge(config, meter_provider=meter_provider, tracer_provider=tracer_provider)
