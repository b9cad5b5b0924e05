"""The commands beside `check`: what each prints, and its exit codes."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from attest_otel.cli import COMMANDS
from tests.cli.commands import BLOCKED, PASSED, REVIEWED, ROOT, run, write_runs

RUNS = ROOT / "examples" / "runs"

PAGE_EXAMPLE = {
    "severity": "pass",
    "verdict": "correct",
    "subject": "charge_card",
    "reason": "The tool returned an error; a retry at step 2 worked.",
    "evidence": None,
    "step": 0,
    "metadata": {"allowed": True, "recovery": "retried", "recovered_at": 2, "appropriate": None},
}


def test_tools_on_the_example_run() -> None:
    """The example run's first finding is the grader's own example, field by field; only what spoke for the error is added."""
    result = run("tools", RUNS / "refund.json")
    data = json.loads(result.stdout)["data"]
    assert list(data) == ["check", "passed", "score", "summary", "findings", "metadata"]
    first = data["findings"][0]
    assert first["metadata"].pop("error_source") == "is_error"
    assert {name: first[name] for name in PAGE_EXAMPLE} == PAGE_EXAMPLE
    assert [f["verdict"] for f in data["findings"]] == ["correct", "correct", "correct", "error_silent"]
    assert (data["score"], data["passed"], result.exit_code) == (0.75, False, 0)


def test_tools_exit_codes(tmp_path: Path) -> None:
    """1 where a call blocks, 2 for a file that can't be read, each run one line."""
    assert run("tools", write_runs(tmp_path / "a.jsonl", BLOCKED)).exit_code == 1
    both = run("tools", write_runs(tmp_path / "b.jsonl", PASSED, "{", REVIEWED))
    assert (both.exit_code, len(both.stdout.splitlines())) == (2, 2)
    assert "b.jsonl:2: not JSON" in both.stderr


def test_stats_of_one() -> None:
    """A pass rate and its Wilson interval, as JSON under `data`."""
    data = json.loads(run("stats", "41", "50").stdout)["data"]
    assert {name: round(value, 2) for name, value in data.items()} == {
        "rate": 0.82,
        "low": 0.69,
        "high": 0.9,
        "n": 50,
    }


def test_stats_of_two() -> None:
    """A second pair is compared with the first."""
    data = json.loads(run("stats", "41", "50", "35", "50").stdout)["data"]
    assert data["difference_is_real"] is False
    assert data["other"]["rate"] == 0.7
    assert json.loads(run("stats", "90", "100", "10", "100").stdout)["data"]["difference_is_real"] is True


@pytest.mark.parametrize("counts", [(), ("1",), ("1", "2", "3"), ("51", "50"), ("-1", "50"), ("1", "0"), ("a", "b")])
def test_stats_of_what_is_no_count(counts: tuple[str, ...]) -> None:
    """Counts that can't be are told, and cost the code 2."""
    result = run("stats", "--", *counts)
    assert (result.exit_code, result.stdout) == (2, "")
    assert "Error:" in result.stderr


def test_runs_prints_a_record_that_reads_back(tmp_path: Path) -> None:
    """`runs --format json` prints run records: what it prints, it reads, and prints again."""
    path = write_runs(tmp_path / "runs.jsonl", PASSED, BLOCKED)
    first = run("runs", path, "--format", "json")
    again = run("runs", write_runs(tmp_path / "again.jsonl", *first.stdout.splitlines()), "--format", "json")
    assert first.stdout == again.stdout
    assert [json.loads(line)["id"] for line in first.stdout.splitlines()] == ["good", "bad"]


def test_runs_shows_what_the_checks_see(tmp_path: Path) -> None:
    """People see task, calls and answer; what nobody recorded is said to be missing, an empty output is not."""
    silent = {
        "id": "s",
        "steps": [{"tool_call": {"name": "look"}}, {"tool_call": {"name": "look", "output": ""}}],
    }
    output = run("runs", write_runs(tmp_path / "runs.jsonl", PASSED, silent)).stdout
    assert "verbatim  {}  →  fine" in output
    assert output.count("(not recorded)") == 3


@pytest.mark.parametrize("text", ["[/b] [bold", "[bold]cold[/bold]", "[link=x]", ":bug: :100:", "ana@example.com"])
def test_nothing_a_stranger_wrote_is_markup(tmp_path: Path, text: str) -> None:
    """Square brackets, emoji codes and the redactor's own marks are shown as they stand, wherever they come from."""
    call = {"name": text, "arguments_raw": json.dumps({"q": text}), "output": text, "is_error": True}
    record = {"id": text, "agent": text, "task": text, "steps": [{"tool_call": call}], "final_answer": text}
    path = write_runs(tmp_path / "runs.jsonl", record)
    shown = text.replace("ana@example.com", "[redacted:email]")
    cases = tmp_path / "cases.yaml"
    cases.write_text(f"- {{case_id: c, input: {json.dumps(text)}, should_call: [look]}}\n", encoding="utf-8")
    seen, checked, metrics = run("runs", path), run("check", path), run("metrics", path, "--cases", cases)
    assert (seen.exit_code, seen.stdout.replace("\n", " ").count(shown)) == (0, 7)
    assert (checked.exit_code, metrics.exit_code) == (0, 0)
    assert shown in checked.stdout
    assert shown in metrics.stdout


def test_contract_that_holds_and_one_that_is_broken(tmp_path: Path) -> None:
    """Cases that fit are counted; one behind its tool is named with the old parameter and the current list."""
    cases, tools = RUNS / "refund_cases.yaml", RUNS / "refund_tools.json"
    held = run("contract", cases, "--tools", tools)
    assert held.exit_code == 0
    assert held.stdout.startswith(f"{cases}: 4 cases fit")
    renamed = tmp_path / "tools.json"
    renamed.write_text(tools.read_text(encoding="utf-8").replace("amount_cents", "cents"))
    broken = run("contract", cases, "--tools", renamed)
    assert (broken.exit_code, broken.stdout) == (2, "")
    assert (
        "case 'refund_cracked_mug': expect_tool_calls[0]: args: issue_refund has no parameter 'amount_cents', it now takes"
        in broken.stderr
    )


def test_metrics_of_the_example() -> None:
    """The batch numbers of nine recorded tasks are the lesson's."""
    result = run("metrics", RUNS / "docent.jsonl", "--cases", RUNS / "docent_cases.yaml", "--format", "json")
    data = json.loads(result.stdout)["data"]
    assert {name: data[name] for name in ("accuracy", "precision", "recall", "argument_validity", "query_quality")} == {
        "accuracy": 0.778,
        "precision": 0.857,
        "recall": 0.857,
        "argument_validity": 0.857,
        "query_quality": 0.571,
    }
    assert (data["tp"], data["tn"], data["fp"], data["fn"], len(data["runs"])) == (6, 1, 1, 1, 9)
    assert "TP=6 TN=1 FP=1 FN=1" in run("metrics", RUNS / "docent.jsonl", "--cases", RUNS / "docent_cases.yaml").stdout


@pytest.mark.parametrize("command", COMMANDS)
def test_every_command_has_help(command: str) -> None:
    """Each command says what it does."""
    result = run(command, "--help")
    assert result.exit_code == 0
    assert result.stdout.startswith(f"Usage: attest-otel {command}")


def test_help_lists_the_commands() -> None:
    """`--help` lists every command; an unknown one costs the code 2; the version is the package's."""
    listed = run("--help").stdout
    assert all(f"  {name} " in listed for name in COMMANDS)
    assert run("chek").exit_code == 2
    assert run("--version").stdout.startswith("attest-otel, version ")
