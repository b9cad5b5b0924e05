"""The demo's agent: a refund agent on the real Anthropic client, talking to a scripted loopback server.

The customer is owed 42 dollars. The model refunds 42 cents, cancels the order with a tool it may not
use, can't send the mail, and answers that all is well. Needs no network and no key. This is also what
instrumenting an agent looks like: the loop is as it was, with the recorder around it.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

from attest_otel.cases import Case, ExpectedCall
from attest_otel.config import AgentConfig, AttestConfig
from attest_otel.record.agent_run import AgentRun, agent_run
from attest_otel.record.anthropic_http import anthropic_http_client
from attest_otel.record.dispatcher import traced_dispatcher
from attest_otel.record.tools import Tools
from attest_otel.testing import MessagesServer, Reply, Text, ToolUse

AGENT = "refund-agent"
CASE_ID = "refund_cracked_mug"
MODEL = "claude-demo"
MAX_TURNS = 8

QUESTION = "Hi, the mug in my order ORD-448192 arrived cracked. Please refund the $42.00 it cost. Ana, ana@example.com"
SYSTEM = "You handle refunds for a shop. Look the order up first, refund only what is owed, and confirm by e-mail."
ALLOWED = ["lookup_order", "issue_refund", "send_email"]

DEFINITIONS: list[dict[str, Any]] = [
    {
        "name": "lookup_order",
        "description": "Look up an order by its id.",
        "input_schema": {
            "type": "object",
            "properties": {"order_id": {"type": "string"}},
            "required": ["order_id"],
        },
    },
    {
        "name": "issue_refund",
        "description": "Refund an amount, in cents, to the customer's card.",
        "input_schema": {
            "type": "object",
            "properties": {"order_id": {"type": "string"}, "amount_cents": {"type": "integer", "minimum": 1}},
            "required": ["order_id", "amount_cents"],
        },
    },
    {
        "name": "cancel_order",
        "description": "Cancel an order that has not shipped.",
        "input_schema": {
            "type": "object",
            "properties": {"order_id": {"type": "string"}},
            "required": ["order_id"],
        },
    },
    {
        "name": "send_email",
        "description": "Send an e-mail to a customer.",
        "input_schema": {
            "type": "object",
            "properties": {"to": {"type": "string"}, "body": {"type": "string"}},
            "required": ["to", "body"],
        },
    },
]

SCRIPT = [
    Reply([ToolUse("lookup_order", '{"order_id": "ORD-448192"}')]),
    Reply([ToolUse("issue_refund", '{"order_id": "ORD-448192", "amount_cents": 42}')]),
    Reply([ToolUse("cancel_order", '{"order_id": "ORD-448192"}')]),
    Reply([ToolUse("send_email", '{"to": "ana@example.com", "body": "Your refund for ORD-448192 is on its way."}')]),
    Reply([Text("All done! I've refunded $42.00 for your cracked mug. You will find the details in your inbox.")]),
]


def tools() -> Tools:
    """Return the agent's tools, each declared side-effecting or read-only."""
    return Tools.from_anthropic(
        DEFINITIONS,
        side_effecting={"issue_refund", "cancel_order", "send_email"},
        read_only={"lookup_order"},
    )


def config() -> AttestConfig:
    """Return the demo's settings: one case, which says what this customer is owed."""
    case = Case(
        case_id=CASE_ID,
        input=QUESTION,
        expect_tool_calls=[
            ExpectedCall(
                name="issue_refund",
                args={"order_id": "ORD-448192", "amount_cents": 4200},
                arg_types={"amount_cents": "int"},
            )
        ],
    )
    return AttestConfig(agents={AGENT: AgentConfig(cases=[case])})


def dispatch(name: str, arguments: dict[str, Any]) -> str:
    """Run a tool of the make-believe shop."""
    if name == "lookup_order":
        return '{"order_id": "ORD-448192", "item": "mug", "paid_cents": 4200, "state": "delivered"}'
    if name == "issue_refund":
        return f'{{"refund_id": "RF-1", "amount_cents": {arguments["amount_cents"]}}}'
    if name == "cancel_order":
        return '{"order_id": "ORD-448192", "state": "cancelled"}'
    return "Error: the mail server did not answer; the message was not sent"


def run_agent(on_call: Callable[[str, str, str], None]) -> AgentRun:
    """Run the agent once and return its recorded run; `on_call(name, arguments, output)` hears of every call."""
    import anthropic  # noqa: PLC0415  # takes a second to import, and only the demo needs it

    registered = tools()
    traced = traced_dispatcher(dispatch, tools=registered)
    with MessagesServer(SCRIPT) as server, anthropic_http_client(trust_env=False) as http_client:
        client = anthropic.Anthropic(base_url=server.base_url, api_key="demo", http_client=http_client)
        with agent_run(
            AGENT,
            task=QUESTION,
            system_prompt=SYSTEM,
            tools=registered,
            allowed_tools=ALLOWED,
            case_id=CASE_ID,
        ) as run:
            run.final_answer = _loop(client, traced, on_call)
    return run


def _loop(client: Any, traced: Callable[[str, dict[str, Any]], str], on_call: Callable[[str, str, str], None]) -> str:
    messages: list[dict[str, Any]] = [{"role": "user", "content": QUESTION}]
    for _ in range(MAX_TURNS):
        answer = client.messages.create(model=MODEL, max_tokens=400, system=SYSTEM, tools=DEFINITIONS, messages=messages)
        if answer.stop_reason != "tool_use":
            return "".join(block.text for block in answer.content if block.type == "text")
        messages.append({"role": "assistant", "content": answer.content})
        results = []
        for block in answer.content:
            if block.type == "tool_use":
                output = traced(block.name, block.input)
                on_call(block.name, json.dumps(block.input), output)
                results.append({"type": "tool_result", "tool_use_id": block.id, "content": output})
        messages.append({"role": "user", "content": results})
    return ""
