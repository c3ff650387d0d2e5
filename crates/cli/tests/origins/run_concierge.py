"""Runs plans with Concierge's own `execute_plan`: `run_concierge.py < PLANS`, a list of plans, each a JSON text.

Prints a list: the outputs of the steps of each plan by their ids, or the error. The one tool gives back its arguments, and takes
references in all of them.
"""

import asyncio
import inspect
import json
import sys
from typing import Annotated, Any

from concierge import Concierge, Config, ProviderType
from concierge.core.sharable import Sharable
from mcp.server.fastmcp import FastMCP

ABSENT = "\0absent"


def echo(names):
    """A tool with the parameters `names`."""

    async def tool(**arguments):
        return {name: value for name, value in arguments.items() if value != ABSENT}

    shared = Annotated[Any, Sharable()]
    keyword = inspect.Parameter.KEYWORD_ONLY
    parameters = [inspect.Parameter(name, keyword, default=ABSENT, annotation=shared) for name in names]
    tool.__signature__ = inspect.Signature(parameters)
    tool.__annotations__ = {name: shared for name in names}
    return tool


async def run(text):
    plan = json.loads(text)
    names = sorted({name for step in plan["steps"] for name in step["args"]})
    server = FastMCP("echo")
    app = Concierge(server, config=Config(provider_type=ProviderType.PLAN))
    app.tool(name="echo")(echo(names))
    app._finalize()
    result = await server._tool_manager.get_tool("execute_plan").run(plan)
    if result.get("status") != "completed":
        return {"error": json.dumps(result)}
    return {"outputs": {name: step["result"] for name, step in result["steps"].items()}}


async def main():
    plans = json.load(sys.stdin)
    print(json.dumps([await run(text) for text in plans]))


if __name__ == "__main__":
    asyncio.run(main())
