"""Running commands: in this process by click's runner, and as real processes."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import sysconfig
from pathlib import Path
from typing import Any

from click.testing import CliRunner, Result

from attest_otel.cli import main

COMMAND = Path(sysconfig.get_path("scripts")) / "attest-otel"
ROOT = Path(__file__).resolve().parents[2]
SECONDS = 50

BLOCKED = {
    "id": "bad",
    "allowed_tools": [],
    "steps": [{"tool_call": {"name": "pay", "arguments": {}, "output": "ok"}}],
    "final_answer": "ok",
}
REVIEWED = {
    "id": "dim",
    "steps": [{"tool_call": {"name": "pay", "arguments": {}, "output": "Error: no"}}],
    "final_answer": "ok",
}
PASSED = {"id": "good", "task": "hi", "steps": [{"tool_call": {"name": "look", "arguments_raw": "{}", "output": "fine"}}], "final_answer": "hello",
          "tools": [{"name": "look", "side_effecting": False, "input_schema": {"type": "object"}}]}  # fmt: skip


def run(*arguments: str | Path) -> Result:
    """Run a command in this process, as the entry point does."""
    runner = CliRunner()
    before, code = sys.argv, 0
    with runner.isolation() as (out, err, _):
        sys.argv = ["attest-otel", *map(str, arguments)]
        try:
            main()
        except SystemExit as left:
            code = left.code if isinstance(left.code, int) else 1
        finally:
            sys.argv = before
        return Result(runner, out.getvalue(), err.getvalue(), b"", None, code, None)


def process(*arguments: str | Path, **environment: str) -> subprocess.CompletedProcess[bytes]:
    """Run a command as a process of its own, its input and both outputs being no terminal."""
    return subprocess.run(
        [COMMAND, *map(str, arguments)],
        env={**os.environ, **environment},
        stdin=subprocess.DEVNULL,
        capture_output=True,
        timeout=SECONDS,
        check=False,
    )


def write_runs(path: Path, *records: Any) -> Path:
    """Write run records, or lines that are none, one a line."""
    path.write_text(
        "".join((line if isinstance(line, str) else json.dumps(line)) + "\n" for line in records),
        encoding="utf-8",
    )
    return path


def reports(output: str) -> list[dict[str, Any]]:
    """Return the reports that stand one a line."""
    return [json.loads(line) for line in output.splitlines()]
