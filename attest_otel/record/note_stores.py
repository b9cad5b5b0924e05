"""Which store of noted inputs is asked: the run's own, those of the runs around it, and one for calls of no run.

The run's store is found in the OpenTelemetry context first, which more tools carry into threads than
contextvars. The fallback is bounded as every store is, and serves HTTP calls made where no run is visible.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from contextvars import ContextVar

from opentelemetry import context

from attest_otel.record.noted_inputs import NotedInput
from attest_otel.record.provider_bytes import ProviderBytes

MAX_ENCLOSING = 16
STORE_KEY = context.create_key("attest_otel-provider-bytes")

fallback_store = ProviderBytes()
current_store: ContextVar[ProviderBytes | None] = ContextVar("attest_otel_provider_bytes", default=None)


@contextmanager
def use_store(store: ProviderBytes) -> Iterator[ProviderBytes]:
    """Make `store` the current one inside the block; contexts copied inside the block see it too."""
    token = current_store.set(store)
    try:
        yield store
    finally:
        with suppress(ValueError):  # entered in one context and left in another: that context's value stands
            current_store.reset(token)


def visible_store() -> ProviderBytes | None:
    """Return the current run's store, or None where no run is visible."""
    carried = context.get_value(STORE_KEY)
    return carried if isinstance(carried, ProviderBytes) else current_store.get()


def store_for_notes() -> ProviderBytes:
    """Return the current run's store, or the fallback where no run is visible."""
    store = visible_store()
    return fallback_store if store is None else store


def take(
    call_id: str | None, name: str, matches: Callable[[str], bool], own: ProviderBytes | None, *, alone: bool = True
) -> NotedInput | None:
    """Take the note of one call: by its id, else by tool name and text; of a run's own store first.

    Args:
        call_id: the provider's id, or another, or None where the dispatcher isn't told.
        name: the tool's name.
        matches: whether a raw text is what the handler got; runs without a lock.
        own: the store of the call's run; None for a call of no run.
        alone: whether the only input of this tool that waits may be taken though it doesn't match.
    """
    enclosing = _with_enclosing(own)
    if call_id is not None:
        knowing = [(store, known_as) for store in (*enclosing, fallback_store) if (known_as := _known_as(store, call_id, name))]
        if knowing:
            taken = (store.take(call_id, known_as, matches) for store, known_as in knowing)
            return next((noted for noted in taken if noted is not None), None)
    for store in enclosing if call_id is not None else (*enclosing, fallback_store):
        if not len(store):
            continue
        is_near = store is own or store is fallback_store
        noted = store.take_by_name(name, matches, alone=alone and is_near and call_id is None)
        if noted is not None:
            return noted
    return None


def is_known(call_id: str, name: str, store: ProviderBytes) -> bool:
    """Return whether a store has, or had, an input of this call, under its tool's name or another."""
    return _known_as(store, call_id, name) is not None


def _known_as(store: ProviderBytes, call_id: str | None, name: str) -> str | None:
    if call_id is None:
        return None
    return name if store.knows(call_id, name) else store.name_of(call_id)


def _with_enclosing(store: ProviderBytes | None) -> list[ProviderBytes]:
    found: list[ProviderBytes] = []
    while store is not None and len(found) < MAX_ENCLOSING:
        found.append(store)
        store = store.above
    return found
