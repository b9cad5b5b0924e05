"""`attest-otel contract`: do the cases still fit the tools' definitions?"""

from __future__ import annotations

from pathlib import Path

import click

from attest_otel.cases import load_cases
from attest_otel.cli.options import BAD, epilog
from attest_otel.contract import check_contract
from attest_otel.tool_files import read_tools


@click.command(
    epilog=epilog(
        {0: "every case fits the tools", 2: f"one does not, or {BAD}"},
        "attest-otel contract cases.yaml --tools tools.json",
    )
)
@click.argument("cases", metavar="CASES.yaml")
@click.option("--tools", "tools_file", metavar="TOOLS.json", required=True, help="The tools' current definitions.")
def contract(cases: str, tools_file: str) -> None:
    """Check every expectation in CASES.yaml against the tools' current definitions."""
    loaded = load_cases(Path(cases))
    registered = read_tools(Path(tools_file))
    for note in check_contract(loaded, registered, where=cases):
        click.echo(note, err=True)
    click.echo(f"{cases}: {len(loaded)} cases fit {len(registered)} tools")
