"""One problem with one call's arguments, and the finding it becomes; paths as people write them."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Any, Literal

from attest_otel.checks.arguments.schema import ABSENT, Path
from attest_otel.checks.view import Call
from attest_otel.findings import Finding, Severity, make_finding
from attest_otel.formats.json_spelling import spell
from attest_otel.trajectory import ArgumentsFidelity

NAME = "arguments"
MAX_VALUE_CHARS = 200

LookAt = Literal["model", "schema", "dispatcher", "recorder"]
_PLAIN_KEY = re.compile(r"[A-Za-z_][A-Za-z0-9_-]{0,99}")
CANNOT_SHOW: dict[ArgumentsFidelity, str] = {
    "reserialized": "duplicate keys and how the model spelt the values",
    "coerced": "duplicate keys and the types the model chose",
    "absent": "the arguments",
}


@dataclass(frozen=True, slots=True)
class Problem:
    """What is wrong, how bad, where, and whom to look at. `ABSENT` values are left out of the finding."""

    verdict: str
    severity: Severity
    look_at: LookAt
    reason: str
    path: Path = ()
    emitted: Any = ABSENT
    expected: str | None = None
    received: Any = ABSENT
    kind: str | None = None


def to_finding(call: Call, problem: Problem) -> Finding:
    """Return the finding of a problem; its metadata always has its keys in one order."""
    path = path_text(problem.path)
    emitted = _spelt(problem.emitted)
    metadata: dict[str, Any] = {"path": path, "emitted": emitted, "expected": problem.expected}
    if problem.received is not ABSENT or problem.verdict == "rewritten":
        metadata["received"] = _spelt(problem.received)
    metadata["look_at"] = problem.look_at
    if problem.kind is not None:
        metadata["kind"] = problem.kind
    metadata |= fidelity(call)
    return make_finding(
        NAME, problem.severity, problem.verdict, problem.reason,
        subject=call.name, step=call.step, evidence=emitted, key=f"{problem.kind}{path}", metadata=metadata,
    )  # fmt: skip


def fidelity(call: Call) -> dict[str, Any]:
    """Return what a finding must say of arguments that aren't the provider's own text; {} where they are."""
    how = call.call.arguments_fidelity
    return {} if how == "verbatim" else {"fidelity": how, "cannot_show": CANNOT_SHOW[how]}


def path_text(path: Path) -> str:
    """Write a path into a JSON value: `$.items[0].price`, `$["odd key"]`; long ones are cut."""
    parts = ["$"]
    for part in path:
        if isinstance(part, int):
            parts.append(f"[{part}]")
        elif isinstance(part, str) and _PLAIN_KEY.fullmatch(part):
            parts.append(f".{part}")
        else:
            parts.append(f"[{spell(part, 100)}]")
    text = "".join(parts)
    return text if len(text) <= MAX_VALUE_CHARS else text[:MAX_VALUE_CHARS] + "…"


def _spelt(value: Any) -> str | None:
    return None if value is ABSENT else spell(value, MAX_VALUE_CHARS)
