"""Settings and tools from whatever a path names: bounded, read once where it can't be read twice, never a hang."""

from __future__ import annotations

import json
import os
import threading
from collections.abc import Callable
from pathlib import Path

import pytest

from attest_otel.cases import load_cases
from attest_otel.config import resolve_config
from attest_otel.errors import ConfigError
from attest_otel.formats import text_files
from attest_otel.tool_files import read_tools

pytestmark = pytest.mark.skipif(os.name != "posix", reason="named pipes and devices are those of POSIX")

READERS: list[Callable[[Path], object]] = [resolve_config, load_cases, read_tools]
GOOD = ["checks: [coverage]\n", "- case_id: a\n  should_call: []\n", json.dumps([{"name": "t", "side_effecting": False}])]


@pytest.fixture
def pipe(tmp_path: Path) -> Path:
    """A named pipe."""
    path = tmp_path / "pipe"
    os.mkfifo(path)
    return path


def written(pipe: Path, text: str, read: Callable[[Path], object]) -> object:
    """What a reader makes of a pipe that somebody writes this text to, once."""
    writer = threading.Thread(target=pipe.write_text, args=(text,))
    writer.start()
    try:
        return read(pipe)
    finally:
        writer.join()


@pytest.mark.parametrize(("read", "text"), list(zip(READERS, GOOD, strict=True)), ids=["config", "cases", "tools"])
def test_a_pipe_is_as_good_as_a_file(pipe: Path, tmp_path: Path, read: Callable[[Path], object], text: str) -> None:
    """A process substitution is read to its end, once."""
    file = tmp_path / "file"
    file.write_text(text)
    assert written(pipe, text, read) == read(file)


def test_an_error_in_a_pipe_names_its_line(pipe: Path) -> None:
    """The line is looked up in what was read: nobody writes it again."""
    with pytest.raises(ConfigError, match=r"pipe:2: .*nonsense"):
        written(pipe, "checks: [coverage]\nnonsense: 1\n", resolve_config)


def test_what_yaml_would_misread_is_found_in_a_pipe_too(pipe: Path) -> None:
    """The spelling is looked at again after the values."""
    with pytest.raises(ConfigError, match="in quotes"):
        written(pipe, "- case_id: a\n  expect_tool_calls: [{name: t, args: {x: no}}]\n", load_cases)


@pytest.mark.parametrize("read", READERS, ids=["config", "cases", "tools"])
def test_a_device_is_refused(read: Callable[[Path], object]) -> None:
    """One that never ends would fill the memory."""
    with pytest.raises(ConfigError, match=r"/dev/zero: cannot be read: it is a device; expected a file or a pipe"):
        read(Path("/dev/zero"))


@pytest.mark.parametrize("read", READERS, ids=["config", "cases", "tools"])
def test_a_pipe_nobody_writes_to_is_an_error(pipe: Path, read: Callable[[Path], object], monkeypatch: pytest.MonkeyPatch) -> None:
    """After a while, and with a word."""
    monkeypatch.setattr(text_files, "WAIT_SECONDS", 0.01)
    with pytest.raises(ConfigError, match=r"pipe: cannot be read: nothing was written to it for 0\.01 s"):
        read(pipe)


def test_a_pipe_is_bounded(pipe: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """What is longer than a file may be is not read to its end."""
    monkeypatch.setattr("attest_otel.tool_files.MAX_FILE_BYTES", 100)
    with pytest.raises(ConfigError, match="pipe: is too long; at most 100 are read"):
        written(pipe, "[" * 101, read_tools)


def test_what_is_remembered_is_bounded(tmp_path: Path) -> None:
    """The last pipes only."""
    for number in range(text_files.MAX_REMEMBERED + 3):
        path = tmp_path / f"pipe{number}"
        os.mkfifo(path)
        written(path, "[]", read_tools)
    assert len(text_files._pipes) <= text_files.MAX_REMEMBERED
