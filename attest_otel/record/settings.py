"""How the recorder is set up in this process: whose tracer, what spans show, and the redactor.

`install()` and the processor set it; a recorder used alone shows redacted content on the global
provider's spans.
"""

from __future__ import annotations

import os
from dataclasses import dataclass, field
from functools import cached_property

from opentelemetry import trace

from attest_otel.attributes import CAPTURE_ENV, RECORD_SCOPE
from attest_otel.config import Capture
from attest_otel.record import leaving
from attest_otel.redaction import Redactor
from attest_otel.span_ids import with_own_ids

MAX_SHOWN_CHARS = 262_144
UNREDACTED = "[the process ends]"

_FROM_ENVIRONMENT: dict[str, Capture] = {
    "no_content": "off",
    "event_only": "off",
    "false": "off",
    "span_only": "full",
    "span_and_event": "full",
    "true": "full",
}


@dataclass(frozen=True)
class RecorderSettings:
    """What the recorder needs to know; replaced whole, never changed."""

    tracer_provider: trace.TracerProvider | None = None
    capture: Capture = "redacted"
    redactor: Redactor = field(default_factory=Redactor)

    def tracer(self) -> trace.Tracer:
        """Return the tracer that agent and tool spans are made with."""
        return trace.get_tracer(RECORD_SCOPE) if self.tracer_provider is None else self._own_tracer

    @cached_property
    def _own_tracer(self) -> trace.Tracer:
        """Made once: the SDK changes the process's warning filters for every tracer it makes."""
        return with_own_ids(trace.get_tracer(RECORD_SCOPE, tracer_provider=self.tracer_provider))

    def shown(self, text: str) -> str | None:
        """Return what a span may show of a content value, or None for nothing."""
        if self.capture == "off":
            return None
        return text if self.capture == "full" else leaving.run(lambda: self._redacted(text))

    def named(self, name: str) -> str:
        """Return a name or an id as a span may show it: it is no content, but a stranger may have chosen it."""
        return name if self.capture == "full" else leaving.run(lambda: self._redacted(name)) or UNREDACTED

    def _redacted(self, text: str) -> str:
        """Redact on the agent's own thread, so a bounded part of a long text."""
        if len(text) <= MAX_SHOWN_CHARS:
            return self.redactor.redact(text)
        return f"{self.redactor.redact_cut(text[:MAX_SHOWN_CHARS])} … ({len(text) - MAX_SHOWN_CHARS} characters left out)"


_settings: RecorderSettings | None = None


def current() -> RecorderSettings:
    """Return the settings in force."""
    return _settings or RecorderSettings(capture=resolve_capture("redacted"))


def configure(settings: RecorderSettings) -> None:
    """Put settings in force for spans recorded from here on."""
    global _settings  # noqa: PLW0603  # one recorder a process, replaced whole
    _settings = settings


def resolve_capture(configured: Capture) -> Capture:
    """Return the capture mode: the conventions' environment variable when it is set, else what is configured.

    `NO_CONTENT` and `EVENT_ONLY` show nothing on spans. `SPAN_ONLY`, `SPAN_AND_EVENT` and `true` ask for
    content; they show it as configured, redacted unless the configuration says full.
    """
    asked = _FROM_ENVIRONMENT.get(os.environ.get(CAPTURE_ENV, "").strip().lower())
    if asked is None:
        return configured
    if asked == "off":
        return "off"
    return "full" if configured == "full" else "redacted"
