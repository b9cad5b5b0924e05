"""The whole path: `attest-otel demo` runs against the real stack, and its blocked run is found in the stores."""

from __future__ import annotations

import subprocess
import sysconfig
import uuid
from dataclasses import dataclass
from pathlib import Path

import pytest

from tests.e2e.environment import telemetry_to
from tests.e2e.stack import Stack
from tests.e2e.stores import StoredTrace, find_trace, wait_for_value

pytestmark = [pytest.mark.e2e, pytest.mark.timeout(180)]

COMMAND = Path(sysconfig.get_path("scripts")) / "attest-otel"
DEMO_TIMEOUT_SECONDS = 60
REFUND_ARGUMENTS = '{"order_id": "ORD-448192", "amount_cents": 42}'


@dataclass(frozen=True, slots=True)
class Demo:
    """What one run of the demo printed, and the service name it ran under."""

    service: str
    exit_code: int
    output: str


@pytest.fixture(scope="module", params=["http/protobuf", "grpc"])
def demo(request: pytest.FixtureRequest, stack: Stack) -> Demo:
    """One run of the demo over each protocol, sent to the Collector."""
    service = f"demo-{uuid.uuid4().hex[:8]}"
    environment = telemetry_to(stack, service, request.param)
    done = subprocess.run(
        [COMMAND, "demo"],
        env=environment,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        timeout=DEMO_TIMEOUT_SECONDS,
        check=False,
    )
    return Demo(service, done.returncode, done.stdout)


@pytest.fixture(scope="module")
def trace(stack: Stack, demo: Demo) -> StoredTrace:
    """The demo's trace, found by its verdict."""
    assert demo.exit_code == 0, demo.output
    try:
        return find_trace(stack, demo.service, tags={"attest.verdict": "block"}, spans=5)
    except AssertionError as error:
        raise AssertionError(f"{error}\n--- what the demo printed\n{demo.output}") from error


def test_the_demo_says_block(demo: Demo) -> None:
    """The demo ends well, since its agent's run being blocked is what it shows, and says so."""
    assert demo.exit_code == 0, demo.output
    assert "block" in demo.output


def test_the_trace_holds_the_agent_span(trace: StoredTrace) -> None:
    """The run's root is the agent span, and everything else is below it."""
    root = trace.named("invoke_agent refund-agent")
    assert root.attributes["gen_ai.operation.name"] == "invoke_agent"
    assert root.attributes["gen_ai.agent.name"] == "refund-agent"
    assert [span.name for span in trace.spans if span.parent_id is None] == [root.name]


def test_the_trace_holds_the_raw_arguments(trace: StoredTrace) -> None:
    """The refund's arguments arrive as the model wrote them, to the character."""
    refund = trace.named("execute_tool issue_refund")
    assert refund.attributes["gen_ai.tool.call.arguments"] == REFUND_ARGUMENTS


def test_the_trace_holds_the_other_calls(trace: StoredTrace) -> None:
    """The disallowed call is there with its arguments, and the failed mail with what the tool answered.

    The tool told its failure in words and raised nothing, so its span has no error status; the evaluation has it.
    """
    cancelled = trace.named("execute_tool cancel_order")
    mailed = trace.named("execute_tool send_email")
    assert cancelled.attributes["gen_ai.tool.call.arguments"] == '{"order_id": "ORD-448192"}'
    assert mailed.attributes["gen_ai.tool.call.result"].startswith("Error: the mail server did not answer")


def test_the_evaluation_says_what_went_wrong(trace: StoredTrace) -> None:
    """The evaluation span is a child of the agent span, failed, with one event for each finding, worst first."""
    evaluation = trace.named("evaluate refund-agent")
    assert evaluation.parent_id == trace.named("invoke_agent refund-agent").span_id
    assert evaluation.attributes["attest.verdict"] == "block"
    assert evaluation.is_error
    assert {event.name for event in evaluation.events} == {"gen_ai.evaluation.result"}
    dispositions = [event.attributes["attest.disposition"] for event in evaluation.events]
    assert dispositions == sorted(dispositions, key=["block", "review", "pass"].index)
    found = {
        (event.attributes.get("gen_ai.tool.name"), event.attributes["gen_ai.evaluation.score.label"]): event
        for event in evaluation.events
    }
    assert found["cancel_order", "disallowed_tool"].attributes["attest.disposition"] == "block"
    assert found["issue_refund", "wrong_argument"].attributes["attest.disposition"] == "block"
    assert found["issue_refund", "wrong_argument"].attributes["attest.evidence"] == REFUND_ARGUMENTS
    assert found["send_email", "error_silent"].attributes["attest.disposition"] == "review"


def test_the_block_is_counted(stack: Stack, demo: Demo, trace: StoredTrace) -> None:
    """The blocked run is one run in Prometheus, and the other verdicts exist with none."""
    for verdict, runs in (("block", 1), ("review", 0), ("pass", 0)):
        wait_for_value(stack, f'attest_runs_total{{attest_verdict="{verdict}", job="{demo.service}"}}', runs)
