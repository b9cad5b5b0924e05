"""Reading files: what is told apart, what is refused and in which words, and that good runs survive bad neighbours."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from attest_otel.read import files, gathering
from attest_otel.read.files import ReadResult, read_runs
from tests.read.spans import CAPTURES, calls

RUN = {
    "task": "refund",
    "steps": [{"tool_call": {"name": "lookup", "arguments": {"id": 1}, "output": "ok"}}],
    "final_answer": "done",
}
BASIC = CAPTURES / "otel-genai-langchain__basic.json"


def write(folder: Path, name: str, content: str | bytes) -> Path:
    """A file with this content."""
    path = folder / name
    path.write_bytes(content if isinstance(content, bytes) else content.encode())
    return path


def read(*paths: Path) -> list[ReadResult]:
    """All results of reading."""
    return list(read_runs(paths))


def error_of(*paths: Path) -> str:
    """The one error of reading, all runs aside."""
    (error,) = [str(result.error) for result in read(*paths) if result.error]
    return error


def test_one_run_record(tmp_path: Path) -> None:
    """A pretty-printed run record is one run."""
    (result,) = read(write(tmp_path, "run.json", json.dumps(RUN, indent=2)))
    assert result.run is not None
    assert (result.run.task, [c.name for c in calls(result.run)]) == ("refund", ["lookup"])


def test_one_run_a_line(tmp_path: Path) -> None:
    """Each line of a .jsonl file is a run, with its line; blank lines are nothing."""
    path = write(tmp_path, "runs.jsonl", f"{json.dumps(RUN)}\n\n{json.dumps({**RUN, 'task': 'two'})}\n")
    assert [(r.line, r.run.task if r.run else None) for r in read(path)] == [(1, "refund"), (3, "two")]


def test_seed_files_with_null_collections(tmp_path: Path) -> None:
    """The seed's plain run files are accepted as they stand."""
    path = write(tmp_path, "seed.json", json.dumps({"task": "t", "steps": None, "tool_fallbacks": None, "final_answer": "a"}))
    assert read(path)[0].run is not None


@pytest.mark.parametrize(
    ("content", "said"),
    [
        ("", "is empty; expected a run record"),
        ("  \n \n", "is empty; expected a run record"),
        ("{}", ":1: the object is empty; expected a run record"),
        ("[]", ":1: expected a run record (task, steps, ...), OTLP JSON (resourceSpans) or Jaeger JSON (data); got a list"),
        ('"text"', "got a text"),
        ("null", "got null"),
        ("{broken", ":1: not JSON: Expecting property name"),
        ('{"task": 5}', ":1: task: Input should be a valid string, got 5"),
        ('{"task": "t", "stepz": []}', ":1: stepz: unknown field"),
        (
            '{"task": "t",\n "steps": [\n  {"tool_call": {"name": 7}}\n ]\n}',
            ":3: steps[0].tool_call.name: Input should be a valid string, got 7",
        ),
        ('{"task": "t", "steps": [{"tool_call": {"output": "x"}}]}', ":1: steps[0].tool_call.name: missing"),
        ('{"task": NaN}', ":1: not JSON that can be read: NaN is not a JSON value"),
        ('{"task": "t", "metadata": {"x": ' + "1" * 5000 + "}}", ":1: not JSON that can be read: Exceeds the limit"),
        ('{"metadata": ' + '{"a":' * 300 + "1" + "}" * 301, ":1: nested deeper than 200 levels"),
        ('{"metadata": ' + '{"a":' * 100_000 + "1" + "}" * 100_001, ":1: nested too deep to read"),
        ('{"resourceSpans": 5}', ":1: resourceSpans: expected a list, got a number"),
        ('{"resourceSpans": []}', "holds no run: no span and no run record"),
        ('{"resourceMetrics": []}', "holds no run: no span and no run record"),
        ('{"data": [5]}', ":1: data: expected Jaeger traces with spans; got a number"),
        (b"\x00\x01\x02", ":1: is binary, not JSON text"),
        (b'{"task": "\xff"}', ":1: is not UTF-8 text (byte 10)"),
    ],
)
def test_bad_files_say_what_is_wrong_and_where(tmp_path: Path, content: str | bytes, said: str) -> None:
    """Each kind of bad file has one message: the file, the line, the field, what was expected."""
    path = write(tmp_path, "bad.json", content)
    error = error_of(path)
    assert error.startswith(str(path))
    assert said in error


def test_a_broken_line_in_the_middle(tmp_path: Path) -> None:
    """A broken line is an error with its number; the lines around it are still read, in order."""
    good = json.dumps(RUN)
    path = write(tmp_path, "runs.jsonl", f'{good}\n{{"task": \n{good}\n{{"task": 3}}\n{good}\n')
    assert [(r.line, r.error is None) for r in read(path)] == [(1, True), (2, False), (3, True), (4, False), (5, True)]
    assert str(read(path)[1].error).startswith(f"{path}:2: not JSON: Expecting value")
    assert str(read(path)[3].error) == f"{path}:4: task: Input should be a valid string, got 3"


def test_a_broken_first_line_of_many(tmp_path: Path) -> None:
    """A first line that is broken does not make the rest one broken document."""
    good = json.dumps(RUN)
    path = write(tmp_path, "runs.json", f"{good[:-9]}\n{good}\n{good}\n")
    assert [(r.line, r.error is None) for r in read(path)] == [(1, False), (2, True), (3, True)]


def test_missing_file_beside_a_good_one(tmp_path: Path) -> None:
    """A missing file is named; what follows is read."""
    good = write(tmp_path, "run.json", json.dumps(RUN))
    missing = tmp_path / "missing.json"
    results = read(missing, good)
    assert str(results[0].error) == f"{missing}: cannot be read: No such file or directory"
    assert results[1].run is not None


def test_a_directory_reads_its_json_files_by_name(tmp_path: Path) -> None:
    """A directory stands for its *.json and *.jsonl files, sorted; other files are left alone."""
    write(tmp_path, "b.json", json.dumps({**RUN, "task": "b"}))
    write(tmp_path, "a.jsonl", json.dumps({**RUN, "task": "a"}))
    write(tmp_path, "notes.txt", "not JSON")
    assert [r.run.task if r.run else None for r in read(tmp_path)] == ["a", "b"]


def test_a_directory_without_json_says_so(tmp_path: Path) -> None:
    """A directory with nothing to read is an error, not a silence."""
    assert error_of(tmp_path) == f"{tmp_path}: holds no .json or .jsonl file"


def test_a_byte_order_mark_is_accepted(tmp_path: Path) -> None:
    """UTF-8 with a byte-order mark reads like UTF-8 without."""
    paths = [write(tmp_path, f"bom{i}.json", b"\xef\xbb\xbf" + json.dumps(RUN, indent=i).encode()) for i in (0, 2)]
    assert all(result.run is not None for result in read(*paths))


def test_a_line_that_is_too_long_is_refused_by_name(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The limit of a line is said; the lines before it are delivered."""
    monkeypatch.setattr(files, "MAX_LINE_BYTES", 200)
    path = write(tmp_path, "runs.jsonl", json.dumps(RUN) + "\n" + json.dumps({**RUN, "task": "x" * 500}) + "\n")
    good, bad = read(path)
    assert good.run is not None
    assert str(bad.error) == f"{path}:2: the line is longer than 200 bytes"


def test_a_document_that_is_too_large_is_refused_by_name(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The limit of a document is said."""
    monkeypatch.setattr(files, "MAX_DOCUMENT_BYTES", 100)
    path = write(tmp_path, "run.json", json.dumps(RUN, indent=2))
    assert error_of(path) == f"{path}: the document is larger than 100 bytes; write one run a line"


def test_duplicate_ids_are_fine(tmp_path: Path) -> None:
    """Two runs may say the same id: both are read."""
    line = json.dumps({**RUN, "id": "same"})
    assert [r.run.id if r.run else None for r in read(write(tmp_path, "runs.jsonl", f"{line}\n{line}\n"))] == ["same", "same"]


def spans_by_line(folder: Path, count: int) -> Path:
    """A recorded trace with one span a line, and `count` copies of it in traces of their own, mixed."""
    document = json.loads(BASIC.read_text(encoding="utf-8"))
    lines: list[str] = []
    for resource in document["resourceSpans"]:
        for scoped in resource["scopeSpans"]:
            for span in scoped["spans"]:
                for copy in range(count):
                    entry = {**span, "traceId": f"{copy + 1:032x}"}
                    lines.append(json.dumps({"resourceSpans": [{"scopeSpans": [{"scope": scoped["scope"], "spans": [entry]}]}]}))
    return write(folder, "collector.jsonl", "\n".join(lines) + "\n")


def test_spans_of_a_trace_may_be_spread_over_lines(tmp_path: Path) -> None:
    """One request a line, spans of several traces mixed: each trace is still one whole run."""
    results = read(spans_by_line(tmp_path, 3))
    assert [[c.name for c in calls(r.run)] if r.run else None for r in results] == [["get_order"]] * 3
    assert [r.line for r in results] == sorted(r.line or 0 for r in results)


def test_gathering_is_bounded(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """With more spans than may be held at once, what is there goes out and reading goes on."""
    monkeypatch.setattr(gathering, "MAX_GATHERED_SPANS", 4)
    results = read(spans_by_line(tmp_path, 3))
    assert len(results) > 3
    assert all(result.error is None for result in results)


def test_run_records_and_spans_may_share_a_file(tmp_path: Path) -> None:
    """Content is told apart line by line, and the order of the lines is kept."""
    request = json.dumps(json.loads(BASIC.read_text(encoding="utf-8")))
    path = write(tmp_path, "mixed.jsonl", f"{json.dumps(RUN)}\n{request}\nbroken\n{json.dumps({**RUN, 'task': 'last'})}\n")
    assert [(r.line, r.run.task if r.run else "error") for r in read(path)] == [
        (1, "refund"), (2, "What is the status of order A-1001?"), (3, "error"), (4, "last"),
    ]  # fmt: skip


def test_spans_without_ids_are_counted(tmp_path: Path) -> None:
    """Spans that cannot be read are said, the others are read."""
    document = json.loads(BASIC.read_text(encoding="utf-8"))
    document["resourceSpans"].append({"scopeSpans": [{"spans": [{"name": "no id"}, {"spanId": "0000000000000000"}]}]})
    path = write(tmp_path, "trace.json", json.dumps(document))
    results = read(path)
    assert [str(r.error) for r in results if r.error] == [
        f"{path}:1: resourceSpans: spans without a usable spanId: 2 of 8 were left out"
    ]
    assert len([r for r in results if r.run]) == 1


def test_a_trace_without_an_agent_says_so(tmp_path: Path) -> None:
    """A trace file that holds nothing to grade is no silence."""
    document = {"resourceSpans": [{"scopeSpans": [{"spans": [{"traceId": "1" * 32, "spanId": "2" * 16, "name": "GET /"}]}]}]}
    path = write(tmp_path, "trace.json", json.dumps(document))
    assert error_of(path) == f"{path}: holds no run: 1 spans, no model or tool call among them"


@pytest.mark.parametrize("shape", ["request", "list", "batches", "snake"])
def test_shapes_of_trace_requests(tmp_path: Path, shape: str) -> None:
    """A request, its bare list, a store's `batches` and the protobuf spelling are one thing."""
    document = json.loads(BASIC.read_text(encoding="utf-8"))
    resources = document["resourceSpans"]
    snake = [{"scope_spans": r["scopeSpans"]} for r in resources]
    content: Any = {
        "request": document,
        "list": resources,
        "batches": {"batches": resources},
        "snake": {"resource_spans": snake},
    }[shape]
    (result,) = read(write(tmp_path, "trace.json", json.dumps(content)))
    assert result.run is not None
    assert [c.name for c in calls(result.run)] == ["get_order"]


def test_progress_ends_with_all_bytes(tmp_path: Path) -> None:
    """Progress counts bytes up to the size of all files."""
    path = write(tmp_path, "runs.jsonl", (json.dumps(RUN) + "\n") * 5)
    seen: list[tuple[int, int]] = []
    list(read_runs([path, path], lambda done, total: seen.append((done, total))))
    size = path.stat().st_size * 2
    assert seen[-1] == (size, size)
    assert seen == sorted(seen)


def test_results_are_streamed(tmp_path: Path) -> None:
    """The first run of a file is delivered before the last line is read."""
    path = write(tmp_path, "runs.jsonl", (json.dumps(RUN) + "\n") * 3)
    seen: list[int] = []
    results = read_runs([path], lambda done, _: seen.append(done))
    next(results)
    assert len(seen) < 4


def test_lines_after_an_overlong_or_undecodable_one_are_read(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A line that cannot be read costs that line alone."""
    monkeypatch.setattr(files, "MAX_LINE_BYTES", 200)
    good = json.dumps(RUN).encode()
    path = write(
        tmp_path,
        "runs.jsonl",
        good + b"\n" + b'{"task": "' + b"x" * 5000 + b'"}\n' + good + b'\n{"task": "\xff"}\n' + good + b"\n",
    )
    assert [(r.line, r.error is None) for r in read(path)] == [(1, True), (2, False), (3, True), (4, False), (5, True)]
