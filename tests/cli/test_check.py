"""`check`: exit codes, one report a line, bad input told and good runs reported all the same."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tests.cli.commands import BLOCKED, PASSED, REVIEWED, reports, run, write_runs
from tests.shared import TAUBENCH, needs_taubench


@pytest.fixture
def file(tmp_path: Path) -> Callable[..., Path]:
    """Return a function that writes a file of runs."""
    return lambda *records: write_runs(tmp_path / "runs.jsonl", *records)


@pytest.mark.parametrize(
    ("records", "fail_on", "code"),
    [
        ([PASSED], "block", 0),
        ([PASSED], "review", 0),
        ([REVIEWED], "block", 0),
        ([REVIEWED], "review", 1),
        ([BLOCKED], "block", 1),
        ([BLOCKED], "review", 1),
        ([BLOCKED], "never", 0),
        ([PASSED, BLOCKED, PASSED], "block", 1),
        ([PASSED, "{"], "never", 2),
        ([BLOCKED, "{"], "block", 2),
    ],
)
def test_exit_code(file: Callable[..., Path], records: list[Any], fail_on: str, code: int) -> None:
    """0: nothing reached --fail-on; 1: something did; 2: bad input, whatever the verdicts."""
    assert run("check", file(*records), "--fail-on", fail_on).exit_code == code


def test_block_is_what_fails_by_default(file: Callable[..., Path]) -> None:
    """Without --fail-on a block fails the command and a review doesn't."""
    assert run("check", file(BLOCKED)).exit_code == 1
    assert run("check", file(REVIEWED)).exit_code == 0


def test_json_is_one_report_a_line_in_input_order(file: Callable[..., Path]) -> None:
    """Standard output holds one report a line and nothing else, in the order of the input."""
    result = run("check", file(REVIEWED, BLOCKED, PASSED, BLOCKED), "--format", "json")
    assert [(r["run_id"], r["verdict"]) for r in reports(result.stdout)] == [
        ("dim", "review"), ("bad", "block"), ("good", "pass"), ("bad", "block"),
    ]  # fmt: skip
    assert result.stderr == ""


def test_several_files_in_the_order_given(tmp_path: Path) -> None:
    """Files are read in the order in which they are named, and a folder's by name."""
    for name, record in (("b.jsonl", BLOCKED), ("a.jsonl", PASSED)):
        write_runs(tmp_path / name, record)
    result = run("check", tmp_path / "b.jsonl", tmp_path, "--format", "json")
    assert [r["run_id"] for r in reports(result.stdout)] == ["bad", "good", "bad"]


def test_table_says_what_is_wrong(file: Callable[..., Path]) -> None:
    """People see each run's verdict, its findings with reason, and the sum; passes stay short."""
    output = run("check", file(BLOCKED, PASSED)).stdout
    assert "verdict: block  bad" in output
    assert "tool_use: disallowed_tool · step 0 · pay" in output
    assert "pay is not among the allowed tools." in output
    assert "verdict: pass  good" in output
    assert output.endswith("2 runs: 1 block, 0 review, 1 pass\n")


BAD_LINES = [
    ("{", ":2: not JSON: Expecting property name enclosed in double quotes (column 2)"),
    ("nothing", ":2: not JSON: Expecting value (column 1)"),
    (
        "[]",
        ":2: expected a run record (task, steps, ...), OTLP JSON (resourceSpans) or Jaeger JSON (data); got a list",
    ),
    ("7", ":2: expected a run record"),
    ("{}", ":2: the object is empty; expected a run record"),
    ('{"task": 5}', ":2: task: Input should be a valid string, got 5"),
    ('{"task": "t", "taks": "t"}', ":2: taks: unknown field"),
    ('{"steps": [{"tool_call": {"output": "x"}}]}', ":2: steps[0].tool_call.name: missing"),
    (
        '{"started_at": 1e999}',
        ":2: started_at: expected a time such as 2026-12-01T09:30:00Z or seconds since 1970",
    ),
    ('{"artifacts": [{}]}', ":2: artifacts[0]: expected exactly one of text, data_base64, path; got none"),
    ('{"task": NaN}', ":2: not JSON that can be read: NaN is not a JSON value"),
    ('{"metadata": {"a": ' + "9" * 5000 + "}}", ":2: not JSON that can be read"),
    ('{"metadata": ' + '{"a":' * 300 + "1" + "}" * 301, ":2: nested deeper than 200 levels"),
    ("[" * 100_000, ":2: nested too deep to read"),
]


@pytest.mark.parametrize(("line", "said"), BAD_LINES, ids=[said[4:40] for _, said in BAD_LINES])
def test_bad_line_costs_that_line_alone(file: Callable[..., Path], line: str, said: str) -> None:
    """A broken line in the middle is told on standard error by file, line and field; the runs around it are reported."""
    path = file(PASSED, line, BLOCKED)
    result = run("check", path, "--format", "json")
    assert result.exit_code == 2
    assert [r["run_id"] for r in reports(result.stdout)] == ["good", "bad"]
    assert result.stderr.startswith(f"{path}{said}")
    assert len(result.stderr.splitlines()) == 1
    assert "Traceback" not in result.stderr


@pytest.mark.parametrize(
    ("content", "said"),
    [
        (b"", ": is empty; expected a run record"),
        (b"\n \n", ": is empty; expected a run record"),
        (b"\x89PNG\x00", ":1: is binary, not JSON text"),
        (b'{"task": "\xe9"}', ":1: is not UTF-8 text (byte 10)"),
        (b'{"resourceSpans": []}', ": holds no run: no span and no run record"),
    ],
)
def test_bad_file_beside_a_good_one(tmp_path: Path, content: bytes, said: str) -> None:
    """A file that holds no run is named with the reason, and the file beside it is graded."""
    bad = tmp_path / "a.json"
    bad.write_bytes(content)
    good = write_runs(tmp_path / "b.jsonl", PASSED)
    result = run("check", bad, good, tmp_path / "none.json", "--format", "json")
    assert result.exit_code == 2
    assert [r["run_id"] for r in reports(result.stdout)] == ["good"]
    first, second = result.stderr.splitlines()
    assert first.startswith(f"{bad}{said}")
    assert second == f"{tmp_path / 'none.json'}: cannot be read: No such file or directory"


def test_huge_line_and_huge_file(file: Callable[..., Path], tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """What is larger than the limits is named with the limit, never read whole; the rest is reported."""
    monkeypatch.setattr("attest_otel.read.files.MAX_LINE_BYTES", 1_000)
    monkeypatch.setattr("attest_otel.read.files.MAX_DOCUMENT_BYTES", 2_000)
    path = file(PASSED, {"task": "x" * 5_000}, BLOCKED)
    result = run("check", path, "--format", "json")
    assert [r["run_id"] for r in reports(result.stdout)] == ["good", "bad"]
    assert result.stderr == f"{path}:2: the line is longer than 1000 bytes\n"
    whole = tmp_path / "whole.json"
    whole.write_text(json.dumps({"task": ["x" * 50] * 100}, indent=1))
    assert run("check", whole).stderr == f"{whole}: the document is larger than 2000 bytes; write one run a line\n"


def test_only_the_named_checks_run(file: Callable[..., Path]) -> None:
    """--checks runs the named checks, in report order."""
    result = run("check", file(BLOCKED), "--checks", "coverage, tool_use", "--format", "json")
    assert list(reports(result.stdout)[0]["scores"]) == ["tool_use", "coverage"]


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        ((), "Missing argument 'PATH...'"),
        (
            ("x.jsonl", "--checks", "nope"),
            "--checks: unknown check 'nope'; the checks are tool_use, arguments",
        ),
        (("x.jsonl", "--checks", ","), "--checks: names no check"),
        (("x.jsonl", "--format", "xml"), "'xml' is not one of 'table', 'json'"),
        (("x.jsonl", "--fail-on", "warn"), "'warn' is not one of"),
        (
            ("x.jsonl", "--config", "/nowhere/attest.yaml"),
            "/nowhere/attest.yaml: cannot be read: No such file",
        ),
        (("x.jsonl", "--cases", "/nowhere/cases.yaml"), "/nowhere/cases.yaml: cannot be read: No such file"),
    ],
)
def test_wrong_usage(arguments: tuple[str, ...], said: str) -> None:
    """Wrong usage and settings that can't be used are told on standard error; nothing is graded; the code is 2."""
    result = run("check", *arguments)
    assert (result.exit_code, result.stdout) == (2, "")
    assert said in result.stderr
    assert "Traceback" not in result.stderr


def test_config_with_an_unknown_key(file: Callable[..., Path], tmp_path: Path) -> None:
    """A misspelt setting stops the command before any run, by file, line and path."""
    config = tmp_path / "attest.yaml"
    config.write_text("agents: {a: {alowed_tools: []}}")
    result = run("check", file(PASSED), "--config", config)
    assert (result.exit_code, result.stdout) == (2, "")
    assert result.stderr == f"attest-otel: {config}:1: agents.a.alowed_tools: unknown field; did you mean 'allowed_tools'?\n"


def test_config_from_the_environment(file: Callable[..., Path], tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """ATTEST_CONFIG names the settings where --config doesn't."""
    (tmp_path / "attest.yaml").write_text('agents: {"*": {allowed_tools: []}}')
    monkeypatch.setenv("ATTEST_CONFIG", str(tmp_path / "attest.yaml"))
    assert run("check", file(PASSED)).exit_code == 1
    (tmp_path / "other.yaml").write_text("")
    assert run("check", file(PASSED), "--config", tmp_path / "other.yaml").exit_code == 0


def test_cases_for_every_agent(file: Callable[..., Path], tmp_path: Path) -> None:
    """--cases holds a run against the case it names; one that breaks its tool's contract is told and costs the code."""
    cases = tmp_path / "cases.yaml"
    cases.write_text(
        "- {case_id: c, expect_tool_calls: [{name: look}], forbid_other_side_effects: true}\n- {case_id: d, should_call: [find]}"
    )
    path = file({**PASSED, "case_id": "c"})
    assert "expectations" in reports(run("check", path, "--cases", cases, "--format", "json").stdout)[0]["scores"]
    broken = run("check", file({**PASSED, "case_id": "d"}), "--cases", cases)
    assert broken.exit_code == 2
    assert "case 'd': should_call[0]: unknown tool 'find'" in broken.stderr
    assert "1 run:" in broken.stdout


def test_nothing_a_stranger_wrote_reaches_the_screen_raw(file: Callable[..., Path]) -> None:
    """Control characters, escape sequences and direction overrides are shown as escapes, in messages too; markup is text."""
    hostile = "\x1b[31m\x07\u202e\u2028[bold]x"
    record = {
        "id": hostile,
        "task": hostile,
        "steps": [{"tool_call": {"name": hostile, "output": f"Error: {hostile}"}}],
        "final_answer": hostile,
    }
    path = file(record, {hostile: 1})
    for command in ("check", "runs"):
        result = run(command, path)
        shown = result.stdout + result.stderr
        assert not any(char in shown for char in "\x1b\x07\u202e\u2028")
        assert "\\u001b[31m\\u0007\\u202e\\u2028[bold]x" in result.stdout


@needs_taubench
@pytest.mark.parametrize("name", ["runs.jsonl", "traces.otlp.jsonl"])
def test_real_runs_are_all_reported(name: str) -> None:
    """Every real run has its report, from run files and from spans, in input order, with nothing on standard error."""
    result = run("check", TAUBENCH / name, "--format", "json")
    assert len(reports(result.stdout)) == 40
    assert result.stderr == ""
    cases = [
        line.split('"case_id": "')[1].split('"')[0] for line in (TAUBENCH / "runs.jsonl").read_text(encoding="utf-8").splitlines()
    ]
    if name == "runs.jsonl":
        assert [r["case_id"] for r in reports(result.stdout)] == cases
