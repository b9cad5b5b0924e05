"""A dispatched call outside every run of ours carries what its tool is registered as, so that it is graded alike."""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextvars import Context as Variables
from pathlib import Path
from typing import Any

import pytest
from opentelemetry.context import Context

from attest_otel.config import CheckName
from attest_otel.grader import Attest
from attest_otel.read.files import read_runs
from attest_otel.record.agent_run import agent_run
from attest_otel.record.dispatcher import traced_dispatcher
from attest_otel.record.tools import Tools
from attest_otel.report import Report
from attest_otel.trajectory import Tool
from tests.live.helpers import AGENT, Live, tool
from tests.live.replay import write_otlp
from tests.reliability.helpers import drained, recorded, trajectories, verdicts

SCHEMA = {"type": "object", "properties": {"n": {"type": "integer"}}, "required": ["n"]}
TOOLS = Tools(
    [
        Tool(name="refund", input_schema=SCHEMA, side_effecting=True),
        Tool(name="lookup", input_schema=SCHEMA, side_effecting=False),
    ]
)
CHECKS: list[CheckName] = ["arguments", "repetition"]


@pytest.fixture(params=["full", "redacted"])
def pipeline(request: Any) -> Iterator[Live]:
    """A live pipeline that the recorder writes to."""
    with recorded({"checks": CHECKS}, capture=request.param) as found:
        yield found


def dispatch(name: str, arguments: str) -> Any:
    """Call a tool where no run is known."""
    traced = traced_dispatcher(lambda name, arguments: "fine", tools=TOOLS)
    return Variables().run(traced, name, arguments)


def from_file(pipeline: Live, path: Path) -> list[Report]:
    """Write every span down as the Collector's file exporter does, and grade what is read."""
    write_otlp(path, [span for span in pipeline.exporter.get_finished_spans() if not span.name.startswith("evaluate")])
    runs = [result.run for result in read_runs([path])]
    return [Attest().evaluate(run, checks=CHECKS) for run in runs if run is not None]


CALLS = [
    ("refund", '{"n": 1}', ["valid"]),
    ("refund", '{"n": "x"}', ["schema_invalid"]),
    ("refund", "{}", ["schema_invalid"]),
    ("refund", '{"n": 1.0}', ["type_mismatch"]),
    ("refnud", '{"n": 1}', ["unknown_tool"]),
]


@pytest.mark.parametrize(("name", "arguments", "expected"), CALLS)
def test_an_orphans_arguments_are_held_against_its_tools_schema(
    pipeline: Live, tmp_path: Path, name: str, arguments: str, expected: list[str]
) -> None:
    """Live and from a file, as inside a run: the same verdicts."""
    dispatch(name, arguments)
    (report,) = drained(pipeline)
    assert verdicts(report, "arguments") == expected
    (read,) = from_file(pipeline, tmp_path / "spans.json")
    assert verdicts(read, "arguments") == expected
    with agent_run("a", task="t", tools=TOOLS):
        traced_dispatcher(lambda name, arguments: "fine", tools=TOOLS)(name, arguments)
    assert verdicts(drained(pipeline)[-1], "arguments") == expected


def test_a_dispatcher_without_tools_declares_nothing(pipeline: Live) -> None:
    """Nothing is unknown where nothing was registered."""
    Variables().run(traced_dispatcher(lambda name, arguments: "fine"), "refund", "{}")
    (report,) = drained(pipeline)
    assert verdicts(report, "arguments") == ["valid"]


def test_a_call_inside_a_run_leaves_the_tools_to_the_run(pipeline: Live) -> None:
    """One list a run, on its own span; the tool's span doesn't repeat it."""
    with agent_run("a", task="t"):
        traced_dispatcher(lambda name, arguments: "fine", tools=TOOLS)("refund", '{"n": "x"}')
    (report,) = drained(pipeline)
    assert verdicts(report, "arguments") == ["schema_invalid"]
    (span,) = [span for span in pipeline.exporter.get_finished_spans() if span.name == "execute_tool refund"]
    assert "attest.tools" not in (span.attributes or {})


def test_a_foreign_agents_calls_carry_them_too(pipeline: Live) -> None:
    """Below somebody else's agent: ours are checked, theirs are not unknown, and a declared effect is one."""
    runs = trajectories(pipeline)
    with pipeline.tracer.start_as_current_span("agent", context=Context(), attributes=AGENT):
        with pipeline.tracer.start_as_current_span("execute_tool theirs", attributes=tool("theirs")):
            pass
        for arguments in ('{"n": "x"}', '{"n": 1}', '{"n": 1}'):
            traced_dispatcher(lambda name, arguments: "fine", tools=TOOLS)("refund", arguments)
    (report,) = drained(pipeline)
    assert verdicts(report, "arguments") == ["schema_invalid", "valid", "valid", "valid"]
    assert "repeated_side_effect" in verdicts(report, "repetition")
    declared = {found.name: found.side_effecting for found in runs[0].tools or ()}
    assert declared == {"refund": True, "theirs": None}


def test_what_a_foreign_agent_registers_stays_the_list(pipeline: Live) -> None:
    """A tool that neither the agent nor the dispatcher registers is unknown."""
    theirs = json.dumps([{"type": "function", "name": "theirs", "parameters": SCHEMA}])
    marks = {**AGENT, "gen_ai.tool.definitions": theirs}
    with pipeline.tracer.start_as_current_span("agent", context=Context(), attributes=marks):
        for name in ("theirs", "others"):
            with pipeline.tracer.start_as_current_span(f"execute_tool {name}", attributes=tool(name)):
                pass
        traced_dispatcher(lambda name, arguments: "fine", tools=TOOLS)("refund", '{"n": 1}')
    (report,) = drained(pipeline)
    assert verdicts(report, "arguments") == ["schema_invalid", "unknown_tool", "valid"]


def test_only_our_own_recorder_declares_on_a_tools_span(pipeline: Live) -> None:
    """The same attribute on a stranger's span registers nothing."""
    marks = tool("lookup", **{"attest.tools": json.dumps([{"name": "other", "side_effecting": False}])})
    with pipeline.tracer.start_as_current_span("execute_tool lookup", context=Context(), attributes=marks):
        pass
    (report,) = drained(pipeline)
    assert verdicts(report, "arguments") == ["valid"]


def test_capture_off_shows_no_definition() -> None:
    """What spans may not show of the arguments they don't show of the tools, and the checks see all the same."""
    with recorded({"checks": CHECKS}, capture="off") as pipeline:
        dispatch("refund", '{"n": "x"}')
        (report,) = drained(pipeline)
        assert verdicts(report, "arguments") == ["schema_invalid"]
        (span,) = [span for span in pipeline.exporter.get_finished_spans() if span.name == "execute_tool refund"]
        assert "attest.tools" not in (span.attributes or {})
