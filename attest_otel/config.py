"""Settings: everything attest.yaml can say, frozen and strict; unknown keys are refused.

Read once, at the start, from `ATTEST_CONFIG`, `--config` or `config=`. A wrong file fails there and
names the path of the field; nothing a span carries ever changes a setting.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path
from typing import Annotated, Any, Literal, Self

from pydantic import (
    BaseModel,
    BeforeValidator,
    ConfigDict,
    Discriminator,
    Field,
    Tag,
    field_validator,
    model_validator,
)

from attest_otel.attributes import CONFIG_ENV
from attest_otel.cases import Case, check_unique
from attest_otel.config_checks import check_settings, read_cases
from attest_otel.errors import ConfigError
from attest_otel.formats.yaml_files import UNNAMED, Where, place_of, read_yaml, refuse_ambiguous, validate
from attest_otel.formats.yaml_lines import YamlLines
from attest_otel.patterns import check_pattern
from attest_otel.rules import Rule
from attest_otel.trajectory import Tool
from attest_otel.verdict import VerdictPolicy

CheckName = Literal[
    "tool_use", "arguments", "expectations", "selection", "repetition", "actions", "provenance",
    "policy", "injection", "faithfulness", "role", "coverage",
]  # fmt: skip
ErrorDetection = Literal["structured", "text"]
Capture = Literal["off", "redacted", "full"]
Unsampled = Literal["none", "all", "not_pass", "block"]
_PlainCapture = Annotated[Capture, BeforeValidator(lambda value: "off" if value is False else value)]
"""As a file says it: YAML reads a plain `off` as false."""


class Settings(BaseModel):
    """What all settings share."""

    model_config = ConfigDict(extra="forbid", frozen=True, strict=True, allow_inf_nan=False)


def _is_path(cases: Any) -> str:
    return "path" if isinstance(cases, str) else UNNAMED


Cases = Annotated[Annotated[str, Tag("path")] | Annotated[list[Case], Tag(UNNAMED)], Discriminator(_is_path)]


class AgentConfig(Settings):
    """One agent's tools, rules and cases; what a run recorded itself wins over it.

    `cases` is the path of a cases file, relative to the configuration's own folder, or the cases.
    """

    allowed_tools: list[str] | None = None
    tools: list[Tool] | None = None
    tool_fallbacks: dict[str, list[str]] = Field(default_factory=dict)
    rules: list[Rule] = Field(default_factory=list)
    cases: Cases | None = None

    @model_validator(mode="after")
    def _names_are_unique(self) -> Self:
        names = [tool.name for tool in self.tools or ()]
        twice = next((name for number, name in enumerate(names) if name in names[:number]), None)
        if twice is not None:
            raise ValueError(f"tools: {twice!r} is registered twice")
        if isinstance(self.cases, list):
            check_unique(self.cases, "cases")
        return self


class Limits(Settings):
    """The bounds of the live pipeline; every one has a unit in its name."""

    max_open_runs: int = Field(default=1_000, ge=1)
    max_spans_per_run: int = Field(default=10_000, ge=1)
    max_value_bytes: int = Field(default=1_048_576, ge=64)
    max_run_bytes: int = Field(default=16_777_216, ge=1_024)
    max_total_bytes: int = Field(default=134_217_728, ge=1_024)
    max_queue_runs: int = Field(default=2_048, ge=1)
    max_model_runs: int = Field(default=128, ge=1)
    max_decided_runs: int = Field(default=1_000, ge=1)
    max_findings: int = Field(default=1_000, ge=1)
    max_events_per_span: int = Field(default=100, ge=1, le=128)
    max_evidence_chars: int = Field(default=500, ge=16)
    max_conversations: int = Field(default=1_000, ge=1)
    grace_seconds: float = Field(default=2.0, ge=0)
    max_run_seconds: float = Field(default=900.0, gt=0)
    check_deadline_seconds: float = Field(default=5.0, gt=0)
    evaluation_deadline_seconds: float = Field(default=60.0, gt=0)
    shutdown_seconds: float = Field(default=5.0, gt=0)


class RedactionConfig(Settings):
    """What is taken out of text before it leaves: built-in patterns, and the user's own (RE2 syntax).

    `key_names` adds to the names of keys whose values are secret. `hook` is a function of the
    program, called with every text after the patterns; a file can't name one.
    """

    enabled: bool = True
    patterns: list[str] = Field(default_factory=list)
    key_names: list[str] = Field(default_factory=list)
    hook: Callable[[str], str] | None = Field(default=None, exclude=True, repr=False)

    @field_validator("patterns")
    @classmethod
    def _patterns_compile(cls, patterns: list[str]) -> list[str]:
        for pattern in patterns:
            check_pattern(pattern)
        return patterns


class JudgeConfig(Settings):
    """The grading model: absent, no question is asked. The key comes from the environment only.

    `record` and `replay` are paths of recordings, relative to the configuration's own folder.
    """

    model: str | None = None
    base_url: str | None = None
    max_calls_per_run: int = Field(default=50, ge=0)
    max_calls_per_minute: int = Field(default=600, ge=0)
    max_calls_per_day: int = Field(default=50_000, ge=0)
    max_tokens_per_run: int = Field(default=200_000, ge=0)
    max_tokens_per_minute: int = Field(default=2_000_000, ge=0)
    max_tokens_per_day: int = Field(default=100_000_000, ge=0)
    max_concurrency: int = Field(default=8, ge=1)
    timeout_seconds: float = Field(default=30.0, gt=0)
    max_retries: int = Field(default=3, ge=0)
    sample: float = Field(default=1.0, ge=0, le=1)
    record: str | None = None
    replay: str | None = None

    def in_folder(self, folder: Path) -> Self:
        """Return the same settings with paths that hold wherever the program stands."""
        return self.model_copy(update={k: str(folder / v) for k in ("record", "replay") if (v := getattr(self, k)) is not None})


class ExportConfig(Settings):
    """What goes out. `unsampled` sends runs that were recorded but not sampled, by their verdict."""

    log_events: bool = False
    unsampled: Unsampled = "none"

    @model_validator(mode="before")
    @classmethod
    def _shorthand(cls, data: Any) -> Any:
        return {"unsampled": data} if isinstance(data, str) else data


class AttestConfig(Settings):
    """All settings. `checks=None` runs every check that can run; what asks for one that `checks` leaves out is warned of."""

    agents: dict[str, AgentConfig] = Field(default_factory=dict)
    checks: list[CheckName] | None = None
    error_detection: ErrorDetection = "structured"
    verdict_policy: VerdictPolicy = Field(default_factory=VerdictPolicy)
    capture: _PlainCapture = "redacted"
    limits: Limits = Field(default_factory=Limits)
    redaction: RedactionConfig = Field(default_factory=RedactionConfig)
    judge: JudgeConfig | None = None
    export: ExportConfig = Field(default_factory=ExportConfig)

    @field_validator("checks")
    @classmethod
    def _something_is_checked(cls, checks: list[CheckName] | None) -> list[CheckName] | None:
        if checks is not None and not checks:
            raise ValueError("names no check, so nothing would be graded; leave it out to run all that can run")
        return checks

    @classmethod
    def load(cls, path: str | Path) -> Self:
        """Read a configuration file, and the cases files it names.

        Raises:
            ConfigError: with the file, the line and the path of each field that is wrong.
        """
        path = Path(path)
        data = read_yaml(path)
        lines = YamlLines(path)
        settings = validate(cls, {} if data is None else data, lines.place)
        refuse_ambiguous(path, off_for="capture")
        return settings.ready(lines.place, path.parent)

    def ready(self, where: Where, folder: Path) -> Self:
        """Return the same settings, once all that they name is read and known to work together.

        Args:
            where: what names the settings in errors, or a function from a field's location to its file and line.
            folder: what the paths of cases files and recordings are relative to.

        Raises:
            ConfigError: a cases file cannot be read, or `check_settings` refuses what the settings say.
        """
        settings = self._with_cases(where, folder)
        if settings.judge is not None:
            settings = settings.model_copy(update={"judge": settings.judge.in_folder(folder)})
        check_settings(settings, where)
        return settings

    def with_hook(self, hook: Callable[[str], str] | None) -> Self:
        """Return the same settings with a function of the program's own among the redaction's; None changes nothing."""
        if hook is None:
            return self
        return self.model_copy(update={"redaction": self.redaction.model_copy(update={"hook": hook})})

    def _with_cases(self, where: Where, folder: Path) -> Self:
        if not any(isinstance(agent.cases, str) for agent in self.agents.values()):
            return self
        read = {k: read_cases(v, folder, place_of(where, ("agents", k, "cases"))) for k, v in self.agents.items()}
        return self.model_copy(update={"agents": read})

    def agent(self, name: str | None) -> AgentConfig:
        """Return the settings of an agent: its own, else those of `"*"`, else none."""
        found = self.agents.get(name) if name is not None else None
        return found or self.agents.get("*") or _NO_AGENT


_NO_AGENT = AgentConfig()


def resolve_config(config: AttestConfig | str | Path | dict[str, Any] | None) -> AttestConfig:
    """Return the settings from any form a caller may give; None reads the file that `ATTEST_CONFIG` names.

    Raises:
        ConfigError: what was given cannot be used.
    """
    if isinstance(config, AttestConfig):
        return config.ready("config", Path())
    if config is None:
        named = os.environ.get(CONFIG_ENV)
        return AttestConfig.load(named) if named else AttestConfig()
    if isinstance(config, dict):
        return validate(AttestConfig, config, "config").ready("config", Path())
    if isinstance(config, str | Path):
        return AttestConfig.load(config)
    raise ConfigError(f"config: expected an AttestConfig, a path or a mapping, got {type(config).__name__}")
