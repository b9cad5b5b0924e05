"""Every example runs offline, as a person would run it, and prints its verdict."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

EXAMPLES = Path(__file__).resolve().parents[1] / "examples"
PROGRAMS = sorted(path.name for path in EXAMPLES.glob("*.py") if "__main__" in path.read_text(encoding="utf-8"))

SAID = {
    "refund_agent.py": ["verdict: review", "type_mismatch (issue_refund): $.amount_cents"],
    "async_agent_with_gate.py": ["verdict: block", "'disallowed_tool'", "customer reads: One moment"],
    "grade_recorded_runs.py": [
        "verdict: review  refund-1: error_silent at step 3",
        "verdict: pass    docent-factory-reset",
    ],
    "custom_policy.py": [
        "default policy  verdict: review  []",
        "strict policy   verdict: block  ['error_silent']",
    ],
}


@pytest.mark.parametrize("name", PROGRAMS)
def test_example(name: str, tmp_path: Path) -> None:
    """An example ends well from any folder, complains of nothing, and says what happened."""
    done = subprocess.run(
        [sys.executable, "-W", "error", EXAMPLES / name],
        cwd=tmp_path,
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        timeout=50,
        check=False,
    )
    assert (done.returncode, done.stderr) == (0, "")
    assert "verdict" in done.stdout
    for said in SAID.get(name, []):
        assert said in done.stdout


def test_documented_examples_exist() -> None:
    """No example that a test expects something of has gone."""
    assert set(SAID) <= set(PROGRAMS)
