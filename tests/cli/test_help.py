"""Help: exit codes and an example a command; a misspelt word is told with the one that was meant."""

from __future__ import annotations

from pathlib import Path

import pytest

from attest_otel.cli import COMMANDS
from tests.cli.commands import PASSED, run, write_runs

CODES = {
    "demo": "02", "check": "012", "runs": "02", "tools": "012", "contract": "02", "metrics": "02", "stats": "02",
}  # fmt: skip


@pytest.mark.parametrize("command", COMMANDS)
def test_help_says_exit_codes_and_an_example(command: str) -> None:
    """Each code that the command can end with is said on a line of its own, and one way to call it."""
    lines = run(command, "--help").stdout.splitlines()
    start = lines.index("  Exit codes:")
    codes = lines[start + 1 : start + 1 + len(CODES[command])]
    assert [line[:6] for line in codes] == [f"    {code} " for code in CODES[command]]
    example = lines[lines.index("  Example:") + 1]
    assert f"attest-otel {command}" in example
    assert max(map(len, lines)) <= 80


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (("check", "x", "--fail-on", "reveiw"), "'reveiw' is not one of 'block', 'review', 'never'; did you mean 'review'?"),
        (("check", "x", "--format", "jsno"), "'jsno' is not one of 'table', 'json'; did you mean 'json'?"),
        (("check", "x", "--kind", "plans"), "'plans' is not one of 'factual', 'plan', 'code', 'auto'; did you mean 'plan'?"),
        (("check", "x", "--kind", "zzz"), "'zzz' is not one of 'factual', 'plan', 'code', 'auto'."),
        (("runs", "x", "--format", "tabel"), "did you mean 'table'?"),
        (("metrics", "x", "--cases", "c", "--format", "tabel"), "did you mean 'table'?"),
        (("check", "x", "--checks", "tool_us"), "--checks: unknown check 'tool_us'; did you mean 'tool_use'?"),
        (("check", "x", "--fial-on", "block"), "Did you mean '--fail-on'?"),
        (("chek", "x"), "No such command 'chek'; did you mean 'check'?"),
        (("zzz",), "No such command 'zzz'."),
    ],
)
def test_a_misspelt_word_is_told_with_the_one_that_was_meant(arguments: tuple[str, ...], said: str) -> None:
    """Values, options, checks and commands; the code is 2 and nothing is graded."""
    result = run(*arguments)
    assert (result.exit_code, result.stdout) == (2, "")
    assert said in result.stderr


def test_every_kind_of_answer_is_taken(tmp_path: Path) -> None:
    """`--kind` says what counts as supported; without a grading model it changes nothing."""
    path = write_runs(tmp_path / "r.jsonl", PASSED)
    outputs = {run("check", path, "--kind", kind).stdout for kind in ("factual", "plan", "code", "auto")}
    assert len(outputs) == 1
