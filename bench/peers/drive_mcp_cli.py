"""mcp-cli's PlanRunner in process: `drive_mcp_cli.py SHAPES FOLDER [write]`.

Without a model, so that it runs plans as they are written, and with a tool manager that calls the tool at once. As
many steps may be under way together as in ours. Checkpoints, which it writes
unless configured otherwise, go to FOLDER with `write`, and are left out without.
"""

import json
import sys
from pathlib import Path

from mcp_cli.planning.context import PlanningContext
from mcp_cli.planning.executor import PlanRunner
from mcp_cli.tools.models import ToolCallResult
from turns import args_of, serve, step


class Tools:
    """As much of a tool manager as running a plan needs."""

    async def get_tool_by_name(self, name, namespace=None):
        return None

    async def execute_tool(self, name, arguments, namespace=None):
        return ToolCallResult(tool_name=name, success=True, result=await step(**arguments))


def text_of(shape):
    steps = [
        {
            "index": str(number + 1),
            "title": "A step",
            "tool": "step",
            "args": args_of(step, lambda read: f"${{r{read + 1}}}"),
            "depends_on": [str(read + 1) for read in step["reads"]],
            "result_variable": f"r{number + 1}",
        }
        for number, step in enumerate(shape["steps"])
    ]
    return json.dumps({"id": "measured", "title": "Measured", "variables": {}, "steps": steps})


def outputs_of(result, shape):
    assert result.success, result.error
    assert all(step.success for step in result.steps)
    by_index = {step.step_index: step.result for step in result.steps}
    assert len(by_index) == len(result.steps)
    return [by_index[str(number + 1)] for number in range(len(shape["steps"]))]


def main():
    shapes = json.loads(Path(sys.argv[1]).read_text(encoding="utf-8"))
    checkpoint = sys.argv[3:] == ["write"]
    context = PlanningContext(Tools(), plans_dir=Path(sys.argv[2]))
    runner = PlanRunner(context, max_concurrency=shapes[0]["at_once"])

    async def run(text):
        return await runner.execute_plan(json.loads(text), checkpoint=checkpoint)

    serve(shapes, text_of, run, outputs_of)


if __name__ == "__main__":
    main()
