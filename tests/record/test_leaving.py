"""An application's own exit code survives its daemon threads: nothing is redacted while the interpreter is taken down."""

from __future__ import annotations

import subprocess
import sys
import threading

import pytest

from attest_otel.record import leaving, settings

SECONDS = 60

PROGRAM = """
import sys, threading
from opentelemetry.sdk.trace import TracerProvider
from attest_otel.record import settings
from attest_otel.redaction import Redactor
shown = settings.RecorderSettings(TracerProvider(shutdown_on_exit=False), "redacted", Redactor()).shown
busy = threading.Semaphore(0)
def work():
    while True:
        shown("token ghp_" + "C4n4ry" * 6 + " " + "x y " * 500)
        busy.release()
for _ in range(4):
    threading.Thread(target=work, daemon=True).start()
for _ in range(40):
    busy.acquire()
sys.exit(7)
"""


def test_daemon_threads_do_not_abort_the_process() -> None:
    """A daemon thread that redacts for ever leaves the process its exit code: the pattern engine is C++ and would abort it."""
    for _ in range(3):
        done = subprocess.run([sys.executable, "-c", PROGRAM], capture_output=True, text=True, timeout=SECONDS, check=False)
        assert done.returncode == 7, done.stderr[-300:]


def test_once_the_process_leaves_nothing_is_begun(monkeypatch: pytest.MonkeyPatch) -> None:
    """Work after the exit handlers is not done: content is not shown, and a name is not shown as it is."""
    monkeypatch.setattr(leaving, "_left", [])
    setup = settings.RecorderSettings()
    assert setup.shown("fine") == setup.named("fine") == "fine"
    leaving.leave()
    assert setup.shown("fine") is None
    assert setup.named("fine") == settings.UNREDACTED


def test_what_is_under_way_is_waited_for(monkeypatch: pytest.MonkeyPatch) -> None:
    """Leaving waits for work that was begun."""
    monkeypatch.setattr(leaving, "_left", [])
    begun, finish, done = threading.Event(), threading.Event(), []

    def work() -> None:
        begun.set()
        finish.wait(SECONDS)
        done.append(True)

    thread = threading.Thread(target=leaving.run, args=(work,))
    thread.start()
    begun.wait(SECONDS)

    def sleep(_seconds: float) -> None:
        finish.set()
        thread.join(SECONDS)

    monkeypatch.setattr("attest_otel.record.leaving.time.sleep", sleep)
    leaving.leave()
    assert done == [True]
