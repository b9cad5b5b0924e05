"""Did the run make the calls its case expects, and no others with a side effect?

Claims, each with its own verdict: how many calls were made (`count`), of which tool (`tool`), with
which values (`value`) of which types (`type`), with every required parameter (`required`), in which
order (`order`), and that nothing else with a side effect ran (`side_effect`). A call of the expected
kind is graded as the model emitted it. Source: the chapter on tool-call assertions; DESIGN 3 rule 8.

What counts: a recorded call of any tool that isn't declared read-only. With `count: succeeded` calls
that errored are left out; one whose outcome nobody recorded is counted and said to be unchecked. With
`forbid_other_side_effects` all of them are counted, else those of each expected tool. Each expected
call is assigned to a recorded one of its tool so that the fewest claims fail (`assignment`); with side
effects forbidden, one left without is set against a left-over call of another tool (`wrong_tool`).
Without, `wrong_tool` is said beside the wrong count when a left-over call of another tool carries one
of the expected values. A left-over call that repeats an expected one is a wrong count; any other is an
unexpected side effect too. An expected call of a read-only tool must be found, further ones are free.

`ordered: true` compares sequences, by the order in which the model emitted the calls; false compares
multisets. Expecting nothing (`[]`) with side effects forbidden is met when nothing happened.
"""

from __future__ import annotations

from collections import defaultdict, deque
from collections.abc import Iterator, Mapping, Sequence
from functools import cached_property
from typing import Any

from attest_otel.cases import Case, ExpectedCall
from attest_otel.checks.assignment import align, assign, first_sequence
from attest_otel.checks.call_claims import Claim, failing_claims
from attest_otel.checks.case_lookup import unknown_case
from attest_otel.checks.view import Call, RunView
from attest_otel.findings import CheckResult, Finding, make_finding, make_result, share_passed
from attest_otel.parameters import parameters_of
from attest_otel.strict_json import canonical, equal, spell, type_name

NAME = "expectations"
MAX_NAMES = 20


def check(view: RunView) -> CheckResult | None:
    """Grade a run against its case; None when it has none or the case says nothing about calls."""
    case = view.case
    if case is None:
        return unknown_case(view, NAME)
    if not case.expect_tool_calls and not case.forbid_other_side_effects:
        return None
    findings = _Grading(view, case).findings()
    graded = [finding for finding in findings if finding.verdict != "unchecked"]
    return make_result(NAME, findings, _summary(case, findings), score=share_passed(graded), metadata={"case_id": case.case_id})


class _Grading:
    """One run against one case: which recorded call answers which expected one, and what follows."""

    def __init__(self, view: RunView, case: Case) -> None:
        self.case = case
        self.tools = view.tools
        self.expected: Sequence[ExpectedCall] = case.expect_tool_calls or ()
        names = {expected.name for expected in self.expected}
        candidates = [call for call in view.calls if call.name in names or call.may_have_side_effect]
        if case.count == "succeeded":
            candidates = [call for call in candidates if call.outcome.is_error is not True]
        self.candidates = candidates
        self.by_tool: dict[str, list[Call]] = defaultdict(list)
        for call in candidates:
            self.by_tool[call.name].append(call)
        self._claims: dict[tuple[int, int], list[Claim]] = {}
        self._required = {name: parameters_of(self.tools[name]).required for name in names if name in self.tools}

    def findings(self) -> list[Finding]:
        """Return every finding, in the order of the claims: count, calls, order, side effects, unknown outcomes."""
        found = [*self._counts()]
        for number, expected in enumerate(self.expected):
            found += self._call_findings(number, expected)
        found += self._order()
        found += self._side_effects()
        found += self._unknown_outcomes()
        if not found:
            found.append(make_finding(NAME, "pass", "met", "Nothing with a side effect was called, as expected.", metadata={"claim": "side_effect"}))
        return found

    def claims(self, number: int, call: Call) -> list[Claim]:
        """Return what a recorded call of the same tool fails of an expected one; worked out once."""
        key = (number, call.index)
        if key not in self._claims:
            expected = self.expected[number]
            self._claims[key] = failing_claims(expected, call, self._required.get(expected.name, ()))
        return self._claims[key]

    def reads_only(self, name: str) -> bool:
        """Return whether a tool is declared read-only."""
        tool = self.tools.get(name)
        return tool is not None and tool.side_effecting is False

    @cached_property
    def assigned(self) -> dict[int, Call]:
        """The recorded call of the same tool for each expected call that has one."""
        if self.case.ordered and self._sequence is not None:
            return self._sequence
        return self._multiset

    @cached_property
    def stand_ins(self) -> dict[int, Call]:
        """For expected calls that nothing answers: a left-over call of another tool in its place."""
        open_rows = [n for n, e in enumerate(self.expected) if n not in self.assigned and not self.reads_only(e.name)]
        if not open_rows:
            return {}
        taken = {call.index for call in self.assigned.values()}
        left = deque(call for call in self.candidates if call.index not in taken and call.may_have_side_effect)
        if self.case.forbid_other_side_effects:
            return dict(zip(open_rows, left, strict=False))
        return self._alike_stand_ins(open_rows, [call for call in left if call.name not in self._names])

    @cached_property
    def surplus(self) -> list[Call]:
        """Side-effecting calls that answer no expected one, nor stand in for one."""
        taken = {call.index for call in (*self.assigned.values(), *self.stand_ins.values())}
        return [call for call in self.candidates if call.may_have_side_effect and call.index not in taken]

    @cached_property
    def _names(self) -> list[str]:
        return list(dict.fromkeys(expected.name for expected in self.expected))

    @cached_property
    def _rows_of(self) -> dict[str, list[int]]:
        rows: dict[str, list[int]] = defaultdict(list)
        for number, expected in enumerate(self.expected):
            rows[expected.name].append(number)
        return rows

    @cached_property
    def _multiset(self) -> dict[int, Call]:
        found: dict[int, Call] = {}
        for name, numbers in self._rows_of.items():
            calls = self.by_tool.get(name)
            if calls:
                found.update(self._assign_tool(numbers, calls))
        return found

    def _assign_tool(self, numbers: list[int], calls: list[Call]) -> dict[int, Call]:
        rows = sorted(numbers, key=lambda number: -len(self.expected[number].args))
        keys = [_text_key(call) for call in calls] if len(calls) > 1 else [0]
        queues = _Queues([self.expected[number] for number in rows], calls)
        columns = assign(len(rows), keys, lambda row, column: len(self.claims(rows[row], calls[column])), queues.of_row)
        found = {rows[row]: calls[column] for row, column in columns.items()}
        return self._in_order(found)

    def _in_order(self, found: dict[int, Call]) -> dict[int, Call]:
        """Give expected calls that are alike their recorded ones in order: they are interchangeable."""
        alike: dict[str, list[int]] = defaultdict(list)
        for number in sorted(found):
            expected = self.expected[number]
            alike[f"{spell(expected.args)}{sorted(expected.arg_types.items())}"].append(number)
        for numbers in alike.values():
            ordered = sorted((found[number] for number in numbers), key=lambda call: call.index)
            found.update(zip(numbers, ordered, strict=True))
        return found

    @cached_property
    def _sequence(self) -> dict[int, Call] | None:
        """The assignment in order, where one exists that costs no more claims than the best of any order."""
        calls = [call for call in self.candidates if call.name in self._rows_of]
        rows = len(self.expected)

        def price(row: int, column: int) -> int | None:
            return len(self.claims(row, calls[column])) if calls[column].name == self.expected[row].name else None

        exact = first_sequence(rows, len(calls), lambda row, column: price(row, column) == 0)
        if exact is not None:
            return {row: calls[column] for row, column in exact.items()}
        aligned = align(rows, len(calls), price)
        best = self._multiset
        cheapest = (rows - len(best), sum(len(self.claims(row, call)) for row, call in best.items()))
        if aligned is None or aligned[:2] != cheapest:
            return None
        return {row: calls[column] for row, column in aligned[2].items()}

    def _alike_stand_ins(self, rows: list[int], calls: list[Call]) -> dict[int, Call]:
        found: dict[int, Call] = {}
        for row in rows[:MAX_NAMES]:
            args = self.expected[row].args
            match = next((call for call in calls if _shares_value(args, call)), None)
            if match is not None:
                found[row] = match
                calls = [call for call in calls if call is not match]
        return found

    def _counts(self) -> Iterator[Finding]:
        if self.case.forbid_other_side_effects:
            wanted = [expected.name for expected in self.expected if not self.reads_only(expected.name)]
            made = [call for call in self.candidates if call.may_have_side_effect]
            if len(wanted) != len(made):
                yield self._count_finding(f"{len(wanted)} side-effecting call(s)", wanted, made, None)
        for name, rows in self._rows_of.items():
            calls = self.by_tool.get(name, [])
            reads = self.reads_only(name)
            if (reads and len(calls) < len(rows)) or (not reads and not self.case.forbid_other_side_effects and len(calls) != len(rows)):
                yield self._count_finding(f"{len(rows)} call(s) of {name}", [name] * len(rows), calls, name)

    def _count_finding(self, what: str, wanted: list[str], made: list[Call], tool: str | None) -> Finding:
        taken = {call.index for call in (*self.assigned.values(), *self.stand_ins.values())}
        extra = next((call for call in made if call.index not in taken), None) if len(made) > len(wanted) else None
        if len(made) > len(wanted):
            cause = "The loop retried, or the prompt invited a second action."
        else:
            cause = "The loop ended early, or the answer tells of a call that was not made."
        succeeded = " that did not err" if self.case.count == "succeeded" else ""
        names = [call.name for call in made]
        reason = f"Expected {what} ({_listed(wanted)}); {len(made)}{succeeded} recorded ({_listed(names)}). {cause}"
        metadata = {"claim": "count", "argument": None, "expected": len(wanted), "emitted": len(made), "count": self.case.count}
        metadata |= {"expected_calls": wanted[:MAX_NAMES], "emitted_calls": names[:MAX_NAMES]}
        missing = next(iter(e.name for n, e in enumerate(self.expected) if n not in self.assigned), None)
        subject = tool or (extra.name if extra else missing)
        return make_finding(NAME, "fail", "wrong_count", reason, subject=subject, step=extra.step if extra else None, metadata=metadata)

    def _call_findings(self, number: int, expected: ExpectedCall) -> Iterator[Finding]:
        call = self.assigned.get(number)
        stand_in = self.stand_ins.get(number)
        if call is not None:
            yield from self._claim_findings(number, expected, call)
        elif stand_in is not None:
            reason = (
                f"Expected {expected.name}; the model called {stand_in.name} instead. "
                "Which tool is chosen follows from the tools' descriptions: look there first."
            )
            metadata = {"claim": "tool", "argument": None, "expected": expected.name, "emitted": stand_in.name, "expected_call": number}
            yield make_finding(
                NAME, "fail", "wrong_tool", reason, subject=stand_in.name, step=stand_in.step, evidence=stand_in.call.arguments_raw,
                key=str(number), metadata=metadata,
            )  # fmt: skip

    def _claim_findings(self, number: int, expected: ExpectedCall, call: Call) -> Iterator[Finding]:
        claims = self.claims(number, call)
        if not claims:
            metadata: dict[str, Any] = {"claim": "all", "expected_call": number}
            if call.call.arguments_fidelity not in ("verbatim", "absent"):
                metadata["arguments"] = call.call.arguments_fidelity
            reason = f"{expected.name} was called as expected."
            yield make_finding(NAME, "pass", "met", reason, subject=call.name, step=call.step, key=str(number), metadata=metadata)
        for claim in claims:
            metadata = {"claim": claim.claim, "argument": claim.argument, "expected": claim.expected, "emitted": claim.emitted, "expected_call": number}
            severity = "warn" if claim.verdict == "unchecked" else "fail"
            yield make_finding(
                NAME, severity, claim.verdict, claim.reason, subject=call.name, step=call.step, evidence=call.call.arguments_raw,
                key=f"{number}:{claim.claim}:{claim.argument}", metadata=metadata,
            )  # fmt: skip

    def _order(self) -> Iterator[Finding]:
        if not self.case.ordered:
            return
        calls = [self.assigned[number] for number in sorted(self.assigned)]
        late = next((after for before, after in zip(calls, calls[1:], strict=False) if after.index < before.index), None)
        if late is None:
            return
        wanted = [call.name for call in calls]
        made = [call.name for call in sorted(calls, key=lambda call: call.index)]
        reason = (
            f"Expected the sequence {_listed(wanted)}; the model emitted {_listed(made)}, with {late.name} at step {late.step} "
            "too early. It acted before it had read what it acts on, or the prompt leaves the order open."
        )
        metadata = {"claim": "order", "argument": None, "expected": wanted[:MAX_NAMES], "emitted": made[:MAX_NAMES]}
        yield make_finding(NAME, "fail", "wrong_order", reason, subject=late.name, step=late.step, metadata=metadata)

    def _side_effects(self) -> Iterator[Finding]:
        if not self.case.forbid_other_side_effects:
            return
        for call in self.surplus:
            if any(not self.claims(number, call) for number in self._rows_of.get(call.name, ())):
                continue
            declared = "" if call.side_effecting else " (nobody declared whether it has a side effect)"
            reason = f"{call.name}{declared} was called, and the case expects no such call. The prompt or the context invited an action nobody asked for."
            metadata = {"claim": "side_effect", "argument": None, "expected": None, "emitted": call.name, "declared": call.side_effecting is not None}
            yield make_finding(
                NAME, "fail", "unexpected_side_effect", reason, subject=call.name, step=call.step,
                evidence=call.call.arguments_raw, metadata=metadata,
            )  # fmt: skip

    def _unknown_outcomes(self) -> Iterator[Finding]:
        if self.case.count != "succeeded":
            return
        unknown = [call for call in self.candidates if call.outcome.is_error is None]
        if unknown:
            first = unknown[0]
            reason = f"{len(unknown)} call(s) were counted as made although nobody recorded whether they succeeded, {first.name} first."
            metadata = {"claim": "count", "checked": False, "calls": len(unknown)}
            yield make_finding(NAME, "warn", "unchecked", reason, subject=first.name, step=first.step, key="outcome", metadata=metadata)


class _Queues:
    """For each expected call the recorded ones that equal it in value and type, in order; built on first use."""

    def __init__(self, rows: Sequence[ExpectedCall], calls: Sequence[Call]) -> None:
        self._rows = rows
        self._calls = calls
        self._by_names: dict[tuple[str, ...], Mapping[str, deque[int]]] = {}

    def of_row(self, row: int) -> deque[int]:
        """Return the queue that this row shares with those that are alike."""
        args = self._rows[row].args
        names = tuple(sorted(args))
        if names not in self._by_names:
            self._by_names[names] = self._index(names)
        return self._by_names[names].get(_typed_key(args, names), deque())

    def _index(self, names: tuple[str, ...]) -> Mapping[str, deque[int]]:
        index: dict[str, deque[int]] = defaultdict(deque)
        for column, call in enumerate(self._calls):
            arguments = call.arguments
            if arguments is not None and all(name in arguments for name in names):
                index[_typed_key(arguments, names)].append(column)
        return dict(index)


def _typed_key(arguments: Mapping[str, Any], names: tuple[str, ...]) -> str:
    return "\x1f".join(f"{canonical(arguments[name])}\x1e{_types(arguments[name])}" for name in names)


def _types(value: Any) -> str:
    if isinstance(value, dict):
        return "{" + ",".join(_types(value[key]) for key in sorted(value, key=str)) + "}"
    if isinstance(value, list | tuple):
        return "[" + ",".join(map(_types, value)) + "]"
    return type_name(value)


def _text_key(call: Call) -> tuple[str, str]:
    """Return a key that calls with identical arguments share."""
    raw = call.call.arguments_raw
    return (raw if raw is not None else spell(call.call.arguments), call.call.arguments_fidelity)


def _shares_value(args: Mapping[str, Any], call: Call) -> bool:
    arguments = call.arguments or {}
    return any(name in arguments and equal(value, arguments[name]) for name, value in args.items())


def _listed(names: Sequence[str]) -> str:
    more = f", and {len(names) - MAX_NAMES} more" if len(names) > MAX_NAMES else ""
    return (", ".join(names[:MAX_NAMES]) or "none") + more


def _summary(case: Case, findings: list[Finding]) -> str:
    wrong = [f"{f.verdict} ({f.metadata['claim']}{f', step {f.step}' if f.step is not None else ''})" for f in findings if f.severity != "pass"]
    if not wrong:
        return f"Case {case.case_id}: every claim holds."
    return f"Case {case.case_id}: {_listed(wrong)}."
