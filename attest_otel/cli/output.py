"""Where a command writes: people's text through rich, JSON as UTF-8 whatever the terminal's encoding."""

from __future__ import annotations

import os
import sys
from contextlib import suppress
from typing import Any, NoReturn

import click
from rich.console import Console

from attest_otel.report import dump_json

PIPE_CLOSED = 141
INTERRUPTED = 130


class _Terminal(Console):
    """A console that ends the command where its reader has gone."""

    def on_broken_pipe(self) -> None:
        """Leave without a word."""
        leave(PIPE_CLOSED)


def terminal() -> Console:
    """Return the console that reports are printed on: no colour unless it is a terminal, no text read as markup."""
    return _Terminal(highlight=False, markup=False, emoji=False)


def write_json(data: Any) -> None:
    """Write one line of JSON on standard output."""
    write_line(dump_json(data))


def write_line(text: str) -> None:
    """Write one line of JSON text on standard output."""
    click.echo(text.encode("utf-8"))


def write_unencodable_as_escapes() -> None:
    """Let no character stop a command: what a stream can't encode, a lone surrogate say, is written as an escape."""
    for stream in (sys.stdout, sys.stderr):
        reconfigure = getattr(stream, "reconfigure", None)
        if reconfigure is not None:
            reconfigure(errors="backslashreplace")


def leave(code: int) -> NoReturn:
    """End the command with what a shell says of one that a signal ended: neither a verdict nor bad input."""
    with suppress(OSError, ValueError):
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
    raise SystemExit(code)
