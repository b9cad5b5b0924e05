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
    """The runs of some files; remembers whether anything could not be read."""

    def __init__(self, paths: Sequence[str]) -> None:
        self._paths = [Path(path) for path in paths]
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
        with _progress() as progress:
            task = progress.add_task("reading", total=None, visible=False)

            def on_progress(done: int, total: int) -> None:
                progress.update(task, completed=done, total=total, visible=total >= MIN_BYTES_FOR_PROGRESS)

            for result in read_runs(self._paths, on_progress, _say_waiting):
                if result.error is not None:
                    self.complain(str(result.error))
                yield result

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


def _progress() -> Progress:
    return Progress(
        TextColumn("{task.description}", markup=False),
        BarColumn(),
        DownloadColumn(),
        TimeRemainingColumn(),
        console=Console(stderr=True),
        transient=True,
        disable=not sys.stderr.isatty(),
    )
