"""The real parts that the end-to-end tests run, and where their built copies are kept.

A part is a program, or a few from one package. Its folder in the cache is named after its version and a hash of what
it is built from, so that a changed manifest is another part and an unchanged one is never built twice.
"""

from __future__ import annotations

import hashlib
import os
import platform
import re
import shutil
from dataclasses import dataclass
from pathlib import Path

REPOSITORY = Path(__file__).resolve().parents[2]
CONFIG = REPOSITORY / "collector_config"

GO_BUILD_FLAGS = ("-mod=readonly", "-trimpath", "-ldflags", "-s -w")


@dataclass(frozen=True, slots=True)
class GoPart:
    """A program compiled from Go modules that a go.mod and a go.sum of ours pin."""

    name: str
    directory: Path
    package: str
    version_module: str

    @property
    def binaries(self) -> tuple[str, ...]:
        """File names of the programs."""
        return (self.name,)

    @property
    def version(self) -> str:
        """Version of the module that gives the program its version, from our go.mod."""
        text = (self.directory / "go.mod").read_text(encoding="utf-8")
        found = re.search(rf"^\s*{re.escape(self.version_module)} (v\S+)", text, re.MULTILINE)
        if found is None:
            raise ValueError(f"{self.directory / 'go.mod'}: no version of {self.version_module}")
        return found[1]

    @property
    def key(self) -> str:
        """Hash of the manifest, the flags and the platform."""
        digest = hashlib.sha256(repr((self.package, GO_BUILD_FLAGS, _platform())).encode())
        for path in sorted((self.directory / "go.mod", self.directory / "go.sum", *self.directory.glob("*.go"))):
            digest.update(f"{path.name}\0".encode() + path.read_bytes() + b"\0")
        return digest.hexdigest()[:12]

    def missing_tools(self) -> list[str]:
        """What this machine lacks to build it, each with how to get it."""
        if shutil.which("go"):
            return []
        return ["go is not on the PATH: install Go 1.26 or newer"]


@dataclass(frozen=True, slots=True)
class DebianPart:
    """Programs out of a Debian package, unpacked beside the system and never installed into it."""

    name: str
    package: str
    binaries: tuple[str, ...]

    @property
    def version(self) -> str:
        """The release of the distribution, which decides the version of its packages."""
        return _distribution()

    @property
    def key(self) -> str:
        """Hash of what is taken out of the package, and of the platform."""
        return hashlib.sha256(repr((self.package, self.binaries, _platform())).encode()).hexdigest()[:12]

    def missing_tools(self) -> list[str]:
        """What this machine lacks to fetch it, each with how to get it."""
        return [f"{tool} is not on the PATH: use Debian or Ubuntu" for tool in ("apt-get", "dpkg-deb") if not shutil.which(tool)]


Part = GoPart | DebianPart

JAEGER = GoPart(
    name="jaeger",
    directory=CONFIG / "jaeger",
    package="github.com/jaegertracing/jaeger/cmd/jaeger",
    version_module="github.com/jaegertracing/jaeger",
)
COLLECTOR = GoPart(
    name="attest-otelcol",
    directory=CONFIG / "collector",
    package=".",
    version_module="go.opentelemetry.io/collector/otelcol",
)
PROMETHEUS = DebianPart(name="prometheus", package="prometheus", binaries=("prometheus", "promtool"))
ALERTMANAGER = DebianPart(
    name="alertmanager",
    package="prometheus-alertmanager",
    binaries=("prometheus-alertmanager", "amtool"),
)
PARTS: tuple[Part, ...] = (PROMETHEUS, ALERTMANAGER, COLLECTOR, JAEGER)


def cache_root() -> Path:
    """Folder of the built parts: `ATTEST_E2E_CACHE`, or attest-otel in the user's cache."""
    if chosen := os.environ.get("ATTEST_E2E_CACHE"):
        return Path(chosen).expanduser().resolve()
    base = os.environ.get("XDG_CACHE_HOME") or "~/.cache"
    return Path(base).expanduser() / "attest-otel"


def folder(part: Part) -> Path:
    """Where the part's programs are, or will be."""
    return cache_root() / f"{part.name}-{part.version}-{part.key}"


def is_built(part: Part) -> bool:
    """Whether every program of the part is in the cache."""
    return all(os.access(folder(part) / binary, os.X_OK) for binary in part.binaries)


def is_required() -> bool:
    """Whether a missing part is a failure: in CI, or where `ATTEST_E2E_REQUIRED` says so."""
    return any(os.environ.get(name, "").lower() in {"1", "true"} for name in ("CI", "ATTEST_E2E_REQUIRED"))


def _platform() -> str:
    return f"{platform.system()}-{platform.machine()}"


def _distribution() -> str:
    try:
        release = platform.freedesktop_os_release()
    except OSError:
        return "unknown"
    return f"{release.get('ID', 'unknown')}{release.get('VERSION_ID', '')}"
