"""Properties 8 to 10, 13, 14, 16, 18 and 46: what is held is bounded, what ends leaves nothing, and health is told."""

from __future__ import annotations

import gc
import multiprocessing
import subprocess
import sys
import textwrap
import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from opentelemetry.context import Context
from opentelemetry.sdk.metrics import MeterProvider
from opentelemetry.sdk.trace import TracerProvider

from attest_otel import content
from attest_otel.live.processor import AttestSpanProcessor
from attest_otel.redaction import Redactor
from attest_otel.redaction.redactor import MAX_REMEMBERED
from tests.live.helpers import AGENT, WAIT, Live, live, missing, together, tool

ROOT = Path(__file__).parents[2]
MEGABYTE = 1_000_000


def stalled(pipeline: Live) -> threading.Event:
    """Keep the worker busy until the event is set."""
    gate, reached = threading.Event(), threading.Event()

    def wait(_now: float) -> None:
        reached.set()
        gate.wait(WAIT)

    pipeline.processor._worker.call(wait)
    assert reached.wait(WAIT)
    return gate


def waiting_bytes(pipeline: Live) -> int:
    """Return the size of the texts that the log's spans hold alive."""
    found: dict[int, int] = {}
    for entry in pipeline.processor._log.copy():
        held = getattr(entry, "span", entry)
        for value in (getattr(held, "attributes", None) or {}).values():
            if isinstance(value, str):
                found[id(value)] = len(value)
    return sum(found.values())


def test_big_values_on_their_way_are_bounded() -> None:
    """With the worker stalled, a burst of big outputs holds a quarter of max_total_bytes; their runs are incomplete, not passed."""
    with live({"limits": {"max_total_bytes": 40 * MEGABYTE}}) as pipeline:
        pipeline.run(("x" * 2 * MEGABYTE,))
        assert pipeline.processor.drain(WAIT)
        gate = stalled(pipeline)
        for number in range(30):
            pipeline.run((str(number % 10) * MEGABYTE,))
        held = waiting_bytes(pipeline)
        gate.set()
        assert pipeline.processor.drain(WAIT)
        assert MEGABYTE < held < 11 * MEGABYTE
        later = pipeline.reports[1:]
        assert len(later) == 30
        cut = [report for report in later if any("max_total_bytes" in text for text in missing(report))]
        assert len(cut) >= 20
        assert {report.verdict for report in cut} == {"review"}


def test_big_content_beside_the_span_is_bounded_as_well() -> None:
    """What the recorder hands over is counted from the first value on, and what there is no room for is never called unparseable."""
    with live({"limits": {"max_total_bytes": 40 * MEGABYTE}}) as pipeline:
        gate = stalled(pipeline)
        for _ in range(20):
            with pipeline.tracer.start_as_current_span("agent", context=Context(), attributes=AGENT):
                start = pipeline.tracer.start_as_current_span
                with start(
                    "execute_tool t", attributes={"gen_ai.operation.name": "execute_tool", "gen_ai.tool.name": "t"}
                ) as span:
                    ids = span.get_span_context()
                    full = {"gen_ai.tool.call.arguments": f'{{"text": "{"x" * MEGABYTE}"}}', "gen_ai.tool.call.result": "fine"}
                    pipeline.processor.accept_content(ids.trace_id, ids.span_id, full)
        kept = [entry for entry in pipeline.processor._log.copy() if isinstance(entry, tuple)]
        size = sum(len(value) for entry in kept for value in entry[1].values())
        gate.set()
        assert pipeline.processor.drain(WAIT)
        assert size < 11 * MEGABYTE
        assert len(pipeline.reports) == 20
        found = {f.verdict for report in pipeline.reports for r in report.results if r.check == "arguments" for f in r.findings}
        assert "unparseable" not in found
        assert any("max_total_bytes" in text for report in pipeline.reports for text in missing(report))


def test_a_value_of_ten_megabytes_costs_twice_the_cap_at_most() -> None:
    """What is held of one 10 MB argument is within twice max_value_bytes."""
    with live({"limits": {"max_value_bytes": 10_000}}) as pipeline:
        with pipeline.tracer.start_as_current_span("agent", context=Context(), attributes=AGENT):
            with pipeline.tracer.start_as_current_span("execute_tool t", attributes=tool(output="x" * 10 * MEGABYTE)):
                pass
            assert pipeline.processor.force_flush(20_000)
            spans_bytes = 2 * 1_000
            assert pipeline.processor.health().bytes < 2 * 10_000 + spans_bytes
        assert pipeline.processor.drain(WAIT)
        assert any("max_value_bytes" in text for text in missing(pipeline.reports[0]))


def test_runs_that_never_end_leave_by_capacity_and_are_counted() -> None:
    """Of abandoned runs the newest are open, the oldest have left, graded or counted as dropped, each once."""
    with live({"limits": {"max_open_runs": 50}}) as pipeline:
        abandoned = [pipeline.tracer.start_span("agent", context=Context(), attributes=AGENT) for _ in range(500)]
        assert pipeline.processor.drain(WAIT)
        health = pipeline.processor.health()
        assert health.open_runs == 50
        assert health.started == 450 == health.evaluated + sum(health.dropped.values())
        assert all(any("max_open_runs" in text for text in missing(report)) for report in pipeline.reports)
        assert len(abandoned) == 500


def test_findings_events_and_evidence_are_capped_and_counted() -> None:
    """The evaluation span has at most the events it may have, says how many are left out, worst first, and short evidence."""
    limits = {"max_events_per_span": 20, "max_findings": 40, "max_evidence_chars": 50}
    with live({"limits": limits, "agents": {"a": {"allowed_tools": ["t0"]}}}) as pipeline:
        pipeline.run(tuple(f"Error: {'boom ' * 100}{number}" for number in range(200)))
        assert pipeline.processor.drain(WAIT)
        span = next(s for s in pipeline.exporter.get_finished_spans() if s.name == "evaluate a")
        given = span.attributes or {}
        assert len(span.events) == 20
        assert given["attest.findings.left_out"] == given["attest.findings.total"] - 20  # type: ignore[operator]
        assert {(event.attributes or {})["attest.disposition"] for event in span.events} == {"block"}
        for event in span.events:
            assert len(str((event.attributes or {}).get("attest.evidence", ""))) <= 51


def test_two_hundred_processors_leave_nothing() -> None:
    """Threads, descriptors and objects are back where they were, after processors that graded runs."""
    meters, provider = MeterProvider(shutdown_on_exit=False), TracerProvider(shutdown_on_exit=False)

    def one() -> None:
        processor = AttestSpanProcessor({}, tracer_provider=provider, meter_provider=meters)
        span = TracerProvider(shutdown_on_exit=False)
        span.add_span_processor(processor)
        with span.get_tracer("t").start_as_current_span("agent", context=Context(), attributes=AGENT):
            pass
        assert processor.force_flush(20_000)
        processor.shutdown()

    def count() -> tuple[int, int, int]:
        gc.collect()
        ours = sum(str(type(each).__module__).startswith("attest_otel.live") for each in gc.get_objects())
        return threading.active_count(), len(list(Path("/proc/self/fd").iterdir())), ours

    for _ in range(5):
        one()
    before, receivers = count(), len(content._receivers)
    for _ in range(200):
        one()
    after = count()
    assert after[0] <= before[0]
    assert after[1] <= before[1]
    assert after[2] < before[2] + 100, "half an object kept for each processor would be that many"
    assert len(content._receivers) <= receivers


def _child(method: str, sender: Any) -> None:
    with live() as pipeline:
        pipeline.run()
        assert pipeline.processor.drain(WAIT)
        sender.send((method, len(pipeline.reports), pipeline.processor.health().evaluated))


@pytest.mark.filterwarnings("ignore:.*multi-threaded.*fork:DeprecationWarning")
@pytest.mark.parametrize("method", ["fork", "forkserver", "spawn"])
def test_every_way_to_start_a_process_works(method: str) -> None:
    """A child of each of multiprocessing's ways grades its own run, while its parent's pipeline is at work."""
    with live() as pipeline:
        pipeline.run()
        assert pipeline.processor.drain(WAIT)
        ways: Any = multiprocessing.get_context(method)
        receiver, sender = ways.Pipe(duplex=False)
        child = ways.Process(target=_child, args=(method, sender))
        child.start()
        assert receiver.poll(WAIT)
        assert receiver.recv() == (method, 1, 1)
        child.join(WAIT)
        assert child.exitcode == 0
        pipeline.run()
        assert pipeline.processor.drain(WAIT)
        assert len(pipeline.reports) == 2


@pytest.mark.parametrize("seconds", [0.05, 1.0, 3.0])
def test_a_process_with_a_backlog_ends_with_its_own_code(seconds: float) -> None:
    """A process that ends amid a thousand ungraded runs isn't aborted by a thread of ours: its exit code is its own."""
    program = f"""
        import sys
        from opentelemetry.sdk.trace import TracerProvider
        from attest_otel.live.install import install
        from tests.live.helpers import AGENT, tool
        provider = TracerProvider(shutdown_on_exit=False)
        install(provider, config={{"limits": {{"shutdown_seconds": {seconds}}}}})
        tracer = provider.get_tracer("x")
        for _ in range(1000):
            with tracer.start_as_current_span("agent", attributes=AGENT):
                for number in range(5):
                    tracer.start_span("execute_tool t", attributes=tool(output="Error: a@example.org")).end()
        sys.exit(7)
    """
    done = subprocess.run(
        [sys.executable, "-c", textwrap.dedent(program)], cwd=ROOT, timeout=50, check=False, capture_output=True, text=True
    )
    assert done.returncode == 7, done.stderr
    assert "terminate called" not in done.stderr


def test_an_agents_counters_exist_before_its_first_verdict() -> None:
    """With its first run still open, an agent the settings don't know has a 0 for each verdict, and nobody else has."""
    with live() as pipeline:
        root = pipeline.tracer.start_span("agent", context=Context(), attributes={**AGENT, "gen_ai.agent.name": "new"})
        assert pipeline.processor.drain(WAIT)
        runs = pipeline.metric("attest.runs")
        assert {(dict(labels)["gen_ai.agent.name"], dict(labels)["attest.verdict"]): value for labels, value in runs.items()} == {
            ("new", "pass"): 0,
            ("new", "review"): 0,
            ("new", "block"): 0,
        }
        root.end()
        assert pipeline.processor.drain(WAIT)
        runs = pipeline.metric("attest.runs")
        assert sum(runs.values()) == 1
        assert len([labels for labels in runs if dict(labels)["attest.verdict"] == "block"]) == 1


def test_agents_that_are_made_up_add_a_bounded_number_of_series() -> None:
    """Names beyond the hundredth agent share one series."""
    with live() as pipeline:
        for number in range(150):
            pipeline.tracer.start_span("agent", context=Context(), attributes={**AGENT, "gen_ai.agent.name": f"n{number}"}).end()
        assert pipeline.processor.drain(WAIT)
        agents = {dict(labels)["gen_ai.agent.name"] for labels in pipeline.metric("attest.runs")}
        assert len(agents) <= 101
        assert "_other" in agents


def _die(_now: float) -> None:
    raise SystemExit


@pytest.mark.parametrize("kind", ["worker_restarted", "on_start", "on_end"])
def test_faults_are_metrics_from_zero(kind: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """A dead worker and a failing hook are counted in a metric that was there with 0 before."""

    def value() -> float:
        found = {dict(labels)["error.type"]: number for labels, number in pipeline.metric("attest.processor.faults").items()}
        return found[kind]

    with live() as pipeline:
        assert value() == 0
        break_it: dict[str, Callable[[], None]] = {
            "worker_restarted": lambda: pipeline.processor._worker.call(_die),
            "on_start": lambda: pipeline.processor.on_start(object()),  # type: ignore[arg-type]
            "on_end": lambda: pipeline.processor.on_end(object()),  # type: ignore[arg-type]
        }
        if kind != "worker_restarted":
            monkeypatch.setattr(pipeline.processor, "_log", None)
        break_it[kind]()
        monkeypatch.undo()
        pipeline.run()
        assert pipeline.processor.drain(WAIT)
        assert value() == 1


def test_a_model_that_cannot_keep_up_holds_a_bounded_number_of_runs() -> None:
    """With a judge asleep, runs beyond max_model_runs are settled unchecked at once, reviewed and counted; none is lost."""
    import anyio

    async def asleep(run: Any, report: Any) -> list[Any]:
        await anyio.sleep(600)
        return []

    with live({"limits": {"max_model_runs": 3, "shutdown_seconds": 0.5}}, model_checks=asleep) as pipeline:
        for _ in range(10):
            pipeline.run()
        assert pipeline.processor.force_flush(20_000)
        health = pipeline.processor.health()
        assert health.evaluated == 10
        assert health.faults["model_queue_full"] == 7
        assert len(pipeline.processor._pipeline._model._waiting) == 3  # type: ignore[union-attr]
        turned = [
            r for r in pipeline.reports if any("limits.max_model_runs" in f.reason for one in r.results for f in one.findings)
        ]
        assert len(turned) == 7
        assert {report.verdict for report in turned} == {"review"}


def test_shutdown_from_many_threads_under_load() -> None:
    """Shutdown while agents go on, from eight threads at once: all return in time, and each run is accounted for once."""
    pipeline = Live({"limits": {"shutdown_seconds": 1.0}})
    go_on = threading.Event()

    def agent() -> None:
        while not go_on.is_set():
            pipeline.run()

    agents = [threading.Thread(target=agent) for _ in range(2)]
    for each in agents:
        each.start()
    until = time.monotonic() + WAIT
    while len(pipeline.processor._pipeline._jobs) < 100:
        assert time.monotonic() < until
        time.sleep(0.001)
    began = time.monotonic()
    together(*[pipeline.processor.shutdown] * 8)
    assert time.monotonic() - began < 2.0
    go_on.set()
    for each in agents:
        each.join(WAIT)
    health = pipeline.processor.health()
    ids = [report.run_id for report in pipeline.reports]
    assert len(ids) == len(set(ids))
    assert health.dropped["shutdown"] > 0
    assert health.started == health.evaluated + sum(health.dropped.values())
    assert len(ids) <= health.started
    pipeline.close()


def test_short_texts_are_redacted_once_and_a_hook_is_asked_each_time() -> None:
    """What is remembered of shown texts is bounded and shows the same; with the program's own function nothing is remembered."""
    asked: list[str] = []

    def hook(text: str) -> str:
        asked.append(text)
        return text

    plain, hooked = Redactor(), Redactor(hook=hook)
    texts = [f"mail to a{number}@example.org" for number in range(2 * MAX_REMEMBERED)]
    for _ in range(2):
        assert {plain.show(text, 200) for text in texts} == {Redactor().show(texts[0], 200)}
        assert hooked.show(texts[0], 200) == plain.show(texts[0], 200)
    assert len(asked) == 2
    assert plain._remembered.cache_info().currsize == MAX_REMEMBERED  # type: ignore[attr-defined]
    assert plain.show(texts[0], 5) != plain.show(texts[0], 200)
