"""Rules: what a team forbids or asks for, as written in attest.yaml; the policy check keeps them.

Every rule has one predicate: `require` (CEL over the run and the call), `order` (tools, first to
last), `at_most` (calls a tool), or `ask` (a yes/no question for the grading model). Rules are checked
where they are loaded: a rule that cannot work is refused there, by file, agent and id.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Literal, Self

from pydantic import BaseModel, ConfigDict, Field, model_validator

from attest_otel.errors import ConfigError
from attest_otel.formats.yaml_files import Location, Where, field_path, place_of

MAX_RULES = 500
MAX_GLOB_CHARS = 200
MAX_GLOB_STARS = 5
_GLOB_SIGNS = frozenset("*?[")


class Rule(BaseModel):
    """One rule. `tool` is a name or glob; without it a `require` rule is about the run."""

    model_config = ConfigDict(extra="forbid", frozen=True, strict=True)

    id: str = Field(min_length=1)
    severity: Literal["fail", "warn"] = "fail"
    tool: str | None = None
    require: str | None = None
    order: list[str] | None = Field(default=None, min_length=2)
    at_most: dict[str, int] | None = None
    ask: str | None = None

    @model_validator(mode="after")
    def _one_predicate(self) -> Self:
        given = [name for name in ("require", "order", "at_most", "ask") if getattr(self, name) is not None]
        if len(given) != 1:
            raise ValueError(
                f"rule {self.id!r}: expected exactly one of require, order, at_most, ask; got {', '.join(given) or 'none'}"
            )
        for tool, most in (self.at_most or {}).items():
            if most < 0:
                raise ValueError(f"rule {self.id!r}: at_most.{tool} must be 0 or more, got {most}")
        if self.tool is not None and (self.order is not None or self.at_most is not None):
            raise ValueError(f"rule {self.id!r}: order and at_most name their tools themselves; tool goes with require or ask")
        return self

    @model_validator(mode="after")
    def _says_something(self) -> Self:
        if self.at_most is not None and not self.at_most:
            raise ValueError(f"rule {self.id!r}: at_most names no tool")
        for name in ("require", "ask"):
            text = getattr(self, name)
            if text is not None and not text.strip():
                raise ValueError(f"rule {self.id!r}: {name} is empty")
        for pattern in (self.tool, *(self.order or ()), *(self.at_most or ())):
            if pattern is not None:
                _check_glob(self.id, pattern)
        return self


def check_rules(rules: Iterable[Rule], where: Where, at: Location = ()) -> None:
    """Refuse rules that cannot work.

    CEL is imported only where a rule has a `require`.

    Args:
        rules: the rules.
        where: what names the settings in errors, or a function from a field's location to its file and line.
        at: where the list of rules stands in the settings.

    Raises:
        ConfigError: an id stands twice, there are too many rules, or an expression has no syntax, names
            what does not exist, mixes types, is no yes/no question, or holds a bad pattern.
    """
    seen: set[str] = set()
    for number, rule in enumerate(rules):
        if number >= MAX_RULES:
            raise ConfigError(f"{place_of(where, at)}: more than {MAX_RULES} rules")
        if rule.id in seen:
            raise ConfigError(f"{place_of(where, (*at, number))}: the rule id {rule.id!r} stands twice")
        seen.add(rule.id)
        if rule.require is not None:
            _check_expression(rule, rule.require, where, (*at, number))


def tools_named(rule: Rule) -> Iterator[tuple[str, str]]:
    """Yield each tool that a rule names, no glob, with the field that names it."""
    patterns = {"tool": (rule.tool,), "order": rule.order or (), "at_most": rule.at_most or ()}
    for field, names in patterns.items():
        yield from ((field, name) for name in names if name is not None and _GLOB_SIGNS.isdisjoint(name))
    if rule.require is not None:
        from attest_otel.cel import compile_expression  # noqa: PLC0415

        yield from (("require", name) for name in compile_expression(rule.require, about_call=rule.tool is not None).shape.names)


def _check_expression(rule: Rule, source: str, where: Where, at: Location) -> None:
    from attest_otel.cel import ExpressionError, compile_expression  # noqa: PLC0415

    try:
        compile_expression(source, about_call=rule.tool is not None)
    except ExpressionError as error:
        line = where((*at, "require")) if callable(where) else where
        raise ConfigError(f"{line}: {field_path(at)}: rule {rule.id!r}: require: {error}") from None


def _check_glob(rule_id: str, pattern: str) -> None:
    if not pattern.strip():
        raise ValueError(f"rule {rule_id!r}: a tool's name is empty")
    if len(pattern) > MAX_GLOB_CHARS or pattern.count("*") > MAX_GLOB_STARS:
        raise ValueError(f"rule {rule_id!r}: a glob may have {MAX_GLOB_CHARS} characters and {MAX_GLOB_STARS} stars")
