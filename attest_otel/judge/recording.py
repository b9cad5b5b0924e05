"""A grading model's answers in a file: written down once, given again at no cost, the same bytes every time.

A recording is JSON Lines, one question a line, sorted: `kind`, `prompt_version`, `key` (what was asked,
without the random boundary), and `value`, or `skipped` and `limit` where there was no answer. An answer
replaces the lack of one, never the other way round. The file holds quotes of runs, so only its owner may
read it; it is replaced whole, so a reader never sees half of it. A question that isn't in it is not asked.
"""

from __future__ import annotations

import json
import os
import tempfile
import threading
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import anyio.to_thread
from opentelemetry.trace import SpanContext

from attest_otel import strict_json
from attest_otel.errors import ConfigError
from attest_otel.judge.menu import off_menu_reason
from attest_otel.judge.question import Answer, Judge, JudgeSession, Question

MAX_FILE_BYTES = 64_000_000
MAX_LINES = 100_000
SAVE_EVERY = 50

Name = tuple[str, str, str]
Line = dict[str, Any]


class RecordingJudge:
    """Asks another judge and writes its answers into a file, beside those that are there. Thread-safe.

    The file is written after every SAVE_EVERY answers, and by `aclose`.

    Raises:
        ConfigError: the file exists and is no recording, or can't be written.
    """

    def __init__(self, judge: Judge, path: str | Path) -> None:
        self._judge = judge
        self._path = Path(path)
        self._lines = read_recording(self._path) if self._path.exists() else {}
        self._unsaved = 0
        self._lock = threading.Lock()
        self._writing = threading.Lock()
        if not self._path.parent.is_dir():
            raise ConfigError(f"{self._path}: there is no folder {self._path.parent} to write the recording in")

    def session(self, run_id: str | None, root: SpanContext | None = None, *, suspicious: bool = False) -> JudgeSession:
        """Return a session that notes every answer."""
        return _RecordingSession(self, self._judge.session(run_id, root, suspicious=suspicious))

    async def aclose(self) -> None:
        """Write the file, and close the judge."""
        try:
            await anyio.to_thread.run_sync(self._save)
        finally:
            await self._judge.aclose()

    async def note(self, question: Question, answer: Answer) -> None:
        """Keep an answer."""
        with self._lock:
            name = (question.kind, question.prompt_version, question.key)
            if len(self._lines) >= MAX_LINES and name not in self._lines:
                return
            if answer.value is None and self._lines.get(name, {}).get("value") is not None:
                return
            self._lines[name] = _line(answer)
            self._unsaved += 1
            due = self._unsaved % SAVE_EVERY == 0
        if due:
            await anyio.to_thread.run_sync(self._save)

    def _save(self) -> None:
        with self._writing:
            with self._lock:
                if not self._unsaved:
                    return
                lines, saved = dict(self._lines), self._unsaved
            write_recording(self._path, lines)
            with self._lock:
                self._unsaved -= saved


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


def read_recording(path: Path) -> dict[Name, Line]:
    """Return what a recording holds.

    Raises:
        ConfigError: names the file and the line.
    """
    try:
        if not path.is_file():
            raise ConfigError(f"{path}: expected a file, the recording of a grading model")
        if path.stat().st_size > MAX_FILE_BYTES:
            raise ConfigError(f"{path}: a recording may have {MAX_FILE_BYTES} bytes, this has {path.stat().st_size}")
        texts = path.read_text(encoding="utf-8").split("\n")
    except (OSError, UnicodeDecodeError) as error:
        raise ConfigError(f"{path}: the recording of the grading model can't be read: {_why(error)}") from None
    lines: dict[Name, Line] = {}
    for number, text in enumerate(texts, 1):
        if text.strip():
            name, line = _parsed(text, f"{path}:{number}")
            lines[name] = line
    return lines


def write_recording(path: Path, lines: Mapping[Name, Line]) -> None:
    """Replace a recording in one step, readable by its owner alone.

    Raises:
        ConfigError: it can't be written.
    """
    text = "".join(f"{_text(name, lines[name])}\n" for name in sorted(lines))
    try:
        handle, temporary = tempfile.mkstemp(prefix=f".{path.name}.", dir=path.parent)
        try:
            with os.fdopen(handle, "wb") as file:
                file.write(text.encode("ascii"))
            Path(temporary).replace(path)
        except BaseException:
            Path(temporary).unlink(missing_ok=True)
            raise
    except OSError as error:
        raise ConfigError(f"{path}: the recording of the grading model can't be written: {_why(error)}") from None


def _line(answer: Answer) -> Line:
    if answer.value is not None:
        return {"value": dict(answer.value)}
    return {"skipped": answer.skipped or "the grading model gave no answer", "limit": answer.limit or "error"}


def _text(name: Name, line: Line) -> str:
    kind, version, key = name
    return json.dumps({"kind": kind, "prompt_version": version, "key": key, **line}, separators=(", ", ": "))


def _parsed(text: str, where: str) -> tuple[Name, Line]:
    parsed = strict_json.parse(text)
    if parsed.problem is not None or not isinstance(parsed.value, dict):
        raise ConfigError(
            f"{where}: expected one JSON object, the record of one question: {parsed.reason or 'it is something else'}"
        )
    data: dict[str, Any] = json.loads(text)
    for field in ("kind", "prompt_version", "key"):
        if not isinstance(data.get(field), str):
            raise ConfigError(f"{where}: {field}: expected text")
    if not isinstance(data.get("value"), dict) and not (
        isinstance(data.get("skipped"), str) and isinstance(data.get("limit"), str)
    ):
        raise ConfigError(f"{where}: expected value, the answer as an object, or skipped and limit, both text")
    return (data["kind"], data["prompt_version"], data["key"]), {
        name: data[name] for name in ("value", "skipped", "limit") if name in data
    }


def _why(error: Exception) -> str:
    return error.strerror or type(error).__name__ if isinstance(error, OSError) else "it is no UTF-8 text"
