"""The running stack, once a session; without its parts the tests are left out and say why, or fail where required."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import pytest

from tests.e2e.parts import COLLECTOR, JAEGER, PROMETHEUS, is_built, is_required
from tests.e2e.stack import Stack, running_stack

LEFT_OUT = pytest.StashKey[int]()


def pytest_deselected(items: Sequence[pytest.Item]) -> None:
    """Counts the end-to-end tests that a plain run leaves out."""
    left_out = [item for item in items if item.get_closest_marker("e2e")]
    if left_out:
        stash = items[0].config.stash
        stash[LEFT_OUT] = stash.get(LEFT_OUT, 0) + len(left_out)


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    """Says what was left out, and what this machine lacks to run it."""
    left_out = terminalreporter.config.stash.get(LEFT_OUT, 0)
    if left_out and "not e2e" in terminalreporter.config.option.markexpr:
        reasons = "".join(f"\n  {reason}" for reason in missing_parts())
        terminalreporter.write_line(f"{left_out} end-to-end tests left out: `make e2e` runs them{reasons}")


@pytest.fixture(scope="session")
def stack(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Stack]:
    """Jaeger, Prometheus and the Collector, ready; see `tests.e2e.stack.Stack` for their addresses."""
    if reasons := missing_parts():
        (pytest.fail if is_required() else pytest.skip)("; ".join(reasons))
    with running_stack(tmp_path_factory.mktemp("stack")) as running:
        yield running


def missing_parts() -> list[str]:
    """What the stack lacks on this machine, each with how to get it."""
    needed = [part for part in (JAEGER, PROMETHEUS, COLLECTOR) if not is_built(part)]
    if not needed:
        return []
    tools = [reason for part in needed for reason in part.missing_tools()]
    names = ", ".join(f"{part.name} {part.version}" for part in needed)
    return [*dict.fromkeys(tools), f"not built: {names}; run `python -m tests.e2e.build`"]
