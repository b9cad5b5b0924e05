"""The words of the checks: every check's name, and the verdicts it can give.

Settings name them (`checks`, `min_score`, `dispositions`), and one that is misspelt would decide nothing.
Source: DESIGN 3, table. Every check can be `unchecked`: one that fails says so in that word.
"""

from __future__ import annotations

from collections.abc import Mapping

VERDICTS: Mapping[str, tuple[str, ...]] = {
    "tool_use": ("correct", "disallowed_tool", "error_claimed_success", "error_silent", "incorrect", "unchecked"),
    "arguments": (
        "valid", "unparseable", "not_object", "duplicate_keys", "non_finite", "unknown_tool", "schema_invalid", "markup_leak",
        "rewritten", "type_mismatch", "undeclared_key", "placeholder", "low_quality", "null_optional", "unchecked",
    ),
    "expectations": (
        "met", "wrong_count", "wrong_tool", "wrong_argument", "wrong_type", "missing_required", "wrong_order",
        "unexpected_side_effect", "unchecked",
    ),
    "selection": ("called", "not_needed", "missed_call", "needless_call", "unchecked"),
    "repetition": ("distinct", "idempotent_retry", "repeated_side_effect", "loop", "unchecked"),
    "actions": ("performed", "phantom_action", "unchecked"),
    "provenance": ("grounded", "ungrounded", "tainted", "unchecked"),
    "policy": ("kept", "broken", "unchecked"),
    "injection": ("clean", "suspicious", "compromised", "unchecked"),
    "faithfulness": ("supported", "unsupported", "unverifiable", "unchecked"),
    "role": ("in_scope", "appropriately_refused", "out_of_scope_complied", "unchecked"),
    "coverage": (
        "complete", "result_missing", "pairing_ambiguous", "orphan_result", "truncated", "not_recorded", "requested_not_run",
        "run_not_requested", "incomplete", "unchecked",
    ),
}  # fmt: skip
"""Each check's verdicts, in the order in which a report lists the checks."""

ASKS_MODEL = frozenset({"tool_use", "injection", "policy", "actions", "faithfulness", "role"})
"""The checks that have questions for the grading model."""
