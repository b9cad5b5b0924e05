"""An asyncio agent that waits for the verdict before it answers, and hands over to a person on block.

The agent calls a tool that it may not use. Nothing stops the call: a verdict is no action. What the gate
stops is the answer.

    python examples/async_agent_with_gate.py
"""

from __future__ import annotations

import asyncio
from typing import Any

from opentelemetry.sdk.trace import TracerProvider

import attest_otel

TOOLS = attest_otel.Tools.from_anthropic(
    [
        {"name": "lookup_order", "input_schema": {"type": "object"}},
        {"name": "cancel_order", "input_schema": {"type": "object"}},
    ],
    side_effecting={"cancel_order"},
    read_only={"lookup_order"},
)


async def dispatch(name: str, arguments: dict[str, Any]) -> str:
    """Run a tool."""
    await asyncio.sleep(0)
    return f"{name} done"


async def answer(question: str) -> str:
    """Answer a customer, unless the run is blocked."""
    run_tool = attest_otel.traced_dispatcher(dispatch, tools=TOOLS)
    async with attest_otel.agent_run("order-agent", task=question, tools=TOOLS, allowed_tools=["lookup_order"]) as run:
        await run_tool("lookup_order", {"order_id": "ORD-551007"})
        await run_tool("cancel_order", {"order_id": "ORD-551007"})
        run.final_answer = "Your order is on its way."
    try:
        report = await run.areport(timeout=10)
    except attest_otel.ReportTimeoutError:
        return "One moment: a colleague is looking at this."
    print(f"verdict: {report.verdict}")
    if report.verdict == "block":
        print(f"  blocked by {report.blocking}")
        return "One moment: a colleague is looking at this."
    return run.final_answer


def main() -> str:
    """Answer one question and print what the customer reads."""
    provider = TracerProvider()
    attest_otel.install(provider)
    said = asyncio.run(answer("When will order ORD-551007 arrive?"))
    print(f"customer reads: {said}")
    provider.shutdown()
    return said


if __name__ == "__main__":
    main()
