"""Were the team's rules kept?

One finding for each rule that was kept, one for each call that broke it (severity by the rule), one for
each call it could not be judged on (`unchecked`, which goes to review whatever the rule's severity). At
most 20 of a kind are given for one rule; the last says how many it stands for.

- `require`: see `rule_expression`; with `tool` it is asked of each call that fits, without it of the run.
- `order` and `at_most`: see `rule_calls`.
- `ask`: `unchecked` until a grading model answers it.

A rule that names a tool by a misspelt name is `unchecked` too: see `slips`.

Whose rules: those of the run's agent hold for its calls, and those of a nested agent (or of `"*"`) for
that agent's. A nested agent without settings of its own falls under the rules of the run's agent. `run`
is always the whole run, and a call an `order` needs may be anybody's. None where there are no rules.
Rules come from the configuration alone; nothing a run carries is ever a rule.
"""

from __future__ import annotations

from collections.abc import Sequence

from attest_otel.checks.policy.calls import check_at_most, check_order
from attest_otel.checks.policy.findings import NAME, unjudged
from attest_otel.checks.policy.slips import Slips
from attest_otel.checks.view import Call, RunView
from attest_otel.findings import CheckResult, Finding, make_result, share_passed
from attest_otel.rules import Rule

__all__ = ["NAME", "check"]

NO_MODEL = "no grading model is configured to answer it."


def check(view: RunView) -> CheckResult | None:
    """Hold a run against the rules of its agents; None where there are none."""
    scopes = _scopes(view)
    if not any(rules for rules, _ in scopes):
        return None
    grade = _Grader(view)
    findings = [finding for rules, calls in scopes for rule in rules for finding in grade(rule, calls)]
    return make_result(NAME, findings, _summary(findings), score=share_passed(findings))


class _Grader:
    """Grades rules on one run; what CEL reads is prepared only when a rule needs it."""

    def __init__(self, view: RunView) -> None:
        self._view = view
        self._slips = Slips(view)
        self._values: object = None

    def __call__(self, rule: Rule, calls: Sequence[Call]) -> list[Finding]:
        """Return what a rule says of the calls; where it names a misspelt tool it was not kept, whatever it says."""
        found = self._graded(rule, calls)
        slips = self._slips.of(rule)
        return [*(finding for finding in found if finding.verdict != "kept"), *slips] if slips else found

    def _graded(self, rule: Rule, calls: Sequence[Call]) -> list[Finding]:
        if rule.require is not None:
            return self._expression(rule, rule.require, calls)
        if rule.order is not None:
            return check_order(rule, rule.order, calls, self._view.calls)
        if rule.at_most is not None:
            return check_at_most(rule, rule.at_most, calls)
        return [unjudged(rule, NO_MODEL)]

    def _expression(self, rule: Rule, source: str, calls: Sequence[Call]) -> list[Finding]:
        from attest_otel.checks.policy.expression import Values, check_expression  # noqa: PLC0415

        values = self._values if isinstance(self._values, Values) else Values(self._view)
        self._values = values
        return check_expression(rule, source, calls, values)


def _scopes(view: RunView) -> list[tuple[Sequence[Rule], Sequence[Call]]]:
    """Return each list of rules that applies to the run, with the calls it applies to; the run's own first."""
    own = _settings_name(view, view.run.agent)
    calls: dict[str | None, list[Call]] = {own: []}
    for call in view.calls:
        name = own if call.agent == view.run.agent else _settings_name(view, call.agent)
        calls.setdefault(own if name is None else name, []).append(call)
    return [(view.config.agents[name].rules, found) for name, found in calls.items() if name is not None]


def _settings_name(view: RunView, agent: str | None) -> str | None:
    """Return the name under which an agent's settings stand, or None where it has none."""
    if agent is not None and agent in view.config.agents:
        return agent
    return "*" if "*" in view.config.agents else None


def _summary(findings: Sequence[Finding]) -> str:
    counts = {verdict: sum(f.verdict == verdict for f in findings) for verdict in ("kept", "broken", "unchecked")}
    return ", ".join(f"{count} {verdict}" for verdict, count in counts.items() if count) + "."
