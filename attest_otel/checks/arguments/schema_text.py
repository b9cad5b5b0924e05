"""What a schema violation expected, in words; and a schema without the patterns that can't run in linear time."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from attest_otel.formats.json_spelling import spell

MAX_EXPECTED_CHARS = 200
MAX_OPTIONS = 8
_LITERAL_KEYWORDS = frozenset({"const", "enum", "default", "examples"})
_BOUNDS = {
    "minimum": "at least",
    "maximum": "at most",
    "exclusiveMinimum": "more than",
    "exclusiveMaximum": "less than",
    "multipleOf": "a multiple of",
}
_SIZES = {
    "minLength": "at least {} characters",
    "maxLength": "at most {} characters",
    "minItems": "at least {} items",
    "maxItems": "at most {} items",
    "minProperties": "at least {} keys",
    "maxProperties": "at most {} keys",
}


def describe(error: Any) -> str:
    """Return what the violated keyword expected, for a person; at most `MAX_EXPECTED_CHARS` characters."""
    text = _describe(error)
    return text if len(text) <= MAX_EXPECTED_CHARS else text[:MAX_EXPECTED_CHARS] + "…"


def _describe(error: Any) -> str:
    keyword = error.kind.name
    details = error.kind.as_dict()
    if keyword == "type":
        return " or ".join(sorted(details["types"]))
    if keyword == "enum":
        return "one of " + ", ".join(spell(option, 60) for option in details["options"][:MAX_OPTIONS])
    if keyword == "const":
        return spell(details["expected_value"], MAX_EXPECTED_CHARS)
    if keyword in _BOUNDS:
        return f"{_BOUNDS[keyword]} {spell(next(iter(details.values())), 60)}"
    if keyword in _SIZES:
        return _SIZES[keyword].format(spell(next(iter(details.values())), 60))
    if keyword == "pattern":
        return f"text that matches {details['pattern']}"
    if "context" in details:
        branches = [describe(branch[0]) for branch in details["context"][:MAX_OPTIONS] if branch]
        return "; or ".join(dict.fromkeys(branches)) or f"a value that {keyword} allows"
    return f"a value that {keyword} allows"


def without_patterns(schema: Any, is_linear: Callable[[str], bool]) -> tuple[Any, list[str]]:
    """Return the schema without the patterns that aren't linear, and those patterns.

    Where one stands in `patternProperties`, the object's other keys are no longer judged either.
    """
    skipped: list[str] = []
    return _strip(schema, is_linear, skipped), skipped


def _strip(schema: Any, is_linear: Callable[[str], bool], skipped: list[str]) -> Any:
    if isinstance(schema, list):
        return [_strip(item, is_linear, skipped) for item in schema]
    if not isinstance(schema, dict):
        return schema
    result = {k: v if k in _LITERAL_KEYWORDS else _strip(v, is_linear, skipped) for k, v in schema.items()}
    pattern = result.get("pattern")
    if isinstance(pattern, str) and not is_linear(pattern):
        skipped.append(pattern)
        del result["pattern"]
    by_pattern = schema.get("patternProperties")
    if isinstance(by_pattern, dict) and (bad := [key for key in by_pattern if not is_linear(key)]):
        skipped += bad
        for keyword in ("patternProperties", "additionalProperties", "unevaluatedProperties"):
            result.pop(keyword, None)
    return result
