"""Any span exporter of the user's, with secrets taken out of every span on its way there."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from opentelemetry.sdk.resources import Resource
from opentelemetry.sdk.trace import Event, ReadableSpan
from opentelemetry.sdk.trace.export import SpanExporter, SpanExportResult
from opentelemetry.trace import Link, Status

from attest_otel.config import RedactionConfig
from attest_otel.redaction import FAILED, Hook, Redactor
from attest_otel.redaction.redactor import MAX_DEPTH, REPLACED

MAX_ITEMS = 10_000


class RedactingSpanExporter(SpanExporter):
    """Wraps an exporter: what it gets are redacted copies, the spans themselves are left alone.

    Names, attributes (their keys too), events, links, status and resource are redacted; ids, times
    and scope are as they were. A value that can't be redacted is dropped, a span never.

    Args:
        exporter: where the copies go; its results and exceptions are passed on.
        config: which patterns and key names; by default the built-in ones.
        hook: called with every text after the patterns.
    """

    def __init__(self, exporter: SpanExporter, *, config: RedactionConfig | None = None, hook: Hook | None = None) -> None:
        self._exporter = exporter
        self._redactor = Redactor(config, hook=hook)
        self._resources: dict[int, tuple[Resource, Resource]] = {}

    def export(self, spans: Sequence[ReadableSpan]) -> SpanExportResult:
        """Export redacted copies."""
        return self._exporter.export([self._copy(span) for span in spans])

    def shutdown(self) -> None:
        """Shut the exporter down."""
        self._exporter.shutdown()

    def force_flush(self, timeout_millis: int = 30_000) -> bool:
        """Flush the exporter; return what it says."""
        return self._exporter.force_flush(timeout_millis)

    def _copy(self, span: ReadableSpan) -> ReadableSpan:
        limit = getattr(getattr(span, "_attributes", None), "max_value_len", None)
        return _Copy(
            span,
            name=self._value(span.name, limit, 0),
            resource=_or_else(lambda: self._resource(span.resource), Resource({})),
            attributes=_or_else(lambda: self._attributes(span.attributes, limit), {}),
            events=_or_else(lambda: [self._event(event, limit) for event in span.events], []),
            links=_or_else(lambda: [self._link(link, limit) for link in span.links], []),
            status=_or_else(lambda: self._status(span.status, limit), Status()),
        )

    def _resource(self, resource: Resource) -> Resource:
        known = self._resources.get(id(resource))
        if known is not None and known[0] is resource:
            return known[1]
        found = self._attributes(resource.attributes, None)
        copied = resource if found == dict(resource.attributes) else Resource(found, resource.schema_url)
        self._resources = {id(resource): (resource, copied)}
        return copied

    def _event(self, event: Event, limit: int | None) -> Event:
        return Event(self._value(event.name, limit, 0), self._attributes(event.attributes, limit), event.timestamp)

    def _link(self, link: Link, limit: int | None) -> Link:
        return Link(link.context, self._attributes(link.attributes, limit))

    def _status(self, status: Status, limit: int | None) -> Status:
        if status.description is None:
            return status
        return Status(status.status_code, self._value(status.description, limit, 0))

    def _attributes(self, given: Mapping[str, Any] | None, limit: int | None) -> dict[str, Any]:
        return {self._value(key, limit, 0): self._member(key, value, limit, 0) for key, value in (given or {}).items()}

    def _member(self, key: Any, value: Any, limit: int | None, depth: int) -> Any:
        try:
            return REPLACED if self._redactor.is_secret_name(key, value) else self._value(value, limit, depth)
        except Exception:  # noqa: BLE001  # a value is foreign code
            return FAILED

    def _value(self, value: Any, limit: int | None, depth: int) -> Any:
        try:
            if isinstance(value, str):
                cut = limit is not None and len(value) >= limit
                return self._redactor.redact_cut(value) if cut else self._redactor.redact(value)
            if isinstance(value, bytes):
                return value if not self._redactor.finds(value.decode("utf-8", "replace")) else FAILED
            if depth >= MAX_DEPTH:
                return FAILED
            if isinstance(value, Mapping):
                return {
                    self._value(k, limit, depth + 1): self._member(k, v, limit, depth + 1)
                    for k, v in list(value.items())[:MAX_ITEMS]
                }
            if isinstance(value, Sequence):
                return tuple(self._value(part, limit, depth + 1) for part in value[:MAX_ITEMS])
            return self._redactor.redact_value(value)
        except Exception:  # noqa: BLE001
            return FAILED


class _Copy(ReadableSpan):
    """A span with other texts; what was dropped before is still counted."""

    def __init__(self, span: ReadableSpan, **changed: Any) -> None:
        super().__init__(
            context=span.context,
            parent=span.parent,
            kind=span.kind,
            start_time=span.start_time,
            end_time=span.end_time,
            instrumentation_scope=span.instrumentation_scope,
            **changed,
        )
        self._dropped = (span.dropped_attributes, span.dropped_events, span.dropped_links)

    @property
    def dropped_attributes(self) -> int:
        return self._dropped[0]

    @property
    def dropped_events(self) -> int:
        return self._dropped[1]

    @property
    def dropped_links(self) -> int:
        return self._dropped[2]


def _or_else(make: Callable[[], Any], otherwise: Any) -> Any:
    try:
        return make()
    except Exception:  # noqa: BLE001  # whatever a stranger's span does, it is exported without what can't be read
        return otherwise
