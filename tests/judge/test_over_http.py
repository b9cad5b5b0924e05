"""The checks through the real client, over HTTP, against the loopback Messages server."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import pytest

from attest_otel import Attest, Report, Trajectory
from attest_otel.config import CheckName
from attest_otel.judge.scripted import Said, scripted_replies
from attest_otel.testing import Failure, MessagesServer, RawReply, Reply, Wire

CHECKS: list[CheckName] = ["tool_use", "faithfulness", "role"]
RUN = Trajectory.model_validate(
    {
        "id": "r",
        "task": "Pay 7 euro.",
        "system_prompt": "You pay.",
        "final_answer": "I could not pay 7 euro.",
        "steps": [
            {
                "thought": "HIDDEN",
                "tool_call": {"name": "pay", "arguments_raw": "{}", "output": "Error: declined, 7 euro"},
            }
        ],
    }
)


def truth(kind: str, _item: Mapping[str, Any]) -> Said:
    """What a careful reader says of the run."""
    if kind == "tool_use.answer":
        return "acknowledged", "could not pay"
    return ("supported", "declined, 7 euro") if kind.startswith("faithfulness") else "in_scope"


@pytest.fixture(autouse=True)
def _key(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ANTHROPIC_API_KEY", "test-key")
    for name in ("HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY", "http_proxy", "https_proxy", "all_proxy"):
        monkeypatch.delenv(name, raising=False)


def graded(script: Callable[[dict[str, Any]], Any], **settings: Any) -> tuple[Report, list[dict[str, Any]]]:
    """The report, and the requests that were sent."""
    with MessagesServer(script) as server:
        config = {"judge": {"base_url": server.base_url, "max_retries": 0, "timeout_seconds": 2.0, **settings}}
        report = Attest(config).evaluate(RUN, checks=CHECKS)
        return report, [request.json or {} for request in server.requests]


def test_a_truthful_model() -> None:
    """Three checks, four questions, and a run that passes."""
    report, requests = graded(scripted_replies(truth))
    assert [f.verdict for f in report.findings()] == ["correct", "supported", "in_scope"]
    assert report.verdict == "pass"
    assert len(requests) == 4
    assert "HIDDEN" not in json.dumps(requests)


def test_the_same_run_gives_the_same_bytes() -> None:
    """Whatever the boundary and the server's address."""
    assert len({graded(scripted_replies(truth))[0].to_json() for _ in range(3)}) == 1


@pytest.mark.parametrize(
    "answer",
    [
        Failure(400),
        Failure(500),
        Failure(429),
        Reply("not JSON"),
        Reply('{"answers": []}'),
        Reply('{"answers": "yes", "claims": 7}'),
        Reply('{"answers": [{"item": "I1", "answer": "perfect", "reason": "", "quote": ""}]}'),
        Reply('{"answers": [', stop_reason="max_tokens"),
        RawReply("<html>"),
        Reply("late", wire=Wire(delay_seconds=5.0)),
        Reply("cut", wire=Wire(cut_after_bytes=20)),
    ],
    ids=["400", "500", "429", "text", "empty", "types", "off_menu", "truncated", "html", "late", "cut"],
)
def test_what_is_no_answer_is_unchecked(answer: Any) -> None:
    """Errors, time-outs, cut and off-menu answers: unchecked with a limit, and never a pass."""
    report, _ = graded(lambda _request: answer, timeout_seconds=0.3)
    assert report.verdict == "review"
    for result in report.results:
        found = result.findings[0]
        assert found.verdict == "unchecked" or found.metadata["recovery"] == "unchecked"
        assert found.metadata["limit"], result.check


def test_a_budget_is_named() -> None:
    """After the first call the rest is unchecked and says why."""
    report, requests = graded(scripted_replies(truth), max_calls_per_run=1)
    assert len(requests) == 1
    assert [f.metadata.get("limit") for f in report.findings()] == [None, "budget", "budget"]


def test_recorded_once_and_replayed_for_nothing(tmp_path: Path) -> None:
    """A run graded with a model is graded again from the recording: no request, the same bytes."""
    recording = str(tmp_path / "judge.jsonl")
    first, requests = graded(scripted_replies(truth), record=recording)
    again = Attest({"judge": {"replay": recording}}).evaluate(RUN, checks=CHECKS)
    assert len(requests) == 4
    assert again.to_json() == first.to_json()


def test_the_cache_spares_equal_questions() -> None:
    """The same run twice asks once: the random boundary is no part of a question's key."""
    with MessagesServer(scripted_replies(truth)) as server:
        attest = Attest({"judge": {"base_url": server.base_url, "timeout_seconds": 2.0}})
        reports = {attest.evaluate(RUN, checks=CHECKS).to_json() for _ in range(3)}
        assert len(reports) == 1
        assert len(server.requests) == 4
