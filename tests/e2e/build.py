"""Fetches and builds the parts that are not in the cache yet: `python -m tests.e2e.build [PART...]`.

Exit codes: 0, every part is there, or a tool to make one is missing where none is required; 1, a part could not be made.
"""

from __future__ import annotations

import fcntl
import os
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

from tests.e2e.parts import (
    GO_BUILD_FLAGS,
    PARTS,
    DebianPart,
    GoPart,
    Part,
    cache_root,
    folder,
    is_built,
    is_required,
)

FETCH_TRIES = 3
FETCH_PAUSE_SECONDS = 5.0
FETCH_TIMEOUT_SECONDS = 600
BUILD_TIMEOUT_SECONDS = 2400
PROGRESS_SECONDS = 15


class BuildError(Exception):
    """A part could not be fetched or built; the text says which command failed and how."""


def main(names: Sequence[str]) -> int:
    """Makes the named parts, all of them without names, and says how each went."""
    known = {part.name: part for part in PARTS}
    if unknown := [name for name in names if name not in known]:
        say(f"no such part: {', '.join(unknown)}; there are {', '.join(known)}")
        return 1
    results = [make(part) for part in PARTS if not names or part.name in names]
    return 0 if all(results) else 1


def make(part: Part) -> bool:
    """Makes one part unless the cache has it; false when that failed, or when a tool that is required is missing."""
    if is_built(part):
        say(f"{part.name} {part.version}: in {folder(part)}")
        return True
    if missing := part.missing_tools():
        say(f"{part.name} {part.version}: left out, since {', '.join(missing)}")
        return not is_required()
    started = time.monotonic()
    try:
        with _lock(part):
            if not is_built(part):
                _build_into_cache(part)
    except BuildError as error:
        say(f"{part.name} {part.version}: {error}")
        return False
    say(f"{part.name} {part.version}: ready after {time.monotonic() - started:.0f} s in {folder(part)}")
    return True


def say(text: str) -> None:
    """Prints at once, since the next line may be minutes away."""
    sys.stdout.write(f"{text}\n")
    sys.stdout.flush()


@contextmanager
def _lock(part: Part) -> Iterator[None]:
    """Two builds of one part at once would only slow each other down."""
    cache_root().mkdir(parents=True, exist_ok=True)
    with (cache_root() / f".lock-{part.name}").open("w") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        yield


def _build_into_cache(part: Part) -> None:
    """Builds beside the final folder and renames, so that a cache entry is whole or absent."""
    scratch = Path(tempfile.mkdtemp(prefix=f".making-{part.name}-", dir=cache_root()))
    try:
        programs = scratch / "programs"
        programs.mkdir()
        if isinstance(part, GoPart):
            _compile(part, programs)
        else:
            _unpack(part, scratch, programs)
        shutil.rmtree(folder(part), ignore_errors=True)
        programs.rename(folder(part))
    finally:
        shutil.rmtree(scratch, ignore_errors=True)


def _compile(part: GoPart, programs: Path) -> None:
    say(f"{part.name} {part.version}: fetching Go modules")
    # Resolving the imports downloads exactly the modules that the build needs; `go mod download` would take all.
    resolve = ["go", "list", "-mod=readonly", "-deps", part.package]
    _try_again(lambda: _run(resolve, part.directory, FETCH_TIMEOUT_SECONDS))
    say(f"{part.name} {part.version}: compiling, some minutes on two cores")
    output = str(programs / part.name)
    compile_ = ["go", "build", "-v", *GO_BUILD_FLAGS, "-o", output, part.package]
    _run(compile_, part.directory, BUILD_TIMEOUT_SECONDS, progress=f"{part.name}: packages compiled")


def _unpack(part: DebianPart, scratch: Path, programs: Path) -> None:
    say(f"{part.name}: fetching Debian's package {part.package}")
    apt = ["apt-get", "-q", *_private_apt(scratch / "apt")]
    _try_again(lambda: _run([*apt, "update"], scratch, FETCH_TIMEOUT_SECONDS))
    _try_again(lambda: _run([*apt, "download", part.package], scratch, FETCH_TIMEOUT_SECONDS))
    archive = next(scratch.glob("*.deb"))
    tree = scratch / "tree"
    _run(["dpkg-deb", "-x", str(archive), str(tree)], scratch, FETCH_TIMEOUT_SECONDS)
    for binary in part.binaries:
        shutil.move(tree / "usr" / "bin" / binary, programs / binary)


def _private_apt(directory: Path) -> list[str]:
    """Options that keep apt's lists out of the system: needs no root and starts no service."""
    for needed in ("state/lists/partial", "cache/archives/partial"):
        (directory / needed).mkdir(parents=True)
    return [
        "-o", f"Dir::State={directory / 'state'}",
        "-o", f"Dir::Cache={directory / 'cache'}",
        # Else apt, run as root, drops to a user who may not write here.
        "-o", "APT::Sandbox::User=root",
    ]  # fmt: skip


def _try_again(fetch: Callable[[], None]) -> None:
    for attempt in range(1, FETCH_TRIES):
        try:
            return fetch()
        except BuildError as error:
            say(f"try {attempt} of {FETCH_TRIES} failed: {error}")
            time.sleep(FETCH_PAUSE_SECONDS * attempt)
    return fetch()


def _run(command: Sequence[str], directory: Path, timeout_seconds: float, progress: str | None = None) -> None:
    environment = {**os.environ, "CGO_ENABLED": "0"}
    deadline = time.monotonic() + timeout_seconds
    with (
        tempfile.TemporaryFile("w+", encoding="utf-8", errors="replace") as log,
        subprocess.Popen(command, cwd=directory, env=environment, stdout=log, stderr=log) as process,
    ):
        try:
            while not _ended(process, deadline):
                if progress:
                    say(f"  {progress}: {_line_count(log.fileno())}")
        except subprocess.TimeoutExpired:
            raise BuildError(f"`{' '.join(command)}` ran longer than {timeout_seconds:.0f} s") from None
        finally:
            process.kill()
        if process.returncode != 0:
            log.seek(0)
            tail = "".join(log.readlines()[-20:])
            raise BuildError(f"`{' '.join(command)}` exited {process.returncode}:\n{tail}")


def _ended(process: subprocess.Popen[bytes], deadline: float) -> bool:
    """Waits for the end of the process, no longer than until the next word of progress is due."""
    try:
        process.wait(timeout=min(PROGRESS_SECONDS, max(0.0, deadline - time.monotonic())))
    except subprocess.TimeoutExpired:
        if time.monotonic() >= deadline:
            raise
        return False
    return True


def _line_count(descriptor: int) -> int:
    return os.pread(descriptor, 1 << 20, 0).count(b"\n")


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
