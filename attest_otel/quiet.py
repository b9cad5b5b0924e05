"""The context in which foreign code works for us: what it records there is never graded.

An exporter, a callback or a grading model's client may make spans of its own. They become children of
an unsampled span in a trace of this process alone, so that the sampler leaves them out, and the buffer
knows them by the trace's id if it doesn't. Spans of our own are started in a context that says so.
"""

from __future__ import annotations

import secrets
from collections.abc import Iterator
from contextlib import contextmanager

from opentelemetry.context import _SUPPRESS_INSTRUMENTATION_KEY, Context, attach, create_key, detach, set_value
from opentelemetry.trace import NonRecordingSpan, SpanContext, TraceFlags, set_span_in_context

QUIET_TRACE = secrets.randbits(128) | 1
_OWN_KEY = create_key("attest-own")
_OWN = object()
_SPAN = NonRecordingSpan(SpanContext(QUIET_TRACE, secrets.randbits(64) | 1, is_remote=False, trace_flags=TraceFlags(0)))


@contextmanager
def quiet() -> Iterator[None]:
    """Run the block's code in the quiet context; the context is what it was afterwards."""
    token = attach(set_value(_SUPPRESS_INSTRUMENTATION_KEY, value=True, context=set_span_in_context(_SPAN)))
    try:
        yield
    finally:
        detach(token)


def own(context: Context) -> Context:
    """Return the context in which this package starts a span of its own, which is never judged."""
    return set_value(_OWN_KEY, _OWN, context)


def is_own(context: Context | None) -> bool:
    """Return whether a span is started in such a context; total, whatever a wrapper passes on."""
    return isinstance(context, Context) and context.get(_OWN_KEY) is _OWN
