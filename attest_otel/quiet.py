"""The context in which foreign code works for us: what it records there is never graded.

An exporter, a callback or a grading model's client may make spans of its own. They become children of
an unsampled span in a trace of this process alone, so that the sampler leaves them out, and the buffer
knows them by the trace's id if it doesn't.
"""

from __future__ import annotations

import secrets
from collections.abc import Iterator
from contextlib import contextmanager

from opentelemetry.context import _SUPPRESS_INSTRUMENTATION_KEY, attach, detach, set_value
from opentelemetry.trace import NonRecordingSpan, SpanContext, TraceFlags, set_span_in_context

QUIET_TRACE = secrets.randbits(128) | 1
_SPAN = NonRecordingSpan(SpanContext(QUIET_TRACE, secrets.randbits(64) | 1, is_remote=False, trace_flags=TraceFlags(0)))


@contextmanager
def quiet() -> Iterator[None]:
    """Run the block's code in the quiet context; the context is what it was afterwards."""
    token = attach(set_value(_SUPPRESS_INSTRUMENTATION_KEY, value=True, context=set_span_in_context(_SPAN)))
    try:
        yield
    finally:
        detach(token)
