"""The spans that this package makes itself: they are never judged, and hide nobody else's.

Our span is known by the context it was started in, which holds a key of this process: no name, scope or
attribute of a span can stand for it. Where a wrapper around the processor loses that context, a span of
our scopes that has the whole shape of one of ours counts as one, until its end shows otherwise. What
lies below our spans is not ours: foreign code that works for us records in the quiet trace.
Source: DESIGN 5; property 4.
"""

from __future__ import annotations

from opentelemetry.sdk.trace import ReadableSpan

from attest_otel.read.kinds import NEVER_GRADED, is_ours
from attest_otel.read.span import from_sdk

MAX_OPEN = 10_000


class OwnSpans:
    """The keys of our open spans; bounded, for one thread."""

    def __init__(self) -> None:
        self._sure: dict[int, bool] = {}

    def __contains__(self, key: int) -> bool:
        return key in self._sure

    def add(self, key: int, *, sure: bool) -> None:
        """Note a span; `sure` where its maker said so."""
        self._sure[key] = sure
        if len(self._sure) > MAX_OPEN:
            del self._sure[next(iter(self._sure))]

    def end(self, key: int, span: ReadableSpan) -> bool:
        """Forget a span that ended; return whether it was one of ours after all."""
        return self._sure.pop(key, False) or is_ours(from_sdk(span))


def has_our_shape(span: ReadableSpan) -> bool:
    """Return whether a span that starts says that it is ours, and nothing that ours never say; cheap for all others."""
    scope = span.instrumentation_scope
    return scope is not None and scope.name in NEVER_GRADED and is_ours(from_sdk(span))
