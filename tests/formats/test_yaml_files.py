"""YAML that people write: what is refused, by file and line, and what a person is told."""

from __future__ import annotations

from pathlib import Path

import pytest
from pydantic import BaseModel, ConfigDict

from attest_otel.errors import ConfigError
from attest_otel.formats import yaml_files
from attest_otel.formats.yaml_files import (
    MAX_ALIASES,
    MAX_DEPTH,
    MAX_VALUES,
    field_path,
    parse_yaml,
    read_yaml,
    refuse_ambiguous,
    validate,
)


def refusal(text: str) -> str:
    """Return what is said of text that is refused."""
    with pytest.raises(ConfigError) as caught:
        parse_yaml(text, "f.yaml")
    return str(caught.value)


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("a: 1\nb: 2\na: 3", "f.yaml:3: not valid YAML: the key 'a' stands twice"),
        ("x:\n  - {a: 1, 'a': 2}", "f.yaml:2: not valid YAML: the key 'a' stands twice"),
        ("true: 1\ntrue: 2", "f.yaml:2: not valid YAML: the key True stands twice"),
        ("? [a]\n: 1", "f.yaml:1: not valid YAML: a key must be plain text"),
        ("? {a: b}\n: 1", "f.yaml:1: not valid YAML: a key must be plain text"),
        ("a: [1", "f.yaml:2: not valid YAML:"),
        ("a: 'x", "f.yaml:1: not valid YAML:"),
        ("a:\n\tb: 1", "f.yaml:2: not valid YAML:"),
        ("a: 1\n---\na: 2", "f.yaml:2: not valid YAML:"),
        ("a: *nobody", "f.yaml:1: not valid YAML:"),
        (
            "a: !!python/object/apply:os.system [echo]",
            "f.yaml:1: not valid YAML: could not determine a constructor",
        ),
        ("a: !!python/name:os.system", "f.yaml:1: not valid YAML: could not determine a constructor"),
        ("b: &b {x: 1}\na: {<<: *b}", "f.yaml:2: not valid YAML: could not determine a constructor"),
        ("\x00", "f.yaml"),
        ("[" * (MAX_DEPTH + 1) + "]" * (MAX_DEPTH + 1), f"f.yaml:1: nested deeper than {MAX_DEPTH} levels"),
        ("[" * 100_000, "f.yaml:1: not valid YAML: exceeded maximum nesting depth"),
        (
            "a: &x 1\nb: [" + ", ".join(["*x"] * (MAX_ALIASES + 1)) + "]",
            f"f.yaml:2: more than {MAX_ALIASES} aliases",
        ),
    ],
)
def test_what_is_refused(text: str, said: str) -> None:
    """Duplicate keys, odd keys, code, merges, deep nesting and many aliases are refused, with file and line."""
    assert refusal(text).startswith(said)


def test_alias_bomb_is_refused() -> None:
    """Aliases of aliases that stand for more values than anybody writes are refused, few as they are."""
    bomb = "a0: &a0 [x]\n" + "".join(f"a{n}: &a{n} [{', '.join([f'*a{n - 1}'] * 9)}]\n" for n in range(1, 9))
    assert refusal(bomb) == f"f.yaml:7: more than {MAX_VALUES} values once aliases are followed"
    assert len(parse_yaml("\n".join(bomb.splitlines()[:5]), "f.yaml")) == 5


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("", None),
        ("a: {b: [1, 2.5, x, null, true]}", {"a": {"b": [1, 2.5, "x", None, True]}}),
        ("a: &x {b: 1}\nc: *x", {"a": {"b": 1}, "c": {"b": 1}}),
        ("[" * MAX_DEPTH + "]" * MAX_DEPTH, None),
    ],
)
def test_what_is_read(text: str, value: object) -> None:
    """Plain YAML is read as it stands; a few anchors are fine, and nesting up to the limit."""
    read = parse_yaml(text, "f.yaml")
    assert value is None or read == value


def test_file_that_cannot_be_read(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A file that is missing, a folder, no UTF-8 or too large is named with the reason."""
    (tmp_path / "latin.yaml").write_bytes(b"a: \xe9")
    for name, said in (
        ("none.yaml", "No such file"),
        (".", "directory"),
        ("latin.yaml", "is not UTF-8 text (byte 3)"),
    ):
        with pytest.raises(ConfigError, match=str(tmp_path)) as caught:
            read_yaml(tmp_path / name)
        assert said in str(caught.value)
    monkeypatch.setattr(yaml_files, "MAX_FILE_BYTES", 3)
    with pytest.raises(ConfigError, match="has 4 bytes; at most 3 are read"):
        read_yaml(tmp_path / "latin.yaml")


@pytest.mark.parametrize("word", ["no", "NO", "Yes", "on", "Off", "010", "12:30", "1:30:00", "2026-12-01", "2026-12-01 10:00:00"])
def test_words_that_are_read_as_something_else(tmp_path: Path, word: str) -> None:
    """A plain word that YAML 1.1 turns into a truth value, an octal, a base-60 number or a date is refused with its line."""
    path = tmp_path / "f.yaml"
    path.write_text(f"a: 1\nb: [{word}]\n")
    with pytest.raises(ConfigError) as caught:
        refuse_ambiguous(path)
    assert str(caught.value).startswith(f"{path}:2: YAML reads the plain {word} as something else than text: put it in quotes")


@pytest.mark.parametrize("word", ["'no'", '"010"', "true", "false", "null", "0", "10", "1.5", "nothing", "no-op", "-3", "1e3"])
def test_words_that_mean_what_they_say(tmp_path: Path, word: str) -> None:
    """Quoted words, true, false, null and decimal numbers are left alone."""
    path = tmp_path / "f.yaml"
    path.write_text(f"b: [{word}]\n")
    refuse_ambiguous(path)


class Part(BaseModel):
    """A part of a model for these tests."""

    model_config = ConfigDict(extra="forbid", strict=True)
    name: str
    count: int = 0


class Whole(BaseModel):
    """A model for these tests."""

    model_config = ConfigDict(extra="forbid", strict=True)
    parts: list[Part] = []
    by_name: dict[str, Part] = {}


@pytest.mark.parametrize(
    ("data", "said"),
    [
        ({"part": []}, "f: part: unknown field"),
        ({"parts": [{"name": "a"}, {"name": "b", "nope": 1}]}, "f: parts[1].nope: unknown field"),
        ({"parts": [{}]}, "f: parts[0].name: missing"),
        (
            {"by_name": {"x": {"name": 1}}},
            "f: by_name.x.name: Input should be a valid string, got 1 (YAML reads this as a number",
        ),
        ({"by_name": {"x": {"name": False}}}, "put it in quotes)"),
        ({"by_name": {False: {"name": "x"}}}, "f: by_name (a key): Input should be a valid string"),
        (
            {"parts": [{"name": "a", "count": "3"}]},
            "f: parts[0].count: Input should be a valid integer, got '3'",
        ),
        ({"parts": ["a"]}, "f: parts[0]: Input should be a mapping, got 'a'"),
        (7, "f: Input should be a mapping, got 7"),
    ],
)
def test_errors_name_the_field(data: object, said: str) -> None:
    """A wrong field is named by its path, with what was expected and what was given."""
    with pytest.raises(ConfigError) as caught:
        validate(Whole, data, "f")
    assert said in str(caught.value)


def test_all_errors_are_told_up_to_ten() -> None:
    """Every wrong field has its line; after ten, how many more there are is said."""
    with pytest.raises(ConfigError) as caught:
        validate(Whole, {"parts": [{"name": n} for n in range(25)]}, "f")
    lines = str(caught.value).splitlines()
    assert len(lines) == 11
    assert lines[-1] == "f: and 15 more"


def test_given_values_are_cut_in_errors() -> None:
    """A huge wrong value doesn't fill the screen."""
    with pytest.raises(ConfigError) as caught:
        validate(Whole, {"parts": "x" * 10_000}, "f")
    assert len(str(caught.value)) < 200


def test_path_of_a_field() -> None:
    """Indexes stand in brackets, names after dots, and an unnamed branch of a union nowhere."""
    assert field_path(("agents", "a", "cases", "", 0, "args")) == "agents.a.cases[0].args"
    assert field_path(()) == ""
