"""Which recorded call answers which expected one, in one run against one case.

A recorded call is a candidate when its tool isn't declared read-only or is expected. Expected calls get
recorded calls of their own tool, so that the fewest claims fail (`assignment`); those left without may
get a stand-in, a left-over call of another tool. What is left over after both is surplus.
"""

from __future__ import annotations

from collections import defaultdict, deque
from collections.abc import Iterator, Mapping, Sequence
from functools import cached_property
from typing import Any

from attest_otel.cases import Case, ExpectedCall
from attest_otel.checks.expectations.assignment import align, assign, first_sequence
from attest_otel.checks.expectations.call_claims import Claim, failing_claims
from attest_otel.checks.view import Call, RunView
from attest_otel.formats.strict_json import canonical, equal, spell, type_name
from attest_otel.parameters import Parameters, parameters_of

MAX_STAND_INS = 20
_UNKNOWN = Parameters(known=False, open=True)


class Matching:
    """One run's calls against one case's expected calls; everything is worked out once, on first use."""

    def __init__(self, view: RunView, case: Case) -> None:
        self.case = case
        self.expected: Sequence[ExpectedCall] = case.expect_tool_calls or ()
        self.rows: dict[str, list[int]] = defaultdict(list)
        for row, expected in enumerate(self.expected):
            self.rows[expected.name].append(row)
        self._tools = view.tools
        self._claims: dict[tuple[int, int], list[Claim]] = {}
        self._repeats: dict[tuple[str, str, str], bool] = {}
        self._parameters = {name: parameters_of(self._tools[name]) for name in self.rows if name in self._tools}
        self.candidates = self._candidates(view)
        self.by_tool: dict[str, list[Call]] = defaultdict(list)
        for call in self.candidates:
            self.by_tool[call.name].append(call)

    def _candidates(self, view: RunView) -> list[Call]:
        calls = [call for call in view.calls if call.name in self.rows or call.may_have_side_effect]
        if self.case.count == "all":
            return calls
        return [call for call in calls if call.outcome.is_error is not True]

    def reads_only(self, name: str) -> bool:
        """Return whether a tool is declared read-only."""
        tool = self._tools.get(name)
        return tool is not None and tool.side_effecting is False

    def parameters(self, name: str) -> Parameters:
        """Return the parameters of an expected tool as the run declares it."""
        return self._parameters.get(name, _UNKNOWN)

    def _required(self, name: str) -> tuple[str, ...]:
        return self.parameters(name).required

    def claims(self, row: int, call: Call) -> list[Claim]:
        """Return what a recorded call of the same tool fails of an expected one."""
        key = (row, call.index)
        if key not in self._claims:
            self._claims[key] = self._fresh_claims(row, call)
        return self._claims[key]

    def _fresh_claims(self, row: int, call: Call) -> list[Claim]:
        """Work the claims out without keeping them: a long run would keep millions it only counted."""
        return failing_claims(self.expected[row], call, self._required(call.name))

    @cached_property
    def assigned(self) -> dict[int, Call]:
        """The recorded call of the same tool for each expected call that has one."""
        if self.case.ordered and self._sequence is not None:
            return self._sequence
        return self._multiset

    @cached_property
    def stand_ins(self) -> dict[int, Call]:
        """For expected calls that nothing answers: a left-over side-effecting call of another tool.

        With other side effects forbidden any will do, those that repeat an expected call last, in order.
        Else it must carry one of the expected values, for then it acted on the same thing.
        """
        without = [
            row for row, expected in enumerate(self.expected) if row not in self.assigned and not self.reads_only(expected.name)
        ]
        if not without:
            return {}
        taken = {call.index for call in self.assigned.values()}
        left = [call for call in self.candidates if call.index not in taken and call.may_have_side_effect]
        if self.case.forbid_other_side_effects:
            return dict(zip(without, sorted(left, key=self.repeats_expected), strict=False))
        return self._alike(without, [call for call in left if call.name not in self.rows])

    @cached_property
    def answering(self) -> frozenset[int]:
        """The indexes of the calls that answer an expected one or stand in for one."""
        return frozenset(call.index for call in (*self.assigned.values(), *self.stand_ins.values()))

    @cached_property
    def surplus(self) -> list[Call]:
        """The side-effecting calls that are left over."""
        return [call for call in self.candidates if call.may_have_side_effect and call.index not in self.answering]

    def repeats_expected(self, call: Call) -> bool:
        """Return whether a call meets every claim of some expected one: made again, it is no other action."""
        if call.name not in self.rows:
            return False
        key = (call.name, *_text_key(call))
        if key not in self._repeats:
            alike = self._rows_like(call.name, call.arguments or {})
            self._repeats[key] = any(not self._fresh_claims(row, call) for row in alike)
        return self._repeats[key]

    def _rows_like(self, name: str, arguments: Mapping[str, Any]) -> Iterator[int]:
        """Yield the expected calls of a tool whose values equal these arguments, without asking each."""
        for names, rows in self._rows_by_values[name].items():
            if all(argument in arguments for argument in names):
                yield from rows.get(_value_key(arguments, names), ())

    @cached_property
    def _rows_by_values(self) -> Mapping[str, Mapping[tuple[str, ...], Mapping[str, list[int]]]]:
        found: dict[str, dict[tuple[str, ...], dict[str, list[int]]]] = {}
        seen: set[str] = set()
        for row, expected in enumerate(self.expected):
            names = tuple(sorted(expected.args))
            key = _value_key(expected.args, names)
            whole = f"{expected.name}\x1f{names}\x1f{spell(expected.args)}\x1f{sorted(expected.arg_types.items())}"
            if whole not in seen:
                seen.add(whole)
                found.setdefault(expected.name, {}).setdefault(names, {}).setdefault(key, []).append(row)
        return found

    @cached_property
    def _multiset(self) -> dict[int, Call]:
        found: dict[int, Call] = {}
        for name, rows in self.rows.items():
            if name in self.by_tool:
                found.update(self._assign_tool(rows, self.by_tool[name]))
        return found

    def _assign_tool(self, numbers: list[int], calls: list[Call]) -> dict[int, Call]:
        rows = sorted(numbers, key=lambda row: -len(self.expected[row].args))
        keys = [_text_key(call) for call in calls] if len(calls) > 1 else [("", "")]
        queues = _Queues([self.expected[row] for row in rows], calls)

        def cost(row: int, column: int) -> int:
            return len(self._fresh_claims(rows[row], calls[column]))

        columns = assign(len(rows), keys, cost, queues.of_row)
        return self._in_order({rows[row]: calls[column] for row, column in columns.items()})

    def _in_order(self, found: dict[int, Call]) -> dict[int, Call]:
        """Give expected calls that are alike their recorded ones in order: they are interchangeable."""
        alike: dict[str, list[int]] = defaultdict(list)
        for row in sorted(found):
            expected = self.expected[row]
            alike[f"{spell(expected.args)}{sorted(expected.arg_types.items())}"].append(row)
        for rows in alike.values():
            ordered = sorted((found[row] for row in rows), key=lambda call: call.index)
            found.update(zip(rows, ordered, strict=True))
        return found

    @cached_property
    def _sequence(self) -> dict[int, Call] | None:
        """The assignment in order, where one exists that fails no more claims than the best in any order."""
        calls = [call for call in self.candidates if call.name in self.rows]
        count = len(self.expected)

        def price(row: int, column: int) -> int | None:
            call = calls[column]
            return len(self.claims(row, call)) if call.name == self.expected[row].name else None

        def fits(row: int, column: int) -> bool:
            call = calls[column]
            return call.name == self.expected[row].name and not self._fresh_claims(row, call)

        exact = first_sequence(count, len(calls), fits)
        if exact is not None:
            return {row: calls[column] for row, column in exact.items()}
        aligned = align(count, len(calls), price)
        best = self._multiset
        cheapest = (count - len(best), sum(len(self.claims(row, call)) for row, call in best.items()))
        if aligned is None or aligned[:2] != cheapest:
            return None
        return {row: calls[column] for row, column in aligned[2].items()}

    def _alike(self, rows: list[int], calls: list[Call]) -> dict[int, Call]:
        found: dict[int, Call] = {}
        taken: set[int] = set()
        for row in rows[:MAX_STAND_INS]:
            args = self.expected[row].args
            match = next((call for call in calls if call.index not in taken and _shares_value(args, call)), None)
            if match is not None:
                found[row] = match
                taken.add(match.index)
        return found


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


def _value_key(arguments: Mapping[str, Any], names: tuple[str, ...]) -> str:
    return "\x1f".join(canonical(arguments[name]) for name in names)


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
