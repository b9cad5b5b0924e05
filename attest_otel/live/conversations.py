"""What earlier runs of a conversation did, so that a refund given twice in two turns is seen.

Bounded: the conversations last heard of, each with its last effects. Only the lane's thread touches it.
"""

from __future__ import annotations

from collections import OrderedDict

from attest_otel.checks.side_effects import SideEffect

MAX_EFFECTS = 200


class Conversations:
    """Side effects by conversation, without their content."""

    def __init__(self, max_conversations: int) -> None:
        self._max = max_conversations
        self._effects: OrderedDict[str, tuple[SideEffect, ...]] = OrderedDict()

    def of(self, conversation_id: str | None) -> tuple[SideEffect, ...]:
        """Return what a conversation's earlier runs did."""
        return self._effects.get(conversation_id, ()) if conversation_id is not None else ()

    def add(self, conversation_id: str | None, run_id: str | None, effects: tuple[SideEffect, ...]) -> None:
        """Remember what a run did; a revision takes the place of what was remembered of it."""
        if conversation_id is None or not effects:
            return
        earlier = [effect for effect in self.of(conversation_id) if run_id is None or effect.run_id != run_id]
        self._effects[conversation_id] = (*earlier, *effects)[-MAX_EFFECTS:]
        self._effects.move_to_end(conversation_id)
        while len(self._effects) > self._max:
            self._effects.popitem(last=False)
