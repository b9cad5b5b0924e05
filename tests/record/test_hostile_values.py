"""Values that no text can hold cost their text, not the agent's thread."""

from __future__ import annotations

import time
from typing import Any

import pytest

from attest_otel.formats.json_values import can_be_written
from attest_otel.record.agent_run import agent_run
from attest_otel.record.dispatcher import traced_dispatcher
from attest_otel.record.results import read_result, to_text
from tests.reliability.helpers import recorded

SECONDS = 5.0


def shared() -> Any:
    """Return forty lists, each twice in the next: 2^40 parts as text."""
    value: Any = ["x"]
    for _ in range(40):
        value = [value, value]
    return value


def shared_mapping() -> Any:
    """Do the same with objects."""
    value: Any = {"k": 1}
    for _ in range(40):
        value = {"a": value, "b": value}
    return value


def holding_itself() -> Any:
    """Return a list that contains itself."""
    value: list[Any] = []
    value.append(value)
    return value


def one_text_a_million_times() -> Any:
    """Return a list of one long text, a million times."""
    return ["x" * 100_000] * 1_000_000


HOSTILE = {make.__name__: make for make in (shared, shared_mapping, holding_itself, one_text_a_million_times)}


@pytest.mark.parametrize("make", HOSTILE.values(), ids=HOSTILE)
def test_a_value_that_cannot_be_written_is_not_recorded(make: Any) -> None:
    """A structure whose text would not end is a result that was not recorded, and no text is begun."""
    value = make()
    assert not can_be_written(value, 1_000_000)
    with pytest.raises(ValueError, match="too large"):
        to_text(value)
    result = read_result(value)
    assert (result.output, result.fidelity) == (None, "absent")


@pytest.mark.parametrize("make", HOSTILE.values(), ids=HOSTILE)
def test_the_agent_goes_on(make: Any) -> None:
    """As argument, as output and as answer such a value passes through, and the agent is not held up."""
    value = make()
    started = time.perf_counter()
    with recorded(), agent_run("a", task="t") as run:
        assert traced_dispatcher(lambda name, arguments: value)("t", {"v": value}) is value
        run.final_answer = value
    assert time.perf_counter() - started < SECONDS


def test_ordinary_values_are_written_as_they_are() -> None:
    """The bound is far above what a tool returns."""
    value = {"rows": [{"id": i, "name": f"n{i}"} for i in range(10_000)]}
    assert can_be_written(value, 10_000_000)
    assert to_text({"a": [1, "\u00e9"]}) == '{"a": [1, "\u00e9"]}'
