"""Same input, same bytes: whatever the hash seed, however often, in whatever order the spans come (property 26)."""

from __future__ import annotations

import hashlib
import json
import os
import random
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
import yaml

from attest_otel import Attest, AttestConfig, Trajectory
from attest_otel.read.files import read_runs
from tests.shared import TAUBENCH, taubench

DATA = Path(__file__).parent / "data"
CAPTURES = sorted((DATA / "captures").glob("*.json"))
SPANS = [path for path in CAPTURES if not path.name.endswith(".logs.json")]
SEEDS = ("0", "1", "4711")


def graded(config: AttestConfig, run: Trajectory) -> str:
    """Return a run's report as JSON, every deterministic check among its results."""
    attest = Attest(config)
    return attest.evaluate(run, checks=attest.deterministic_checks()).to_json()


def bank() -> list[str]:
    """Return the reports of the runs taken from bug reports, each with its own cases and rules."""
    entries: list[dict[str, Any]] = yaml.load((DATA / "runs.yaml").read_text(encoding="utf-8"), Loader=yaml.CSafeLoader)
    reports = []
    for entry in entries:
        case = entry.get("case")
        cases = [{"case_id": entry["id"], **case}] if case else None
        config = AttestConfig.model_validate({"agents": {"*": {"cases": cases, "rules": entry.get("rules", [])}}})
        run = Trajectory.model_validate({**entry["run"], "id": entry["id"], "case_id": entry["id"] if case else None})
        reports.append(graded(config, run))
    return reports


def of_files(paths: list[Path]) -> list[str]:
    """Return the reports of the runs in files, in order."""
    return [graded(AttestConfig(), result.run) if result.run is not None else str(result.error) for result in read_runs(paths)]


def digest() -> str:
    """Return a hash of all reports that this process makes of everything there is."""
    files = [*CAPTURES, *([TAUBENCH / "runs.jsonl", TAUBENCH / "traces.otlp.jsonl"] if TAUBENCH.is_dir() else [])]
    return hashlib.sha256("\n".join([*bank(), *of_files(files)]).encode("utf-8", "surrogatepass")).hexdigest()


def test_no_hash_seed_changes_a_byte() -> None:
    """Processes with different hash seeds write the same reports."""
    found = {seed: _digest_in_process(seed) for seed in SEEDS}
    assert len(set(found.values())) == 1, found
    assert len(found["0"]) == 64


def test_a_second_time_changes_no_byte() -> None:
    """One process writes the same reports twice, its caches filled or not."""
    assert bank() == bank()
    assert of_files(CAPTURES) == of_files(CAPTURES)


def test_real_runs_twice() -> None:
    """The same holds of real runs, graded by one grader in two orders."""
    runs = [result.run for result in read_runs([taubench() / "runs.jsonl"])]
    attest = Attest({})
    names = attest.deterministic_checks()
    there = {run.id: attest.evaluate(run, checks=names).to_json() for run in runs if run is not None}
    back = {run.id: attest.evaluate(run, checks=names).to_json() for run in reversed(runs) if run is not None}
    assert len(there) == 40
    assert there == back


@pytest.mark.parametrize("path", SPANS, ids=lambda path: path.stem)
def test_the_order_of_spans_changes_no_byte(path: Path, tmp_path: Path) -> None:
    """Spans that arrive in another order, scopes and resources too, give the same reports; their log records stay beside them."""
    logs = path.with_suffix(".logs.json")
    expected = sorted(of_files([path, logs] if logs.exists() else [path]))
    copies = [tmp_path / path.name]
    if logs.exists():
        copies.append(tmp_path / logs.name)
        copies[1].write_bytes(logs.read_bytes())
    for seed in range(3):
        document = json.loads(path.read_text(encoding="utf-8"))
        copies[0].write_text(json.dumps(_shuffled(document, random.Random(seed))), encoding="utf-8")
        assert sorted(of_files(copies)) == expected


def _shuffled(document: Any, order: random.Random) -> Any:
    for resource in document["resourceSpans"]:
        for scope in resource["scopeSpans"]:
            order.shuffle(scope["spans"])
        order.shuffle(resource["scopeSpans"])
    order.shuffle(document["resourceSpans"])
    return document


def _digest_in_process(seed: str) -> str:
    program = "from tests.test_determinism import digest; print(digest())"
    done = subprocess.run(
        [sys.executable, "-c", program],
        cwd=Path(__file__).parents[1],
        env={**os.environ, "PYTHONHASHSEED": seed},
        capture_output=True,
        text=True,
        check=False,
        timeout=50,
    )
    assert done.returncode == 0, done.stderr
    return done.stdout.strip()
