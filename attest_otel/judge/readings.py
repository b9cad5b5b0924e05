"""What only a reader can tell about tool calls: how the answer treats an error, and whether a tool was a fair choice.

Answer reading asks one question for each error that nothing recovered, and shows the tool's name, the
error and the final answer, no more. That the answer owns up counts only with its own words quoted.
Source: the tool-use page.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from attest_otel.checks.tool_use import Reading, unrecovered_errors
from attest_otel.checks.view import Call, RunView
from attest_otel.judge.asking import Asker, Reply
from attest_otel.judge.evidence import holds_quote, name_data, outcome_word, shown_text
from attest_otel.judge.flagging import without_answer_names, without_instructions
from attest_otel.judge.prompts import ANSWER_READING, TOOL_CHOICE

MAX_READ_CALLS = 50
MAX_OUTPUT_CHARS = 4_000
MAX_ANSWER_CHARS = 12_000
MAX_TASK_CHARS = 8_000
MAX_TOOLS_SHOWN = 60
MAX_DESCRIPTION_CHARS = 400
MAX_CALLS_BEFORE = 20
TOO_MANY = Reply(None, skipped=f"only {MAX_READ_CALLS} calls of a run are read", limit="budget")


async def read_answers(view: RunView, asker: Asker) -> dict[int, Reply]:
    """Return how the final answer treats each unrecovered error, by call index."""
    errors = unrecovered_errors(view)
    answer = view.run.final_answer
    if not errors:
        return {}
    if answer is None:
        return {call.index: Reply(None, skipped="no final answer was recorded") for call in errors}
    if not answer.strip():
        return {call.index: Reply("silent", "The final answer is empty.") for call in errors}
    shown = without_answer_names(shown_text(view, answer, MAX_ANSWER_CHARS))[0]
    items = [
        {"tool": name_data(view, call.name), "error": _output(view, call), "final_answer": shown}
        for call in errors[:MAX_READ_CALLS]
    ]
    replies = [_held(reply, shown) for reply in await asker.ask_each(ANSWER_READING, items)]
    return _by_index(errors, replies)


async def read_choices(view: RunView, asker: Asker) -> dict[int, Reply]:
    """Return whether each call's tool was a reasonable choice, by call index."""
    items = [_choice(view, call) for call in view.calls[:MAX_READ_CALLS]]
    return _by_index(view.calls, await asker.ask_each(TOOL_CHOICE, items))


def combine(answers: dict[int, Reply], choices: dict[int, Reply]) -> dict[int, Reading]:
    """Return what the tool-use check reads of both, by call index."""
    return {index: _reading(answers.get(index), choices.get(index)) for index in sorted({*answers, *choices})}


def _reading(answer: Reply | None, choice: Reply | None) -> Reading:
    told: Any = answer.answer if answer is not None else None
    return Reading(
        answer=None if answer is None else told or "unchecked",
        answer_reason="" if answer is None else answer.reason if told else f"the final answer was not read: {answer.why}",
        appropriate=None if choice is None or choice.answer is None else choice.answer == "reasonable",
        choice_failed=choice is not None and choice.answer is None,
        choice_reason="" if choice is None else choice.reason if choice.answer else f"{_sentence(choice.why)}.",
    )


def _held(reply: Reply, answer: str) -> Reply:
    """Take "acknowledged" only with words that stand in the answer."""
    if reply.answer == "acknowledged" and not (reply.quote and holds_quote(answer, reply.quote)):
        return Reply(
            None,
            skipped="the words that are said to own up to the error stand nowhere in the answer",
            limit="off_menu",
        )
    return reply


def _by_index(calls: Sequence[Call], replies: Sequence[Reply]) -> dict[int, Reply]:
    padded = [*replies, *([TOO_MANY] * (len(calls) - len(replies)))]
    return {call.index: reply for call, reply in zip(calls, padded, strict=True)}


def _output(view: RunView, call: Call) -> str:
    text = call.call.output
    return without_instructions(shown_text(view, call.outcome.reason if text is None else text, MAX_OUTPUT_CHARS))[0]


def _choice(view: RunView, call: Call) -> dict[str, Any]:
    declared = list(view.tools.values())[:MAX_TOOLS_SHOWN]
    tools = [
        {
            "name": name_data(view, tool.name),
            "description": shown_text(view, tool.description, MAX_DESCRIPTION_CHARS),
        }
        for tool in declared
    ]
    before = [
        {"tool": name_data(view, c.name), "outcome": outcome_word(c)}
        for c in view.calls[max(0, call.index - MAX_CALLS_BEFORE) : call.index]
    ]
    task = "\n\n".join(shown_text(view, said, MAX_TASK_CHARS) for said in view.user_words[:MAX_CALLS_BEFORE])
    item: dict[str, Any] = {
        "task": task,
        "tools": tools,
        "calls_before": before,
        "tool": name_data(view, call.name),
    }
    if view.run.system_prompt:
        item["system_prompt"] = shown_text(view, view.run.system_prompt, MAX_TASK_CHARS)
    return item


def _sentence(text: str) -> str:
    return text[:1].upper() + text[1:]
