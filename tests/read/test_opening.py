"""Whatever a path names, reading it ends, is bounded, and says what it waits for."""

from __future__ import annotations

import json
import os
import sys
import threading
from pathlib import Path

import pytest

from attest_otel.read import files, opening, sources
from attest_otel.read.files import ReadResult, read_runs

pytestmark = pytest.mark.skipif(os.name != "posix", reason="named pipes and devices are those of POSIX")

RUN = json.dumps({"task": "t", "steps": [], "final_answer": "a"})
PRETTY = json.dumps(json.loads(RUN), indent=2)


def told(results: list[ReadResult]) -> list[str]:
    """Each result in a word: the run's task, or what went wrong."""
    return [str(result.run.task) if result.run is not None else str(result.error) for result in results]


def piped(folder: Path, text: str) -> list[ReadResult]:
    """What is read from a named pipe that somebody writes this text to."""
    pipe = folder / "pipe"
    os.mkfifo(pipe)
    writer = threading.Thread(target=pipe.write_text, args=(text,))
    writer.start()
    found = list(read_runs([pipe]))
    writer.join()
    return found


@pytest.mark.parametrize(
    ("text", "runs"),
    [(RUN, ["t"]), (PRETTY, ["t"]), (f"{RUN}\n{RUN}\n", ["t", "t"]), (f"\n\n{PRETTY}\n", ["t"])],
    ids=["a line", "a document", "lines", "blank lines first"],
)
def test_a_pipe_is_read_like_a_file(tmp_path: Path, text: str, runs: list[str]) -> None:
    """Nothing is read twice, so a document of many lines can come through a pipe."""
    assert told(piped(tmp_path, text)) == runs


def test_an_empty_pipe_is_an_empty_file(tmp_path: Path) -> None:
    """A writer that writes nothing."""
    assert "is empty" in told(piped(tmp_path, ""))[0]


def test_a_pipe_nobody_writes_to_is_waited_for_and_said_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The wait goes on after it is said, and ends with the first writer."""
    monkeypatch.setattr(opening, "WAIT_SECONDS", 0.01)
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    said: list[Path] = []
    writers: list[threading.Thread] = []

    def on_wait(path: Path) -> None:
        said.append(path)
        writers.append(threading.Thread(target=pipe.write_text, args=(RUN,)))
        writers[0].start()

    found = told(list(read_runs([pipe], on_wait=on_wait)))
    writers[0].join()
    assert (said, found) == ([pipe], ["t"])


@pytest.mark.skipif(not Path("/dev/zero").exists(), reason="no device that never ends")
def test_a_device_is_refused() -> None:
    """One that never ends, by name; the empty one is an empty file."""
    assert told(list(read_runs(["/dev/zero"]))) == ["/dev/zero: cannot be read: it is a device; expected a file or a pipe"]
    assert "is empty" in told(list(read_runs([os.devnull])))[0]


@pytest.mark.skipif(not Path("/dev/stdin").exists(), reason="no name for standard input")
def test_a_dash_is_standard_input(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Unless a file has that name."""
    file = tmp_path / "input.json"
    file.write_text(RUN)
    monkeypatch.setattr(sources, "STANDARD_INPUT", file)
    monkeypatch.chdir(tmp_path)
    assert told(list(read_runs(["-"]))) == ["t"]
    (tmp_path / "-").write_text(RUN.replace('"t"', '"dash"'))
    assert told(list(read_runs(["-"]))) == ["dash"]


def test_a_folder_without_a_name_of_its_own(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """`.` holds what it holds, or nothing."""
    monkeypatch.chdir(tmp_path)
    assert told(list(read_runs(["."]))) == [".: holds no .json or .jsonl file"]
    (tmp_path / "run.json").write_text(RUN)
    assert told(list(read_runs(["."]))) == ["t"]


def test_a_folder_that_cannot_be_listed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Is named, with why, and what comes after it is read."""
    closed = tmp_path / "closed"
    closed.mkdir()

    def refuse(_self: Path) -> None:
        raise PermissionError(13, "Permission denied")

    monkeypatch.setattr(Path, "iterdir", refuse)
    run = tmp_path / "run.json"
    run.write_text(RUN)
    assert told(list(read_runs([closed, run]))) == [f"{closed}: cannot be read: Permission denied", "t"]


def test_a_file_that_grows_is_read_as_it_was(tmp_path: Path) -> None:
    """What is appended while it is read is not followed; the line in which it ended is read whole."""
    file = tmp_path / "runs.jsonl"
    half = len(RUN) // 2
    file.write_text(f"{RUN}\n{RUN}\n{RUN[:half]}")
    reading = read_runs([file])
    found = [next(reading)]
    for _ in range(3):
        with file.open("a") as more:
            more.write(f"{RUN[half:]}\n{RUN[:half]}")
        found.extend(item for item in [next(reading, None)] if item is not None)
    assert told(found) == ["t", "t", "t"]
    assert list(reading) == []


def test_a_sparse_file_costs_no_more_than_a_line(tmp_path: Path) -> None:
    """Ten gigabytes of nothing are not read to their end."""
    file = tmp_path / "sparse.json"
    with file.open("wb") as hole:
        hole.truncate(10 * 1024**3)
    done: list[int] = []
    found = told(list(read_runs([file], lambda count, _total: done.append(count))))
    assert found == [f"{file}:1: the line is longer than {files.MAX_LINE_BYTES} bytes"]
    assert max(done) == files.MAX_LINE_BYTES + 1


def test_a_line_that_is_too_long_costs_its_neighbours_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The first of a .jsonl file too."""
    monkeypatch.setattr(files, "MAX_LINE_BYTES", 200)
    file = tmp_path / "runs.jsonl"
    file.write_text(f"{'x' * 500}\n{RUN}\n{'x' * 201}\n{RUN}\n{'x' * 199}\n{RUN}\n")
    found = told(list(read_runs([file])))
    assert [text for text in found if "longer" not in text and "JSON" not in text] == ["t", "t", "t"]
    assert [text for text in found if "longer" in text] == [f"{file}:{n}: the line is longer than 200 bytes" for n in (1, 3)]


def test_a_line_that_never_ends_ends(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Beyond a bound nothing more is looked for, and that is said."""
    monkeypatch.setattr(files, "MAX_LINE_BYTES", 200)
    monkeypatch.setattr(files, "MAX_SKIPPED_BYTES", 1_000)
    monkeypatch.setattr(files, "_SKIPPED_BYTES", 100)
    file = tmp_path / "runs.jsonl"
    file.write_text(f"{RUN}\n{'x' * 5_000}\n{RUN}\n")
    assert told(list(read_runs([file]))) == [
        "t",
        f"{file}:2: the line is longer than 200 bytes",
        f"{file}:2: the line is longer than 1000 bytes; what follows it is not read",
    ]


@pytest.mark.skipif(sys.platform != "linux", reason="a file of unknown size")
def test_a_file_that_does_not_know_its_size_is_read() -> None:
    """The kernel's own files say that they hold nothing."""
    assert "not JSON" in told(list(read_runs(["/proc/self/status"])))[0]
