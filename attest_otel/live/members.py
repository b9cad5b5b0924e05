"""The processors that live in this process: stopped at its exit, made anew in a fork's child, one judge to a span.

Held weakly. Of several processors that see the same spans the first to take one leads; the others stand
aside until it is shut down, so that a run has one verdict and is counted once.
"""

from __future__ import annotations

import atexit
import os
import weakref
from collections.abc import Callable
from typing import Protocol

from opentelemetry.sdk.trace import Span


class Member(Protocol):
    """What a processor offers the others."""

    def shutdown(self) -> None:
        """Stop, at the process's exit."""

    def after_fork(self) -> None:
        """Begin with nothing, in a fork's child."""

    def has_taken(self, span: Span) -> bool:
        """Return whether this processor judges a span that has just started."""

    def follow_no_more(self, leader: Member) -> None:
        """Learn that a processor is shut down."""


_members: weakref.WeakSet[Member] = weakref.WeakSet()


def join(member: Member) -> Callable[[], None]:
    """Add a processor; return what to call when it is shut down."""
    ref = weakref.ref(member)

    def at_exit() -> None:
        found = ref()
        if found is not None:
            found.shutdown()

    def leave() -> None:
        atexit.unregister(at_exit)
        found = ref()
        if found is None:
            return
        _members.discard(found)
        for other in tuple(_members):
            other.follow_no_more(found)

    atexit.register(at_exit)
    _members.add(member)
    return leave


def leader_of(member: Member, span: Span) -> Member | None:
    """Return another processor that judges this span, None where there is none."""
    return next((one for one in tuple(_members) if one is not member and one.has_taken(span)), None)


def _after_fork_in_child() -> None:
    for member in tuple(_members):
        member.after_fork()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_after_fork_in_child)
