"""Runs plans with mcp-cli's own executor: `run_mcp_cli.py < PLANS`, a list of plans, each a JSON text.

Prints a list: the outputs of the steps of each plan by their indices, or the error. The one tool gives back its arguments.
"""

import asyncio
import json
import sys
import tempfile
from pathlib import Path

from mcp_cli.planning.context import PlanningContext
from mcp_cli.planning.executor import PlanRunner
from mcp_cli.tools.models import ToolCallResult


class Tools:
    """The part of a tool manager that running a plan needs."""

    async def get_tool_by_name(self, name, namespace=None):
        return None

    async def execute_tool(self, name, arguments, namespace=None):
        # Later than the steps of the same batch begin, so that a missing dependency shows.
        await asyncio.sleep(0)
        await asyncio.sleep(0)
        return ToolCallResult(tool_name=name, success=True, result=dict(arguments))


async def run(text, folder):
    runner = PlanRunner(PlanningContext(Tools(), plans_dir=folder))
    result = await runner.execute_plan(json.loads(text), checkpoint=False)
    if not result.success:
        return {"error": str(result.error)}
    return {"outputs": {step.step_index: step.result for step in result.steps}}


async def main():
    with tempfile.TemporaryDirectory() as folder:
        plans = json.load(sys.stdin)
        print(json.dumps([await run(text, Path(folder)) for text in plans]))


if __name__ == "__main__":
    asyncio.run(main())
