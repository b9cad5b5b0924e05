"""Reading runs for a command: a progress bar on a terminal, bad input on standard error, good runs all the same."""

from __future__ import annotations

import sys
from collections.abc import Iterator, Sequence
from pathlib import Path

import click
from rich.console import Console
from rich.progress import BarColumn, DownloadColumn, Progress, TextColumn, TimeRemainingColumn

from attest_otel.cases import load_cases
from attest_otel.config import AgentConfig, AttestConfig, resolve_config
from attest_otel.read.files import ReadResult, read_runs
from attest_otel.redaction import clean
from attest_otel.trajectory import Trajectory

BAD_INPUT = 2
MIN_BYTES_FOR_PROGRESS = 1_000_000


class Inputs:
    """The runs of some files; remembers whether anything could not be read.

    Args:
        paths: files and folders.
        console: where the command prints while it reads, so that a progress bar on the same terminal stays below; None
            where it prints past rich.
    """

    def __init__(self, paths: Sequence[str], console: Console | None = None) -> None:
        self._paths = [Path(path) for path in paths]
        self._console = console
        self.bad = False

    def runs(self) -> Iterator[Trajectory]:
        """Yield every run that can be read, in input order; say on standard error what can't."""
        for _, run in self.placed_runs():
            yield run

    def placed_runs(self) -> Iterator[tuple[str, Trajectory]]:
        """Yield the same, each with the file and the line that it stands in."""
        for result in self.results():
            if result.run is not None:
                yield str(result.path) if result.line is None else f"{result.path}:{result.line}", result.run

    def results(self) -> Iterator[ReadResult]:
        """Yield what was read of each run or instead of it, in input order."""
        progress = _progress(self._console)
        task = progress.add_task("reading", total=None)

        def on_progress(done: int, total: int) -> None:
            progress.update(task, completed=done, total=total)
            if total >= MIN_BYTES_FOR_PROGRESS:
                progress.start()

        try:
            for result in read_runs(self._paths, on_progress, _say_waiting):
                if result.error is not None:
                    self.complain(str(result.error))
                yield result
        finally:
            if progress.live.is_started:
                progress.stop()

    def complain(self, message: str) -> None:
        """Say what is wrong with an input; the command will exit with 2."""
        self.bad = True
        click.echo("\n".join(clean(line) for line in message.splitlines()), err=True)


def load_settings(config: str | None, cases: str | None, *, own_checks: bool = False) -> AttestConfig:
    """Return the settings of a command; a cases file holds for every agent that names none itself (ConfigError).

    With `own_checks` the command says itself what runs, and the settings' `checks` narrow nothing.
    """
    settings = resolve_config(config)
    if own_checks:
        settings = settings.model_copy(update={"checks": None})
    if cases is None:
        return settings
    loaded = load_cases(Path(cases))
    agents = {**settings.agents, "*": settings.agents.get("*", AgentConfig())}
    added = {
        name: agent if agent.cases is not None else agent.model_copy(update={"cases": loaded}) for name, agent in agents.items()
    }
    return settings.model_copy(update={"agents": added})


def _say_waiting(path: Path) -> None:
    click.echo(clean(f"{path}: nothing to read yet; waiting for whoever writes to it"), err=True)


def _progress(console: Console | None) -> Progress:
    """Return a bar on standard error; where standard output is a terminal too, it stays below what is printed there."""
    shared = sys.stdout.isatty()
    return Progress(
        TextColumn("{task.description}", markup=False),
        BarColumn(),
        DownloadColumn(),
        TimeRemainingColumn(),
        console=console if shared and console is not None else Console(stderr=True),
        transient=True,
        disable=not sys.stderr.isatty() or (shared and console is None),
    )
