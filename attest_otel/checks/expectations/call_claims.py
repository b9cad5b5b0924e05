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

from collections.abc import Sequence
from typing import Any, Literal, NamedTuple

from attest_otel.cases import ArgType, ExpectedCall
from attest_otel.checks.view import Call
from attest_otel.findings import excerpt
from attest_otel.formats.strict_json import equal, same_type, spell, type_name

ClaimName = Literal["count", "tool", "value", "type", "required", "order", "side_effect"]
Problem = Literal["other_value", "other_type", "not_emitted", "missing", "no_object", "not_recorded", "type_lost"]

MAX_SHOWN_CHARS = 200

_VALUE_CAUSE = "Look at the context and the prompt: the case was read wrongly."
_TYPE_CAUSE = "Look at the parameter's schema and description: the value was rendered badly."


class Claim(NamedTuple):
    """One claim that doesn't hold, or (verdict `unchecked`) that the source cannot show.

    Cheap on purpose, since most are only counted: `tell` puts the ones that matter into words.
    `wanted` is the expected value, or for a claim about a type its name.
    """

    verdict: str
    claim: ClaimName
    problem: Problem
    argument: str | None
    wanted: Any
    emitted: Any


class Told(NamedTuple):
    """A claim in words: both sides as JSON text, None for what was not emitted, and the reason."""

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
            found.append(Claim("wrong_argument", "value", "not_emitted", name, value, None))
            continue
        emitted = arguments[name]
        if not equal(value, emitted):
            found.append(Claim("wrong_argument", "value", "other_value", name, value, emitted))
        if name not in expected.arg_types and not same_type(value, emitted) and not _coerced(call):
            found.append(Claim("wrong_type", "type", "other_type", name, type_name(value), emitted))
    if expected.arg_types:
        found += _type_claims(expected, call, arguments)
    found += [Claim("missing_required", "required", "missing", name, name, None) for name in required if name not in arguments]
    return found


def tell(claim: Claim, call: Call) -> Told:
    """Put a claim that doesn't hold into words: what was expected, what was emitted, and where to look."""
    name, wanted = claim.argument, claim.wanted
    if claim.problem == "no_object":
        return _tell_no_object(claim, call)
    if claim.problem == "not_recorded":
        return Told(shown(wanted), None, "The arguments were not recorded, so no claim about them was checked.")
    if claim.problem == "missing":
        reason = f"The tool requires {name}, which was not emitted. Look at the tool's schema and description."
        return Told(wanted, None, reason)
    if claim.claim == "value":
        emitted = None if claim.problem == "not_emitted" else shown(claim.emitted)
        said = "it was not emitted" if emitted is None else f"the model emitted {emitted}"
        return Told(shown(wanted), emitted, f"{name} was expected to be {shown(wanted)}; {said}. {_VALUE_CAUSE}")
    return _tell_type(claim)


def shown(value: Any) -> str:
    """Write a value as JSON for a person, cut where it is long."""
    return excerpt(spell(value), MAX_SHOWN_CHARS) or ""


def _type_claims(expected: ExpectedCall, call: Call, arguments: dict[str, Any]) -> list[Claim]:
    found: list[Claim] = []
    for name, kind in expected.arg_types.items():
        if name not in arguments:
            if name not in expected.args:
                found.append(Claim("wrong_type", "type", "not_emitted", name, kind, None))
        elif _coerced(call):
            found.append(Claim("unchecked", "type", "type_lost", name, kind, arguments[name]))
        elif not _is_kind(arguments[name], kind):
            found.append(Claim("wrong_type", "type", "other_type", name, kind, arguments[name]))
    return found


def _without_object(expected: ExpectedCall, call: Call, required: Sequence[str]) -> list[Claim]:
    if call.parsed is not None:
        return [Claim("wrong_argument", "value", "no_object", None, expected.args, None)]
    if expected.args or expected.arg_types or required:
        return [Claim("unchecked", "value", "not_recorded", None, expected.args, None)]
    return []


def _tell_no_object(claim: Claim, call: Call) -> Told:
    parsed = call.parsed
    if parsed is None or parsed.problem == "unparseable":
        emitted = excerpt(call.call.arguments_raw, MAX_SHOWN_CHARS)
        why = f"The arguments can't be read: {parsed.reason if parsed else 'none were recorded'}."
    else:
        emitted = shown(parsed.value)
        why = f"The arguments are of type {type_name(parsed.value)}, no object."
    wanted = shown(claim.wanted)
    return Told(wanted, emitted, f"{why} Expected {wanted}. Look at the model's raw text and the tool's schema.")


def _tell_type(claim: Claim) -> Told:
    name, kind = claim.argument, claim.wanted
    if claim.problem == "not_emitted":
        return Told(kind, None, f"{name} was expected as {kind}; it was not emitted. {_TYPE_CAUSE}")
    emitted = shown(claim.emitted)
    if claim.problem == "type_lost":
        reason = f"{name} was expected as {kind}; the source converted the arguments, so the type the model wrote is lost."
        return Told(kind, emitted, reason)
    given = type_name(claim.emitted)
    asked = f"as {kind}" if given != kind else f"as {kind} with other types inside"
    return Told(kind, emitted, f"{name} was expected {asked}; the model emitted {emitted} ({given}). {_TYPE_CAUSE}")


def _is_kind(value: Any, kind: ArgType) -> bool:
    given = type_name(value)
    return given in ("int", "float") if kind == "number" else given == kind


def _coerced(call: Call) -> bool:
    return call.call.arguments_fidelity == "coerced"
