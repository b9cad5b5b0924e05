"""The content of an agent span: task, instructions, tools, answer, as the GenAI conventions write them."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator
from typing import TYPE_CHECKING, Any, Protocol

from attest_otel import attributes as names
from attest_otel.record.results import to_text
from attest_otel.report import dump_json
from attest_otel.trajectory import Artifact, Tool

if TYPE_CHECKING:
    from attest_otel.record.settings import RecorderSettings

MAX_NOT_RUN = 100
MAX_ID_CHARS = 256


class Requests(Protocol):
    """What a run's model asked for."""

    def not_run(self, answer: str | None, tools: Collection[Tool] | None) -> list[tuple[str, str]]:
        """Return the (call id, name) of each input that was requested and not run, oldest first."""


class RunContent(Protocol):
    """What is written down of a run."""

    task: str | None
    system_prompt: str | None
    final_answer: str | None
    tools: Iterable[Tool] | None
    allowed_tools: list[str] | None
    tool_fallbacks: dict[str, list[str]]
    artifacts: list[Artifact]

    @property
    def requests(self) -> Requests:
        """What the run's model asked for."""


def agent_content(run: RunContent, setup: RecorderSettings) -> tuple[dict[str, Any], dict[str, Any]]:
    """Return a run's attributes in full, and as its span may show them."""
    show = setup.shown
    full: dict[str, Any] = {}
    shown: dict[str, Any] = {}
    for name, value, form in (
        (names.INPUT_MESSAGES, run.task, _user_message),
        (names.SYSTEM_INSTRUCTIONS, run.system_prompt, _instructions),
        (names.OUTPUT_MESSAGES, run.final_answer, _answer),
    ):
        if value is None:
            continue
        text = text_of(value)
        full[name] = form(text)
        visible = show(text)
        if visible is not None:
            shown[name] = form(visible)
    if isinstance(run.tools, Iterator):
        run.tools = list(run.tools)
    for name, text in _settings(run).items():
        full[name] = text
        visible = show(text)
        if visible is not None:
            shown[name] = visible
    calls = _not_run(run)
    if calls:
        full[names.REQUESTED_NOT_RUN] = _calls_text(calls, str)
        shown[names.REQUESTED_NOT_RUN] = _calls_text(calls, setup.named)
    return full, shown


def tools_text(tools: Iterable[Tool]) -> str:
    """Return registered tools as their attribute has them."""
    return dump_json([tool.model_dump(exclude_unset=True) for tool in tools])


def text_of(value: Any) -> str:
    """Return what an application set as text; what is no text, or none of a size to be written, by its kind."""
    try:
        return to_text(value)
    except Exception:  # noqa: BLE001  # a stranger's object, or one that holds itself
        return f"<{type(value).__name__}>"


def _settings(run: RunContent) -> dict[str, str]:
    found: dict[str, str] = {}
    if run.tools is not None:
        tools = list(run.tools)
        found[names.TOOLS] = tools_text(tools)
        found[names.TOOL_DEFINITIONS] = dump_json([_definition(tool.name, tool.description, tool.input_schema) for tool in tools])
    if run.allowed_tools is not None:
        found[names.ALLOWED_TOOLS] = dump_json(run.allowed_tools)
    if run.tool_fallbacks:
        found[names.TOOL_FALLBACKS] = dump_json(run.tool_fallbacks)
    if run.artifacts:
        found[names.ARTIFACTS] = dump_json([artifact.model_dump(exclude_unset=True) for artifact in run.artifacts])
    return found


def _not_run(run: RunContent) -> list[tuple[str, str]]:
    answer = None if run.final_answer is None else text_of(run.final_answer)
    return run.requests.not_run(answer, None if run.tools is None else list(run.tools))


def _calls_text(calls: list[tuple[str, str]], named: Callable[[str], str]) -> str:
    """Write down the calls that were requested and not run; `more` says how many are left out."""
    entries: list[dict[str, Any]] = [
        {"id": named(call_id[:MAX_ID_CHARS]), "name": named(name[:MAX_ID_CHARS])} for call_id, name in calls[:MAX_NOT_RUN]
    ]
    more = len(calls) - MAX_NOT_RUN
    return dump_json([*entries, {"more": more}] if more > 0 else entries)


def _definition(name: str, description: str | None, schema: dict[str, Any] | None) -> dict[str, Any]:
    definition: dict[str, Any] = {"type": "function", "name": name}
    if description is not None:
        definition["description"] = description
    if schema is not None:
        definition["parameters"] = schema
    return definition


def _user_message(text: str) -> str:
    return dump_json([{"role": "user", "parts": [{"type": "text", "content": text}]}])


def _instructions(text: str) -> str:
    return dump_json([{"type": "text", "content": text}])


def _answer(text: str) -> str:
    return dump_json([{"role": "assistant", "parts": [{"type": "text", "content": text}], "finish_reason": "stop"}])
