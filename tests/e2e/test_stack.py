"""The stack carries what attest_otel sends: proven with the plain OpenTelemetry SDK, without attest_otel."""

from __future__ import annotations

import socket
import uuid
from collections.abc import Iterator
from pathlib import Path

import pytest
from opentelemetry import metrics
from opentelemetry._logs import LogRecord
from opentelemetry.exporter.otlp.proto.grpc.trace_exporter import OTLPSpanExporter as GrpcSpanExporter
from opentelemetry.exporter.otlp.proto.http._log_exporter import OTLPLogExporter
from opentelemetry.exporter.otlp.proto.http.metric_exporter import OTLPMetricExporter
from opentelemetry.exporter.otlp.proto.http.trace_exporter import OTLPSpanExporter
from opentelemetry.sdk._logs import LoggerProvider
from opentelemetry.sdk._logs.export import SimpleLogRecordProcessor
from opentelemetry.sdk.metrics import Counter, MeterProvider
from opentelemetry.sdk.metrics.export import AggregationTemporality, PeriodicExportingMetricReader
from opentelemetry.sdk.resources import Resource
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export import SimpleSpanProcessor, SpanExporter
from opentelemetry.trace import Status, StatusCode

from tests.e2e import stack as harness
from tests.e2e.loopback import answers, eventually, get_json
from tests.e2e.stack import Stack
from tests.e2e.stores import find_trace, kept_log_events, query_prometheus, wait_for_value

pytestmark = [pytest.mark.e2e, pytest.mark.timeout(180)]

# Duplicate keys, an exponent, an escape, 19 digits, order and spacing: what a re-serialisation anywhere would lose.
ARGUMENTS = (
    '{"order_id":"ORD-448192",  "amount_cents": 42, "amount_cents":4.2e1, "note":"caf\\u00e9 ☕", "id": 9007199254740993001}'
)

INSTANCE = "instance-1"


@pytest.fixture
def service() -> str:
    """A service name of the test's own, since all tests share the stores."""
    return f"stack-{uuid.uuid4().hex[:8]}"


@pytest.fixture(params=["http", "grpc"])
def exporter(request: pytest.FixtureRequest, stack: Stack) -> SpanExporter:
    """A span exporter for each of the Collector's two protocols."""
    if request.param == "http":
        return OTLPSpanExporter(endpoint=f"{stack.otlp_http_endpoint}/v1/traces")
    return GrpcSpanExporter(endpoint=stack.otlp_grpc_endpoint, insecure=True)


@pytest.fixture
def meters(stack: Stack, service: str) -> Iterator[MeterProvider]:
    """Metrics to the Collector, cumulative as by default."""
    provider = _meter_provider(stack, service, AggregationTemporality.CUMULATIVE)
    yield provider
    provider.shutdown()


@pytest.fixture
def delta_meters(stack: Stack, service: str) -> Iterator[MeterProvider]:
    """Metrics to the Collector from an SDK told to send deltas."""
    provider = _meter_provider(stack, service, AggregationTemporality.DELTA)
    yield provider
    provider.shutdown()


def test_a_trace_is_found_by_its_verdict(stack: Stack, service: str, exporter: SpanExporter) -> None:
    """A search by attest.verdict=block finds the whole trace, arguments and events unchanged to the character."""
    _send_handmade_trace(service, exporter)
    trace = find_trace(stack, service, tags={"attest.verdict": "block"}, spans=3)

    root = trace.named("invoke_agent refund-agent")
    tool = trace.named("execute_tool issue_refund")
    evaluation = trace.named("evaluate refund-agent")
    assert root.parent_id is None
    assert tool.parent_id == evaluation.parent_id == root.span_id
    assert tool.attributes["gen_ai.tool.call.arguments"] == ARGUMENTS
    assert evaluation.is_error
    assert not tool.is_error
    (event,) = evaluation.events
    assert event.name == "gen_ai.evaluation.result"
    assert event.attributes == {
        "gen_ai.evaluation.name": "tool_use",
        "gen_ai.evaluation.score.label": "disallowed_tool",
        "gen_ai.evaluation.explanation": "cancel_order is not allowed",
    }


def test_a_counter_arrives_under_its_prometheus_name(stack: Stack, service: str, meters: MeterProvider) -> None:
    """attest.runs in {run} is attest_runs_total, and attest.verdict is the label attest_verdict."""
    _runs(meters).add(1, {"attest.verdict": "block", "gen_ai.agent.name": "refund-agent"})
    meters.force_flush()

    promql = f'attest_runs_total{{attest_verdict="block", job="{service}"}}'
    wait_for_value(stack, promql, 1)
    ((labels, _),) = query_prometheus(stack, promql)
    assert labels == {
        "__name__": "attest_runs_total",
        "attest_verdict": "block",
        "gen_ai_agent_name": "refund-agent",
        "instance": INSTANCE,
        "job": service,
    }


def test_a_counter_born_at_zero_shows_its_first_increase(stack: Stack, service: str, meters: MeterProvider) -> None:
    """A series that starts at 0 exists before the first block, so that an increase can be seen at all."""
    attributes = {"attest.verdict": "block", "gen_ai.agent.name": "refund-agent"}
    selector = f'attest_runs_total{{attest_verdict="block", job="{service}"}}'
    _runs(meters).add(0, attributes)
    meters.force_flush()
    wait_for_value(stack, selector, 0)

    _runs(meters).add(1, attributes)
    meters.force_flush()
    wait_for_value(stack, f"max_over_time({selector}[5m]) - min_over_time({selector}[5m])", 1)


def test_deltas_are_summed_up(stack: Stack, service: str, delta_meters: MeterProvider) -> None:
    """An SDK that sends deltas is not dropped on the way: two increases of one arrive as two."""
    for _ in range(2):
        _runs(delta_meters).add(1, {"attest.verdict": "block"})
        delta_meters.force_flush()
    wait_for_value(stack, f'attest_runs_total{{attest_verdict="block", job="{service}"}}', 2)


def test_log_events_are_kept(stack: Stack, service: str) -> None:
    """A log event of a finding is kept as OTLP JSON, its attributes unchanged."""
    provider = LoggerProvider(resource=_resource(service))
    exporter = OTLPLogExporter(endpoint=f"{stack.otlp_http_endpoint}/v1/logs")
    provider.add_log_record_processor(SimpleLogRecordProcessor(exporter))
    attributes = {"attest.evidence": ARGUMENTS}
    record = LogRecord(event_name="gen_ai.evaluation.result", attributes=attributes)
    provider.get_logger("attest-otel-e2e").emit(record)
    provider.shutdown()

    (found,) = eventually(lambda: kept_log_events(stack, service), stack.logs)
    assert found["eventName"] == "gen_ai.evaluation.result"
    assert found["attributes"] == [{"key": "attest.evidence", "value": {"stringValue": ARGUMENTS}}]


def test_prometheus_watches_the_collector(stack: Stack) -> None:
    """Prometheus finds the Collector's own metrics where its configuration says."""

    def look() -> bool:
        answer = get_json(f"{stack.prometheus_url}/api/v1/targets", {"state": "active"})
        return [each["health"] for each in answer["data"]["activeTargets"]] == ["up"]

    eventually(look, stack.logs)


@pytest.mark.parametrize("taken_name", ["collector_grpc", "jaeger_otlp", "prometheus"])
def test_a_taken_port_is_replaced(stack: Stack, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, taken_name: str) -> None:
    """When somebody takes a chosen port before the process does, the stack starts again with others."""
    with socket.create_server((harness.HOST, 0)) as taken:
        choices = [harness.free_ports(len(harness.PORT_NAMES)) for _ in range(2)]
        choices[0][harness.PORT_NAMES.index(taken_name)] = taken.getsockname()[1]
        monkeypatch.setattr(harness, "free_ports", lambda _count: choices.pop(0))
        with harness.running_stack(tmp_path) as second:
            assert second.directory.name == "try-2"
            assert answers(f"{second.prometheus_url}/-/ready")


def _send_handmade_trace(service: str, exporter: SpanExporter) -> None:
    provider = TracerProvider(resource=_resource(service))
    provider.add_span_processor(SimpleSpanProcessor(exporter))
    tracer = provider.get_tracer("attest-otel-e2e")
    with tracer.start_as_current_span("invoke_agent refund-agent"):
        with tracer.start_as_current_span("execute_tool issue_refund") as tool:
            tool.set_attribute("gen_ai.tool.call.arguments", ARGUMENTS)
        with tracer.start_as_current_span("evaluate refund-agent") as evaluation:
            evaluation.set_attribute("attest.verdict", "block")
            evaluation.set_status(Status(StatusCode.ERROR))
            evaluation.add_event(
                "gen_ai.evaluation.result",
                {
                    "gen_ai.evaluation.name": "tool_use",
                    "gen_ai.evaluation.score.label": "disallowed_tool",
                    "gen_ai.evaluation.explanation": "cancel_order is not allowed",
                },
            )
    provider.shutdown()


def _meter_provider(stack: Stack, service: str, temporality: AggregationTemporality) -> MeterProvider:
    exporter = OTLPMetricExporter(endpoint=f"{stack.otlp_http_endpoint}/v1/metrics", preferred_temporality={Counter: temporality})
    reader = PeriodicExportingMetricReader(exporter, export_interval_millis=3_600_000)
    return MeterProvider(metric_readers=[reader], resource=_resource(service))


def _resource(service: str) -> Resource:
    return Resource.create({"service.name": service, "service.instance.id": INSTANCE})


def _runs(meters: MeterProvider) -> metrics.Counter:
    return meters.get_meter("attest-otel-e2e").create_counter("attest.runs", unit="{run}")
