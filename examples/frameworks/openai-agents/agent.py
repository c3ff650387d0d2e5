"""An agent of the OpenAI Agents SDK that runs a plan. A script plays the model, so that the example needs no key."""

import asyncio
import json
from pathlib import Path

from agents import Agent, Runner, set_tracing_disabled
from agents.mcp import MCPServerStdio
from agents.testing import ScriptedModel, assistant_message, function_call

plan = json.loads(Path("plan.json").read_text())
model = ScriptedModel([[function_call("execute_plan", {"plan": plan}, call_id="1")], [assistant_message("Done.")]])


async def main() -> None:
    async with MCPServerStdio(
        params={"command": "planwright", "args": ["serve", "--servers", "mcp.json"]},
        client_session_timeout_seconds=600,  # without it: 5 seconds
    ) as planwright:
        agent = Agent(name="planner", model=model, mcp_servers=[planwright])
        result = await Runner.run(agent, "Add 2 and 3, and say the result.")
    for item in result.new_items:
        if item.type == "tool_call_output_item":
            print(item.output)
    print(result.final_output)


set_tracing_disabled(True)
asyncio.run(main())
# → {'type': 'text', 'text': '{"status":"succeeded","run":"…","output":{"said":"Echo: The sum of 2 and 3 is 5."}}'}
# → Done.
