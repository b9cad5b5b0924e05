"""The tables of wording: the cheap question lets through whatever a pattern needs."""

from __future__ import annotations

import re

import pytest
import re2
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from attest_otel.checks.injection.groups import Pattern
from attest_otel.checks.injection.patterns import PATTERNS, may_carry


@pytest.mark.parametrize("pattern", PATTERNS, ids=lambda pattern: pattern.name)
def test_the_trigger_lets_every_pattern_through(pattern: Pattern) -> None:
    """A text that a pattern matches is never called clean by the first pass."""
    compiled = re2.compile(pattern.expression)
    flags = re.ASCII if pattern.expression.isascii() else 0

    @settings(max_examples=20, derandomize=True, database=None, deadline=None, suppress_health_check=list(HealthCheck))
    @given(st.from_regex(re.compile(pattern.expression, flags)))
    def holds(text: str) -> None:
        low = text.lower()
        assert compiled.search(low) is None or may_carry(low)

    holds()
