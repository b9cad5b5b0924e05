"""The span processor: hooks that write down and return, and a worker that does all else.

`on_start` and `on_end` append one reference to a log: no lock, no foreign code, no I/O. The worker
rebuilds runs from the log, a lane grades them, sinks get the reports. Nothing is raised into the
application.
"""

from __future__ import annotations

import threading
import weakref
from collections.abc import Callable, Mapping
from functools import partial
from pathlib import Path
from typing import Any

from opentelemetry import _logs, metrics, trace
from opentelemetry.context import Context
from opentelemetry.sdk.trace import ReadableSpan, Span, SpanProcessor

from attest_otel import content
from attest_otel.config import AttestConfig, resolve_config
from attest_otel.export.callback import OnReport
from attest_otel.export.sinks import build_sinks
from attest_otel.grader import Attest
from attest_otel.live import members
from attest_otel.live.admission import FIRST_MARK
from attest_otel.live.exporting import HandOver
from attest_otel.live.faults import FaultLog
from attest_otel.live.grading import ModelChecks
from attest_otel.live.health import Health, HealthMetrics
from attest_otel.live.intake import Intake
from attest_otel.live.order import put_first
from attest_otel.live.pipeline import Pipeline
from attest_otel.live.runs import span_key
from attest_otel.live.waiting import ReportWaiter
from attest_otel.live.worker import Ended
from attest_otel.quiet import is_own
from attest_otel.record import settings
from attest_otel.redaction import Hook

SECOND = (
    "a second AttestSpanProcessor sees the same spans: the first one judges them, this one and its settings stand aside; "
    "add one to a provider, or call attest_otel.install(), which sees to it"
)
TURNED_AWAY = "the run was not graded: spans come faster than they can be graded, and whole runs are left out"


class AttestSpanProcessor(SpanProcessor):
    """Grades every agent run whose spans pass through it. Thread-safe; safe across forks.

    Args:
        config: settings, a path to attest.yaml, or a mapping; None reads the file `ATTEST_CONFIG` names.
        tracer_provider: where evaluation spans go; the global one by default.
        meter_provider: where metrics go; the global one by default.
        logger_provider: where log events go, when the settings ask for them; the global one by default.
        on_report: called with every report, on a thread of the pipeline.
        redact: called with every text that is shown, after the patterns; on the agent's thread for what spans show.

    Raises:
        ConfigError: the settings cannot be used.
    """

    def __init__(
        self,
        config: AttestConfig | str | Path | dict[str, Any] | None = None,
        *,
        tracer_provider: trace.TracerProvider | None = None,
        meter_provider: metrics.MeterProvider | None = None,
        logger_provider: _logs.LoggerProvider | None = None,
        on_report: OnReport | None = None,
        redact: Hook | None = None,
        model_checks: ModelChecks | None = None,
    ) -> None:
        attest = Attest(resolve_config(config).with_hook(redact))
        attest.judges.provide(tracer_provider, meter_provider)
        self.config = attest.config
        self._faults = FaultLog()
        redactor = attest.redactor

        def provider() -> trace.TracerProvider:
            return tracer_provider or trace.get_tracer_provider()

        sinks = build_sinks(
            self.config,
            redactor,
            tracer_provider=tracer_provider,
            meter_provider=meter_provider,
            logger_provider=logger_provider,
            on_report=on_report,
            hand_over=HandOver(provider),
        )
        this = weakref.ref(self)
        self._make: Callable[[FaultLog], Pipeline] = lambda faults: Pipeline(attest, sinks, faults, model_checks)
        self._go_first: Callable[[], object] = lambda: put_first(provider(), this())
        self._placed = False
        self._leader: weakref.ref[members.Member] | None = None
        self._closing = threading.RLock()
        self._closed = False
        self._begin()
        capture = settings.resolve_capture(self.config.capture)
        self._recorder = settings.RecorderSettings(tracer_provider, capture, redactor)
        settings.configure(self._recorder)
        content.subscribe(self)
        self._metrics = HealthMetrics(meter_provider or metrics.get_meter_provider(), self.health)
        self._leave = members.join(self)

    def on_start(self, span: Span, parent_context: Context | None = None) -> None:
        """Write down that a span started."""
        try:
            if parent_context is not None and is_own(parent_context):
                self._start_own(span)
                return
            if not self._placed:
                self._take_place(span)
            log = self._log
            if len(log) < FIRST_MARK and not self._turned_away:
                log.append(span)
            else:
                self._intake.start(span)
        except Exception as error:  # noqa: BLE001  # nothing of ours may reach the application
            self._faults.say("on_start", "a span's start could not be noted", error)

    def on_end(self, span: ReadableSpan) -> None:
        """Write down that a span ended, and wake the worker if it sleeps."""
        try:
            if self._turned_away:
                self._intake.end(span)
                return
            self._log.append(span if type(span) is ReadableSpan else Ended(span))
            if self._worker.idle:
                self._worker.wake()
        except Exception as error:  # noqa: BLE001
            self._faults.say("on_end", "a span's end could not be noted", error)

    def accept_content(self, trace_id: int, span_id: int, attributes: Mapping[str, Any]) -> None:
        """Keep the full values of a span that has not ended yet."""
        try:
            if not self._closed:
                self._intake.content((trace_id << 64) | span_id, attributes)
        except Exception as error:  # noqa: BLE001
            self._faults.say("accept_content", "a span's content could not be kept", error)

    def report_waiter(self, trace_id: int, span_id: int) -> ReportWaiter | None:
        """Return a waiter for the report of the run with this root span, or None when the run is not held here."""
        try:
            key = (trace_id << 64) | span_id
            if self._closed:
                return None
            if self._admission.left_out(trace_id) and not self._pipeline.buffer.knows(key):
                return _refused(TURNED_AWAY)
            return self._pipeline.waiter(key)
        except Exception as error:  # noqa: BLE001
            self._faults.say("report_waiter", "a report could not be waited for", error)
            return None

    def health(self) -> Health:
        """Return how the pipeline is, for a readiness probe; cheap, from any thread."""
        return self._pipeline.health(self._admission)

    def drain(self, timeout: float | None = None) -> bool:
        """Wait until every complete run is graded, models included; return whether that was so within `timeout` seconds."""
        return self._pipeline.drain(timeout)

    def force_flush(self, timeout_millis: int = 30_000) -> bool:
        """Hand over every complete run and wait for its deterministic findings; return whether all went out in time."""
        try:
            return self._closed or self._pipeline.flush(timeout_millis / 1000)
        except Exception as error:  # noqa: BLE001  # the provider's other processors must be flushed too
            self._faults.say("force_flush", "what is complete could not be handed over", error)
            return False

    def shutdown(self, timeout: float | None = None) -> None:
        """Grade open runs as incomplete with what has ended, then stop, within `timeout` seconds.

        Later calls are ignored, as are spans that come afterwards.
        """
        with self._closing:
            if self._closed:
                return
            self._closed = True
            self._admission.close()
        content.unsubscribe(self)
        self._leave()
        try:
            self._pipeline.stop(self.config.limits.shutdown_seconds if timeout is None else timeout)
        except Exception as error:  # noqa: BLE001  # the provider's other processors must be shut down too
            self._faults.say("shutdown_failed", "the pipeline could not be stopped in order", error)
        self._metrics.close()

    def _begin(self) -> None:
        """Start with nothing: at first, and in a fork's child."""
        self._pipeline = self._make(self._faults)
        self._worker = self._pipeline.worker
        self._log = self._worker.log
        self._intake = Intake(self._pipeline, self._faults)
        self._admission = self._intake.admission
        self._turned_away = self._admission.traces

    @property
    def is_active(self) -> bool:
        """Whether it judges: it was not shut down, and stands aside for no other processor."""
        return not self._admission.closed

    def _take_place(self, span: Span) -> None:
        """Settle at the first span who judges: whoever had it first; a processor that has it alone goes before the exporters'."""
        self._placed = True
        leader = members.leader_of(self, span)
        if leader is None:
            self._go_first()
            return
        self._leader = weakref.ref(leader)
        self._admission.close()
        content.unsubscribe(self)
        self._metrics.close()
        if settings.current() is self._recorder and isinstance(leader, AttestSpanProcessor):
            settings.configure(leader._recorder)  # noqa: SLF001
        self._faults.say("second_processor", SECOND)

    def _start_own(self, span: Span) -> None:
        if self.is_active and span.context is not None:
            self._log.append(partial(self._pipeline.buffer.own, span_key(span.context)))

    def has_taken(self, span: Span) -> bool:
        """Return whether this processor judges a span that has just started."""
        if not self.is_active or span.context is None:
            return False
        key = span_key(span.context)
        return span.context.trace_id in self._turned_away or self._worker.holds(key) or self._pipeline.buffer.knows(key)

    def follow_no_more(self, leader: members.Member) -> None:
        """Judge from here on, if this processor stood aside for one that is shut down."""
        if self._leader is None or self._leader() is not leader or self._closed:
            return
        self._leader, self._placed = None, False
        settings.configure(self._recorder)
        content.subscribe(self)
        self._metrics.open()
        self._admission.open()

    def after_fork(self) -> None:
        """Begin with nothing, in a fork's child."""
        self._closing = threading.RLock()
        self._faults = FaultLog()
        self._begin()
        if self._leader is not None:
            self._admission.close()


def _refused(reason: str) -> ReportWaiter:
    waiter = ReportWaiter()
    waiter.refuse(reason)
    return waiter
