"""Recorded answers: what is written, and what is given again."""

from __future__ import annotations

import fcntl
import os
import stat
import subprocess
import sys
import textwrap
from itertools import pairwise
from pathlib import Path
from typing import Any

import anyio
import pytest
from opentelemetry.trace import SpanContext

from attest_otel.config import JudgeConfig
from attest_otel.errors import ConfigError
from attest_otel.judge.anthropic_judge import AnthropicJudge
from attest_otel.judge.factory import build_judge
from attest_otel.judge.question import Answer, Question
from attest_otel.judge.recording import SAVE_EVERY, RecordingJudge, ReplayJudge
from attest_otel.judge.recording_file import add_lines
from attest_otel.testing import MessagesServer, Reply
from tests.judge.offline import NO, YES, key, question

__all__ = ["key"]

pytestmark = pytest.mark.anyio

ROOT = Path(__file__).resolve().parents[2]
LINES = """\
{"kind": "a", "prompt_version": "1", "key": "k1", "value": {"answer": "yes"}}
{"kind": "a", "prompt_version": "1", "key": "k2", "skipped": "the budget of 1 calls a run is used up", "limit": "budget"}
{"kind": "b", "prompt_version": "1", "key": "k1", "value": {"answer": "no"}}
"""


class Told:
    """A judge that answers from a list."""

    def __init__(self, *answers: Answer) -> None:
        self.answers = list(answers)
        self.closed = 0

    def session(self, run_id: str | None, root: SpanContext | None = None, *, suspicious: bool = False) -> Told:
        """Itself."""
        return self

    async def ask(self, question: Question) -> Answer:
        """The next answer."""
        return self.answers.pop(0)

    async def aclose(self) -> None:
        """Count it."""
        self.closed += 1


def said(value: str) -> Answer:
    return Answer({"answer": value})


NONE = Answer(None, "the budget of 1 calls a run is used up", "budget")


def names_in(folder: Path) -> list[str]:
    """The files of a folder."""
    return [path.name for path in folder.iterdir()]


async def recorded(path: Path, told: Told, *questions: Question) -> list[Answer]:
    judge = RecordingJudge(told, path)
    session = judge.session("r")
    answers = [await session.ask(one) for one in questions]
    await judge.aclose()
    return answers


async def test_what_is_written(tmp_path: Path) -> None:
    """One line a question, sorted, whatever the order they were asked in; the answers are passed on."""
    path = tmp_path / "answers.jsonl"
    questions = [question("k1", kind="b"), question("k2", kind="a"), question("k1", kind="a")]
    told = Told(said("no"), NONE, said("yes"))
    assert await recorded(path, told, *questions) == [said("no"), NONE, said("yes")]
    assert path.read_text() == LINES
    assert told.closed == 1


async def test_only_its_owner_may_read_it(tmp_path: Path) -> None:
    """It quotes runs; nothing else is left in the folder."""
    path = tmp_path / "answers.jsonl"
    path.write_text("")
    path.chmod(0o644)
    await recorded(path, Told(said("yes")), question())
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    assert names_in(tmp_path) == [path.name]


async def test_answers_come_again(tmp_path: Path) -> None:
    """With their reasons where there was none."""
    path = tmp_path / "answers.jsonl"
    path.write_text(LINES)
    session = ReplayJudge(path).session("r")
    assert await session.ask(question("k1", kind="a")) == said("yes")
    assert await session.ask(question("k2", kind="a")) == NONE
    assert await session.ask(question("k1", kind="b")) == said("no")


@pytest.mark.parametrize("one", [question("k9", kind="a"), question("k1", kind="a", version="2"), question("k1", kind="c")])
async def test_what_is_not_recorded_is_not_asked(tmp_path: Path, one: Question) -> None:
    """Another content, wording or kind: no answer, which names the kind."""
    path = tmp_path / "answers.jsonl"
    path.write_text(LINES)
    answer = await ReplayJudge(path).session("r").ask(one)
    assert (answer.value, answer.limit) == (None, "replay_miss")
    assert f'"{one.kind}"' in (answer.skipped or "")
    assert str(tmp_path) not in (answer.skipped or "")


async def test_a_recorded_answer_off_the_menu_is_none(tmp_path: Path) -> None:
    """A file is a stranger too."""
    path = tmp_path / "answers.jsonl"
    path.write_text('{"kind": "a", "prompt_version": "1", "key": "k1", "value": {"answer": "perfect"}}\n')
    answer = await ReplayJudge(path).session("r").ask(question("k1", kind="a"))
    assert (answer.value, answer.limit) == (None, "off_menu")


async def test_recording_adds_to_what_is_there(tmp_path: Path) -> None:
    """An answer replaces the lack of one and an older answer; the lack of one replaces no answer."""
    path = tmp_path / "answers.jsonl"
    path.write_text(LINES)
    await recorded(
        path,
        Told(NONE, said("no"), said("yes")),
        question("k1", kind="a"),
        question("k2", kind="a"),
        question("k1", kind="b"),
    )
    session = ReplayJudge(path).session("r")
    assert [(await session.ask(question(name, kind=kind))).value for kind, name in (("a", "k1"), ("a", "k2"), ("b", "k1"))] == [
        {"answer": "yes"},
        {"answer": "no"},
        {"answer": "yes"},
    ]


async def test_it_is_written_on_the_way(tmp_path: Path) -> None:
    """What was paid for is not lost with the process."""
    path = tmp_path / "answers.jsonl"
    judge = RecordingJudge(Told(*[said("yes")] * SAVE_EVERY), path)
    session = judge.session("r")
    for number in range(SAVE_EVERY - 1):
        await session.ask(question(f"k{number}"))
    assert not path.exists()
    await session.ask(question("last"))
    assert len(path.read_text().splitlines()) == SAVE_EVERY


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("{", ":1: expected one JSON object"),
        (f"{LINES}[]\n", ":4: expected one JSON object"),
        ('{"prompt_version": "1", "key": "k", "value": {}}', ":1: kind: expected text"),
        ('{"kind": "a", "prompt_version": 1, "key": "k", "value": {}}', ":1: prompt_version: expected text"),
        ('{"kind": "a", "prompt_version": "1", "key": "k"}', ":1: expected value"),
        ('{"kind": "a", "prompt_version": "1", "key": "k", "value": 7}', ":1: expected value"),
        (
            '{"kind": "a", "kind": "b", "prompt_version": "1", "key": "k", "value": {}}',
            ":1: expected one JSON object",
        ),
    ],
)
async def test_a_file_that_is_no_recording(tmp_path: Path, text: str, said: str) -> None:
    """The error names the file, the line and what was expected; for writing as for reading."""
    path = tmp_path / "answers.jsonl"
    path.write_text(text)
    for judge in (ReplayJudge, lambda file: RecordingJudge(Told(), file)):
        with pytest.raises(ConfigError) as error:
            judge(path)
        assert f"{path}{said}" in str(error.value)


async def test_files_that_are_not_there(tmp_path: Path) -> None:
    """Nothing to replay, a folder, no folder to write in: said at the start."""
    with pytest.raises(ConfigError, match="expected a file"):
        ReplayJudge(tmp_path / "none.jsonl")
    with pytest.raises(ConfigError, match="expected a file"):
        RecordingJudge(Told(), tmp_path)
    with pytest.raises(ConfigError, match="there is no folder"):
        RecordingJudge(Told(), tmp_path / "none" / "answers.jsonl")


async def test_bytes_that_are_no_text(tmp_path: Path) -> None:
    """Said, not raised as they come."""
    path = tmp_path / "answers.jsonl"
    path.write_bytes(b"\xff\xff")
    with pytest.raises(ConfigError, match=r"answers\.jsonl: .* no UTF-8"):
        ReplayJudge(path)


async def test_a_folder_that_went_away(tmp_path: Path) -> None:
    """The answers stay good; closing says what could not be written, and closes the judge all the same."""
    folder = tmp_path / "gone"
    folder.mkdir()
    told = Told(said("yes"))
    judge = RecordingJudge(told, folder / "answers.jsonl")
    assert await judge.session("r").ask(question()) == said("yes")
    folder.rmdir()
    with pytest.raises(ConfigError, match="can't be written"):
        await judge.aclose()
    assert told.closed == 1


@pytest.mark.usefixtures("key")
async def test_the_settings_name_the_files(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """`record` asks and writes; `replay` gives the same answers with no key and no server, and the same bytes again."""
    path = tmp_path / "answers.jsonl"
    with MessagesServer([YES, NO, Reply("x")]) as server:
        judge = build_judge(JudgeConfig(base_url=server.base_url, record=str(path)))
        session = judge.session("r")
        first: list[Any] = [await session.ask(question(name)) for name in "abc"]
        await judge.aclose()
    monkeypatch.delenv("ANTHROPIC_API_KEY")
    replayed = build_judge(JudgeConfig(base_url="http://127.0.0.1:1", replay=str(path))).session("r")
    again = [await replayed.ask(question(name)) for name in "abc"]
    assert [(a.value, a.skipped, a.limit) for a in again] == [(a.value, a.skipped, a.limit) for a in first]


def test_which_judge_is_built(tmp_path: Path) -> None:
    """Anthropic's without files; one file, not two."""
    assert isinstance(build_judge(), AnthropicJudge)
    with pytest.raises(ConfigError, match="record or replay"):
        build_judge(JudgeConfig(record=str(tmp_path / "a"), replay=str(tmp_path / "b")))


def test_many_tasks_write_one_file(tmp_path: Path) -> None:
    """Answers that come at once are all in it."""
    path = tmp_path / "answers.jsonl"

    async def main() -> None:
        judge = RecordingJudge(Told(*[said("yes")] * 200), path)
        session = judge.session("r")
        async with anyio.create_task_group() as group:
            for number in range(200):
                group.start_soon(session.ask, question(f"k{number}"))
        await judge.aclose()

    anyio.run(main)
    assert len(path.read_text().splitlines()) == 200


MANY = "".join(
    f'{{"kind": "a", "prompt_version": "1", "key": "k{number:04}", "value": {{"answer": "yes"}}}}\n' for number in range(500)
)


async def test_closing_costs_what_is_new(tmp_path: Path) -> None:
    """An answer is added to a large recording, which is not written anew for it; when the judge ends all is in order."""
    path = tmp_path / "answers.jsonl"
    path.write_text(MANY)
    file = path.stat().st_ino
    judge = RecordingJudge(Told(said("no"), said("yes"), said("no")), path)
    for key_of_question in ("b", "a"):
        await judge.session("r").ask(question(key_of_question, kind="a"))
        await judge.aclose()
    assert path.stat().st_ino == file
    assert path.read_text().startswith(MANY)
    assert len(path.read_text().splitlines()) == 502
    judge._end()
    lines = path.read_text().splitlines()
    assert lines == sorted(lines)
    assert len(lines) == 502
    await judge.session("r").ask(question("c", kind="a"))
    await judge.aclose()
    lines = path.read_text().splitlines()
    assert lines == sorted(lines)
    assert len(lines) == 503
    assert names_in(tmp_path) == [path.name]


async def test_a_known_answer_writes_nothing(tmp_path: Path) -> None:
    """The same answers leave the file as it is."""
    path = tmp_path / "answers.jsonl"
    path.write_text(LINES)
    before = path.stat()
    await recorded(path, Told(said("yes"), NONE), question("k1", kind="a"), question("k2", kind="a"))
    assert (path.stat().st_ino, path.stat().st_mtime_ns) == (before.st_ino, before.st_mtime_ns)


async def test_a_recording_grows_and_stays_in_order(tmp_path: Path) -> None:
    """Closed after every answer, as a command does, it is rewritten a few times and not every time, and ends in order."""
    path = tmp_path / "answers.jsonl"
    judge = RecordingJudge(Told(*[said("yes")] * 100), path)
    files = []
    for number in reversed(range(100)):
        await judge.session("r").ask(question(f"k{number:03}"))
        await judge.aclose()
        files.append(path.stat().st_ino)
        assert len(path.read_text().splitlines()) == 100 - number
    changes = sum(one != other for one, other in pairwise(files))
    assert changes < 25
    judge._end()
    assert path.read_text().splitlines() == sorted(path.read_text().splitlines())


async def test_two_recorders_of_one_file_keep_all_answers(tmp_path: Path) -> None:
    """Each adds its own to what the other has written meanwhile; the lack of an answer replaces no answer of the other."""
    path = tmp_path / "answers.jsonl"
    one, other = RecordingJudge(Told(said("yes"), said("no")), path), RecordingJudge(Told(NONE, said("no")), path)
    await one.session("r").ask(question("k1", kind="a"))
    await one.session("r").ask(question("k2", kind="a"))
    await other.session("r").ask(question("k1", kind="a"))
    await other.session("r").ask(question("k3", kind="a"))
    await one.aclose()
    await other.aclose()
    session = ReplayJudge(path).session("r")
    values = [(await session.ask(question(name, kind="a"))).value for name in ("k1", "k2", "k3")]
    assert values == [{"answer": "yes"}, {"answer": "no"}, {"answer": "no"}]


async def test_a_last_line_without_an_end_is_not_glued_to_the_next(tmp_path: Path) -> None:
    """A file that a person wrote may lack the last line's end."""
    path = tmp_path / "answers.jsonl"
    path.write_text(MANY.rstrip())
    judge = RecordingJudge(Told(said("yes")), path)
    await judge.session("r").ask(question("z", kind="a"))
    await judge.aclose()
    assert len(path.read_text().splitlines()) == 501
    assert (await ReplayJudge(path).session("r").ask(question("z", kind="a"))) == said("yes")


async def test_what_does_not_fit_is_told_and_the_file_stays_as_it_was(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A full recording is one that can still be read; the answers stay good."""
    path = tmp_path / "answers.jsonl"
    path.write_text(LINES)
    monkeypatch.setattr("attest_otel.judge.recording_file.MAX_FILE_BYTES", len(LINES) + 10)
    told = Told(said("yes"))
    judge = RecordingJudge(told, path)
    assert await judge.session("r").ask(question("z")) == said("yes")
    with pytest.raises(ConfigError, match="the recording is full"):
        await judge.aclose()
    assert path.read_text() == LINES
    assert told.closed == 1


async def test_a_file_that_another_process_keeps_locked_is_told(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Waiting for it has an end, and the answers are written once it is free."""
    monkeypatch.setattr("attest_otel.judge.recording_file.LOCK_TRIES", 2)
    monkeypatch.setattr("attest_otel.judge.recording_file.LOCK_PAUSE_SECONDS", 0.0)
    path = tmp_path / "answers.jsonl"
    judge = RecordingJudge(Told(said("yes")), path)
    await judge.session("r").ask(question("z"))
    with path.open("ab") as held:
        fcntl.flock(held, fcntl.LOCK_EX)
        with pytest.raises(ConfigError, match="locked by another process"):
            await judge.aclose()
    await judge.aclose()
    assert len(path.read_text().splitlines()) == 1


def test_a_lock_ends_with_the_writing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A process that was forked amid the writing has the same open file, and holds nobody up."""
    monkeypatch.setattr("attest_otel.judge.recording_file.LOCK_TRIES", 1)
    path = tmp_path / "answers.jsonl"
    copies: list[int] = []
    size = os.fstat

    def copying(handle: int) -> os.stat_result:
        copies.append(os.dup(handle))
        return size(handle)

    with monkeypatch.context() as patch:
        patch.setattr(os, "fstat", copying)
        add_lines(path, {("a", "1", "k"): {"value": {"answer": "yes"}}})
    assert copies
    add_lines(path, {("a", "1", "l"): {"value": {"answer": "yes"}}})
    for copy in copies:
        os.close(copy)


PROGRAM = """
    import os, sys, anyio
    from attest_otel.judge.recording import RecordingJudge
    from tests.judge.offline import question
    from tests.judge.test_recording import Told, said

    async def main():
        judge = RecordingJudge(Told(*[said("yes")] * 60), sys.argv[1])
        for number in reversed(range(60)):
            await judge.session("r").ask(question(f"k{number:02}", kind="0"))
        if sys.argv[2] == "killed":
            os._exit(9)
        await judge.aclose()
        return judge

    kept = anyio.run(main)
"""


@pytest.mark.parametrize(("how", "lines"), [("ended", 60), ("killed", SAVE_EVERY)])
def test_what_a_process_leaves(tmp_path: Path, how: str, lines: int) -> None:
    """One that ends leaves the file in order; one that is killed leaves what was written on the way, and it can be read."""
    path = tmp_path / "answers.jsonl"
    path.write_text(MANY)
    subprocess.run([sys.executable, "-c", textwrap.dedent(PROGRAM), path, how], cwd=ROOT, timeout=50, check=how == "ended")
    written = path.read_text().splitlines()
    assert len(written) == 500 + lines
    assert (written == sorted(written)) is (how == "ended")
    ReplayJudge(path)
