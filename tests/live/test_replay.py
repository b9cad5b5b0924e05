"""Real runs, live and from files: the same reports, byte for byte."""

from __future__ import annotations

import json
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export import SimpleSpanProcessor
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter

from attest_otel.grader import Attest
from attest_otel.live.processor import AttestSpanProcessor
from attest_otel.read.files import read_runs
from attest_otel.record.agent_run import agent_run
from attest_otel.report import Report
from attest_otel.trajectory import Trajectory
from tests.live.helpers import WAIT
from tests.live.replay import RecordedIds, replay, write_otlp
from tests.shared import TAUBENCH, needs_taubench


class Pipeline:
    """A provider whose spans are graded live, with recorded ids where a test gives them, and exported in memory."""

    def __init__(self, config: dict[str, Any]) -> None:
        self.reports: list[Report] = []
        self.ids = RecordedIds()
        self.exporter = InMemorySpanExporter()
        self.provider = TracerProvider(id_generator=self.ids, shutdown_on_exit=False)
        self.processor = AttestSpanProcessor(config, tracer_provider=self.provider, on_report=self.reports.append)
        self.provider.add_span_processor(self.processor)
        self.provider.add_span_processor(SimpleSpanProcessor(self.exporter))

    def finish(self) -> list[str]:
        """Wait for every report; return them as JSON, in the order in which they came."""
        assert self.processor.drain(WAIT)
        self.provider.shutdown()
        return [report.to_json() for report in self.reports]


def from_files(paths: Iterable[Path], config: dict[str, Any]) -> list[str]:
    """Return what the command line reports of files."""
    attest = Attest(config)
    found = []
    for result in read_runs(paths):
        assert result.run is not None, result.error
        found.append(attest.evaluate(result.run, checks=attest.default_checks()).to_json())
    return found


@needs_taubench
def test_recorded_spans_live_and_from_the_file() -> None:
    """Forty real runs, lived through again as spans of the SDK, get the reports that their file gets."""
    path = TAUBENCH / "traces.otlp.jsonl"
    pipeline = Pipeline({})
    for line in path.read_text(encoding="utf-8").splitlines():
        replay(pipeline.provider, pipeline.ids, json.loads(line))
    reports = pipeline.finish()
    assert len(reports) == 40
    assert sorted(reports) == sorted(from_files([path], {}))


def record(run: Trajectory) -> None:
    """Let an agent's loop make the calls of a run, through the recorder."""
    with agent_run(
        run.agent or "agent",
        task=run.task,
        system_prompt=run.system_prompt,
        tools=run.tools,
        allowed_tools=run.allowed_tools,
        tool_fallbacks=run.tool_fallbacks,
        conversation_id=run.conversation_id,
        case_id=run.case_id,
    ) as recorded:
        for step in run.steps:
            if step.tool_call is None:
                continue
            given = step.tool_call
            with recorded.tool_call(given.name, given.arguments_raw, call_id=given.id, arguments=given.arguments) as call:
                call.output, call.is_error = given.output, given.is_error
        recorded.final_answer = run.final_answer


def exported(pipeline: Pipeline, path: Path) -> Path:
    """Write what the pipeline exported, the evaluation spans too, as one OTLP file."""
    write_otlp(path, pipeline.exporter.get_finished_spans())
    return path


@needs_taubench
def test_recorded_live_and_from_the_exported_trace(tmp_path: Path) -> None:
    """Runs recorded live with full capture, exported as OTLP, get the reports from the file that they got live."""
    runs = [result.run for result in read_runs([TAUBENCH / "runs.jsonl"])]
    config = {"capture": "full"}
    pipeline = Pipeline(config)
    for run in runs:
        assert run is not None
        record(run)
    live = pipeline.finish()
    assert len(live) == 40
    assert sorted(live) == sorted(from_files([exported(pipeline, tmp_path / "traces.json")], config))


@needs_taubench
def test_recorded_live_and_from_the_run_file(tmp_path: Path) -> None:
    """The same runs get the reports that the run file gets, but for the run's id."""
    path = TAUBENCH / "runs.jsonl"
    pipeline = Pipeline({})
    runs = [result.run for result in read_runs([path])]
    for run in runs:
        assert run is not None
        record(run)
    live = [json.loads(line) for line in pipeline.finish()]
    files = [json.loads(line) for line in from_files([path], {})]
    for report in (*live, *files):
        del report["run_id"]
    assert live == files
