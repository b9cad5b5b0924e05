"""The harness itself, without the real parts: it runs in `make test` too."""

from __future__ import annotations

import dataclasses
import re
import shutil
from pathlib import Path

import pytest

from tests.e2e import build, parts
from tests.e2e.conftest import missing_parts
from tests.e2e.stack import free_ports, prometheus_config


@pytest.fixture
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An empty cache of parts, and a machine where nothing is required and no program is found."""
    monkeypatch.setenv("ATTEST_E2E_CACHE", str(tmp_path / "cache"))
    monkeypatch.setenv("PATH", str(tmp_path / "bin"))
    monkeypatch.delenv("CI", raising=False)
    monkeypatch.delenv("ATTEST_E2E_REQUIRED", raising=False)
    monkeypatch.setattr(build, "FETCH_PAUSE_SECONDS", 0.0)
    return tmp_path / "cache"


@pytest.fixture
def part(tmp_path: Path) -> parts.GoPart:
    """A Go part with a manifest of its own."""
    directory = tmp_path / "module"
    shutil.copytree(parts.COLLECTOR.directory, directory)
    return dataclasses.replace(parts.COLLECTOR, directory=directory)


@pytest.mark.parametrize("file", ["go.mod", "go.sum", "main.go"])
def test_a_changed_manifest_is_another_part(part: parts.GoPart, file: str) -> None:
    """A cached program is never used for a manifest that it was not built from."""
    before = part.key
    with (part.directory / file).open("a", encoding="utf-8") as manifest:
        manifest.write("\n// changed\n")
    assert part.key != before


def test_versions_come_from_the_manifests() -> None:
    """The names of the cached folders say what is in them."""
    assert re.fullmatch(r"v1\.\d+\.\d+", parts.JAEGER.version)
    assert f'"{parts.COLLECTOR.version[1:]}"' in (parts.COLLECTOR.directory / "main.go").read_text(encoding="utf-8")


def test_the_collector_modules_are_of_one_release() -> None:
    """Core and contrib modules of different releases do not fit together."""
    manifest = (parts.COLLECTOR.directory / "go.mod").read_text(encoding="utf-8")
    direct = manifest.split(")")[0]
    assert set(re.findall(r" (v0\.\S+)", direct)) == {parts.COLLECTOR.version}


@pytest.mark.parametrize(
    ("environment", "code"),
    [({"CI": "true"}, 1), ({"ATTEST_E2E_REQUIRED": "1"}, 1), ({"CI": "false"}, 0), ({}, 0)],
)
def test_missing_tools_fail_only_where_required(
    cache: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    environment: dict[str, str],
    code: int,
) -> None:
    """Without Go and apt the parts are left out by name, and that is a failure in CI alone."""
    for name, value in environment.items():
        monkeypatch.setenv(name, value)
    assert build.main([]) == code
    printed = capsys.readouterr().out
    assert "jaeger v1.76.0: left out, since go is not on the PATH" in printed
    assert "left out, since apt-get is not on the PATH" in printed


def test_reasons_to_skip_say_what_to_do(cache: Path) -> None:
    """A skipped test names the missing tool and the command that makes the missing part."""
    reasons = "; ".join(missing_parts())
    assert "install Go 1.26 or newer" in reasons
    assert "attest-otelcol v0.161.0; run `python -m tests.e2e.build`" in reasons


def test_a_failed_fetch_is_tried_again_and_leaves_nothing(
    cache: Path, part: parts.GoPart, capsys: pytest.CaptureFixture[str]
) -> None:
    """A fetch that keeps failing is tried three times, quoted, and leaves no half-made part in the cache."""
    _fake_go(cache, "echo no route to the proxy >&2; exit 7")
    assert not build.make(part)
    printed = capsys.readouterr().out
    assert printed.count("no route to the proxy") == build.FETCH_TRIES
    assert "exited 7" in printed
    assert not parts.is_built(part)
    assert [path.name for path in cache.iterdir()] == [f".lock-{part.name}"]


def test_a_built_part_is_not_built_again(cache: Path, part: parts.GoPart) -> None:
    """What the cache has is used as it is, even where the tools are gone."""
    _fake_go(
        cache,
        'while [ $# -gt 0 ]; do [ "$1" = -o ] && { echo program > "$2"; /bin/chmod +x "$2"; }; shift; done',
    )
    assert build.make(part)
    (cache.parent / "bin" / "go").unlink()
    assert parts.is_built(part)
    assert build.make(part)


def test_an_unknown_part_is_refused(cache: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """A mistyped name is answered with the names there are."""
    assert build.main(["jeager"]) == 1
    assert "no such part: jeager; there are prometheus, alertmanager, attest-otelcol, jaeger" in capsys.readouterr().out


def test_free_ports_are_distinct() -> None:
    """No two services get one port."""
    ports = free_ports(20)
    assert len(set(ports)) == len(ports)


@pytest.mark.parametrize("name", ["collector.yaml", "jaeger.yaml", "prometheus.yml"])
def test_default_addresses_are_loopback(name: str) -> None:
    """Nothing listens beyond the machine unless somebody says so: spans carry what customers said."""
    text = (parts.CONFIG / name).read_text(encoding="utf-8")
    addresses = re.findall(r"[\w.]+:\d{4,5}\b", text)
    assert addresses
    assert {address.split(":")[0] for address in addresses} == {"127.0.0.1"}


def test_prometheus_scrapes_the_given_collector() -> None:
    """The tests' copy of prometheus.yml names their Collector and not the default one."""
    config = prometheus_config("127.0.0.1:12345")
    assert "127.0.0.1:12345" in config
    assert "8888" not in config


def _fake_go(cache: Path, script: str) -> None:
    """Puts a shell script where go would be."""
    go = cache.parent / "bin" / "go"
    go.parent.mkdir()
    go.write_text(f"#!/bin/sh\n{script}\n", encoding="utf-8")
    go.chmod(0o755)
