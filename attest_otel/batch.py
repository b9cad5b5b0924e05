"""The lesson's numbers over many runs: the decision to call, the calls' validity, the queries' quality.

Task level: one decision a run (`selection`'s tp, fp, fn or tn), from which accuracy, precision and recall
follow. Call level (the lesson's second exercise): calls matched to calls expected, tool by tool. Argument
validity and query quality are shares of the calls that could be judged. A share of nothing is None, never
0 and never 1. A pure function: the same runs give the same numbers. Source: the lesson on tool-call
correctness.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass

from attest_otel.cases import Case
from attest_otel.checks import selection
from attest_otel.checks.arguments.quality import has_good_query, is_valid_call
from attest_otel.checks.view import RunView

SHARES = (
    "accuracy",
    "precision",
    "recall",
    "argument_validity",
    "query_quality",
    "call_precision",
    "call_recall",
)


@dataclass(frozen=True, slots=True)
class Share:
    """So many of so many; `value` is None where there is nothing to divide."""

    part: int
    whole: int

    @property
    def value(self) -> float | None:
        """The share as a number between 0 and 1."""
        return self.part / self.whole if self.whole else None


@dataclass(frozen=True, slots=True)
class RunRow:
    """One run as the lesson's table shows it.

    `should_call` and `called` are about the tools the case needs; None where no case says. `valid` and
    `good_query` hold when they hold for every call that can be judged; None where there is none.
    """

    run_id: str | None
    case_id: str | None
    task: str | None
    outcome: selection.Outcome | None
    should_call: bool | None
    called: bool | None
    calls: int
    valid: bool | None
    good_query: bool | None

    @property
    def flagged(self) -> bool:
        """Whether a person should look: a wrong decision, an invalid call or a useless query."""
        return self.outcome in ("fp", "fn") or self.valid is False or self.good_query is False


@dataclass(frozen=True, slots=True)
class BatchMetrics:
    """The numbers of a batch, and a row for each run in input order."""

    tp: int
    fp: int
    fn: int
    tn: int
    argument_validity: Share
    query_quality: Share
    call_precision: Share
    call_recall: Share
    rows: tuple[RunRow, ...]

    @property
    def accuracy(self) -> Share:
        """Runs that decided rightly, of those whose case says what was needed."""
        return Share(self.tp + self.tn, self.tp + self.fp + self.fn + self.tn)

    @property
    def precision(self) -> Share:
        """Runs that called and should have, of those that called."""
        return Share(self.tp, self.tp + self.fp)

    @property
    def recall(self) -> Share:
        """Runs that called and should have, of those that should have."""
        return Share(self.tp, self.tp + self.fn)

    def as_dict(self) -> dict[str, float | int | None]:
        """Return the numbers by name, None where there is nothing to divide; rows left out."""
        counts: dict[str, float | int | None] = {"tp": self.tp, "fp": self.fp, "fn": self.fn, "tn": self.tn}
        return counts | {name: getattr(self, name).value for name in SHARES}


def batch_metrics(graded: Iterable[RunView]) -> BatchMetrics:
    """Return the numbers of a batch of runs, each with the case it names.

    Runs without a case, or whose case doesn't say which calls were needed, count for the calls' validity
    and quality only.
    """
    outcomes: Counter[str] = Counter()
    valid, good, matched_of_made, matched_of_expected = _Tally(), _Tally(), _Tally(), _Tally()
    rows: list[RunRow] = []
    for view in graded:
        run_valid, run_good = _Tally(), _Tally()
        for call in view.calls:
            run_valid.judge(is_valid_call(view, call))
            run_good.judge(has_good_query(view, call))
        matched, made, expected = _matched(view)
        valid.add(run_valid.part, run_valid.whole)
        good.add(run_good.part, run_good.whole)
        matched_of_made.add(matched, made)
        matched_of_expected.add(matched, expected)
        row = _row(view, run_valid, run_good)
        outcomes.update([row.outcome] if row.outcome else [])
        rows.append(row)
    return BatchMetrics(
        tp=outcomes["tp"],
        fp=outcomes["fp"],
        fn=outcomes["fn"],
        tn=outcomes["tn"],
        argument_validity=valid.share(),
        query_quality=good.share(),
        call_precision=matched_of_made.share(),
        call_recall=matched_of_expected.share(),
        rows=tuple(rows),
    )


class _Tally:
    """A share that grows."""

    def __init__(self) -> None:
        self.part = 0
        self.whole = 0

    def judge(self, holds: bool | None) -> None:
        if holds is not None:
            self.add(int(holds), 1)

    def add(self, part: int, whole: int) -> None:
        self.part += part
        self.whole += whole

    def share(self) -> Share:
        return Share(self.part, self.whole)

    def all_hold(self) -> bool | None:
        return self.part == self.whole if self.whole else None


def _row(view: RunView, valid: _Tally, good: _Tally) -> RunRow:
    result = selection.check(view) if view.case is not None else None
    outcome: selection.Outcome | None = result.metadata.get("outcome") if result is not None else None
    return RunRow(
        run_id=view.run.id,
        case_id=view.run.case_id,
        task=view.run.task,
        outcome=outcome,
        should_call=outcome in ("tp", "fn") if outcome else None,
        called=outcome in ("tp", "fp") if outcome else None,
        calls=len(view.calls),
        valid=valid.all_hold(),
        good_query=good.all_hold(),
    )


def _matched(view: RunView) -> tuple[int, int, int]:
    """Return how many calls were both expected and made, how many were made, and how many expected.

    Made are the calls of expected tools and those with a side effect; where no call was needed, all that
    `selection` calls needless.
    """
    case = view.case
    needed = selection.needed_tools(case) if case is not None else None
    if case is None or needed is None:
        return 0, 0, 0
    if not needed:
        return 0, len(selection.needless_calls(view, case)), 0
    expected = _expected_counts(case, needed)
    made = Counter(call.name for call in view.calls if call.name in expected or call.may_have_side_effect)
    return (expected & made).total(), made.total(), expected.total()


def _expected_counts(case: Case, needed: list[str]) -> Counter[str]:
    expected = Counter(call.name for call in case.expect_tool_calls or ())
    return expected | Counter(needed)
