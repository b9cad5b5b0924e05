"""`attest-otel stats`: a pass rate with its Wilson 95 % interval; with two, whether they differ."""

from __future__ import annotations

from typing import Any

import click

from attest_otel.cli.options import epilog
from attest_otel.cli.output import write_json
from attest_otel.statistics import difference_is_real, wilson_interval

PAIRS = (2, 4)


@click.command(epilog=epilog({0: "the rate was worked out", 2: "wrong usage"}, "attest-otel stats 41 50 47 50"))
@click.argument("counts", nargs=-1, type=int, metavar="PASSED TOTAL [PASSED TOTAL]")
def stats(counts: tuple[int, ...]) -> None:
    """Turn PASSED of TOTAL into a rate with its 95 % interval, as JSON; a second pair is compared."""
    if len(counts) not in PAIRS:
        raise click.UsageError("expected PASSED TOTAL, or PASSED TOTAL PASSED TOTAL")
    try:
        data: dict[str, Any] = wilson_interval(counts[0], counts[1])._asdict()
        if len(counts) == PAIRS[1]:
            data["other"] = wilson_interval(counts[2], counts[3])._asdict()
            data["difference_is_real"] = difference_is_real(*counts)
    except ValueError as error:
        raise click.UsageError(str(error)) from None
    write_json({"data": data})
