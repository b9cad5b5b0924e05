"""The lesson's numbers over a batch of runs."""

from __future__ import annotations

from pathlib import Path

import pytest

from attest_otel import Attest, AttestConfig, Trajectory
from attest_otel.batch import SHARES, BatchMetrics, batch_metrics
from attest_otel.cases import Case, load_cases
from attest_otel.config import AgentConfig
from tests.checks.case_runs import call, case, expected, view

EXAMPLES = Path(__file__).parents[1] / "examples" / "runs"
LOOKUP = call("lookup", {"order_id": "O1"})
EMAIL = call("email", {"to": "a@b.c"})


def test_nine_recorded_tasks_give_the_lessons_numbers() -> None:
    """Six right searches, one missed, one needless, one rightly left out: 0.778, 0.857, 0.857, 0.857, 0.571."""
    metrics = _docent()
    assert (metrics.tp, metrics.fp, metrics.fn, metrics.tn) == (6, 1, 1, 1)
    shares = (metrics.accuracy, metrics.precision, metrics.recall, metrics.argument_validity, metrics.query_quality)
    assert [share.value and round(share.value, 3) for share in shares] == [0.778, 0.857, 0.857, 0.857, 0.571]
    assert (metrics.argument_validity.part, metrics.argument_validity.whole) == (6, 7)
    assert (metrics.query_quality.part, metrics.query_quality.whole) == (4, 7)


def test_the_same_runs_give_the_same_numbers() -> None:
    """Scoring recorded calls is a pure function."""
    assert _docent() == _docent()


def test_the_rows_are_the_lessons_table() -> None:
    """One row a run: decision, need, validity, quality; five of nine are flagged."""
    rows = _docent().rows
    assert [(r.called, r.should_call, r.valid, r.good_query, r.flagged) for r in rows] == [
        *[(True, True, True, True, False)] * 4,
        (False, True, None, None, True),
        (True, True, False, False, True),
        (True, True, True, False, True),
        (False, False, None, None, False),
        (True, False, True, False, True),
    ]


def test_nothing_to_divide_is_null() -> None:
    """A share of nothing is neither 0 nor 1."""
    metrics = batch_metrics([])
    assert metrics.as_dict() == {"tp": 0, "fp": 0, "fn": 0, "tn": 0} | dict.fromkeys(SHARES)


def test_a_run_without_a_case_counts_for_its_calls_only() -> None:
    """Without a case there is no decision to count, and the calls' validity still is."""
    metrics = batch_metrics([view([LOOKUP], None)])
    assert metrics.accuracy.value is None
    assert (metrics.argument_validity.part, metrics.argument_validity.whole) == (1, 1)
    assert metrics.rows[0].outcome is None
    assert metrics.rows[0].called is None


@pytest.mark.parametrize(
    ("made", "calls", "precision", "recall"),
    [
        pytest.param(Case(case_id="c", should_call=["lookup"]), [LOOKUP], (1, 1), (1, 1), id="one for one"),
        pytest.param(Case(case_id="c", should_call=["lookup"]), [LOOKUP] * 3, (1, 3), (1, 1), id="three searches for one"),
        pytest.param(Case(case_id="c", should_call=["lookup"]), [], (0, 0), (0, 1), id="missed"),
        pytest.param(Case(case_id="c", should_call=[]), [LOOKUP], (0, 1), (0, 0), id="needless"),
        pytest.param(
            case(expected("email"), expected("email")), [LOOKUP, EMAIL], (1, 1), (1, 2), id="one of two, reads are free"
        ),
        pytest.param(
            case(expected("email")), [EMAIL, call("cancel", {"order_id": "O"})], (1, 2), (1, 1), id="a side effect more"
        ),
    ],
)
def test_call_level(made: Case, calls: list[dict[str, object]], precision: tuple[int, int], recall: tuple[int, int]) -> None:
    """Calls matched, of those made and of those expected."""
    metrics = batch_metrics([view(calls, made)])
    assert (metrics.call_precision.part, metrics.call_precision.whole) == precision
    assert (metrics.call_recall.part, metrics.call_recall.whole) == recall


def _docent() -> BatchMetrics:
    attest = Attest(AttestConfig(agents={"*": AgentConfig(cases=load_cases(EXAMPLES / "docent_cases.yaml"))}))
    lines = (EXAMPLES / "docent.jsonl").read_text(encoding="utf-8").splitlines()
    return batch_metrics(attest.view(Trajectory.model_validate_json(line)) for line in lines)
