"""Data goes one way: who may import whom, and what importing the package may not do."""

from __future__ import annotations

import ast
import subprocess
import sys
from pathlib import Path

import pytest

PACKAGE = Path(__file__).parent.parent / "attest_otel"

# room -> rooms of this package it may never import
FORBIDDEN: dict[str, set[str]] = {
    "checks": {"record", "live", "read", "export", "cli", "testing"},
    "record": {"live", "read", "checks", "export", "cli", "judge", "testing"},
    "read": {"record", "live", "checks", "export", "cli", "judge", "testing"},
    "export": {"record", "live", "read", "cli", "judge", "testing"},
    "judge": {"record", "live", "read", "export", "cli", "testing"},
    "live": {"cli", "testing"},
    "testing": {"record", "live", "read", "checks", "export", "cli", "judge"},
    "trajectory": {"record", "live", "read", "checks", "export", "cli", "judge", "grader"},
    "findings": {"record", "live", "read", "checks", "export", "cli", "judge", "grader", "report", "verdict"},
    "verdict": {"record", "live", "read", "checks", "export", "cli", "judge", "grader", "report"},
}


def imports(path: Path) -> set[str]:
    """Return every module a file imports, wherever the statement stands."""
    found: set[str] = set()
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            found.update(alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom) and node.module is not None:
            found.add(node.module)
            found.update(f"{node.module}.{alias.name}" for alias in node.names)
    return found


def modules(room: str) -> list[Path]:
    """Return the files of a room."""
    single = PACKAGE / f"{room}.py"
    return [single] if single.exists() else sorted((PACKAGE / room).rglob("*.py"))


@pytest.mark.parametrize("room", FORBIDDEN)
def test_rooms_import_one_way(room: str) -> None:
    """No room imports a room that data reaches later."""
    for path in modules(room):
        rooms = {name.split(".")[1] for name in imports(path) if name.startswith("attest_otel.")}
        assert not rooms & FORBIDDEN[room], f"{path.name} imports {sorted(rooms & FORBIDDEN[room])}"


def test_only_judge_and_recorder_import_anthropic() -> None:
    """The model client is imported by judge/, the recorder's HTTP clients, the demo and nobody else."""
    importers = {
        str(p.relative_to(PACKAGE)) for p in PACKAGE.rglob("*.py") if any(m.split(".")[0] == "anthropic" for m in imports(p))
    }
    allowed = {p for p in importers if p.startswith(("judge/", "record/anthropic_"))} | {"cli/demo_agent.py"}
    assert importers <= allowed


def test_only_live_knows_the_processor_interface() -> None:
    """The SDK's SpanProcessor is named in live/ alone."""
    importers = {
        str(p.relative_to(PACKAGE)) for p in PACKAGE.rglob("*.py") if "opentelemetry.sdk.trace.SpanProcessor" in imports(p)
    }
    assert all(p.startswith("live/") for p in importers)


def test_importing_starts_and_loads_nothing() -> None:
    """Importing the package starts no thread and loads neither anthropic nor CEL nor the command line's libraries."""
    code = (
        "import sys, threading, attest_otel; "
        "bad = {'anthropic', 'cel_expr_python', 'click', 'rich', 'httpx2', 'grpc'} & set(sys.modules); "
        "assert not bad, bad; assert threading.active_count() == 1"
    )
    subprocess.run([sys.executable, "-c", code], check=True, timeout=60)


def test_every_public_name_exists() -> None:
    """`__all__` is sorted and true."""
    import attest_otel

    assert attest_otel.__all__ == sorted(attest_otel.__all__, key=lambda name: (name.islower(), name))
    assert all(hasattr(attest_otel, name) for name in attest_otel.__all__)
