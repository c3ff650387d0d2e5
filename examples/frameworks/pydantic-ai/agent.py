"""An agent of Pydantic AI that runs a plan. A function plays the model, so that the example needs no key."""

import asyncio
import json
from pathlib import Path

import fastmcp_tasks  # plans of more than two seconds become tasks
from fastmcp.client.transports import StdioTransport
from pydantic_ai import Agent, ModelMessage, ModelResponse, TextPart, ToolCallPart, ToolReturnPart
from pydantic_ai.mcp import MCPToolset
from pydantic_ai.models.function import AgentInfo, FunctionModel

plan = json.loads(Path("plan.json").read_text())


def answer(messages: list[ModelMessage], info: AgentInfo) -> ModelResponse:
    """Hands over the plan, and answers once it has the result."""
    if len(messages) == 1:
        return ModelResponse([ToolCallPart("execute_plan", {"plan": plan})])
    return ModelResponse([TextPart("Done.")])


model = FunctionModel(answer)


async def main() -> None:
    planwright = MCPToolset(
        StdioTransport("planwright", ["serve", "--servers", "mcp.json"]),
        init_timeout=30,  # without it: 5 seconds
        read_timeout=600,  # without it: 5 minutes
    )
    agent = Agent(model, toolsets=[planwright])
    async with agent:
        result = await agent.run("Add 2 and 3, and say the result.")
    for message in result.all_messages():
        for part in message.parts:
            if isinstance(part, ToolReturnPart):
                print(json.dumps(part.content))
    print(result.output)


asyncio.run(main())
# → {"status": "succeeded", "run": "…", "output": {"said": "Echo: The sum of 2 and 3 is 5."}}
# → Done.
