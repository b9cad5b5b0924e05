"""Starting and ending processes, tried with small programs; it runs in `make test` too."""

from __future__ import annotations

import sys
from contextlib import ExitStack
from pathlib import Path

import pytest

from tests.e2e import stack as harness
from tests.e2e.loopback import answers
from tests.e2e.stack import HOST, PortTakenError, Service, StackError, free_ports


@pytest.mark.parametrize(
    ("complaint", "error"),
    [("bad configuration", StackError), ("listen tcp: bind: address already in use", PortTakenError)],
)
def test_a_process_that_ends_early_is_quoted(tmp_path: Path, complaint: str, error: type[StackError]) -> None:
    """What a process said before it gave up is in the error, and a taken port is told apart."""
    script = f"import sys; print({complaint!r}, file=sys.stderr); sys.exit(3)"
    service = Service("broken", [sys.executable, "-c", script], {}, f"http://{HOST}:1/")
    with (
        ExitStack() as processes,
        pytest.raises(StackError, match=f"broken exited with 3:\n{complaint}") as raised,
    ):
        harness._start_all([service], tmp_path, processes)
    assert type(raised.value) is error


def test_a_process_that_never_answers_is_given_up(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Waiting for readiness has an end, and the error names what was asked."""
    monkeypatch.setattr(harness, "READY_TIMEOUT_SECONDS", 0.0)
    service = Service("silent", [sys.executable, "-c", "import time; time.sleep(60)"], {}, f"http://{HOST}:1/")
    with (
        ExitStack() as processes,
        pytest.raises(StackError, match=r"silent: http://127\.0\.0\.1:1/ was not ready"),
    ):
        harness._start_all([service, _web_server()], tmp_path, processes)


def test_what_was_started_is_ended(tmp_path: Path) -> None:
    """A service answers inside the context and is gone after it."""
    service = _web_server()
    with ExitStack() as processes:
        harness._start_all([service], tmp_path, processes)
        assert answers(service.ready_url)
    assert not answers(service.ready_url)


def _web_server() -> Service:
    (port,) = free_ports(1)
    command = [sys.executable, "-m", "http.server", "--bind", HOST, str(port)]
    return Service("web", command, {}, f"http://{HOST}:{port}/")
