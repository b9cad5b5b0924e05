"""A refund agent on the Anthropic client, graded while it runs.

The model is a script on a loopback server, so this needs no key and no network; everything else is what
your own agent would have: the loop as it was, a traced dispatcher, and an HTTP client that keeps the
provider's bytes. The model writes 4200.0 where the tool wants whole cents. The SDK hands the loop a
parsed number; only the bytes show what the model wrote.

    python examples/refund_agent.py
"""

from __future__ import annotations

from typing import Any

import anthropic
from opentelemetry.sdk.trace import TracerProvider

import attest_otel
from attest_otel.testing import MessagesServer, Reply, Text, ToolUse

QUESTION = "The mug in order ORD-448192 arrived cracked. Please refund the $42.00 it cost."
SYSTEM = "You handle refunds. Look the order up first and refund only what is owed."

ORDER_ID = {"type": "string"}
TOOLS: list[dict[str, Any]] = [
    {
        "name": "lookup_order",
        "description": "Look up an order by its id.",
        "input_schema": {"type": "object", "properties": {"order_id": ORDER_ID}, "required": ["order_id"]},
    },
    {
        "name": "issue_refund",
        "description": "Refund an amount, in cents.",
        "input_schema": {
            "type": "object",
            "properties": {"order_id": ORDER_ID, "amount_cents": {"type": "integer"}},
            "required": ["order_id", "amount_cents"],
        },
    },
]

SCRIPT = [
    Reply([ToolUse("lookup_order", '{"order_id": "ORD-448192"}')]),
    Reply([ToolUse("issue_refund", '{"order_id": "ORD-448192", "amount_cents": 4200.0}')]),
    Reply([Text("I refunded $42.00 for the cracked mug in order ORD-448192.")]),
]


def dispatch(name: str, arguments: dict[str, Any]) -> str:
    """Run a tool."""
    if name == "lookup_order":
        return '{"order_id": "ORD-448192", "item": "mug", "paid_cents": 4200}'
    return f'{{"refund_id": "RF-1", "amount_cents": {arguments["amount_cents"]}}}'


def answer(client: anthropic.Anthropic, run_tool: Any) -> str:
    """Run the agent's loop until the model answers."""
    messages: list[Any] = [{"role": "user", "content": QUESTION}]
    while True:
        reply = client.messages.create(model="claude-demo", max_tokens=500, system=SYSTEM, tools=TOOLS, messages=messages)  # type: ignore[arg-type]
        calls = [block for block in reply.content if block.type == "tool_use"]
        if not calls:
            return "".join(block.text for block in reply.content if block.type == "text")
        results = [{"type": "tool_result", "tool_use_id": call.id, "content": run_tool(call.name, call.input)} for call in calls]
        messages += [{"role": "assistant", "content": reply.content}, {"role": "user", "content": results}]


def main() -> attest_otel.Report:
    """Run the agent once and print its verdict."""
    provider = TracerProvider()
    attest_otel.install(provider)
    tools = attest_otel.Tools.from_anthropic(TOOLS, side_effecting={"issue_refund"}, read_only={"lookup_order"})
    traced = attest_otel.traced_dispatcher(dispatch, tools=tools)
    with MessagesServer(SCRIPT) as server, attest_otel.anthropic_http_client(trust_env=False) as http_client:
        client = anthropic.Anthropic(base_url=server.base_url, api_key="none", http_client=http_client)
        with attest_otel.agent_run("refund-agent", task=QUESTION, system_prompt=SYSTEM, tools=tools) as run:
            run.final_answer = answer(client, traced)
    report = run.report(timeout=10)
    print(f"verdict: {report.verdict}")
    for finding in report.findings():
        if finding.disposition != "pass":
            print(f"  {finding.verdict} ({finding.subject}): {finding.reason}")
    provider.shutdown()
    return report


if __name__ == "__main__":
    main()
