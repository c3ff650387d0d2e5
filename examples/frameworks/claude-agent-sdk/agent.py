"""An agent of the Claude Agent SDK that runs a plan. A script plays the model, so that the example needs no key."""

import asyncio
import json
from pathlib import Path

from claude_agent_sdk import AssistantMessage, ClaudeAgentOptions, ResultMessage, ToolResultBlock, UserMessage, query

from model import scripted_model

plan = json.loads(Path("plan.json").read_text())
blocks = [
    {"type": "tool_use", "id": "toolu_1", "name": "mcp__planwright__execute_plan", "input": {"plan": plan}},
    {"type": "text", "text": "Done."},
]


async def main(environment: dict[str, str]) -> None:
    options = ClaudeAgentOptions(
        mcp_servers={"planwright": {"command": "planwright", "args": ["serve", "--servers", "mcp.json"]}},
        allowed_tools=["mcp__planwright"],
        tools=[],  # none of its own
        strict_mcp_config=True,  # no servers of the user or the project
        setting_sources=[],
        env=environment,
    )
    async for message in query(prompt="Add 2 and 3, and say the result.", options=options):
        if isinstance(message, UserMessage) and isinstance(message.content, list):
            for block in message.content:
                if isinstance(block, ToolResultBlock):
                    print(block.content if isinstance(block.content, str) else block.content[0]["text"])
        elif isinstance(message, ResultMessage):
            print(message.result)


with scripted_model(blocks) as address:
    asyncio.run(
        main(
            {
                "ANTHROPIC_BASE_URL": address,
                "ANTHROPIC_API_KEY": "none",
                "CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC": "1",
            }
        )
    )
# → {"status":"succeeded","run":"…","output":{"said":"Echo: The sum of 2 and 3 is 5."}}
# → Done.
