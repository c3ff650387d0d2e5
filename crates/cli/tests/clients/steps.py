"""Shared code of the Python clients: the steps that they take, and the report of the results.

The first argument says where the gateway is: {"command": [...]} or {"url": "..."}. The second is a list of calls:
{"tool": ..., "arguments": {...}, "cancel": true to give up at the first progress}. `$RUN` in arguments stands for the
run of the call before. What came of it all is printed as one JSON object.
"""

import asyncio
import json
import sys

ANSWER = {"decision": "approve"}


class Session:
    """What one connection has seen."""

    def __init__(self):
        self.gateway = json.loads(sys.argv[1])
        self.steps = json.loads(sys.argv[2])
        self.seen = {"calls": []}
        self.progress = []
        self.questions = []
        self.first_progress = asyncio.Event()

    async def on_progress(self, progress, total, message):
        self.progress.append([progress, total, message])
        self.first_progress.set()

    async def take(self, list_tools, call):
        """Lists the tools and takes the steps; `call` gives a result as JSON and cancels when it is cancelled."""
        self.seen["tools"] = await list_tools()
        run = ""
        for step in self.steps:
            self.progress, self.questions = [], []
            self.first_progress.clear()
            arguments = json.loads(json.dumps(step["arguments"]).replace("$RUN", run))
            task = asyncio.ensure_future(call(step["tool"], arguments))
            came = {}
            if step.get("cancel"):
                await self.first_progress.wait()
                task.cancel()
                try:
                    await task
                except asyncio.CancelledError:
                    came["cancelled"] = True
            else:
                result = await task
                came["result"] = result
                run = (result.get("structuredContent") or {}).get("run", run)
            came.update(progress=self.progress, questions=self.questions)
            self.seen["calls"].append(came)

    def print(self):
        print(json.dumps(self.seen))


def plain(result):
    """A result as it came over the wire."""
    return result.model_dump(by_alias=True, mode="json", exclude_none=True)
