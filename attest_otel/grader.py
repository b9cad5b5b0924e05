"""The grader: a run record in, a report out.

`Attest` holds the settings and the grading model; `evaluate` runs checks over one run and applies
the verdict policy. Without a grading model it is a pure function of the run and the settings: no
clock, no I/O. An `Attest` may be shared between threads. The grading model is the one given as
`judge=`, else what the settings describe, else Anthropic's where `ANTHROPIC_API_KEY` is set.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable, Sequence
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from attest_otel.cases import Case
from attest_otel.checks import DETERMINISTIC, NEEDS_MODEL, ORDER, run_deterministic, tool_use, unchecked
from attest_otel.checks.view import RunView
from attest_otel.config import AttestConfig, CheckName, resolve_config
from attest_otel.config_checks import warn_once
from attest_otel.errors import ConfigError
from attest_otel.findings import CheckResult
from attest_otel.judge.judges import Judges, run_async
from attest_otel.merging import is_suspicious, merge_results
from attest_otel.redaction import Redactor
from attest_otel.redaction.results import redact_run
from attest_otel.report import Report, make_report
from attest_otel.suggestions import unknown
from attest_otel.trajectory import Trajectory
from attest_otel.verdict import VerdictPolicy
from attest_otel.vocabulary import ASKS_MODEL

if TYPE_CHECKING:
    from opentelemetry.trace import SpanContext

    from attest_otel.judge.question import Judge

AnswerKind = Literal["factual", "plan", "code", "auto"]
NO_MODEL = "no grading model is configured"


class Attest:
    """Grades runs.

    Args:
        config: settings, a path to attest.yaml, or a mapping; None reads the file `ATTEST_CONFIG` names.
        verdict_policy: takes the place of the configuration's.
        judge: the grading model, in place of the one the settings or the environment give.
        extract_artifacts: also read binary artifacts as evidence, within size limits.
        allow_paths: also read artifacts given by path.

    Raises:
        ConfigError: the settings cannot be used.
    """

    def __init__(
        self,
        config: AttestConfig | str | Path | dict[str, Any] | None = None,
        *,
        verdict_policy: VerdictPolicy | None = None,
        judge: Judge | None = None,
        extract_artifacts: bool = False,
        allow_paths: bool = False,
    ) -> None:
        self.config = resolve_config(config)
        self.redactor = Redactor(self.config.redaction)
        self.policy = verdict_policy or self.config.verdict_policy
        self.judges = Judges(judge, self.config.judge)
        unasked = [] if self.judges.configured else [name for name in self.config.checks or () if name in NEEDS_MODEL]
        asked = ", ".join(unasked)
        if not self.default_checks():
            raise ConfigError(f"checks: {asked} needs a grading model, so nothing would be graded: describe one under judge")
        if unasked:
            warn_once(f"checks: {asked} needs a grading model and is not run: describe one under judge")
        self.extract_artifacts = extract_artifacts
        self.allow_paths = allow_paths
        self._hashes: dict[tuple[str | None, bool], str] = {}
        self._cases = {name: _by_id(agent.cases) for name, agent in self.config.agents.items()}

    def evaluate(self, run: Trajectory, checks: Iterable[CheckName] | None = None, answer_kind: AnswerKind = "factual") -> Report:
        """Grade a run; asks the grading model where there is one, and then waits for it.

        Args:
            run: the run record.
            checks: names of checks; by default faithfulness and tool_use, and policy where there are rules.
            answer_kind: what counts as supported for faithfulness.
        """
        names = self._names(run, checks)
        if self._asks(names, default=checks is None):
            return run_async(partial(self.aevaluate, run, checks, answer_kind))
        view = self.view(run)
        return self.report(run, [*run_deterministic(view, names), *_no_model(names)])

    async def aevaluate(
        self, run: Trajectory, checks: Iterable[CheckName] | None = None, answer_kind: AnswerKind = "factual"
    ) -> Report:
        """Do the same in an event loop (asyncio or trio); the grading model's questions don't block it."""
        names = self._names(run, checks)
        view = self.view(run)
        results = run_deterministic(view, names)
        if not self._asks(names, default=checks is None):
            return self.report(run, [*results, *_no_model(names)])
        async with self.judges.judge() as judge:
            if judge is None:
                return self.report(run, [*results, *_no_model(names)])
            return self.report(run, merge_results(results, await self.ask_model(view, results, judge, names, answer_kind)))

    async def ask_model(
        self,
        view: RunView,
        results: Sequence[CheckResult],
        judge: Judge,
        checks: Iterable[CheckName],
        answer_kind: AnswerKind = "factual",
        *,
        root: SpanContext | None = None,
        deadline_seconds: float | None = None,
    ) -> list[CheckResult]:
        """Return the results that the grading model adds or changes; `root` is the span its questions link to."""
        from attest_otel.judge.model_checks import run_model_checks  # noqa: PLC0415  # the prompts are read where a model is asked

        session = judge.session(view.run.id, root, suspicious=is_suspicious(results))
        return await run_model_checks(
            view,
            results,
            session,
            checks=checks,
            answer_kind=answer_kind,
            extract_artifacts=self.extract_artifacts,
            allow_paths=self.allow_paths,
            deadline_seconds=deadline_seconds,
        )

    def tool_use(self, run: Trajectory, *, appropriate: bool = False, check_answer: bool = False) -> CheckResult:
        """Grade a run's tool calls.

        Args:
            run: the run record.
            appropriate: also ask the grading model whether each tool was a reasonable choice.
            check_answer: let it read the final answer for errors that nothing recovered; `appropriate` does too.
        """
        view = self.view(run)
        if not (appropriate or check_answer):
            return self._applied(run, tool_use.check(view))
        return self._applied(run, run_async(partial(self._read_tool_use, view, appropriate)))

    def view(self, run: Trajectory) -> RunView:
        """Return the run as the checks read it, with the case it names."""
        return RunView(run, self.config, self._case(run))

    def report(self, run: Trajectory, results: Sequence[CheckResult], *, revision: int = 0) -> Report:
        """Return the report that the policy makes of a run's results, redacted: the same wherever it goes."""
        ordered = sorted(results, key=lambda result: _position(result.check))
        shown = redact_run(run, self.policy.apply(ordered), self.redactor)
        return make_report(
            shown.results,
            run_id=shown.run_id,
            agent=shown.agent,
            case_id=shown.case_id,
            incomplete=shown.incomplete,
            revision=revision,
            policy_hash=self.policy_hash(run.agent, asked=any("prompt_versions" in result.metadata for result in results)),
        )

    def deterministic_checks(self) -> tuple[CheckName, ...]:
        """Return the checks a live run or the command line runs without a model."""
        wanted = self.config.checks
        return DETERMINISTIC if wanted is None else tuple(name for name in DETERMINISTIC if name in wanted)

    def default_checks(self) -> tuple[CheckName, ...]:
        """Return every check that can run here: the model's too where a grading model is given or described.

        A key in the environment alone adds none: it may be there for the agent.
        """
        if not self.judges.configured:
            return self.deterministic_checks()
        wanted = self.config.checks
        return ORDER if wanted is None else tuple(name for name in ORDER if name in wanted)

    def policy_hash(self, agent: str | None, *, asked: bool = False) -> str:
        """Return a short hash of the policy and the rules that grade this agent, and of the prompts where a model is asked."""
        asked = asked or self.judges.configured
        key = (agent if agent in self.config.agents else "*", asked)
        if key not in self._hashes:
            rules = [rule.model_dump() for rule in self.config.agent(agent).rules]
            text = json.dumps([self.policy.model_dump(), rules, *([_prompt_versions()] if asked else [])], sort_keys=True)
            self._hashes[key] = hashlib.blake2b(text.encode(), digest_size=8).hexdigest()
        return self._hashes[key]

    def _applied(self, run: Trajectory, result: CheckResult) -> CheckResult:
        return redact_run(run, self.policy.apply([result]), self.redactor).results[0]

    def _asks(self, names: set[CheckName], *, default: bool) -> bool:
        """Whether the model is asked: the environment's key counts for the default checks and those that can't do without."""
        if self.judges.configured:
            return not names.isdisjoint(ASKS_MODEL)
        return self.judges.available and (default or not names.isdisjoint(NEEDS_MODEL))

    async def _read_tool_use(self, view: RunView, appropriate: bool) -> CheckResult:
        from attest_otel.judge.model_checks import tool_use_with_model  # noqa: PLC0415

        async with self.judges.judge() as judge:
            session = judge.session(view.run.id, suspicious=True) if judge is not None else None
            return await tool_use_with_model(view, session, appropriate=appropriate)

    def _case(self, run: Trajectory) -> Case | None:
        if run.case_id is None:
            return None
        own = self._cases.get(run.agent or "", {})
        return own.get(run.case_id) or self._cases.get("*", {}).get(run.case_id)

    def _names(self, run: Trajectory, checks: Iterable[CheckName] | None) -> set[CheckName]:
        if checks is None:
            rules = self.config.agent(run.agent).rules
            return {"faithfulness", "tool_use", "policy"} if rules else {"faithfulness", "tool_use"}
        names = set(checks)
        wrong = sorted(names - set(ORDER))
        if wrong:
            raise ConfigError(f"checks: {unknown('check', wrong[0], ORDER)}")
        return names


def _no_model(names: set[CheckName]) -> list[CheckResult]:
    return [unchecked(name, NO_MODEL, {"limit": "no_model"}) for name in ORDER if name in NEEDS_MODEL and name in names]


def _prompt_versions() -> dict[str, str]:
    from attest_otel.judge.prompts import PROMPT_VERSIONS  # noqa: PLC0415

    return dict(PROMPT_VERSIONS)


def _position(check: str) -> int:
    return ORDER.index(check) if check in ORDER else len(ORDER)


def _by_id(cases: str | list[Case] | None) -> dict[str, Case]:
    return {case.case_id: case for case in cases} if isinstance(cases, list) else {}
