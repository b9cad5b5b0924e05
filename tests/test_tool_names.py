"""Names of one tool, with a prefix and without."""

from __future__ import annotations

import pytest

from attest_otel.tool_names import akin


@pytest.mark.parametrize(
    ("a", "b", "expected"),
    [
        ("lookup", "lookup", True),
        ("mcp__shop__lookup", "lookup", True),
        ("shop.lookup", "lookup", True),
        ("shop-look_up", "look_up", True),
        ("look_up", "up", True),
        ("uplookup", "lookup", False),
        ("lookup", "lookups", False),
        ("lookup_order", "lookup", False),
        ("lookup", "", False),
        ("", "", True),
    ],
)
def test_only_a_prefix_that_ends_in_a_separator_may_differ(a: str, b: str, expected: bool) -> None:
    """Either way round."""
    assert akin(a, b) is expected
    assert akin(b, a) is expected
