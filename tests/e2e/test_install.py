"""`install()` alone sends everything: a program that ends right after its run leaves spans, counts and log events."""

from __future__ import annotations

import subprocess
import sys
import textwrap
import uuid
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import pytest
from opentelemetry._logs import SeverityNumber

from tests.e2e.environment import telemetry_to
from tests.e2e.loopback import eventually
from tests.e2e.stack import Stack
from tests.e2e.stores import find_trace, kept_log_events, wait_for_value

pytestmark = [pytest.mark.e2e, pytest.mark.timeout(180)]

PROGRAM_TIMEOUT_SECONDS = 60
PROGRAM = """
    import attest_otel
    attest_otel.install(config={"export": {"log_events": True}})
    with attest_otel.agent_run("payer", task="look", allowed_tools=["look"]) as run:
        with run.tool_call("pay", '{"amount": 1}', call_id="toolu_1") as call:
            call.output = "paid"
        run.final_answer = "done"
    context = run.span.get_span_context()
    print(f"{context.trace_id:032x} {context.span_id:016x}")
"""


@dataclass(frozen=True, slots=True)
class Sent:
    """The service name of a program that has ended, and the ids of its run's root span."""

    service: str
    trace_id: str
    span_id: str


@pytest.fixture(scope="module", params=["http/protobuf", "grpc"])
def sent(request: pytest.FixtureRequest, stack: Stack) -> Sent:
    """One run of the program over each protocol, its exit waiting for nothing but the exit hooks."""
    service = f"install-{uuid.uuid4().hex[:8]}"
    done = subprocess.run(
        [sys.executable, "-c", textwrap.dedent(PROGRAM)],
        env=telemetry_to(stack, service, request.param),
        capture_output=True,
        text=True,
        timeout=PROGRAM_TIMEOUT_SECONDS,
        check=False,
    )
    assert (done.returncode, done.stderr) == (0, "")
    return Sent(service, *done.stdout.split())


def test_log_events_arrive_in_the_context_of_the_run(stack: Stack, sent: Sent) -> None:
    """The Collector keeps one event a finding, the worst among them, on the evaluated run's own span."""
    events = eventually(lambda: kept_log_events(stack, sent.service), stack.logs)
    assert {event["eventName"] for event in events} == {"gen_ai.evaluation.result"}
    assert {(event["traceId"], event["spanId"]) for event in events} == {(sent.trace_id, sent.span_id)}
    worst = _attributes(next(event for event in events if event["severityNumber"] == SeverityNumber.ERROR.value))
    assert worst["gen_ai.evaluation.score.label"] == "disallowed_tool"
    assert worst["gen_ai.evaluation.score.value"] == 0.0
    assert worst["attest.verdict"] == "block"
    assert worst["gen_ai.tool.call.id"] == "toolu_1"


def test_the_evaluation_and_its_count_arrive_as_well(stack: Stack, sent: Sent) -> None:
    """Trace and metrics of the same program are where they belong."""
    trace = find_trace(stack, sent.service, tags={"attest.verdict": "block"}, spans=3)
    assert trace.trace_id == sent.trace_id
    assert trace.named("evaluate payer").parent_id == sent.span_id
    wait_for_value(stack, f'attest_runs_total{{attest_verdict="block", job="{sent.service}"}}', 1)


def _attributes(event: Mapping[str, Any]) -> dict[str, Any]:
    return {each["key"]: next(iter(each["value"].values())) for each in event["attributes"]}
