"""Patterns that people write, in RE2's syntax: they run in linear time, or are refused where they are loaded."""

from __future__ import annotations


def check_pattern(pattern: str) -> None:
    """Refuse a pattern that RE2 can't run in linear time, or that matches where there is nothing (ValueError)."""
    import re2  # noqa: PLC0415  # only settings with patterns pay for it

    options = re2.Options()
    options.log_errors = False
    try:
        compiled = re2.compile(pattern, options)
    except re2.error as error:
        said = error.args[0].decode("utf-8", "replace") if error.args and isinstance(error.args[0], bytes) else str(error)
        raise ValueError(f"expected a pattern in RE2 syntax (no look-around, no back-references): {said}") from None
    if compiled.search("") is not None:
        raise ValueError("expected a pattern that matches at least one character, but it matches an empty text")
