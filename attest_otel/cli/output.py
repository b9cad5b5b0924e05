"""Where a command writes: people's text through rich, JSON as UTF-8 whatever the terminal's encoding.

A terminal's lines are as wide as it is; a file's or a pipe's are never folded, since whoever reads them
searches for whole lines. COLUMNS, where it is set, is the width of both. Colour is for terminals, unless
NO_COLOR or TERM=dumb refuses it.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Iterable, Sequence
from contextlib import suppress
from typing import Any, NoReturn

import click
from rich.cells import cell_len
from rich.console import Console
from rich.table import Table

from attest_otel.report import dump_json

PIPE_CLOSED = 141
INTERRUPTED = 130
UNFOLDED = 1_000_000
PAGE_LINES = 25
GAP = "  "


class _Terminal(Console):
    """A console that ends the command where its reader has gone."""

    def on_broken_pipe(self) -> None:
        """Leave without a word."""
        leave(PIPE_CLOSED)


def terminal() -> Console:
    """Return the console that reports are printed on: no colour unless it is a terminal, no text read as markup."""
    width = _width()
    height = None if width is None else PAGE_LINES
    return _Terminal(highlight=False, markup=False, emoji=False, width=width, height=height)


def print_table(console: Console, rows: Iterable[Sequence[str]], header: Sequence[str] = ()) -> None:
    """Print rows of cells that are fit to be shown: folded into a terminal's width, else one line a row without end blanks."""
    lines = [list(row) for row in rows]
    if console.width < UNFOLDED:
        table = Table(*header, box=None, pad_edge=False, show_header=bool(header), padding=(0, len(GAP), 0, 0))
        for line in lines:
            table.add_row(*line)
        console.print(table)
        return
    lines = [list(header), *lines] if header else lines
    widths = [max(map(cell_len, column)) for column in zip(*lines, strict=True)]
    for line in lines:
        cells = (cell + " " * (width - cell_len(cell)) for cell, width in zip(line, widths, strict=True))
        console.print(GAP.join(cells).rstrip())


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


def _width() -> int | None:
    """Return the width of the lines; None for a terminal that rich can ask, again after each change of its size."""
    asked = os.environ.get("COLUMNS", "")
    if asked.isascii() and asked.isdigit() and int(asked[:6]) > 0:
        return int(asked[:6])
    if not sys.stdout.isatty():
        return UNFOLDED
    if os.environ.get("TERM", "").lower() not in {"dumb", "unknown"}:
        return None
    with suppress(OSError, ValueError):
        return os.get_terminal_size(sys.stdout.fileno()).columns or None
    return None
