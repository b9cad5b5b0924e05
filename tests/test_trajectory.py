"""The run record: what a file may say, what is refused and where, and that nothing changes on the way."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import ValidationError

from attest_otel.trajectory import Artifact, Recorded, Step, Tool, ToolCall, Trajectory

PLAIN_RUN: dict[str, Any] = {
    "task": "Charge the card",
    "system_prompt": "You sell mugs.",
    "allowed_tools": ["charge_card"],
    "tool_fallbacks": {"charge_card": ["charge_card_backup"]},
    "steps": [
        {"thought": "first"},
        {
            "tool_call": {
                "name": "charge_card",
                "arguments": {"order": 42},
                "output": "status 402",
                "is_error": True,
            }
        },
        {
            "thought": "again",
            "tool_call": {"name": "charge_card", "arguments": {"order": 42}, "output": "done"},
        },
    ],
    "artifacts": [{"name": "a.pdf", "media_type": "application/pdf", "data_base64": "JVBERg=="}],
    "final_answer": "Done.",
}


def place(data: Any) -> tuple[tuple[int | str, ...], str]:
    """Return where a record is refused first, and why."""
    with pytest.raises(ValidationError) as caught:
        Trajectory.model_validate(data)
    first = caught.value.errors()[0]
    return first["loc"], first["type"]


def test_plain_run_is_accepted_as_it_stands() -> None:
    """A run that says only what every grader needs is read whole, and what it leaves out is absent, not empty."""
    run = Trajectory.model_validate(PLAIN_RUN)
    assert [step.tool_call.name if step.tool_call else None for step in run.steps] == [
        None,
        "charge_card",
        "charge_card",
    ]
    assert (run.id, run.tools, run.started_at, run.incomplete) == (None, None, None, [])
    call = run.steps[1].tool_call
    assert call is not None
    assert (call.arguments, call.arguments_raw, call.is_error) == ({"order": 42}, None, True)


@pytest.mark.parametrize("name", ["steps", "artifacts", "tool_fallbacks", "incomplete", "metadata"])
def test_null_collection_is_an_empty_one(name: str) -> None:
    """A collection written as null is read as an empty one."""
    assert getattr(Trajectory.model_validate({"task": "t", name: None}), name) in ([], {})
    assert ToolCall.model_validate({"name": "t", "artifacts": None}).artifacts == []


def test_null_and_empty_allowed_tools_differ() -> None:
    """`allowed_tools` null allows every tool, and an empty list none: they stay apart."""
    assert Trajectory.model_validate({"allowed_tools": None}).allowed_tools is None
    assert Trajectory.model_validate({"allowed_tools": []}).allowed_tools == []


def test_absent_and_empty_output_differ() -> None:
    """No output means that nobody recorded it; an empty one that the tool returned nothing."""
    assert ToolCall(name="t").output_fidelity == "absent"
    assert ToolCall(name="t", output="").output_fidelity == "recorded"
    assert ToolCall(name="t", output="x", recorded=Recorded(output="truncated")).output_fidelity == "truncated"


@pytest.mark.parametrize(
    ("call", "fidelity"),
    [
        ({"arguments_raw": "{}"}, "verbatim"),
        ({"arguments": {}}, "reserialized"),
        ({}, "absent"),
        ({"arguments_raw": "{}", "recorded": {"arguments": "coerced"}}, "coerced"),
        ({"arguments_raw": "", "arguments": {}}, "verbatim"),
    ],
)
def test_fidelity_of_arguments(call: dict[str, Any], fidelity: str) -> None:
    """What the source says of the arguments counts; else raw text is verbatim, and a parsed form alone is not."""
    assert ToolCall.model_validate({"name": "t", **call}).arguments_fidelity == fidelity


@pytest.mark.parametrize(
    ("data", "where", "kind"),
    [
        ({"tasks": "t"}, ("tasks",), "extra_forbidden"),
        (
            {"steps": [{"tool_call": {"name": "t", "argument": {}}}]},
            ("steps", 0, "tool_call", "argument"),
            "extra_forbidden",
        ),
        ({"steps": [{}, {"tool_call": {}}]}, ("steps", 1, "tool_call", "name"), "missing"),
        ({"steps": [{"tool_call": {"name": 7}}]}, ("steps", 0, "tool_call", "name"), "string_type"),
        (
            {"steps": [{"tool_call": {"name": "t", "is_error": "yes"}}]},
            ("steps", 0, "tool_call", "is_error"),
            "bool_type",
        ),
        (
            {"steps": [{"tool_call": {"name": "t", "is_error": 1}}]},
            ("steps", 0, "tool_call", "is_error"),
            "bool_type",
        ),
        (
            {"steps": [{"tool_call": {"name": "t", "exit_code": "0"}}]},
            ("steps", 0, "tool_call", "exit_code"),
            "int_type",
        ),
        (
            {"steps": [{"tool_call": {"name": "t", "exit_code": True}}]},
            ("steps", 0, "tool_call", "exit_code"),
            "int_type",
        ),
        (
            {"steps": [{"tool_call": {"name": "t", "output": {"a": 1}}}]},
            ("steps", 0, "tool_call", "output"),
            "string_type",
        ),
        (
            {"steps": [{"tool_call": {"name": "t", "arguments_raw": {}}}]},
            ("steps", 0, "tool_call", "arguments_raw"),
            "string_type",
        ),
        ({"steps": {}}, ("steps",), "list_type"),
        ({"allowed_tools": "charge_card"}, ("allowed_tools",), "list_type"),
        ({"tool_fallbacks": {"a": "b"}}, ("tool_fallbacks", "a"), "list_type"),
        ({"tools": [{"name": "t", "retry_scope": "run"}]}, ("tools", 0, "retry_scope"), "literal_error"),
        ({"tools": [{"name": "t", "ok_exit_codes": None}]}, ("tools", 0, "ok_exit_codes"), "list_type"),
        ({"artifacts": [{"text": "x", "source": "web"}]}, ("artifacts", 0, "source"), "literal_error"),
        ({"usage": {"input_tokens": 1.5}}, ("usage", "input_tokens"), "int_type"),
        ([], (), "model_type"),
        (None, (), "model_type"),
    ],
)
def test_what_is_refused(data: Any, where: tuple[int | str, ...], kind: str) -> None:
    """An unknown field and a wrong type are refused, with the path of the field; nothing is converted."""
    assert place(data) == (where, kind)


@pytest.mark.parametrize("given", [[], ["text", "path"], ["text", "data_base64", "path"]])
def test_artifact_has_exactly_one_content(given: list[str]) -> None:
    """An artifact holds text, bytes or a path: one of them, and the error names those that were given."""
    with pytest.raises(ValidationError, match=f"exactly one of text, data_base64, path; got {', '.join(given) or 'none'}"):
        Artifact.model_validate(dict.fromkeys(given, "x"))


def test_empty_text_is_content() -> None:
    """An artifact whose text is empty has its one content."""
    assert Artifact(text="").text == ""


def test_tool_registered_twice_is_refused() -> None:
    """Two tools of one name are refused, and the name is said."""
    with pytest.raises(ValidationError, match="tools: 'pay' is registered twice"):
        Trajectory(tools=[Tool(name="pay"), Tool(name="look"), Tool(name="pay")])


@pytest.mark.parametrize(
    ("written", "nanoseconds"),
    [
        ("2026-12-01T09:30:00Z", 1_796_117_400_000_000_000),
        ("2026-12-01T09:30:00", 1_796_117_400_000_000_000),
        ("2026-12-01T10:30:00+01:00", 1_796_117_400_000_000_000),
        ("2026-12-01T09:30:00.5Z", 1_796_117_400_500_000_000),
        ("2026-12-01T09:30:00,5Z", 1_796_117_400_500_000_000),
        ("2026-12-01T09:30:00.123456789Z", 1_796_117_400_123_456_789),
        ("2026-12-01T09:30:00.123456789123Z", 1_796_117_400_123_456_789),
        ("1969-12-31T23:59:59.5Z", -500_000_000),
        (1_796_117_400, 1_796_117_400_000_000_000),
        (1_796_117_400.25, 1_796_117_400_250_000_000),
        (1_796_117_400_123, 1_796_117_400_123_000_000),
        (1_796_117_400_123_456, 1_796_117_400_123_456_000),
        (1_796_117_400_123_456_789, 1_796_117_400_123_456_789),
        (None, None),
    ],
)
def test_forms_of_time(written: Any, nanoseconds: int | None) -> None:
    """A time is text, seconds, or an epoch in milli-, micro- or nanoseconds, told apart by its size."""
    assert Trajectory.model_validate({"started_at": written}).started_at == nanoseconds


@pytest.mark.parametrize(
    "written",
    ["yesterday", "", "1.5", True, [], float("inf"), float("-inf"), float("nan"), "2026-13-01T00:00:00Z"],
)
def test_what_is_no_time(written: Any) -> None:
    """What is no time is refused by its field, whatever its type; nothing else is raised."""
    assert place({"ended_at": written})[0] == ("ended_at",)


@given(
    st.integers(min_value=10**17, max_value=253_402_300_799_999_999_999)
    | st.integers(max_value=-(10**17), min_value=-62_135_596_800 * 10**9)
)
def test_times_come_back_to_the_nanosecond(nanoseconds: int) -> None:
    """A time written for people is read back to the nanosecond, in every year of the calendar."""
    text = Trajectory(started_at=nanoseconds).model_dump_json(exclude_unset=True)
    assert Trajectory.model_validate(json.loads(text)).started_at == nanoseconds


@given(st.integers(min_value=2**68, max_value=2**90))
def test_time_outside_the_calendar_stays_a_number(nanoseconds: int) -> None:
    """A time that no calendar holds is written and read as the number it is."""
    run = Trajectory(started_at=nanoseconds)
    assert Trajectory.model_validate(run.model_dump(mode="json")).started_at == nanoseconds


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(), inner, max_size=3),
    max_leaves=8,
)


@given(arguments=JSON, raw=st.none() | st.text(), output=st.none() | st.text())
def test_record_survives_its_file(arguments: Any, raw: str | None, output: str | None) -> None:
    """A run written as JSON and read again is the same run: text to the character, int and float apart."""
    run = Trajectory(steps=[Step(tool_call=ToolCall(name="t", arguments=arguments, arguments_raw=raw, output=output))])
    again = Trajectory.model_validate(json.loads(json.dumps(run.model_dump(mode="json"))))
    assert again == run
    assert json.dumps(again.model_dump(mode="json")) == json.dumps(run.model_dump(mode="json"))


def test_records_are_frozen() -> None:
    """Nothing that a check is given can be changed by it."""
    run = Trajectory.model_validate(PLAIN_RUN)
    with pytest.raises(ValidationError, match="frozen"):
        run.task = "another"


SECRET = "CANARY-7f3a"


def _filled(model: type[Any]) -> Any:
    """Return a record with a secret in every field that a person or a model may have filled with text."""
    parts: dict[str, Any] = {
        "artifacts": [Artifact(name="a.txt", text=SECRET)],
        "tools": [Tool(name="t", description=SECRET, input_schema={"default": SECRET})],
        "steps": [Step(thought=SECRET, tool_call=ToolCall(name="t", arguments_raw=SECRET, output=SECRET))],
        "tool_call": ToolCall(id="c1", name="t", arguments={"a": SECRET}, arguments_received=SECRET, output=SECRET),
        "metadata": {"user_turns": [SECRET]},
        "incomplete": [SECRET],
        "input_schema": {"default": SECRET},
        "recorded": Recorded(reason=SECRET),
        "name": "t",
    }
    texts = ("task", "system_prompt", "final_answer", "thought", "arguments", "arguments_raw", "arguments_received")
    parts |= dict.fromkeys((*texts, "output", "description", "text", "reason"), SECRET)
    if model is Recorded:
        parts |= {"arguments": "coerced", "output": "absent"}
    return model(**{name: parts[name] for name in model.model_fields if name in parts})


@pytest.mark.parametrize("model", [Trajectory, Step, ToolCall, Tool, Artifact, Recorded])
@pytest.mark.parametrize("show", [repr, str, "{0}".format, "{0!r}".format])
def test_a_repr_shows_no_content(model: type[Any], show: Any) -> None:
    """A record in a log line or a traceback gives nothing away, however deep it stands, and is short."""
    shown = show(_filled(model))
    assert SECRET not in shown
    assert len(shown) < 300


def test_a_repr_tells_records_apart() -> None:
    """Ids, names, flags and counts are there; what is not set is not; a long name is cut."""
    call = ToolCall(id="c1", name="n" * 500, is_error=True, artifacts=[Artifact(text="x")])
    assert repr(call) == f"ToolCall(id='c1', name='{'n' * 80}…', is_error=True, artifacts=1)"
    run = Trajectory(id="r", agent="a", allowed_tools=["t"], steps=[Step(tool_call=call)], final_answer="x")
    assert repr(run) == "Trajectory(id='r', agent='a', allowed_tools=1, steps=1)"
    assert repr(Trajectory(allowed_tools=[])) == "Trajectory(allowed_tools=0)"
    assert repr(Trajectory.model_construct(id="r")).startswith("Trajectory(id='r'")
