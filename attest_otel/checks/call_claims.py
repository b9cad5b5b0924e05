"""What one expected call claims of one recorded call: values, types, required parameters.

Read from the arguments as the model emitted them. Equality is exact and blind to spelling; the type
is a claim of its own (4200.0 is the value of 4200 and not its type; "4200" is neither). The expected
type is the one `arg_types` names, else the type of the expected value, all the way down. Named
arguments must be equal, required parameters of the current schema present, others are let through.

Where a key stands twice the last one counts, as it would for a handler; the `arguments` check blocks
such a call anyway. Text that is no JSON object fails the value claim. A source that coerced arguments
cannot show the types the model wrote: `unchecked` where the case names a type in `arg_types`.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any, Literal, NamedTuple

from attest_otel.cases import ArgType, ExpectedCall
from attest_otel.checks.view import Call
from attest_otel.findings import excerpt
from attest_otel.strict_json import equal, same_type, spell, type_name

ClaimName = Literal["count", "tool", "value", "type", "required", "order", "side_effect"]

MAX_SHOWN_CHARS = 200

_VALUE_CAUSE = "Look at the context and the prompt: the case was read wrongly."
_TYPE_CAUSE = "Look at the parameter's schema and description: the value was rendered badly."


class Claim(NamedTuple):
    """One claim that doesn't hold, or (verdict `unchecked`) that the source cannot show."""

    verdict: str
    claim: ClaimName
    argument: str | None
    expected: str
    emitted: str | None
    reason: str


def failing_claims(expected: ExpectedCall, call: Call, required: Sequence[str]) -> list[Claim]:
    """Return the claims of an expected call that a recorded call of the same tool doesn't meet."""
    arguments = call.arguments
    if arguments is None:
        return _without_object(expected, call, required)
    found: list[Claim] = []
    for name, value in expected.args.items():
        if name not in arguments:
            found.append(_absent(name, value))
            continue
        emitted = arguments[name]
        if not equal(value, emitted):
            found.append(_wrong_value(name, value, emitted))
        if name not in expected.arg_types and not same_type(value, emitted) and not _coerced(call):
            found.append(_wrong_type(name, type_name(value), emitted, value))
    found.extend(_type_claims(expected, call, arguments))
    found.extend(_missing(name) for name in required if name not in arguments)
    return found


def shown(value: Any) -> str:
    """Write a value as JSON for a person, cut where it is long."""
    return excerpt(spell(value), MAX_SHOWN_CHARS) or ""


def _type_claims(expected: ExpectedCall, call: Call, arguments: dict[str, Any]) -> Iterator[Claim]:
    for name, kind in expected.arg_types.items():
        if name not in arguments:
            if name not in expected.args:
                reason = f"{name} was expected as {kind} and was not emitted. {_TYPE_CAUSE}"
                yield Claim("wrong_type", "type", name, kind, None, reason)
        elif _coerced(call):
            reason = f"{name} was expected as {kind}; the source converted the arguments, so the type the model wrote is lost."
            yield Claim("unchecked", "type", name, kind, shown(arguments[name]), reason)
        elif not _is_kind(arguments[name], kind):
            yield _wrong_type(name, kind, arguments[name], None)


def _without_object(expected: ExpectedCall, call: Call, required: Sequence[str]) -> list[Claim]:
    parsed = call.parsed
    wanted = shown(expected.args)
    if parsed is None:
        if not expected.args and not expected.arg_types and not required:
            return []
        return [
            Claim(
                "unchecked",
                "value",
                None,
                wanted,
                None,
                "The arguments were not recorded, so no claim about them was checked.",
            )
        ]
    if parsed.problem == "unparseable":
        emitted, why = (
            excerpt(call.call.arguments_raw, MAX_SHOWN_CHARS),
            f"The arguments can't be read: {parsed.reason}.",
        )
    else:
        emitted, why = shown(parsed.value), f"The arguments are of type {type_name(parsed.value)}, no object."
    return [
        Claim(
            "wrong_argument",
            "value",
            None,
            wanted,
            emitted,
            f"{why} Expected {wanted}. Look at the model's raw text and the tool's schema.",
        )
    ]


def _absent(name: str, value: Any) -> Claim:
    reason = f"{name} was expected to be {shown(value)} and was not emitted. {_VALUE_CAUSE}"
    return Claim("wrong_argument", "value", name, shown(value), None, reason)


def _wrong_value(name: str, value: Any, emitted: Any) -> Claim:
    reason = f"{name} was expected to be {shown(value)}; the model emitted {shown(emitted)}. {_VALUE_CAUSE}"
    return Claim("wrong_argument", "value", name, shown(value), shown(emitted), reason)


def _wrong_type(name: str, kind: str, emitted: Any, value: Any) -> Claim:
    given = type_name(emitted)
    difference = f"as {kind}" if given != kind else f"with the types inside {shown(value)}"
    reason = f"{name} was expected {difference}; the model emitted {shown(emitted)} ({given}). {_TYPE_CAUSE}"
    return Claim("wrong_type", "type", name, kind, shown(emitted), reason)


def _missing(name: str) -> Claim:
    reason = f"The tool requires {name}, which was not emitted. Look at the tool's schema and description."
    return Claim("missing_required", "required", name, name, None, reason)


def _is_kind(value: Any, kind: ArgType) -> bool:
    given = type_name(value)
    return given in ("int", "float") if kind == "number" else given == kind


def _coerced(call: Call) -> bool:
    return call.call.arguments_fidelity == "coerced"
