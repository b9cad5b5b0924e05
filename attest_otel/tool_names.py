"""When two names mean one tool: servers and frameworks put a prefix before the name that a handler knows."""

from __future__ import annotations

SEPARATORS = "_.-/:"


def akin(a: str, b: str) -> bool:
    """Return whether two names are one, but for a prefix that ends in a separator: `mcp__shop__lookup` and `lookup`."""
    longer, shorter = (a, b) if len(a) >= len(b) else (b, a)
    if not shorter or not longer.endswith(shorter):
        return longer == shorter
    return len(longer) == len(shorter) or longer[-len(shorter) - 1] in SEPARATORS
