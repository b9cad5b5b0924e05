"""Commands as processes: colours, encodings, closed pipes, terminals, and an endpoint that nobody listens on."""

from __future__ import annotations

import json
import os
import pty
import re
import select
import signal
import subprocess
import time
from pathlib import Path

import pytest

from tests.cli.commands import BLOCKED, COMMAND, PASSED, ROOT, SECONDS, process, reports, write_runs

WIDE = {
    "id": "w",
    "allowed_tools": [],
    "steps": [{"tool_call": {"name": "pay", "output": "ok " * 50}}],
    "final_answer": "x",
}
ESCAPE = b"\x1b["


def on_a_terminal(*arguments: str | Path, columns: int = 80, **environment: str) -> bytes:
    """Return what a command writes when its outputs are a terminal."""
    leader, follower = pty.openpty()
    variables = {**os.environ, "TERM": "xterm-256color", "COLUMNS": str(columns), **environment}
    running = subprocess.Popen([COMMAND, *map(str, arguments)], stdin=follower, stdout=follower, stderr=follower, env=variables)
    os.close(follower)
    written = b""
    ends = time.monotonic() + SECONDS
    while time.monotonic() < ends:
        if not select.select([leader], [], [], 0.2)[0]:
            continue
        try:
            written += os.read(leader, 65_536)
        except OSError:
            break
    os.close(leader)
    running.wait(SECONDS)
    return written


def test_no_colour_without_a_terminal(tmp_path: Path) -> None:
    """Where the output is no terminal there is not one escape sequence, and the exit code is the verdict's."""
    done = process("check", write_runs(tmp_path / "r.jsonl", BLOCKED, PASSED))
    assert done.returncode == 1
    assert ESCAPE not in done.stdout + done.stderr
    assert done.stderr == b""


def test_colour_on_a_terminal_unless_refused(tmp_path: Path) -> None:
    """A terminal gets colours; NO_COLOR takes them away."""
    path = write_runs(tmp_path / "r.jsonl", BLOCKED)
    assert b"\x1b[1;31mblock" in on_a_terminal("check", path)
    assert b"31mblock" not in on_a_terminal("check", path, NO_COLOR="1")


@pytest.mark.parametrize("columns", [30, 200])
def test_terminals_of_any_width(tmp_path: Path, columns: int) -> None:
    """Lines keep to the width of the terminal, and no word of a finding is lost."""
    path = write_runs(tmp_path / "r.jsonl", WIDE)
    written = re.sub(rb"\x1b\[[0-9;?]*[a-zA-Z]", b"", on_a_terminal("check", path, columns=columns)).decode()
    assert max(map(len, written.splitlines())) <= columns
    assert "pay is not among the allowed tools." in " ".join(written.split())


LONG = {
    "id": "l",
    "allowed_tools": [],
    "task": "say it " * 30,
    "steps": [
        {"tool_call": {"name": f"pay_{n}", "arguments_raw": '{"to": "' + "who " * n + '"}', "output": "ok"}} for n in (1, 30)
    ],
    "final_answer": "x",
}


@pytest.mark.parametrize("command", ["check", "runs"])
def test_a_pipes_lines_are_neither_folded_nor_padded(tmp_path: Path, command: str) -> None:
    """Where the output is no terminal, a text is one line whatever its length, and no line ends in blanks; COLUMNS folds."""
    path = write_runs(tmp_path / "r.jsonl", LONG)
    done = process(command, path, COLUMNS="")
    lines = done.stdout.decode().splitlines()
    assert max(map(len, lines)) > 100
    assert [line for line in lines if line != line.rstrip()] == []
    if command == "runs":
        assert [line.split()[1] for line in lines if "→" in line] == ["pay_1", "pay_30"]
    folded = process(command, path, COLUMNS="60").stdout.decode().splitlines()
    assert max(map(len, folded)) <= 60


def test_a_batchs_table_in_a_pipe() -> None:
    """Columns stand below each other, and no row ends in blanks."""
    runs = ROOT / "examples" / "runs"
    lines = (
        process("metrics", runs / "docent.jsonl", "--cases", runs / "docent_cases.yaml", COLUMNS="").stdout.decode().splitlines()
    )
    assert lines[0].split() == ["called", "should", "valid", "quality", "task"]
    column = lines[0].index("task")
    assert all(line[column - 1] == " " and line[column] != " " for line in lines[1:10])
    assert [line for line in lines if line != line.rstrip()] == []


@pytest.mark.parametrize("columns", [50, 120])
def test_a_dumb_terminal_gets_text_alone(tmp_path: Path, columns: int) -> None:
    """TERM=dumb: not one escape sequence, and the lines are as wide as COLUMNS says."""
    path = write_runs(tmp_path / "r.jsonl", LONG)
    written = on_a_terminal("check", path, columns=columns, TERM="dumb")
    assert b"\x1b" not in written
    widest = max(map(len, written.decode().splitlines()))
    assert columns - 20 < widest <= columns


COLOURS = re.compile(rb"\x1b\[[0-9;?]*[a-zA-JL-Z]")
ERASE = b"\x1b[2K"


def test_progress_bar_only_on_a_terminal(tmp_path: Path) -> None:
    """Reading a large file shows a bar on a terminal, and elsewhere nothing; a small one shows none."""
    path = write_runs(tmp_path / "r.jsonl", *[{**PASSED, "final_answer": "x" * 100_000}] * 20)
    assert b"reading" in on_a_terminal("check", path)
    assert process("check", path).stderr == b""
    assert b"reading" not in on_a_terminal("check", write_runs(tmp_path / "s.jsonl", PASSED), NO_COLOR="1")


def test_the_bar_stays_below_what_is_printed(tmp_path: Path) -> None:
    """On one terminal every line of a report begins where a line begins; lines of JSON have no bar beside them."""
    path = write_runs(tmp_path / "r.jsonl", *[{**BLOCKED, "task": "x" * 100_000}] * 20)
    lines = [line.rpartition(ERASE)[2].strip(b"\r") for line in COLOURS.sub(b"", on_a_terminal("check", path)).split(b"\n")]
    verdicts = [line for line in lines if b"verdict: " in line]
    assert len(verdicts) == 20
    assert [line for line in verdicts if not line.startswith(b"verdict: block")] == []
    assert [line for line in lines if b"reading" in line and b"pay" in line] == []
    assert b"reading" not in on_a_terminal("check", path, "--format", "json")


def test_the_end_of_a_long_heading_stands_below_its_beginning(tmp_path: Path) -> None:
    """A heading that a terminal folds keeps its margin."""
    call = {"name": "a_tool_of_some_length", "id": "call_" + "x" * 40, "arguments_raw": "{}", "output": "ok"}
    path = write_runs(tmp_path / "r.jsonl", {**BLOCKED, "steps": [{"tool_call": call}]})
    lines = COLOURS.sub(b"", on_a_terminal("check", path, columns=60)).decode().splitlines()
    (folded,) = [line for line in lines if "call_xxx" in line]
    assert folded.startswith(" " * 10 + "call_xxx")


@pytest.mark.parametrize("output", ["json", "table"])
def test_reader_that_went_away(tmp_path: Path, output: str) -> None:
    """A closed pipe ends the command without a word, with a code that is neither a verdict nor bad input."""
    path = write_runs(tmp_path / "r.jsonl", *[BLOCKED] * 2_000)
    running = subprocess.Popen([COMMAND, "check", path, "--format", output], stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    assert running.stdout is not None
    running.stdout.read(10)
    running.stdout.close()
    assert running.stderr is not None
    assert running.stderr.read() == b""
    running.stderr.close()
    assert running.wait(SECONDS) == 128 + signal.SIGPIPE


@pytest.mark.parametrize("encoding", ["ascii", "utf-8", "latin-1"])
def test_terminal_that_cannot_say_it(tmp_path: Path, encoding: str) -> None:
    """A lone surrogate, or a character that the output's encoding lacks, stops no command; JSON is UTF-8 everywhere."""
    record = {**PASSED, "id": "\ud800 €", "task": "\udfff €", "final_answer": "€"}
    path = write_runs(tmp_path / "r.jsonl", record)
    for command in ("check", "runs"):
        people = process(command, path, PYTHONIOENCODING=encoding)
        assert (people.returncode, people.stderr) == (0, b"")
        assert b"\\ud800" in people.stdout
        machines = process(command, path, "--format", "json", PYTHONIOENCODING=encoding)
        assert machines.returncode == 0
        assert len(reports(machines.stdout.decode("utf-8"))) == 1
    euro = process(
        "check",
        write_runs(tmp_path / "e.jsonl", {**PASSED, "id": "€"}),
        "--format",
        "json",
        PYTHONIOENCODING=encoding,
    )
    assert json.loads(euro.stdout.decode("utf-8"))["run_id"] == "€"


def test_demo_says_what_went_wrong() -> None:
    """The demo ends with its verdict and why, without a key, an endpoint or a word on standard error."""
    done = process("demo")
    output = " ".join(done.stdout.decode().split())
    assert (done.returncode, done.stderr) == (0, b"")
    for said in (
        "verdict: block",
        "tool_use: disallowed_tool · step 2 · cancel_order",
        "expectations: wrong_argument · step 1 · issue_refund amount_cents was expected to be 4200; the model emitted 42.",
        "tool_use: error_silent · step 3 · send_email",
        "Set OTEL_EXPORTER_OTLP_ENDPOINT to see this run",
    ):
        assert said in output


@pytest.mark.parametrize("protocol", ["http/protobuf", "grpc"])
def test_endpoint_that_nobody_listens_on(protocol: str) -> None:
    """The verdict is printed, one message says what did not arrive and what to do, in bounded time; the code is the demo's own."""
    done = process(
        "demo",
        OTEL_EXPORTER_OTLP_ENDPOINT="http://127.0.0.1:9",
        OTEL_EXPORTER_OTLP_PROTOCOL=protocol,
        OTEL_EXPORTER_OTLP_TIMEOUT="2" if protocol == "grpc" else "",
    )
    assert done.returncode == 0
    assert b"verdict: block" in done.stdout
    assert b"Sent to" not in done.stdout
    told = done.stderr.decode().strip()
    assert told.startswith("Not everything arrived at http://127.0.0.1:9 (")
    assert "Connection refused" in told
    assert told.endswith("Is a Collector listening there? The verdict stands without it.")
    assert "Traceback" not in told
    assert len(told.splitlines()) == 1


def test_unknown_protocol_is_told() -> None:
    """A protocol that doesn't exist is named with those that do, before anything runs."""
    done = process("demo", OTEL_EXPORTER_OTLP_ENDPOINT="http://127.0.0.1:9", OTEL_EXPORTER_OTLP_PROTOCOL="carrier-pigeon")
    assert (done.returncode, done.stdout) == (2, b"")
    assert (
        done.stderr == b"attest-otel: OTEL_EXPORTER_OTLP_TRACES_PROTOCOL: expected http/protobuf or grpc, got 'carrier-pigeon'\n"
    )
