"""No feedback: what the grading model's client makes is never part of a run, whatever the sampler (property 4)."""

from __future__ import annotations

from typing import Any

import pytest
from opentelemetry import trace
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export import SimpleSpanProcessor
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter
from opentelemetry.sdk.trace.sampling import ALWAYS_ON, ParentBased

from attest_otel import AttestSpanProcessor, Report
from attest_otel.attributes import JUDGE_SCOPE
from attest_otel.judge.scripted import scripted_replies
from attest_otel.testing import MessagesServer
from tests.judge.offline import key

__all__ = ["key"]

RUN = {
    "gen_ai.operation.name": "invoke_agent",
    "gen_ai.agent.name": "a",
    "gen_ai.output.messages": '[{"role":"assistant","parts":[{"type":"text","content":"It is 7."}]}]',
}
CALL = {
    "gen_ai.operation.name": "execute_tool",
    "gen_ai.tool.name": "look",
    "gen_ai.tool.call.arguments": "{}",
    "gen_ai.tool.call.result": "7",
}


@pytest.mark.usefixtures("key")
@pytest.mark.parametrize("sampler", [ALWAYS_ON, ParentBased(ALWAYS_ON)], ids=["always", "by_parent"])
def test_one_run_is_one_report(sampler: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """The judge asks, its spans and the SDK's own come by, and none of them is a run."""
    exporter = InMemorySpanExporter()
    provider = TracerProvider(sampler=sampler)
    app = provider.get_tracer("app")
    monkeypatch.setattr(trace, "get_tracer", lambda *args, **_kwargs: provider.get_tracer(str(args[0])))
    reports: list[Report] = []
    with MessagesServer(scripted_replies(lambda _kind, _item: ("supported", "7"))) as server:
        config = {"judge": {"base_url": server.base_url}, "checks": ["tool_use", "faithfulness"]}
        processor = AttestSpanProcessor(config, tracer_provider=provider, on_report=reports.append)
        provider.add_span_processor(processor)
        provider.add_span_processor(SimpleSpanProcessor(exporter))
        with (
            app.start_as_current_span("invoke_agent a", attributes=RUN) as root,
            app.start_as_current_span("execute_tool look", attributes=CALL),
        ):
            pass
        assert processor.drain(20)
        asked = len(server.requests)
        provider.shutdown()
    spans = [span for span in exporter.get_finished_spans() if span.instrumentation_scope is not None]
    judged = [span for span in spans if span.instrumentation_scope is not None and span.instrumentation_scope.name == JUDGE_SCOPE]
    natives = [
        span for span in spans if span.instrumentation_scope is not None and "anthropic" in span.instrumentation_scope.name
    ]
    assert asked == len(judged) >= 2
    assert [link.context.span_id for span in judged for link in span.links] == [root.get_span_context().span_id] * asked
    assert bool(natives) is (sampler is ALWAYS_ON)
    assert {report.run_id for report in reports} == {reports[0].run_id}
    result = reports[-1].result("faithfulness")
    assert result is not None
    assert [finding.verdict for finding in result.findings] == ["supported"]
