"""Did a run turn in circles?

A loop is the same tool with equal arguments and equal outcome (the output, and whether it is an error)
three times or more in a row, other calls between them or not, where no later equal call ended
differently: polling that changes, and batches whose arguments differ, are no loops. Calls whose
arguments or whole output nobody recorded say nothing either way. Source: DESIGN 3 rule 9.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

from attest_otel.checks.view import Call

LOOP_LENGTH = 3


def find_loops(calls: Sequence[Call]) -> list[list[Call]]:
    """Return the loops among the calls of one tool, each as its calls in step order."""
    if len(calls) < LOOP_LENGTH or max(Counter(call.call.output for call in calls).values()) < LOOP_LENGTH:
        return []
    streaks: dict[str, list[Call]] = {}
    for call in calls:
        if not _is_known(call):
            continue
        streak = streaks.setdefault(call.canonical_arguments, [])
        if streak and not _ended_alike(streak[-1], call):
            streak.clear()
        streak.append(call)
    return [streak for streak in streaks.values() if len(streak) >= LOOP_LENGTH]


def _is_known(call: Call) -> bool:
    record = call.call
    return record.output is not None and record.output_fidelity == "recorded" and record.arguments_fidelity != "absent"


def _ended_alike(a: Call, b: Call) -> bool:
    return a.call.output == b.call.output and a.outcome.is_error == b.outcome.is_error
