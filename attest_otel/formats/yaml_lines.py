"""On which line of a YAML file a field stands, so that an error can name it. The file is read again, once, for errors only."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property
from pathlib import Path

import yaml

from attest_otel.errors import ConfigError
from attest_otel.formats.text_files import read_text
from attest_otel.formats.yaml_files import MAX_FILE_BYTES


class YamlLines:
    """The places of a file's fields.

    Args:
        path: a file that `read_yaml` has read, so that its size and depth are known to be bounded.
    """

    def __init__(self, path: Path) -> None:
        self._path = path

    def place(self, location: Sequence[int | str]) -> str:
        """Return `file:line` of the field, or of the innermost part that is there where it isn't; the file if nothing is."""
        line = self._line_of(location)
        return str(self._path) if line is None else f"{self._path}:{line}"

    def _line_of(self, location: Sequence[int | str]) -> int | None:
        node, line = self._root, None
        for step in location:
            found = None if node is None else _member(node, step)
            if found is not None:
                line, node = found
        return line

    @cached_property
    def _root(self) -> yaml.Node | None:
        try:
            root: yaml.Node | None = yaml.compose(read_text(self._path, MAX_FILE_BYTES), Loader=yaml.CSafeLoader)
        except (ConfigError, OSError, ValueError, yaml.YAMLError, RecursionError):
            return None  # gone or changed since it was read: the field's path says enough
        return root


def _member(node: yaml.Node, step: int | str) -> tuple[int, yaml.Node] | None:
    """Return line and node of a member; None where there is none, as for the names of a union's branches."""
    if isinstance(node, yaml.SequenceNode) and isinstance(step, int) and 0 <= step < len(node.value):
        item: yaml.Node = node.value[step]
        return item.start_mark.line + 1, item
    if isinstance(node, yaml.MappingNode) and isinstance(step, str):
        return next(((key.start_mark.line + 1, value) for key, value in node.value if key.value == step), None)
    return None
