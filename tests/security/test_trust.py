"""Properties 43, 44 and 45: keys and headers are never shown, nothing is run for a file's sake, TLS is verified."""

from __future__ import annotations

import ast
import logging
import pickle
from pathlib import Path

import pytest
import requests

from attest_otel.config import AttestConfig
from attest_otel.errors import ConfigError
from attest_otel.export.otlp import otlp_span_processor

PACKAGE = Path(__file__).resolve().parents[2] / "attest_otel"
KEY = "walrus-" + "header-key-0123456789"
SOURCES = sorted(PACKAGE.rglob("*.py"))


def calls(path: Path) -> set[str]:
    """Return the names of all functions that a module calls."""
    nodes = [node.func for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))) if isinstance(node, ast.Call)]
    return {ast.unparse(node) for node in nodes}


def imports(path: Path) -> set[str]:
    """Return the top-level modules that a module imports."""
    found: set[str] = set()
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            found.update(alias.name.split(".")[0] for alias in node.names)
        elif isinstance(node, ast.ImportFrom) and node.module:
            found.add(node.module.split(".")[0])
    return found


def verifications(thing: object, depth: int = 5) -> list[object]:
    """Return what every HTTP session below an exporter says of verifying certificates."""
    if isinstance(thing, requests.Session):
        return [thing.verify]
    parts = vars(thing).values() if depth and hasattr(thing, "__dict__") else ()
    return [found for part in parts for found in verifications(part, depth - 1)]


@pytest.mark.parametrize("path", SOURCES, ids=lambda path: str(path.relative_to(PACKAGE)))
def test_nothing_is_run_for_a_files_sake(path: Path) -> None:
    """No module unpickles, evaluates, or starts a shell."""
    assert not calls(path) & {
        "eval",
        "exec",
        "compile",
        "__import__",
        "os.system",
        "os.popen",
        "yaml.unsafe_load",
        "yaml.full_load",
    }
    assert not imports(path) & {"pickle", "shelve", "dill", "subprocess"}
    assert "marshal" not in imports(path) or path.name == "schema.py"  # which reads back what it wrote itself, to compare schemas


@pytest.mark.parametrize(
    "text",
    [
        "judge: !!python/object/apply:os.system ['true']",
        "checks: [os.system]",
        "redaction: {hook: os.system}",
        "judge: {api_key: x}",
        "agents: {a: {tools: !!python/name:os.system }}",
        "imports: [os]",
    ],
)
def test_a_settings_file_names_no_code(tmp_path: Path, text: str) -> None:
    """A file that names code, or holds a key, is refused where it is read."""
    path = tmp_path / "attest.yaml"
    path.write_text(text, encoding="utf-8")
    with pytest.raises(ConfigError, match=r"attest\.yaml"):
        AttestConfig.load(path)


def test_tls_is_verified_and_headers_are_not_shown(monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture) -> None:
    """The OTLP exporter verifies certificates; its headers, where keys are, are in no log line, repr or error."""
    monkeypatch.setenv("OTEL_EXPORTER_OTLP_ENDPOINT", "https://127.0.0.1:9")
    monkeypatch.setenv("OTEL_EXPORTER_OTLP_HEADERS", f"authorization={KEY}")
    with caplog.at_level(logging.DEBUG):
        processor = otlp_span_processor()
        exporter = processor.span_exporter
        assert verifications(exporter) == [True]
        processor.shutdown()  # type: ignore[no-untyped-call]
    assert KEY not in caplog.text + repr(processor) + repr(exporter)


def test_no_code_of_ours_turns_verification_off() -> None:
    """No call passes `verify=False`, an unverified context, or an insecure channel."""
    for path in SOURCES:
        text = path.read_text(encoding="utf-8")
        assert not [
            word
            for word in ("verify=False", "CERT_NONE", "_create_unverified_context", "insecure=True", "check_hostname = False")
            if word in text
        ], path


def test_settings_hold_no_key(monkeypatch: pytest.MonkeyPatch) -> None:
    """The grading model's key comes from the environment when it is used: settings, their dump and their pickle have none."""
    monkeypatch.setenv("ANTHROPIC_API_KEY", KEY)
    config = AttestConfig.model_validate({"judge": {"model": "m"}})
    assert KEY not in repr(config) + config.model_dump_json()
    assert KEY.encode() not in pickle.dumps(config)
