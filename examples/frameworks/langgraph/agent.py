"""An agent of LangChain, which is a graph of LangGraph, that runs a plan. A script plays the model, so that the example needs no key."""

import asyncio
import json
from pathlib import Path
from typing import Any

from langchain.agents import create_agent
from langchain_core.language_models.fake_chat_models import FakeMessagesListChatModel
from langchain_core.messages import AIMessage, ToolCall, ToolMessage
from langchain_mcp_adapters.client import MultiServerMCPClient
from langchain_mcp_adapters.tools import load_mcp_tools

plan = json.loads(Path("plan.json").read_text())


class ScriptedModel(FakeMessagesListChatModel):
    """Answers with its messages in turn, whatever the tools are."""

    def bind_tools(self, tools: Any, **options: Any) -> Any:
        return self


call = ToolCall(name="execute_plan", args={"plan": plan}, id="1")
model = ScriptedModel(responses=[AIMessage("", tool_calls=[call]), AIMessage("Done.")])


async def main() -> None:
    client = MultiServerMCPClient(
        {"planwright": {"transport": "stdio", "command": "planwright", "args": ["serve", "--servers", "mcp.json"]}}
    )
    async with client.session("planwright") as session:
        agent = create_agent(model, await load_mcp_tools(session))
        question = {"role": "user", "content": "Add 2 and 3, and say the result."}
        result = await agent.ainvoke({"messages": [question]})
    for message in result["messages"]:
        if isinstance(message, ToolMessage):
            print(message.text)
    print(result["messages"][-1].text)


asyncio.run(main())
# → {"status":"succeeded","run":"…","output":{"said":"Echo: The sum of 2 and 3 is 5."}}
# → Done.
