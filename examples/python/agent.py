"""Hands a model one tool, `execute_plan`, in place of many. The model is played by a function, so that the example needs no key."""

import asyncio
import json
from typing import Any

from planwright_mcp import ExecutePlan, Planwright, tool


@tool(read_only=True)
async def find_customers(city: str) -> list[dict[str, str]]:
    """Finds the customers in a city."""
    return [{"name": "Ada", "mail": "ada@example.com"}, {"name": "Bob", "mail": "bob@example.com"}]


@tool
async def send_mail(to: str, text: str) -> str:
    """Sends a mail."""
    return f"sent to {to}"


def model(messages: list[dict[str, Any]]) -> dict[str, Any]:
    """Writes a plan with a mistake first, and corrects it after it has read the diagnostics."""
    parameter = "to" if "PW0503" in str(messages[-1]) else "recipient"
    mail = {parameter: "${item.mail}", "text": "Hello ${item.name}"}
    if "succeeded" in str(messages[-1]):
        return {"text": "Both customers in Oslo have mail."}
    steps = [
        {"id": "found", "tool": "find_customers", "args": {"city": "Oslo"}},
        {"id": "mails", "for_each": "${found}", "tool": "send_mail", "args": mail},
    ]
    return {"call": {"plan": {"steps": steps, "output": ["mails"]}}}


async def answer(question: str, execute_plan: ExecutePlan) -> str:
    """Answers a question as any framework does: it calls the tool until the model has an answer."""
    messages: list[dict[str, Any]] = [{"user": question, "tools": [execute_plan.parameters]}]
    while True:
        reply = model(messages)
        if "text" in reply:
            return str(reply["text"])
        result = await execute_plan(**reply["call"])
        print(json.dumps(result))
        messages.append({"tool": result})


async def main() -> None:
    async with Planwright(tools=[find_customers, send_mail]) as pw:
        print(await answer("Write to all customers in Oslo", pw.as_tool()))


asyncio.run(main())
# → {"status": "rejected", "diagnostics": […]}
# → {"status": "succeeded", "output": {"mails": ["sent to ada@example.com", "sent to bob@example.com"]}}
# → Both customers in Oslo have mail.
