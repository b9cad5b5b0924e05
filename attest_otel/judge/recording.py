"""A grading model's answers in a file: written down once, given again at no cost, the same bytes every time.

What the file looks like and how it is written: `recording_file`. An answer replaces the lack of one, never the
other way round. A question that isn't in it is not asked.
"""

from __future__ import annotations

import json
import logging
import threading
import weakref
from pathlib import Path

import anyio.to_thread
from opentelemetry.trace import SpanContext

from attest_otel.errors import ConfigError
from attest_otel.judge.menu import off_menu_reason
from attest_otel.judge.question import Answer, Judge, JudgeSession, Question
from attest_otel.judge.recording_file import Line, Name, add_lines, is_lack, read_recording, tidy

MAX_LINES = 100_000
SAVE_EVERY = 50
TIDY_GROWTH = 4

logger = logging.getLogger("attest_otel")


class RecordingJudge:
    """Asks another judge and writes its answers into a file, beside those that are there. Thread-safe.

    What is new is added to the file after every SAVE_EVERY answers, and by `aclose`, which costs what was added: the
    file is put in order when it has grown by a part in TIDY_GROWTH, and when the judge, or the process, ends.

    Raises:
        ConfigError: the file exists and is no recording, or can't be written.
    """

    def __init__(self, judge: Judge, path: str | Path) -> None:
        self._judge = judge
        path = Path(path)
        self._lines = read_recording(path) if path.exists() else {}
        self._fresh: dict[Name, Line] = {}
        self._lock = threading.Lock()
        self._writing = threading.Lock()
        if not path.parent.is_dir():
            raise ConfigError(f"{path}: there is no folder {path.parent} to write the recording in")
        self._file = _Growing(path)
        self._end = weakref.finalize(self, self._file.end)

    def session(self, run_id: str | None, root: SpanContext | None = None, *, suspicious: bool = False) -> JudgeSession:
        """Return a session that notes every answer."""
        return _RecordingSession(self, self._judge.session(run_id, root, suspicious=suspicious))

    async def aclose(self) -> None:
        """Write what is new into the file, and close the judge."""
        try:
            await anyio.to_thread.run_sync(self._close)
        finally:
            await self._judge.aclose()

    async def note(self, question: Question, answer: Answer) -> None:
        """Keep an answer."""
        name, line = (question.kind, question.prompt_version, question.key), _line(answer)
        with self._lock:
            known = self._lines.get(name)
            if known == line or (known is None and len(self._lines) >= MAX_LINES):
                return
            if is_lack(line) and not is_lack(known):
                return
            self._lines[name] = self._fresh[name] = line
            due = len(self._fresh) % SAVE_EVERY == 0
        if due:
            await anyio.to_thread.run_sync(self._save)

    def _save(self) -> None:
        with self._writing:
            with self._lock:
                fresh, self._fresh = self._fresh, {}
            if not fresh:
                return
            try:
                self._file.add(fresh)
            except BaseException:
                with self._lock:
                    self._fresh = {**fresh, **self._fresh}
                raise

    def _close(self) -> None:
        self._save()
        with self._writing:
            self._file.tidy(at_once=not self._end.alive)


class _Growing:
    """A recording that is added to, and how far it has grown since it was last in order."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._bytes = self._tidy_bytes = 0

    def add(self, lines: dict[Name, Line]) -> None:
        before, self._bytes = add_lines(self._path, lines)
        self._tidy_bytes = self._tidy_bytes or before

    def tidy(self, *, at_once: bool) -> None:
        grown = self._bytes - self._tidy_bytes
        if grown and (at_once or grown * TIDY_GROWTH >= self._tidy_bytes):
            self._bytes = self._tidy_bytes = tidy(self._path)

    def end(self) -> None:
        """Put the file in order, if it is still there; what can't be is told and costs nothing: no line is lost."""
        try:
            if self._path.exists():
                self.tidy(at_once=True)
        except (ConfigError, OSError) as error:
            logger.warning("the recording of the grading model could not be put in order: %s", error)


class ReplayJudge:
    """Gives the answers of a recording. Thread-safe; needs no key and no network.

    Raises:
        ConfigError: the file is no recording; names the line.
    """

    def __init__(self, path: str | Path) -> None:
        self._path = Path(path)
        self._lines = read_recording(self._path)

    def session(self, run_id: str | None, root: SpanContext | None = None, *, suspicious: bool = False) -> ReplayJudge:
        """Return itself: recordings know no budget."""
        return self

    async def ask(self, question: Question) -> Answer:
        """Return the recorded answer; limit `replay_miss` where there is none."""
        line = self._lines.get((question.kind, question.prompt_version, question.key))
        if line is None:
            why = f'the recording {self._path.name} has no answer to this "{question.kind}" question (wording {question.prompt_version})'
            return Answer(None, why, "replay_miss")
        value = line.get("value")
        if value is None:
            return Answer(None, line["skipped"], line["limit"])
        reason = off_menu_reason(json.dumps(value), question.schema)
        return Answer(json.loads(json.dumps(value))) if reason is None else Answer(None, reason, "off_menu")

    async def aclose(self) -> None:
        """Nothing is open."""


class _RecordingSession:
    def __init__(self, recorder: RecordingJudge, session: JudgeSession) -> None:
        self._recorder = recorder
        self._session = session

    async def ask(self, question: Question) -> Answer:
        answer = await self._session.ask(question)
        try:
            await self._recorder.note(question, answer)
        except (OSError, ValueError):
            return answer  # the answer is good; `aclose` tries to write again and says what is wrong
        return answer


def _line(answer: Answer) -> Line:
    if answer.value is not None:
        return {"value": dict(answer.value)}
    return {"skipped": answer.skipped or "the grading model gave no answer", "limit": answer.limit or "error"}
