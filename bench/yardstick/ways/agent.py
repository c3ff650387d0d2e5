"""Pydantic AI with a scripted model: direct calls, or its code mode over Monty.

Reads one JSON object a line, forks a process for it, and prints that process's id, then its result as one line.
The object: `mode` (`direct` or `monty`), `url` of the tool server, `rounds` (what the model writes, round by round: a list
of calls or a program), `approve` (names of tools that need an approval), `store` (a folder for `StepPersistence`),
`resume` (continue the run that the store has), `wrapped` (tools whose
values a program gets in an object with the field `result`, as their signatures say).
"""

import asyncio
import contextlib
import json
import os
import sys
import time

from pydantic_ai import Agent, DeferredToolRequests, RunContext
from pydantic_ai.capabilities import HandleDeferredToolCalls
from pydantic_ai.mcp import MCPToolset
from pydantic_ai.messages import ModelResponse, RetryPromptPart, TextPart, ToolCallPart, ToolReturnPart
from pydantic_ai.models.function import FunctionModel
from pydantic_ai_harness import CodeMode, StepPersistence
from pydantic_ai_harness.step_persistence import FileStepStore, continue_run

PROMPT = "Do the task."
DONE = "Done."


class Script:
    """A model that writes a script, and notes what it reads."""

    def __init__(self, mode, rounds):
        self.mode, self.rounds = mode, rounds
        self.definitions = None
        self.exchanges = []
        self.returns = []

    def __call__(self, messages, info):
        self.definitions = [
            {"name": tool.name, "description": tool.description, "parameters": tool.parameters_json_schema}
            for tool in info.function_tools
        ]
        done = sum(isinstance(message, ModelResponse) for message in messages)
        self.note(messages)
        # A program that failed is not mended: what it did until then is what is measured.
        if done >= len(self.rounds) or any(self.failed(part) for message in messages for part in message.parts):
            return ModelResponse(parts=[TextPart(DONE)])
        written = self.rounds[done]
        calls = written if self.mode == "direct" else [{"tool": "run_code", "arguments": {"code": written}}]
        return ModelResponse(parts=[ToolCallPart(call["tool"], call["arguments"]) for call in calls])

    def failed(self, part):
        return isinstance(part, RetryPromptPart) or (
            isinstance(part, ToolReturnPart) and (part.outcome != "success" or is_code_error(part))
        )

    def note(self, messages):
        """What the model has written and read so far, a list for each round."""
        self.exchanges, self.returns = [], []
        for message in messages:
            if isinstance(message, ModelResponse):
                written = [
                    {"name": part.tool_name, "arguments": part.args_as_dict()}
                    for part in message.parts
                    if isinstance(part, ToolCallPart)
                ]
                self.exchanges.append({"wrote": written, "read": []})
            elif self.exchanges:
                for part in message.parts:
                    read = part.model_response_str() if isinstance(part, ToolReturnPart) else part.model_response()
                    self.exchanges[-1]["read"].append(read)
                    if self.failed(part):
                        self.returns.append(read)


def is_code_error(part):
    return part.tool_name == "run_code" and str(part.content).startswith(
        ("Type error in code", "Runtime error", "Syntax error")
    )


async def carry_out(request):
    script = Script(request["mode"], request["rounds"])
    wrapped = request.get("wrapped", [])

    async def as_declared(context, call_tool, name, arguments):
        # The signatures of code mode say `{"result": …}` for outputs that are no objects; the values come without it.
        result = await call_tool(name, arguments)
        return {"result": result} if name in wrapped else result

    toolset = MCPToolset(request["url"], process_tool_call=as_declared)
    approve = request.get("approve", [])
    if approve:
        toolset = toolset.approval_required(lambda context, tool, arguments: tool.name in approve)
    capabilities = []
    waits = []
    if request["mode"] == "monty":
        capabilities.append(CodeMode())

        async def decide(context: RunContext, requests: DeferredToolRequests):
            # A person thinks; what can go on meanwhile goes on.
            await asyncio.sleep(request["think"])
            waits.append(await post(request["url"], "/log"))
            return requests.build_results(approve_all=True)

        if approve:
            capabilities.append(HandleDeferredToolCalls(handler=decide))
    store = FileStepStore(request["store"]) if request.get("store") else None
    if store:
        capabilities.append(StepPersistence(store=store))
    outputs = [str, DeferredToolRequests] if approve else str
    agent = Agent(FunctionModel(script), capabilities=capabilities, toolsets=[toolset], output_type=outputs, retries=0)
    history, ledger = None, None
    if request.get("resume"):
        run = (await store.list_runs())[-1].run_id
        ledger = len(await store.list_unresolved_tool_effects(run_id=run))
        with contextlib.suppress(LookupError):
            history = await continue_run(store, run_id=run)
    error = None
    async with agent:
        begin = time.perf_counter()
        try:
            result = await agent.run(None if history else PROMPT, message_history=history)
            while isinstance(result.output, DeferredToolRequests):
                waits.append(await post(request["url"], "/log"))
                result = await agent.run(
                    message_history=result.all_messages(),
                    deferred_tool_results=result.output.build_results(approve_all=True),
                )
            script.note(result.all_messages())
        except Exception as failure:
            error = f"{type(failure).__name__}: {failure}"
        seconds = time.perf_counter() - begin
    return {
        "seconds": seconds,
        "definitions": script.definitions,
        "exchanges": script.exchanges,
        "error": error or next(iter(script.returns), None),
        "ledger": ledger,
        "waits": waits,
    }


async def post(url, path):
    import httpx

    async with httpx.AsyncClient() as client:
        return (await client.post(url.replace("/mcp", path), json={})).json()


def main():
    for line in sys.stdin:
        pid = os.fork()
        if pid == 0:
            print(os.getpid(), flush=True)
            print(json.dumps(asyncio.run(carry_out(json.loads(line)))), flush=True)
            os._exit(0)
        os.waitpid(pid, 0)
        # What was killed has printed no result.
        print(flush=True)


if __name__ == "__main__":
    main()
