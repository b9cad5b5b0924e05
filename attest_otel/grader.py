"""The grader: a run record in, a report out.

`Attest` holds the settings and the grading model; `evaluate` runs checks over one run and applies
the verdict policy. Without a grading model it is a pure function of the run and the settings: no
clock, no I/O. An `Attest` may be shared between threads.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any, Literal

from attest_otel.cases import Case
from attest_otel.checks import DETERMINISTIC, NEEDS_MODEL, ORDER, run_deterministic, tool_use, unchecked
from attest_otel.checks.view import RunView
from attest_otel.config import AttestConfig, CheckName, resolve_config
from attest_otel.errors import ConfigError
from attest_otel.findings import CheckResult
from attest_otel.report import Report
from attest_otel.trajectory import Trajectory
from attest_otel.verdict import VerdictPolicy

AnswerKind = Literal["factual", "plan", "code", "auto"]
NO_MODEL = "no grading model is configured"


class Attest:
    """Grades runs.

    Args:
        config: settings, a path to attest.yaml, or a mapping; None reads the file `ATTEST_CONFIG` names.
        verdict_policy: takes the place of the configuration's.
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
        judge: Any = None,
        extract_artifacts: bool = False,
        allow_paths: bool = False,
    ) -> None:
        self.config = resolve_config(config)
        self.policy = verdict_policy or self.config.verdict_policy
        self.judge = judge
        self.extract_artifacts = extract_artifacts
        self.allow_paths = allow_paths
        self._hashes: dict[str, str] = {}
        self._cases = {name: _by_id(agent.cases) for name, agent in self.config.agents.items()}

    def evaluate(self, run: Trajectory, checks: Iterable[CheckName] | None = None, answer_kind: AnswerKind = "factual") -> Report:
        """Grade a run.

        Args:
            run: the run record.
            checks: names of checks; by default faithfulness and tool_use, and policy where there are rules.
            answer_kind: what counts as supported for faithfulness.
        """
        names = self._names(run, checks)
        view = self.view(run)
        results = run_deterministic(view, names)
        results += [unchecked(name, NO_MODEL) for name in ORDER if name in NEEDS_MODEL and name in names]
        return self.report(run, results)

    def tool_use(self, run: Trajectory, *, appropriate: bool = False, check_answer: bool = False) -> CheckResult:
        """Grade a run's tool calls.

        Args:
            run: the run record.
            appropriate: also ask the grading model whether each tool was a reasonable choice.
            check_answer: also let it read the final answer for errors that nothing recovered.
        """
        result = tool_use.check(self.view(run))
        return self.policy.apply([result])[0]

    def view(self, run: Trajectory) -> RunView:
        """Return the run as the checks read it, with the case it names."""
        return RunView(run, self.config, self._case(run))

    def report(self, run: Trajectory, results: Sequence[CheckResult], *, revision: int = 0) -> Report:
        """Return the report that the policy makes of a run's results."""
        ordered = sorted(results, key=lambda result: _position(result.check))
        return Report(
            run_id=run.id,
            agent=run.agent,
            case_id=run.case_id,
            results=self.policy.apply(ordered),
            revision=revision,
            incomplete=list(run.incomplete),
            policy_hash=self.policy_hash(run.agent),
        )

    def deterministic_checks(self) -> tuple[CheckName, ...]:
        """Return the checks a live run or the command line runs without a model."""
        wanted = self.config.checks
        return DETERMINISTIC if wanted is None else tuple(name for name in DETERMINISTIC if name in wanted)

    def default_checks(self) -> tuple[CheckName, ...]:
        """Return every check that can run here."""
        return self.deterministic_checks()

    def policy_hash(self, agent: str | None) -> str:
        """Return a short hash of the policy and the rules that grade this agent."""
        key = agent if agent in self.config.agents else "*"
        if key not in self._hashes:
            rules = [rule.model_dump() for rule in self.config.agent(agent).rules]
            text = json.dumps([self.policy.model_dump(), rules], sort_keys=True)
            self._hashes[key] = hashlib.blake2b(text.encode(), digest_size=8).hexdigest()
        return self._hashes[key]

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
        unknown = sorted(names - set(ORDER))
        if unknown:
            raise ConfigError(f"checks: unknown check {unknown[0]!r}; the checks are {', '.join(ORDER)}")
        return names


def _position(check: str) -> int:
    return ORDER.index(check) if check in ORDER else len(ORDER)


def _by_id(cases: str | list[Case] | None) -> dict[str, Case]:
    return {case.case_id: case for case in cases} if isinstance(cases, list) else {}
