"""What the commands' options and help texts share: choices that say which one was meant, and exit codes with an example."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any, TypeVar

import click

from attest_otel.suggestions import did_you_mean

CONFIG_HELP = "attest.yaml; by default the file that ATTEST_CONFIG names."
BAD = "bad input or usage"

if TYPE_CHECKING:
    _Choice = click.Choice[str]
else:
    _Choice = click.Choice  # the oldest click has no generic one

_Command = TypeVar("_Command", bound=Callable[..., Any])


class Choice(_Choice):
    """One of some words; a misspelt one is told with the word that was meant."""

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        """Return the word, or say in click's own message which one may be meant."""
        try:
            return super().convert(value, param, ctx)
        except click.BadParameter as error:
            hint = did_you_mean(str(value), list(self.choices))
            raise click.BadParameter(error.message.removesuffix(".") + (hint or "."), ctx, param) from None


def format_option(lines: str) -> Callable[[_Command], _Command]:
    """Return the `--format` option; `lines` says what stands on one line of JSON."""
    choice = Choice(["table", "json"])
    return click.option("--format", "output", type=choice, default="table", show_default=True, help=f"json: {lines}.")


def epilog(codes: Mapping[int, str], *examples: str) -> str:
    """Return the end of a command's help: its exit codes and an example, as they stand."""
    said = [f"  {code}  {meaning}" for code, meaning in codes.items()]
    return "\n".join(["\b", "Exit codes:", *said, "", "\b", "Example:", *(f"  {example}" for example in examples)])
