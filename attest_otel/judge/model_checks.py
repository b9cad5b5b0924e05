"""Which questions a run's results leave to the grading model, and what its answers make of the results.

The model settles what waited for it (an error whose answer nobody read, a rule asked in words, a
suspicious output) and adds what only it can say (faithfulness, role, actions in other words). It can add
severity; a finding that a deterministic check made with severity fail stays, whatever the model says
(property 27). Checks run one after another, so that a budget runs out at the same place every time;
the questions of one check run at once.
"""

from __future__ import annotations

import math
from collections.abc import Awaitable, Callable, Iterable, Sequence

import anyio

from attest_otel.checks import faithfulness, role, tool_use, unchecked
from attest_otel.checks.faithfulness import AnswerKind
from attest_otel.checks.view import RunView
from attest_otel.config import CheckName
from attest_otel.findings import CheckResult, make_finding, make_result
from attest_otel.judge.action_claims import read_actions
from attest_otel.judge.asking import Asker
from attest_otel.judge.boundary import Boundary, random_boundary
from attest_otel.judge.deep import ask_rules, deepen_injection
from attest_otel.judge.prompts import ANSWER_READING, TOOL_CHOICE
from attest_otel.judge.question import Answer, JudgeSession, Question
from attest_otel.judge.readings import combine, read_answers, read_choices

MODEL_ORDER: tuple[CheckName, ...] = ("tool_use", "injection", "policy", "actions", "faithfulness", "role")
"""The checks with questions for a model, the most telling first: a budget may end before the last."""

LATE = "the grading model did not answer in time"


async def run_model_checks(
    view: RunView,
    results: Sequence[CheckResult],
    session: JudgeSession,
    *,
    checks: Iterable[CheckName],
    answer_kind: AnswerKind = "factual",
    extract_artifacts: bool = False,
    allow_paths: bool = False,
    boundary: Boundary = random_boundary,
    deadline_seconds: float | None = None,
) -> list[CheckResult]:
    """Ask the model what the results leave open; return the results that changed and the new ones.

    Args:
        view: the run.
        results: what the deterministic checks found.
        session: the run's questions, under its budget.
        checks: the checks that were asked for.
        answer_kind: what counts as supported for faithfulness.
        extract_artifacts: also read binary artifacts as evidence.
        allow_paths: also read artifacts given by path.
        boundary: draws the boundary of each question.
        deadline_seconds: what is not answered by then is unchecked; None waits for the session's own limits.
    """
    asker = Asker(session, len(view.calls), boundary)
    known = {result.check: result for result in results}
    wanted = set(checks)
    jobs: dict[CheckName, Callable[[], Awaitable[CheckResult | None]]] = {
        "tool_use": lambda: grade_tool_use(view, asker, check_answer=True),
        "injection": lambda: _if_known(known.get("injection"), lambda found: deepen_injection(view, found, asker)),
        "policy": lambda: _if_known(known.get("policy"), lambda found: ask_rules(view, found, asker)),
        "actions": lambda: read_actions(view, known.get("actions"), asker),
        "faithfulness": lambda: faithfulness.check(view, asker, answer_kind, extract=extract_artifacts, allow_paths=allow_paths),
        "role": lambda: role.check(view, asker),
    }
    found: list[CheckResult] = []
    ends = anyio.current_time() + deadline_seconds if deadline_seconds is not None else None
    for name in MODEL_ORDER:
        if name in wanted:
            made = await _in_time(name, jobs[name], ends)
            if made is not None and made is not known.get(name):
                found.append(made)
    return merge_steered(found, known.get("injection"), asker.steered)


async def grade_tool_use(view: RunView, asker: Asker, *, check_answer: bool = False, appropriate: bool = False) -> CheckResult:
    """Return the tool-use result with what the model read of the answer and of each choice of tool."""
    answers = await read_answers(view, asker) if check_answer else {}
    choices = await read_choices(view, asker) if appropriate else {}
    result = tool_use.check(view, combine(answers, choices))
    limits = {
        view.calls[i].step: r.limit for replies in (answers, choices) for i, r in replies.items() if r.answer is None and r.limit
    }
    findings = [
        f.model_copy(update={"metadata": {**f.metadata, "limit": limits[f.step]}}) if f.step in limits else f
        for f in result.findings
    ]
    versions = {p.kind: p.version for p, asked in ((ANSWER_READING, answers), (TOOL_CHOICE, choices)) if asked}
    metadata = {**result.metadata, "prompt_versions": versions} if versions else result.metadata
    return result.model_copy(update={"findings": findings, "metadata": metadata})


async def tool_use_with_model(view: RunView, session: JudgeSession | None, *, appropriate: bool) -> CheckResult:
    """Return the tool-use result with the answer read and, if asked, each choice of tool; without a session, unchecked."""
    asker = Asker(session or NoModel(), len(view.calls))
    result = await grade_tool_use(view, asker, check_answer=True, appropriate=appropriate)
    if not asker.steered:
        return result
    reason = "Text of the run swayed the grading model, so its answers count for nothing."
    metadata = {"checked": False, "questions": sorted(set(asker.steered))}
    finding = make_finding("tool_use", "fail", "unchecked", reason, subject="grading model", metadata=metadata)
    return make_result(
        "tool_use",
        [*result.findings, finding],
        f"{result.summary} {reason}",
        score=result.score,
        metadata=result.metadata,
    )


class NoModel:
    """The session where there is no grading model: nothing is asked, and the answer says so."""

    async def ask(self, question: Question) -> Answer:
        """Return no answer."""
        return Answer(None, "no grading model is configured", "no_model")


def merge_steered(found: Sequence[CheckResult], known: CheckResult | None, steered: Sequence[str]) -> list[CheckResult]:
    """Return the results with one more `compromised` finding where text of the run swayed the model itself."""
    if not steered:
        return list(found)
    before = next((result for result in found if result.check == "injection"), known)
    reason = "Text of the run made the grading model answer a control question wrong that it answers right without that text."
    metadata = {
        "questions": sorted(set(steered)),
        "effect": {"kind": "grading_model", "step": None, "words": None},
    }
    finding = make_finding("injection", "fail", "compromised", reason, subject="grading model", metadata=metadata)
    findings = [*(before.findings if before is not None else ()), finding]
    result = make_result("injection", findings, reason, score=None, metadata=before.metadata if before is not None else None)
    return [*(one for one in found if one.check != "injection"), result]


async def _if_known(found: CheckResult | None, ask: Callable[[CheckResult], Awaitable[CheckResult]]) -> CheckResult | None:
    return None if found is None else await ask(found)


async def _in_time(name: CheckName, job: Callable[[], Awaitable[CheckResult | None]], ends: float | None) -> CheckResult | None:
    """Return what a check came to; one that fails or is late is a finding that says so (property 25)."""
    late = unchecked(name, LATE, {"limit": "timeout"})
    if ends is not None and anyio.current_time() >= ends:
        return late
    try:
        with anyio.CancelScope(deadline=math.inf if ends is None else ends):
            return await job()
    except Exception as error:  # noqa: BLE001  # a faulty check must not cost the run its other findings
        return unchecked(name, f"asking the grading model failed: {type(error).__name__}", {"limit": "error"})
    return late
