"""The command line, `attest-otel`: one module a command, imported when it is called.

Exit codes: 0, nothing reached `--fail-on`; 1, something did; 2, bad input or usage, with file, line
and field named on standard error, and every good run still reported.
"""

from __future__ import annotations

import sys
from importlib import import_module
from typing import Any

import click

from attest_otel.errors import AttestError

COMMANDS = {
    "demo": "A refund agent goes wrong; see the verdict in ten seconds.",
    "check": "Grade recorded runs: run files, OTLP JSON, Jaeger JSON.",
    "runs": "Show what was rebuilt: the runs as the checks see them.",
    "tools": "Grade one run's tool calls.",
    "contract": "Check a cases file against the tools' definitions.",
    "metrics": "Batch numbers: accuracy, precision, recall, validity, quality.",
    "stats": "A pass rate with its confidence interval; compare two.",
}


class _Commands(click.Group):
    """Finds a command's module when the command is called, so that `--help` is quick."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        return list(COMMANDS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        if cmd_name not in COMMANDS:
            return None
        command = getattr(import_module(f"attest_otel.cli.{cmd_name}"), cmd_name)
        return command if isinstance(command, click.Command) else None

    def resolve_command(self, ctx: click.Context, args: list[str]) -> tuple[str | None, click.Command | None, list[str]]:
        if args and args[0] not in COMMANDS and not args[0].startswith("-"):
            from attest_otel.suggestions import did_you_mean  # noqa: PLC0415  # only a misspelt command needs it

            ctx.fail(f"No such command {args[0]!r}{did_you_mean(args[0], COMMANDS) or '.'}")
        return super().resolve_command(ctx, args)

    def invoke(self, ctx: click.Context) -> Any:
        from attest_otel.cli import output  # noqa: PLC0415  # `--help` needs no rich

        output.write_unencodable_as_escapes()
        try:
            return super().invoke(ctx)
        except BrokenPipeError:
            output.leave(output.PIPE_CLOSED)
        except KeyboardInterrupt:
            output.leave(output.INTERRUPTED)

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        with formatter.section("Commands"):
            formatter.write_dl(list(COMMANDS.items()))


@click.group(cls=_Commands, epilog="`attest-otel COMMAND --help` says a command's options and exit codes, and gives an example.")
@click.version_option(package_name="attest-otel")
def app() -> None:
    """Grade live agents' tool calls, and say why a run went wrong."""


def main() -> None:
    """Run the command line; the entry point of `attest-otel`."""
    try:
        app.main(prog_name="attest-otel", standalone_mode=True)
    except AttestError as error:
        click.echo(f"attest-otel: {error}", err=True)
        sys.exit(2)
