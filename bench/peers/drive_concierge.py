"""Concierge's execute_plan in process: `drive_concierge.py SHAPES`.

The tool is called directly, without a client or a protocol in between. Steps run one after the other: that is how it
works, and there is nothing to set.
"""

import json
import sys
from pathlib import Path
from typing import Annotated

from concierge import Concierge, Config, ProviderType
from concierge.core.sharable import Sharable
from mcp.server.fastmcp import FastMCP
from turns import args_of, serve, step


def execute_plan():
    """The plan tool of a server that offers `step`."""
    server = FastMCP("measured")
    app = Concierge(server, config=Config(provider_type=ProviderType.PLAN))

    @app.tool(name="step")
    async def _(a: Annotated[int, Sharable()] = 0, b: Annotated[int, Sharable()] = 0, ms: int = 0) -> int:
        return await step(a, b, ms)

    app._finalize()
    return server._tool_manager.get_tool("execute_plan")


def text_of(shape):
    steps = [
        {
            "id": f"s{number}",
            "tool": "step",
            "args": args_of(step, lambda read: {"output_by_reference": {f"s{read}": []}}),
        }
        for number, step in enumerate(shape["steps"])
    ]
    return json.dumps({"steps": steps})


def outputs_of(result, shape):
    assert result["status"] == "completed", result
    assert len(result["steps"]) == len(shape["steps"])
    return [result["steps"][f"s{number}"]["result"] for number in range(len(shape["steps"]))]


def main():
    shapes = json.loads(Path(sys.argv[1]).read_text(encoding="utf-8"))
    tool = execute_plan()

    async def run(text):
        return await tool.run(json.loads(text))

    serve(shapes, text_of, run, outputs_of)


if __name__ == "__main__":
    main()
