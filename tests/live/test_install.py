"""install(): once, first in order, and with providers of its own where there are none."""

from __future__ import annotations

import subprocess
import sys
import textwrap

import pytest
from opentelemetry import trace
from opentelemetry.sdk._logs import LoggerProvider
from opentelemetry.sdk.metrics import MeterProvider
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export import BatchSpanProcessor, SimpleSpanProcessor
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter

from attest_otel.errors import ConfigError
from attest_otel.live.install import install
from attest_otel.live.order import processors_of, put_first
from attest_otel.live.processor import AttestSpanProcessor
from tests.live.helpers import AGENT, WAIT


def test_twice_is_once() -> None:
    """A second install on one provider returns the first's processor."""
    provider, meters = TracerProvider(shutdown_on_exit=False), MeterProvider(shutdown_on_exit=False)
    first = install(provider, config={}, meter_provider=meters)
    assert install(provider, config={}, meter_provider=meters) is first
    assert processors_of(provider) == (first,)
    provider.shutdown()


@pytest.mark.parametrize("ours_first", [True, False])
@pytest.mark.parametrize("by_hand", [True, False])
def test_shutdown_loses_no_verdict_in_either_order(ours_first: bool, by_hand: bool) -> None:
    """The evaluation span reaches the exporter at shutdown, whichever processor was added first and by whom."""
    provider, meters = TracerProvider(shutdown_on_exit=False), MeterProvider(shutdown_on_exit=False)
    exporter = InMemorySpanExporter()

    def add_ours() -> None:
        if by_hand:
            provider.add_span_processor(AttestSpanProcessor({}, tracer_provider=provider, meter_provider=meters))
        else:
            install(provider, config={}, meter_provider=meters)

    def add_exporter() -> None:
        provider.add_span_processor(BatchSpanProcessor(exporter))

    steps = [add_ours, add_exporter]
    for step in steps if ours_first else reversed(steps):
        step()
    with provider.get_tracer("test").start_as_current_span("agent", attributes=AGENT):
        pass
    ours = next(one for one in processors_of(provider) if isinstance(one, AttestSpanProcessor))
    assert ours.drain(WAIT)
    with provider.get_tracer("test").start_as_current_span("agent", attributes=AGENT):
        pass
    provider.shutdown()
    assert [span.name for span in exporter.get_finished_spans()].count("evaluate a") == 2


def test_a_provider_that_is_not_the_sdks_is_refused() -> None:
    """A provider whose spans can't be processed is an error that names it."""
    with pytest.raises(ConfigError, match="NoOpTracerProvider"):
        install(trace.NoOpTracerProvider(), config={})


def test_a_wrong_configuration_fails_at_once() -> None:
    """A wrong setting is an error at install, with its path, and nothing is added."""
    provider = TracerProvider(shutdown_on_exit=False)
    with pytest.raises(ConfigError, match="grace_seconds"):
        install(provider, config={"limits": {"grace_seconds": "soon"}})
    assert processors_of(provider) == ()


def test_an_order_that_cannot_be_had_is_told() -> None:
    """A processor that isn't the provider's, and a provider with another inside, are not reordered."""
    provider = TracerProvider(shutdown_on_exit=False)
    assert put_first(provider, SimpleSpanProcessor(InMemorySpanExporter())) is False
    assert put_first(object(), None) is False


def test_without_a_provider_one_is_made_and_the_process_still_ends() -> None:
    """With no global provider and an unreachable collector, install makes providers, and the exit code is the program's own."""
    program = """
        import sys, time
        from opentelemetry import metrics, trace
        from attest_otel.live.install import install
        processor = install()
        assert type(trace.get_tracer_provider()).__module__ == "opentelemetry.sdk.trace"
        assert type(metrics.get_meter_provider()).__module__.startswith("opentelemetry.sdk.metrics")
        assert install() is processor
        with trace.get_tracer("x").start_as_current_span("agent", attributes={"gen_ai.operation.name": "invoke_agent"}):
            pass
        assert processor.drain(10)
        sys.exit(7)
    """
    environment = {"OTEL_EXPORTER_OTLP_ENDPOINT": "http://127.0.0.1:9", "OTEL_EXPORTER_OTLP_TIMEOUT": "1", "PATH": ""}
    ended = subprocess.run([sys.executable, "-c", textwrap.dedent(program)], env=environment, timeout=50, check=False)
    assert ended.returncode == 7


NONE = "ProxyLoggerProvider"
REFUSED = ["ConfigError 0", "none", f"_ProxyMeterProvider {NONE}", "[]"]
MADE = """
    import os, sys
    import threading
    from opentelemetry import _logs, metrics, trace
    from attest_otel.errors import ConfigError
    from attest_otel.live.install import install
    from attest_otel.live.order import processors_of
    threads = threading.active_count()
    try:
        install(config={"wrong": {"nonsense": 1}, "logs": {"export": {"log_events": True}}, "": {}}["".join(sys.argv[1:])])
    except ConfigError:
        print("ConfigError", threading.active_count() - threads)
    provider = trace.get_tracer_provider()
    if isinstance(provider, trace.ProxyTracerProvider):
        print("none")
    else:
        exporters = [getattr(one, "span_exporter", None) for one in processors_of(provider)]
        print([type(one).__module__.split(".")[-2] for one in exporters if one is not None])
    print(type(metrics.get_meter_provider()).__name__, type(_logs.get_logger_provider()).__name__)
    loggers = _logs.get_logger_provider()
    kept = getattr(getattr(loggers, "_multi_log_record_processor", None), "_log_record_processors", ())
    print([type(one._batch_processor._exporter).__module__.split(".")[-2] for one in kept])
    sys.stdout.flush()
    os._exit(0)
"""


@pytest.mark.parametrize(
    ("environment", "arguments", "said"),
    [
        ({}, [], ["['http']", "MeterProvider ProxyLoggerProvider", "[]"]),
        ({}, ["logs"], ["['http']", "MeterProvider LoggerProvider", "['http']"]),
        ({"OTEL_EXPORTER_OTLP_PROTOCOL": "grpc"}, ["logs"], ["['grpc']", "MeterProvider LoggerProvider", "['grpc']"]),
        (
            {"OTEL_EXPORTER_OTLP_LOGS_PROTOCOL": "grpc"},
            ["logs"],
            ["['http']", "MeterProvider LoggerProvider", "['grpc']"],
        ),
        ({"OTEL_LOGS_EXPORTER": " None "}, ["logs"], ["['http']", "MeterProvider ProxyLoggerProvider", "[]"]),
        (
            {"OTEL_TRACES_EXPORTER": "none", "OTEL_METRICS_EXPORTER": "none"},
            ["logs"],
            ["[]", "_ProxyMeterProvider LoggerProvider", "['http']"],
        ),
        ({"OTEL_TRACES_EXPORTER": "none", "OTEL_METRICS_EXPORTER": "none"}, [], ["[]", f"_ProxyMeterProvider {NONE}", "[]"]),
        ({"OTEL_EXPORTER_OTLP_PROTOCOL": "smoke"}, [], REFUSED),
        ({"OTEL_EXPORTER_OTLP_LOGS_PROTOCOL": "smoke"}, ["logs"], REFUSED),
        ({"OTEL_EXPORTER_OTLP_LOGS_PROTOCOL": "grpc", "OTEL_EXPORTER_OTLP_COMPRESSION": "smoke"}, ["logs"], REFUSED),
        ({"OTEL_BLRP_MAX_EXPORT_BATCH_SIZE": "99999"}, ["logs"], REFUSED),
        ({"OTEL_METRIC_EXPORT_INTERVAL": "-1"}, ["logs"], REFUSED),
        ({}, ["wrong"], REFUSED),
    ],
)
def test_made_providers_are_as_the_environment_says(environment: dict[str, str], arguments: list[str], said: list[str]) -> None:
    """Protocol and exporters are the environment's, and a wrong setting leaves no provider behind."""
    ended = subprocess.run(
        [sys.executable, "-c", textwrap.dedent(MADE), *arguments],
        env={"OTEL_EXPORTER_OTLP_ENDPOINT": "http://127.0.0.1:9", "PATH": "", **environment},
        capture_output=True,
        timeout=50,
        check=True,
        text=True,
    )
    assert ended.stdout.splitlines() == said


SETS = """
    import os, sys
    from opentelemetry import _logs, metrics, trace
    from opentelemetry.sdk._logs import LoggerProvider
    from opentelemetry.sdk.metrics import MeterProvider
    from attest_otel.live.install import install
    theirs, meters = LoggerProvider(shutdown_on_exit=False), MeterProvider(shutdown_on_exit=False)
    if sys.argv[1] == "set":
        _logs.set_logger_provider(theirs)
        metrics.set_meter_provider(meters)
        install(config={"export": {"log_events": True}})
        print(_logs.get_logger_provider() is theirs, metrics.get_meter_provider() is meters)
    else:
        install(config={"export": {"log_events": True}}, logger_provider=theirs, meter_provider=meters)
        print(type(_logs.get_logger_provider()).__name__, type(metrics.get_meter_provider()).__name__)
    sys.stdout.flush()
    os._exit(0)
"""


@pytest.mark.parametrize(("how", "said"), [("set", "True True"), ("given", f"{NONE} _ProxyMeterProvider")])
def test_a_provider_of_the_applications_is_used_and_not_replaced(how: str, said: str) -> None:
    """A meter or logger provider that the application has set, or gives, is the one; none is made beside it."""
    ended = subprocess.run(
        [sys.executable, "-c", textwrap.dedent(SETS), how],
        env={"OTEL_EXPORTER_OTLP_ENDPOINT": "http://127.0.0.1:9", "PATH": ""},
        capture_output=True,
        timeout=50,
        check=True,
        text=True,
    )
    assert (ended.stdout.strip(), ended.stderr) == (said, "")


@pytest.mark.parametrize(
    ("logs", "given", "environment", "said"),
    [(True, False, "", True), (True, True, "", False), (True, False, "none", False), (False, False, "", False)],
)
def test_log_events_that_lead_nowhere_are_told(
    logs: bool, given: bool, environment: str, said: bool, caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Beside a tracer provider of the application's no logger provider is made; that there is none is said once, at install."""
    monkeypatch.setenv("OTEL_LOGS_EXPORTER", environment)
    provider, meters = TracerProvider(shutdown_on_exit=False), MeterProvider(shutdown_on_exit=False)
    loggers = LoggerProvider(shutdown_on_exit=False) if given else None
    install(provider, config={"export": {"log_events": logs}}, meter_provider=meters, logger_provider=loggers)
    provider.shutdown()
    assert ("there is no LoggerProvider" in caplog.text) is said
