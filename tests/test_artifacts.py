"""Artifacts: text always, files and binary content only on request, within one folder and a size."""

from __future__ import annotations

import base64
import os
from pathlib import Path
from typing import Any

import pytest

from attest_otel import Trajectory
from attest_otel.artifacts import MAX_ARTIFACT_BYTES, read_artifacts


def run(*artifacts: dict[str, Any], of_call: tuple[dict[str, Any], ...] = ()) -> Trajectory:
    """A run with these artifacts."""
    step = {"tool_call": {"name": "t", "output": "x", "artifacts": list(of_call)}}
    return Trajectory.model_validate({"steps": [step], "artifacts": list(artifacts)})


def encoded(data: bytes) -> str:
    """Base64."""
    return base64.b64encode(data).decode()


def test_order_and_uploads() -> None:
    """Artifacts of calls come first, with their step; what the user uploaded is left out."""
    texts, unread = read_artifacts(
        run(
            {"name": "b", "text": "2"},
            {"name": "u", "source": "user_upload", "text": "3"},
            of_call=({"name": "a", "text": "1"},),
        )
    )
    assert [(t.name, t.text, t.step, t.complete) for t in texts] == [
        ("a", "1", 0, True),
        ("b", "2", None, True),
    ]
    assert unread == []


@pytest.mark.parametrize(
    ("artifact", "text"),
    [
        ({"media_type": "text/plain", "data_base64": encoded(b"seven")}, "seven"),
        ({"name": "x.csv", "data_base64": encoded(b"a,b")}, "a,b"),
        ({"media_type": "application/pdf", "data_base64": encoded(b"%PDF")}, None),
        ({"media_type": "image/png", "data_base64": encoded(b"x")}, None),
        ({"name": "x", "data_base64": encoded(b"x")}, None),
        ({"media_type": "text/plain", "data_base64": "%%%"}, None),
        ({"media_type": "text/plain", "data_base64": encoded(b"\xff\xfe")}, None),
    ],
)
def test_binary_content_is_opt_in_and_text_only(artifact: dict[str, Any], text: str | None) -> None:
    """Without the option it is unread; with it, text types that are UTF-8 are read."""
    assert len(read_artifacts(run(artifact))[1]) == 1
    texts, unread = read_artifacts(run(artifact), extract=True)
    assert [t.text for t in texts] == ([text] if text is not None else [])
    assert len(unread) == (text is None)


def test_long_content_is_cut_and_says_so() -> None:
    """Text, content and files are cut at the limit."""
    data = "é" * (MAX_ARTIFACT_BYTES + 1)
    texts, _ = read_artifacts(
        run({"name": "a", "text": data}, {"name": "b.txt", "data_base64": encoded(data.encode())}),
        extract=True,
    )
    assert [t.complete for t in texts] == [False, False]
    assert all(len(t.text) <= MAX_ARTIFACT_BYTES for t in texts)


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A folder with a file, links that lead out, and a pipe."""
    root = tmp_path / "root"
    (root / "sub").mkdir(parents=True)
    (root / "sub" / "in.txt").write_text("inside")
    (tmp_path / "out.txt").write_text("outside")
    (root / "link.txt").symlink_to(tmp_path / "out.txt")
    (root / "up").symlink_to(tmp_path)
    os.mkfifo(root / "pipe.txt")
    return root


@pytest.mark.parametrize(
    ("path", "text"),
    [
        ("sub/in.txt", "inside"),
        ("{root}/sub/in.txt", "inside"),
        ("../out.txt", None),
        ("sub/../../out.txt", None),
        ("link.txt", None),
        ("up/out.txt", None),
        ("pipe.txt", None),
        ("sub", None),
        ("/etc/hostname", None),
        ("none.txt", None),
    ],
)
def test_files_lie_in_one_folder(folder: Path, path: str, text: str | None) -> None:
    """Only regular files below the folder are read; no link, no parent, no pipe."""
    record = run({"name": "f.txt", "path": path.replace("{root}", str(folder))})
    texts, unread = read_artifacts(record, extract=True, allow_paths=True, root=folder)
    assert [t.text for t in texts] == ([text] if text is not None else [])
    assert unread == ([] if text is not None else ["f.txt"])


@pytest.mark.parametrize("options", [{}, {"extract": True}, {"allow_paths": True}])
def test_paths_need_both_options(folder: Path, options: dict[str, bool]) -> None:
    """A path is read only with extraction and with paths allowed."""
    assert read_artifacts(run({"name": "f.txt", "path": "sub/in.txt"}), root=folder, **options) == (
        [],
        ["f.txt"],
    )
