"""Property 31: a canary secret in every field, in every form, reaches no sink."""

from __future__ import annotations

import base64
import json
import logging
import urllib.parse
from collections.abc import Callable, Iterator
from typing import Any

import pytest
from opentelemetry import baggage, context
from opentelemetry.sdk._logs import LoggerProvider
from opentelemetry.sdk._logs.export import InMemoryLogRecordExporter, SimpleLogRecordProcessor

from attest_otel.record import settings
from attest_otel.record.agent_run import AgentRun, agent_run
from attest_otel.record.dispatcher import traced_dispatcher
from attest_otel.trajectory import Artifact, Tool
from tests.live.helpers import WAIT, Live

CANARY = "ghp_" + "C4n4ryC4n4ryC4n4ryC4n4ryC4n4ryC4n4ry"
CARD = "4111111111111111"
IN_A_KEY = "hunter2-canary"


def escaped(text: str) -> str:
    """Return the text with every character as a JSON escape."""
    return "".join(f"\\u{ord(c):04x}" for c in text)


FORMS: dict[str, str] = {
    "plain": CANARY,
    "json_escaped": escaped(CANARY),
    "json_in_json": json.dumps(json.dumps({"v": escaped(CANARY)})),
    "base64": base64.b64encode(f"token {CANARY} end".encode()).decode(),
    "base64_url": base64.urlsafe_b64encode(f"?>{CANARY}".encode()).decode().rstrip("="),
    "base64_twice": base64.b64encode(base64.b64encode(CANARY.encode())).decode(),
    "url_encoded": "".join(f"%{ord(c):02X}" for c in CANARY),
    "url_encoded_twice": urllib.parse.quote("".join(f"%{ord(c):02X}" for c in CANARY)),
    "zero_width": "\u200b".join(CANARY),
    "soft_hyphen": "\u00ad".join(CANARY),
    "tag_characters": "\U000e0041".join(CANARY),
    "nul": "\x00".join(CANARY),
    "full_width": "".join(chr(ord(c) + 0xFEE0) if c != "_" else c for c in CANARY),
    "entities": "".join(f"&#{ord(c)};" for c in CANARY),
    "escaped_invisible": "\\u200b".join(CANARY),
    "card": "4111 1111-1111 1111",
}


class BoomError(Exception):
    """A tool's failure that quotes a secret."""


@pytest.fixture
def restored() -> Iterator[None]:
    """Leave the recorder as it was."""
    before = settings._settings
    yield
    settings._settings = before


def act(secret: str) -> AgentRun:
    """Run an agent that has the secret everywhere a stranger may write."""
    tools = [Tool(name="lookup", description=f"needs {secret}", side_effecting=False), Tool(name="pay", side_effecting=True)]

    def dispatch(name: str, arguments: dict[str, Any]) -> str:
        if name == "pay":
            raise BoomError(f"denied for {secret}")
        return json.dumps({"status": "fine", "note": f"see {secret}", secret: 1})

    traced = traced_dispatcher(dispatch)
    token = context.attach(baggage.set_baggage("attest.case_id", f"case {secret}"))
    try:
        with agent_run(
            f"agent {secret}",
            task=f"use {secret} now",
            system_prompt=f"the key is {secret}",
            tools=tools,
            allowed_tools=["lookup", f"x {secret}"],
            tool_fallbacks={"lookup": [f"y {secret}"]},
            conversation_id=f"c {secret}",
        ) as run:
            traced("lookup", {"q": secret, secret: "v", "password": IN_A_KEY, "deep": {"api_key": IN_A_KEY}})
            with pytest.raises(BoomError):
                traced("pay", {"order": f"{secret}", "card": int(CARD)})
            with run.tool_call(f"unknown {secret}", f'{{"a": "{secret}", "a": 1', call_id=f"id {secret}") as call:
                call.output = f"Error: {'x' * 230} {secret} {'y' * 300}"
                call.artifacts.append(Artifact(name=f"f {secret}", text=secret))
            run.artifacts.append(Artifact(name=secret, text=secret))
            run.final_answer = f"done with {secret}, your refund was sent"
    finally:
        context.detach(token)
    return run


def everything(live: Live, logs: InMemoryLogRecordExporter, run: AgentRun) -> dict[str, str]:
    """Return all that came out, by sink."""
    spans = live.exporter.get_finished_spans()
    return {
        "spans": "\n".join(span.to_json() for span in spans),
        "metrics": live.reader.get_metrics_data().to_json(),  # type: ignore[union-attr]
        "logs": "\n".join(str(record.log_record.attributes) + str(record.log_record.body) for record in logs.get_finished_logs()),
        "reports": "\n".join(report.to_json() for report in live.reports),
        "reprs": "\n".join(map(repr, (run, live.processor, live.processor.config, settings.current(), live.reports))),
    }


def record(capture: str, secret: str, hook: Callable[[str], str] | None = None) -> dict[str, str]:
    """Run the agent through a pipeline with every sink and return what came out."""
    logs = InMemoryLogRecordExporter()  # type: ignore[no-untyped-call]
    provider = LoggerProvider(shutdown_on_exit=False)
    provider.add_log_record_processor(SimpleLogRecordProcessor(logs))
    live = Live({"capture": capture, "export": {"log_events": True}}, logger_provider=provider, redact=hook)
    try:
        run = act(secret)
        own = run.report(timeout=WAIT)
        assert live.processor.drain(WAIT)
        assert live.reports
        assert logs.get_finished_logs()
        found = everything(live, logs, run)
        found["report"] = own.to_json() + repr(own)
        return found
    finally:
        live.close()
        provider.shutdown()


def leaks(text: str, form: str) -> bool:
    """Return whether a text holds the canary in a form, as it is or escaped once more by the sink."""
    spellings = (form, CANARY, json.dumps(form)[1:-1], json.dumps(json.dumps(form)[1:-1])[1:-1], IN_A_KEY, CARD)
    return any(spelling in text for spelling in spellings)


@pytest.mark.usefixtures("restored")
@pytest.mark.parametrize("capture", ["redacted", "off"])
@pytest.mark.parametrize("form", FORMS)
def test_no_sink_shows_a_canary(capture: str, form: str, caplog: pytest.LogCaptureFixture) -> None:
    """With content redacted or off, a secret in every field is in no span, metric, log, report, repr or log line."""
    with caplog.at_level(logging.DEBUG):
        found = record(capture, FORMS[form])
    found["debug"] = caplog.text
    assert [sink for sink, text in found.items() if leaks(text, FORMS[form])] == []


@pytest.mark.usefixtures("restored")
def test_full_capture_shows_content_in_the_recorders_spans_alone(caplog: pytest.LogCaptureFixture) -> None:
    """`capture: full` is the user's wish for their own spans; what an evaluation says of them stays redacted."""
    with caplog.at_level(logging.DEBUG):
        found = record("full", CANARY)
    spans = found.pop("spans")
    assert CANARY in spans
    assert [sink for sink, text in found.items() if leaks(text, CANARY)] == []
    own = [part for part in spans.split("\n{") if '"evaluate ' in part]
    assert own
    assert not any(leaks(part, CANARY) for part in own)


@pytest.mark.usefixtures("restored")
def test_off_shows_no_content_at_all() -> None:
    """`capture: off` leaves ordinary content out of every attribute too, and the checks still see it."""
    live = Live({"capture": "off"})
    try:
        with agent_run("a", task="marzipan task", system_prompt="marzipan system") as run:
            with run.tool_call("t", '{"q": "marzipan argument"}') as call:
                call.output = "Error: marzipan output"
            run.final_answer = "marzipan answer"
        report = run.report(timeout=WAIT)
        own = [span for span in live.exporter.get_finished_spans() if not span.name.startswith("evaluate")]
        assert len(own) == 2
        assert not any("marzipan" in span.to_json() for span in own)
        assert [f.verdict for f in report.findings() if f.verdict.startswith("error_")]
    finally:
        live.close()


@pytest.mark.usefixtures("restored")
def test_the_users_hook_reaches_every_sink() -> None:
    """`redact=` takes out what only the user knows; one that raises drops every value it was to clean."""
    found = record("redacted", "WALRUS", lambda text: text.replace("WALRUS", "(animal)"))
    assert [sink for sink, text in found.items() if "WALRUS" in text] == []
    assert "(animal)" in found["spans"]

    def broken(text: str) -> str:
        raise RuntimeError("WALRUS")

    found = record("redacted", "WALRUS", broken)
    assert [sink for sink, text in found.items() if "WALRUS" in text] == []
