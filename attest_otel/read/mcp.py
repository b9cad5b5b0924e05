"""MCP SDK spans: a client and a server span for each `tools/call`, without content unless it is asked for.

They are hops of a call that some other span may also show; `mcp=True` lets the builder count it once.
"""

from __future__ import annotations

from attest_otel import attributes as names
from attest_otel.read.facts import ABSENT, Execution, Kind, SpanFacts, arguments_from
from attest_otel.read.kinds import conversation_of, run_id_of
from attest_otel.read.outcomes import error_of, result_of
from attest_otel.read.span import SpanRecord
from attest_otel.read.values import text_at

_CALL = "tools/call "


def read(span: SpanRecord, kind: Kind) -> SpanFacts:
    """Read one span of this convention."""
    given = span.attributes
    facts = SpanFacts(
        span, kind, conversation_id=conversation_of(span), run_id=run_id_of(span), case_id=text_at(given, names.CASE_ID)
    )
    if kind != "tool":
        return facts
    result = result_of(span, names.TOOL_CALL_RESULT)
    error_type, message = error_of(span)
    arguments = given.get(names.TOOL_CALL_ARGUMENTS)
    facts.execution = Execution(
        name=text_at(given, names.TOOL_NAME) or span.name.partition(_CALL)[2] or span.name,
        call_id=text_at(given, names.TOOL_CALL_ID),
        arguments=arguments_from(arguments, "reserialized") if arguments is not None else ABSENT,
        output=result.output,
        is_error=result.is_error,
        error_type=error_type,
        error_message=message,
        mcp=True,
    )
    return facts
