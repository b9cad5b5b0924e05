"""Real runs, as records and as spans: the same wherever spans can say it."""

from __future__ import annotations

import json
import time

from attest_otel.read.files import read_runs
from attest_otel.trajectory import Trajectory
from tests.read.spans import arguments_of, calls
from tests.shared import TAUBENCH, needs_taubench

pytestmark = needs_taubench


def read(name: str) -> list[Trajectory]:
    """Every run of a file."""
    found = [result.run for result in read_runs([TAUBENCH / name])]
    assert None not in found
    return [run for run in found if run is not None]


def test_spans_tell_what_the_records_tell() -> None:
    """Task, prompt, answer, tools and every call, in order, repeated ids and all."""
    records, spans = read("runs.jsonl"), read("traces.otlp.jsonl")
    assert len(records) == len(spans) == 40
    for record, run in zip(records, spans, strict=True):
        assert run.conversation_id == record.id
        assert (run.agent, run.task, run.system_prompt, run.final_answer) == (
            record.agent,
            record.task,
            record.system_prompt,
            record.final_answer,
        )
        assert [(t.name, t.input_schema) for t in run.tools or ()] == [(t.name, t.input_schema) for t in record.tools or ()]
        assert run.incomplete == []
        for told, recorded in zip(calls(run), calls(record), strict=True):
            assert (told.id, told.name, told.output) == (recorded.id, recorded.name, recorded.output)
            assert arguments_of(told) == arguments_of(recorded)


def test_run_ids_are_unique() -> None:
    """Each run has its own id, whatever its conversation is called."""
    assert len({run.id for run in read("traces.otlp.jsonl")}) == 40


def user_texts(line: str) -> list[str]:
    """What the user says in the model calls of one trace, in order of their times."""
    spans = [s for r in json.loads(line)["resourceSpans"] for scoped in r["scopeSpans"] for s in scoped["spans"]]
    found: list[str] = []
    for span in sorted(spans, key=lambda s: int(s["startTimeUnixNano"])):
        for pair in span["attributes"]:
            if span["name"].startswith("chat") and pair["key"] == "gen_ai.input.messages":
                messages = json.loads(pair["value"]["stringValue"])
                found.extend(part["content"] for m in messages if m["role"] == "user" for part in m["parts"])
    return found


def test_user_turns_are_there() -> None:
    """What the user said after the task is kept, in order, each text once."""
    lines = (TAUBENCH / "traces.otlp.jsonl").read_text(encoding="utf-8").splitlines()
    for line, run in zip(lines, read("traces.otlp.jsonl"), strict=True):
        assert [run.task, *run.metadata.get("user_turns", [])] == list(dict.fromkeys(user_texts(line)))


def test_reading_costs_a_small_multiple_of_parsing() -> None:
    """Reading spans, messages inside them included, costs little more than parsing the JSON around them."""
    lines = (TAUBENCH / "traces.otlp.jsonl").read_text(encoding="utf-8").splitlines()

    def cost(what: object) -> float:
        best = 1e9
        for _ in range(5):
            before = time.process_time()
            what()  # type: ignore[operator]
            best = min(best, time.process_time() - before)
        return best

    assert cost(lambda: read("traces.otlp.jsonl")) < 20 * cost(lambda: [json.loads(line) for line in lines])
