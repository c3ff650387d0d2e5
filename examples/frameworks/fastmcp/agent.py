"""A program that runs a plan with the client of FastMCP, without any model, and shows its progress."""

import asyncio
import json
from pathlib import Path

import fastmcp_tasks  # plans of more than two seconds become tasks
from fastmcp import Client

plan = json.loads(Path("plan.json").read_text())


async def show(done: float, total: float | None, message: str | None) -> None:
    print(f"{done:.0f}/{total:.0f} {message}")


async def main() -> None:
    servers = {"mcpServers": {"planwright": {"command": "planwright", "args": ["serve", "--servers", "mcp.json"]}}}
    async with Client(servers) as planwright:
        result = await planwright.call_tool("execute_plan", {"plan": plan}, progress_handler=show)
    print(json.dumps(result.structured_content))


asyncio.run(main())
# → 1/2 sum (get-sum) succeeded
# → 2/2 said (echo) succeeded
# → {"status": "succeeded", "run": "…", "output": {"said": "Echo: The sum of 2 and 3 is 5."}}
