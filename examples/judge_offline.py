"""Grade a run with the grading model's checks, offline: a loopback server stands in for the model.

The client, the budgets and the prompts are the real ones; only the answers come from the table below.
In your own tests the same lines let you grade runs at no cost and with the same result every time.

    python examples/judge_offline.py
"""

from __future__ import annotations

import json
import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from attest_otel import Attest, Report, Trajectory
from attest_otel.judge.scripted import Said, scripted_replies
from attest_otel.testing import MessagesServer

RUN = Path(__file__).parent / "runs" / "refund.json"


def answer(kind: str, item: Mapping[str, Any]) -> Said:
    """Answer one item of one question as a careful reader of refund.json would."""
    if kind.startswith("faithfulness"):
        return (
            ("supported", '"charge_id": "CH-77"') if "CH-77" in item["claim"] else ("supported", "the mail server did not answer")
        )
    if kind == "actions.claims":
        return "made" if "charged" in item["sentence"] else "no_action"
    if kind == "tool_use.choice":
        return "reasonable"
    if kind == "tool_use.answer":
        return "acknowledged", "I could not send the receipt"
    return "in_scope"


def claim_kind(sentence: str) -> str:
    """Say whether a sentence of the answer claims an action or a fact."""
    return "action" if sentence.startswith("I ") else "fact"


def server() -> MessagesServer:
    """Return the server that answers from the table."""
    return MessagesServer(scripted_replies(answer, claim_kind))


def use(base_url: str) -> None:
    """Point the grading model's client at the server, past any proxy."""
    os.environ.update(ANTHROPIC_BASE_URL=base_url, ANTHROPIC_API_KEY="offline")
    for name in ("HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY"):
        os.environ.pop(name, None)
        os.environ.pop(name.lower(), None)


def grade() -> tuple[Report, int]:
    """Return the report, and how many questions it took."""
    run = Trajectory.model_validate(json.loads(RUN.read_text(encoding="utf-8")))
    with server() as model:
        use(model.base_url)
        attest = Attest({"judge": {}})
        report = attest.evaluate(run, checks=attest.default_checks())
        return report, len(model.requests)


def main() -> None:
    """Print what each check says, and the verdict."""
    report, questions = grade()
    for result in report.results:
        score = "     " if result.score is None else f"{result.score:.3f}"
        print(f"{result.check:13} {score}  {result.summary}")
    for finding in report.findings():
        if finding.subject and finding.verdict in ("supported", "unsupported", "unverifiable"):
            print(f"  {finding.verdict}: {finding.subject}\n    evidence: {finding.evidence}")
    print(f"verdict: {report.verdict} ({questions} questions to the grading model)")


if __name__ == "__main__":
    main()
