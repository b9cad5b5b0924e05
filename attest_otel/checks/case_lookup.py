"""A run that names a case nobody loaded: what the checks that need the case say."""

from __future__ import annotations

from attest_otel.cases import Case
from attest_otel.checks.view import RunView
from attest_otel.findings import CheckResult, make_finding, make_result
from attest_otel.suggestions import did_you_mean


def unknown_case(view: RunView, check: str) -> CheckResult | None:
    """Return an `unchecked` result when the run names a case that isn't among its agent's, else None."""
    case_id = view.run.case_id
    if case_id is None or view.case is not None:
        return None
    loaded = _loaded_ids(view)
    if not loaded:
        return None
    hint = did_you_mean(case_id[:100], loaded)
    reason = f"The run names case {case_id[:100]!r}, which is not among the {len(loaded)} loaded{hint or '.'}"
    finding = make_finding(check, "warn", "unchecked", reason, metadata={"checked": False, "case_id": case_id[:100]})
    return make_result(check, [finding], f"Not checked: case {case_id[:100]!r} is not loaded")


def _loaded_ids(view: RunView) -> list[str]:
    agents = view.config.agents
    lists = [agents[name].cases for name in dict.fromkeys((view.run.agent or "", "*")) if name in agents]
    return [case.case_id for cases in lists if isinstance(cases, list) for case in cases if isinstance(case, Case)]
