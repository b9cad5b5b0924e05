"""Advice: something to do for every verdict that needs something done, and for nothing else."""

from __future__ import annotations

import pytest

from attest_otel.cli.advice import ADVICE, EVERY, advice
from attest_otel.vocabulary import VERDICTS

FINE = {
    "correct", "valid", "met", "called", "not_needed", "distinct", "idempotent_retry", "performed", "grounded", "kept", "clean",
    "supported", "in_scope", "appropriately_refused", "complete",
}  # fmt: skip


@pytest.mark.parametrize(("check", "verdict"), [(c, v) for c, verdicts in VERDICTS.items() for v in verdicts if v not in FINE])
def test_every_verdict_that_needs_something_done_has_advice(check: str, verdict: str) -> None:
    """One or two sentences."""
    text = advice(check, verdict)
    assert text is not None
    assert text.endswith(".")
    assert len(text) <= 200


@pytest.mark.parametrize(("check", "row"), ADVICE.items())
def test_advice_is_for_verdicts_that_exist(check: str, row: dict[str, str]) -> None:
    """A row that no check can give advises nobody; a pass needs no advice of its own."""
    assert {verdict for verdict in row if verdict != EVERY} <= set(VERDICTS[check]) - FINE


def test_nothing_is_made_up_for_what_is_unknown() -> None:
    """A check of somebody's own has none."""
    assert advice("their_check", "odd") is None
