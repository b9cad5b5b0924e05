"""Rules that name a tool by a name nobody has, and that is nearly the name of one.

`at_most: {isue_refund: 1}` would be kept for ever, whatever `issue_refund` does. Such a rule is `unchecked`
on runs that declare `issue_refund` (or called it, where none is declared), and says which name may be
meant; a person looks at it once and mends the rule. But the tools of an agent may differ from run to run, and a rule about a tool that this run lacks
is honestly kept. So only a slip counts (`names.slip_of`: the same words in another spelling, each at most
one letter off), and no name that is declared, allowed or a fallback, in the run or in the settings of any
agent, or that was called, is one: who has both `get_user` and `get_users` lists them in `tools`.

Looked at are the names in `tool`, `order` and `at_most` that are no globs, and the texts that a `require`
compares with a call's name. Rules asked in words go to the model, which sees the declared tools.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from attest_otel.checks.effects import effect_of
from attest_otel.checks.policy.findings import unjudged
from attest_otel.checks.view import RunView, once
from attest_otel.config import AgentConfig
from attest_otel.findings import Finding
from attest_otel.rules import Rule, tools_named
from attest_otel.suggestions import shown, slip_of


class Slips:
    """Finds the misspelt tools of rules on one run; what is known is gathered only when a rule names what isn't declared."""

    def __init__(self, view: RunView) -> None:
        self._view = view

    def of(self, rule: Rule) -> list[Finding]:
        """Return a finding for each name of a rule that is a slip of a declared tool."""
        there = self._there
        if not there or rule.ask is not None:
            return []
        missing = dict.fromkeys(name for _, name in tools_named(rule) if name not in there)
        return [found for name in missing if (found := self._slip(rule, name)) is not None]

    def _slip(self, rule: Rule, name: str) -> Finding | None:
        meant = None if name in self._known else slip_of(name, self._there)
        if meant is None:
            return None
        return unjudged(rule, f"no declared tool is called {shown(name)}; did you mean {shown(meant)}?")

    @once
    def _there(self) -> Mapping[str, object]:
        """The declared tools; those that were called and didn't fail where none is declared."""
        view = self._view
        return view.tools or dict.fromkeys(call.name for call in view.calls if effect_of(call) != "failed")

    @once
    def _known(self) -> frozenset[str]:
        view = self._view
        run = {*(call.name for call in view.calls), *(view.allowed_tools or ()), *_with_fallbacks(view.tool_fallbacks)}
        return frozenset(run.union(*map(_listed, view.config.agents.values())))


def _listed(agent: AgentConfig) -> set[str]:
    tools = {tool.name for tool in agent.tools or ()}
    return tools.union(agent.allowed_tools or (), _with_fallbacks(agent.tool_fallbacks))


def _with_fallbacks(fallbacks: Mapping[str, Sequence[str]]) -> set[str]:
    return {*fallbacks, *(name for names in fallbacks.values() for name in names)}
