"""The checks: one module each, and the order in which a report lists them.

A deterministic check is a pure function `check(view) -> CheckResult | None`; None says that there is
nothing it applies to (no case, no rules). A check that fails is a finding that says so, never an
exception that escapes (property 25).
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from importlib import import_module

from attest_otel.checks.view import RunView
from attest_otel.config import CheckName
from attest_otel.findings import CheckResult, make_finding, make_result

Check = Callable[[RunView], CheckResult | None]

ORDER: tuple[CheckName, ...] = (
    "tool_use", "arguments", "expectations", "selection", "repetition", "actions",
    "provenance", "policy", "injection", "faithfulness", "role", "coverage",
)  # fmt: skip
NEEDS_MODEL: frozenset[CheckName] = frozenset({"faithfulness", "role"})
DETERMINISTIC: tuple[CheckName, ...] = tuple(name for name in ORDER if name not in NEEDS_MODEL)


def run_deterministic(view: RunView, names: Iterable[CheckName]) -> list[CheckResult]:
    """Run the named checks that need no model, in report order; checks with nothing to say are left out."""
    wanted = set(names)
    results = (run_one(view, name) for name in DETERMINISTIC if name in wanted)
    return [result for result in results if result is not None]


def run_one(view: RunView, name: CheckName) -> CheckResult | None:
    """Run one deterministic check; its own failure is an `unchecked` finding."""
    try:
        return _CHECKS[name](view)
    except Exception as error:  # noqa: BLE001  # a faulty check must not cost the run its other findings
        return unchecked(name, f"the check failed: {type(error).__name__}")


def unchecked(name: str, reason: str, metadata: dict[str, object] | None = None) -> CheckResult:
    """Return the result of a check that could not look, with the reason."""
    finding = make_finding(name, "warn", "unchecked", reason, metadata={"checked": False, **(metadata or {})})
    return make_result(name, [finding], f"Not checked: {reason}")


def _load() -> Mapping[CheckName, Check]:
    return {name: import_module(f"attest_otel.checks.{name}").check for name in DETERMINISTIC}


_CHECKS = _load()
