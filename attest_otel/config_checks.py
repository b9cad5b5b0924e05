"""Do settings hold together? What no field can see for itself, said where the settings are loaded.

**A setting nobody reads.** `checks` narrows what runs. What a file asks for and a check that is off would
have to enforce is warned of, once a process: an agent's `rules` (policy), `allowed_tools` (tool_use) and
`cases` (expectations for `expect_tool_calls` and `forbid_other_side_effects`, selection for
`should_call`), a row or threshold of `verdict_policy` that asks for review or block, a `judge` that no
check asks. Who wrote it may believe it is enforced, and the verdict is pass. Nothing is said of what only
describes (`tools`, `tool_fallbacks`) or only makes a verdict milder (`pass`): leaving it unread weakens
nothing. To run fewer checks for once there are `--checks` and `evaluate(checks=)`.

**A tool nobody has.** A name in an agent's rules, `allowed_tools` or `tool_fallbacks` that is a slip of a
tool the agent lists, and that no agent lists, is refused (`names.slip_of` says what a slip is). Any
other unknown name may be a tool that only a run declares.
"""

from __future__ import annotations

import logging
from collections.abc import Iterator, Sequence
from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING

from attest_otel.cases import Case, load_cases
from attest_otel.errors import ConfigError
from attest_otel.formats.yaml_files import Location, Where, place_of
from attest_otel.rules import check_rules, tools_named
from attest_otel.suggestions import shown, slip_of
from attest_otel.vocabulary import ASKS_MODEL

if TYPE_CHECKING:
    from attest_otel.config import AgentConfig, AttestConfig
    from attest_otel.verdict import VerdictPolicy

logger = logging.getLogger("attest_otel")

Problem = tuple[Location, str]
_READ_BY = {
    "on_injection_warning": "injection",
    "on_inconclusive_faithfulness": "faithfulness",
    "min_claim_coverage": "faithfulness",
}


def read_cases(agent: AgentConfig, folder: Path, place: str) -> AgentConfig:
    """Return an agent's settings with the cases file they name read; each line of an error begins with `place` (ConfigError)."""
    if not isinstance(agent.cases, str):
        return agent
    try:
        cases = load_cases(folder / agent.cases)
    except ConfigError as error:
        raise ConfigError("\n".join(f"{place}: {line}" for line in str(error).splitlines())) from None
    return agent.model_copy(update={"cases": cases})


def check_settings(settings: AttestConfig, where: Where) -> None:
    """Refuse settings that don't hold together, and warn of those that no running check reads.

    Args:
        settings: the settings, their cases read.
        where: what names them in errors, or a function from a field's location to its file and line.

    Raises:
        ConfigError: a rule cannot work, a case contradicts the tools that its agent lists, or a name is misspelt.
    """
    for name, agent in settings.agents.items():
        check_rules(agent.rules, where, ("agents", name, "rules"))
        _check_contract(agent, place_of(where, ("agents", name)))
    slips = list(_slips(settings))
    if slips:
        raise ConfigError("\n".join(f"{place_of(where, location)}: {text}" for location, text in slips))
    for location, text in _unread(settings):
        warn_once(f"{place_of(where, location)}: {text}")


@lru_cache(maxsize=256)
def warn_once(text: str) -> None:
    """Say this once."""
    logger.warning("%s", text)


def _check_contract(agent: AgentConfig, where: str) -> None:
    if agent.tools is None or not isinstance(agent.cases, list):
        return
    from attest_otel.contract import check_contract  # noqa: PLC0415  # only where an agent lists tools and cases

    check_contract(agent.cases, agent.tools, where=where)


def _slips(settings: AttestConfig) -> Iterator[Problem]:
    listed = {tool.name for agent in settings.agents.values() for tool in agent.tools or ()}
    for agent_name, agent in settings.agents.items():
        own = [tool.name for tool in agent.tools or ()]
        for location, name in _names_of(agent) if own else ():
            meant = None if name in listed else slip_of(name, own)
            if meant is not None:
                told = f"no declared tool is called {shown(name)}; did you mean {shown(meant)}? (a tool of that name: list it in tools)"
                yield ("agents", agent_name, *location), told


def _names_of(agent: AgentConfig) -> Iterator[tuple[Location, str]]:
    """Yield every tool's name that an agent's settings write, and where."""
    for number, name in enumerate(agent.allowed_tools or ()):
        yield ("allowed_tools", number), name
    for name, others in agent.tool_fallbacks.items():
        yield ("tool_fallbacks", name), name
        yield from ((("tool_fallbacks", name, number), other) for number, other in enumerate(others))
    for number, rule in enumerate(agent.rules):
        yield from ((("rules", number, field), name) for field, name in tools_named(rule))


def _unread(settings: AttestConfig) -> Iterator[Problem]:
    if settings.checks is None:
        return
    on = frozenset(settings.checks)
    for location, check, what in _enforced(settings):
        if check not in on:
            yield location, f"{what}, but checks leaves out {check}: add {check} to checks, or take this out"
    if settings.judge is not None and on.isdisjoint(ASKS_MODEL):
        asking = ", ".join(sorted(ASKS_MODEL))
        yield ("judge",), f"none of the checks in checks asks a grading model: add one of {asking}, or take judge out"


def _enforced(settings: AttestConfig) -> Iterator[tuple[Location, str, str]]:
    """Yield what the settings ask for: where, the check that enforces it, and what that check does."""
    for name, agent in settings.agents.items():
        here = ("agents", name)
        if agent.rules:
            yield (*here, "rules"), "policy", "policy holds runs against rules"
        if agent.allowed_tools is not None:
            yield (*here, "allowed_tools"), "tool_use", "tool_use finds calls of tools that are not allowed"
        if isinstance(agent.cases, list):
            yield from (((*here, "cases"), check, what) for check, what in _asserted(agent.cases))
    yield from _asked_of_verdicts(settings)


def _asserted(cases: Sequence[Case]) -> Iterator[tuple[str, str]]:
    calls = next((case for case in cases if case.expect_tool_calls or case.forbid_other_side_effects), None)
    if calls is not None:
        yield "expectations", f"case {shown(calls.case_id)} expects or forbids calls, which expectations looks for"
    chosen = next((case for case in cases if case.should_call is not None), None)
    if chosen is not None:
        yield "selection", f"case {shown(chosen.case_id)} has should_call, which selection looks for"


def _asked_of_verdicts(settings: AttestConfig) -> Iterator[tuple[Location, str, str]]:
    """Yield what the policy asks of each check's findings, where the file says so and it is more than to let them pass."""
    policy = settings.verdict_policy
    for location, check, asked in _policy_rows(policy):
        if asked not in ("pass", None, 0):
            yield ("verdict_policy", *location), check, f"this decides what follows from {check}"


def _policy_rows(policy: VerdictPolicy) -> Iterator[tuple[Location, str, object]]:
    for field, check in _READ_BY.items():
        if field in policy.model_fields_set:
            yield (field,), check, getattr(policy, field)
    for field in sorted(policy.tool_use.model_fields_set):
        yield ("tool_use", field), "tool_use", getattr(policy.tool_use, field)
    for check, least in policy.min_score.items():
        yield ("min_score", check), check, least
    for check, row in policy.dispositions.items():
        yield from ((("dispositions", check, verdict), check, disposition) for verdict, disposition in row.items())
