"""The text of the artifacts a run's tools returned: what can be read as evidence, and what can't.

Text is always read. Binary content (`data_base64`) and files (`path`) are read only where the caller
opted in, within a size limit, and only where the media type says text: a picture or a PDF is left
unread and named. A file must lie in one folder; neither a parent folder nor a link is followed.
Sources: the page on evidence; property 40.
"""

from __future__ import annotations

import base64
import binascii
import codecs
import os
import stat
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path, PurePath

from attest_otel.trajectory import Artifact, Trajectory

MAX_ARTIFACT_BYTES = 1_048_576
MAX_ARTIFACTS = 200
_TEXT_TYPES = (
    "text/",
    "application/json",
    "application/xml",
    "application/xhtml",
    "application/yaml",
    "application/x-ndjson",
    "image/svg",
)
_TEXT_ENDINGS = frozenset({".txt", ".md", ".csv", ".json", ".jsonl", ".xml", ".yaml", ".yml", ".html", ".log", ".diff", ".patch"})


@dataclass(frozen=True, slots=True)
class ArtifactText:
    """What one artifact says; `complete` is False where it was cut, `step` None for an artifact of the run."""

    name: str
    text: str
    complete: bool
    step: int | None
    media_type: str | None = None


def read_artifacts(
    run: Trajectory, *, extract: bool = False, allow_paths: bool = False, root: Path | None = None
) -> tuple[list[ArtifactText], list[str]]:
    """Return the texts of a run's artifacts and the names of those left unread, each in the run's order.

    Args:
        run: the run record; what the user uploaded is left out, it is no evidence.
        extract: also read `data_base64`.
        allow_paths: also read `path` (with `extract`).
        root: the folder that paths must lie in; the current one by default.
    """
    texts: list[ArtifactText] = []
    unread: list[str] = []
    for number, (artifact, step) in enumerate(_from_tools(run)):
        name = artifact.name or artifact.path or artifact.media_type or f"artifact {number}"
        found = (
            _read(artifact, extract=extract, root=(root or Path.cwd()) if allow_paths else None)
            if number < MAX_ARTIFACTS
            else None
        )
        if found is None:
            unread.append(name)
        else:
            texts.append(ArtifactText(name, found[0], found[1], step, artifact.media_type))
    return texts, unread


def _from_tools(run: Trajectory) -> Iterator[tuple[Artifact, int | None]]:
    for number, step in enumerate(run.steps):
        for artifact in step.tool_call.artifacts if step.tool_call is not None else ():
            if artifact.source == "tool":
                yield artifact, number
    for artifact in run.artifacts:
        if artifact.source == "tool":
            yield artifact, None


def _read(artifact: Artifact, *, extract: bool, root: Path | None) -> tuple[str, bool] | None:
    if artifact.text is not None:
        return artifact.text[:MAX_ARTIFACT_BYTES], len(artifact.text) <= MAX_ARTIFACT_BYTES
    if not extract or not _is_text(artifact):
        return None
    if artifact.data_base64 is not None:
        return _decoded(artifact.data_base64)
    if artifact.path is None or root is None:
        return None
    try:
        return _as_text(_file_bytes(root, artifact.path))
    except (OSError, ValueError):
        return None


def _is_text(artifact: Artifact) -> bool:
    if artifact.media_type is not None:
        return artifact.media_type.strip().lower().startswith(_TEXT_TYPES)
    return PurePath(artifact.name or artifact.path or "").suffix.lower() in _TEXT_ENDINGS


def _decoded(data: str) -> tuple[str, bool] | None:
    most = (MAX_ARTIFACT_BYTES + 3) * 4 // 3
    data = "".join(data.split())
    kept = data[: most - most % 4]
    try:
        return _as_text(base64.b64decode(kept, validate=True), cut=len(data) > len(kept))
    except (binascii.Error, ValueError):
        return None


def _as_text(data: bytes, *, cut: bool = False) -> tuple[str, bool]:
    cut = cut or len(data) > MAX_ARTIFACT_BYTES
    text = codecs.getincrementaldecoder("utf-8")("strict").decode(data[:MAX_ARTIFACT_BYTES], final=not cut)
    return text, not cut


def _file_bytes(root: Path, path: str) -> bytes:
    """Read a regular file below `root`, one folder after another, following no link."""
    wanted = PurePath(path)
    if wanted.is_absolute():
        wanted = wanted.relative_to(root)
    parts = wanted.parts
    if not parts or ".." in parts:
        raise ValueError("a path must lead down from its folder")
    folder = os.open(root, os.O_RDONLY | os.O_DIRECTORY)
    try:
        for part in parts[:-1]:
            below = os.open(part, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW, dir_fd=folder)
            os.close(folder)
            folder = below
        handle = os.open(parts[-1], os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK, dir_fd=folder)
    finally:
        os.close(folder)
    with os.fdopen(handle, "rb") as file:
        if not stat.S_ISREG(os.fstat(file.fileno()).st_mode):
            raise ValueError("not a regular file")
        return file.read(MAX_ARTIFACT_BYTES + 1)
