"""Ids of our own spans that do not draw from the application's random numbers.

The SDK takes ids from the `random` module's own generator, so that a program which seeds it would see
other numbers whenever a verdict happens to be written on another thread.
"""

from __future__ import annotations

import os
import random

from opentelemetry import trace
from opentelemetry.sdk.trace.id_generator import RandomIdGenerator

_random = random.Random()  # noqa: S311  # ids are no secrets


class OwnIds(RandomIdGenerator):
    """The SDK's ids, from a generator of our own; thread-safe, and different in a fork's child."""

    def generate_span_id(self) -> int:
        """Return an id of 64 bits that is not zero."""
        return _random.getrandbits(64) or 1

    def generate_trace_id(self) -> int:
        """Return an id of 128 bits that is not zero."""
        return _random.getrandbits(128) or 1


def with_own_ids(tracer: trace.Tracer) -> trace.Tracer:
    """Give a tracer made for us ids of our own; one with ids of the user's choice is left as it is."""
    if type(getattr(tracer, "id_generator", None)) is RandomIdGenerator:
        tracer.id_generator = OwnIds()  # type: ignore[attr-defined]
    return tracer


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_random.seed)
