"""Pydantic AI with a scripted model: direct calls, or its code mode over Monty.

Reads one JSON object a line, forks a process for it, and prints that process's id, then its result as one line.
If the run is `timed`, the process first does one without a task, as one that has done others.
The object: `mode` (`direct` or `monty`), `url` of the tool server, `server` (its name, the prefix of its tools), `rounds`
(what the model writes, a list of calls a round), `search` (whether tools are hidden until the model has searched them),
`approve` (names of tools that need an approval), `store` (a folder for `StepPersistence`), `calls` (a file in which the host
records calls and their results), `pieces` (the tokens of each round, which the model then writes at its speed), `eager` (settings
of `CodeMode` by which calls start while the program is written), `resume` (continue the run that the store has), `wrapped`
(tools whose values a program gets in an object with the field `result`, as their signatures say).
"""

import asyncio
import contextlib
import itertools
import json
import os
import sys
import time

from pydantic_ai import Agent, DeferredToolRequests, RunContext
from pydantic_ai.capabilities import HandleDeferredToolCalls, ToolSearch
from pydantic_ai.mcp import MCPToolset
from pydantic_ai.messages import ModelResponse, RetryPromptPart, TextPart, ToolCallPart, ToolReturnPart
from pydantic_ai.models.function import DeltaToolCall, FunctionModel
from pydantic_ai_harness import CodeMode, StepPersistence, _monty_exec
from pydantic_ai_harness.step_persistence import FileStepStore, continue_run

from provider import Writing

PROMPT = "Do the task."
DONE = "Done."


class Script:
    """A model that writes a script, and notes what it reads."""

    def __init__(self, rounds):
        self.rounds = rounds
        self.definitions = []
        self.exchanges = []
        self.returns = []

    def __call__(self, messages, info):
        self.definitions.append([
            {"name": tool.name, "description": tool.description, "parameters": tool.parameters_json_schema}
            for tool in info.function_tools
        ])  # fmt: skip
        done = sum(isinstance(message, ModelResponse) for message in messages)
        self.note(messages)
        # A program that failed is not mended: what it did until then is what is measured.
        if done >= len(self.rounds) or any(self.failed(part) for message in messages for part in message.parts):
            return ModelResponse(parts=[TextPart(DONE)])
        return ModelResponse(parts=[ToolCallPart(call["tool"], call["arguments"]) for call in self.rounds[done]])

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


class Slow(Script):
    """A model that takes its time to write. `asked` has the times of the requests."""

    def __init__(self, rounds, pieces):
        super().__init__(rounds)
        self.pieces = pieces
        self.asked, self.writings = [], []

    def answer(self, messages, info):
        """The answer and, if it calls a tool, its text as it is written."""
        self.asked.append(time.monotonic())
        response = self(messages, info)
        if len(self.asked) > len(self.pieces) or isinstance(response.parts[0], TextPart):
            return response, None
        writing = Writing(self.pieces[len(self.asked) - 1])
        self.writings.append(writing)
        return response, writing

    def times(self):
        """For each round the time of its first token, and that of the next request."""
        ends = [*self.asked[1:], None]
        return [[writing.begin, end] for writing, end in zip(self.writings, ends, strict=False)]

    async def whole(self, messages, info):
        response, writing = self.answer(messages, info)
        if writing:
            await asyncio.sleep(writing.wait(len(writing.pieces)))
        return response

    async def stream(self, messages, info):
        response, writing = self.answer(messages, info)
        if writing is None:
            yield DONE
            return
        call = response.parts[0]
        yield {0: DeltaToolCall(name=call.tool_name, tool_call_id=call.tool_call_id)}
        for number, piece in enumerate(writing.pieces, 1):
            await asyncio.sleep(writing.wait(number))
            yield {0: DeltaToolCall(json_args=piece)}


class Ledger:
    """The calls that a host has recorded before and after it made them, and answers to the same calls after a restart."""

    def __init__(self, path, url):
        self.path, self.url = path, url
        self.asked = 0
        self.entries = []
        if os.path.exists(path):
            with open(path) as file:
                records = [json.loads(line) for line in file]
            results = {record["number"]: record["result"] for record in records if "result" in record}
            self.entries = [
                {**record, **({"result": results[record["number"]]} if record["number"] in results else {})}
                for record in records
                if "tool" in record
            ]
        self.numbers = itertools.count(len(self.entries))

    def append(self, **record):
        with open(self.path, "a") as file:
            file.write(json.dumps(record) + "\n")

    async def call(self, call_tool, name, arguments, read_only):
        at = next((at for at, one in enumerate(self.entries) if (one["tool"], one["arguments"]) == (name, arguments)), None)
        if at is not None:
            entry = self.entries.pop(at)
            if "result" in entry:
                return entry["result"]
            if not read_only:
                # A person looks at the server: the call has a result, or it did not happen.
                self.asked += 1
                found = await post(self.url, "/log")
                same = [
                    one for one in found
                    if one["tool"] == name and all(one["arguments"].get(key) == value for key, value in arguments.items())
                ]  # fmt: skip
                made = next((one for one in same if "result" in one), None)
                if made:
                    return made["result"]
        number = next(self.numbers)
        self.append(number=number, tool=name, arguments=arguments)
        result = await call_tool(name, arguments)
        self.append(number=number, result=result)
        return result


class Starting:
    """The seconds that Monty's processes take to start."""

    enter = staticmethod(_monty_exec._enter_monty)

    def __init__(self):
        self.seconds = 0
        _monty_exec._enter_monty = self.timed

    async def timed(self, *arguments):
        begin = time.perf_counter()
        try:
            return await self.enter(*arguments)
        finally:
            self.seconds += time.perf_counter() - begin


def best_match(context, queries, tools):
    """The tool whose name has the most words of a query, for each query: a search that finds what it is asked for."""
    found = []
    for query in queries:
        words = set(query.lower().split())
        found.append(max(tools, key=lambda tool: (len(words & set(tool.name.split("_"))), -len(tool.name))).name)
    return found


async def carry_out(request):
    script = Slow(request["rounds"], request["pieces"]) if request.get("pieces") else Script(request["rounds"])
    starting = Starting()
    wrapped = request.get("wrapped", [])
    ledger = Ledger(request["calls"], request["url"]) if request.get("calls") else None
    read_only = request.get("read_only", [])

    async def as_declared(context, call_tool, name, arguments):
        # The signatures of code mode say `{"result": …}` for outputs that are no objects; the values come without it.
        if ledger:
            result = await ledger.call(call_tool, name, arguments, name in read_only)
        else:
            result = await call_tool(name, arguments)
        return {"result": result} if name in wrapped else result

    toolset = MCPToolset(request["url"], process_tool_call=as_declared)
    approve = request.get("approve", [])
    if approve:
        toolset = toolset.approval_required(lambda context, tool, arguments: tool.name in approve)
    toolset = toolset.prefixed(request["server"])
    capabilities = []
    waits = []
    if request.get("search"):
        toolset = toolset.defer_loading()
        capabilities.append(ToolSearch(strategy=best_match))
    if request["mode"] == "monty":
        capabilities.append(CodeMode(**request.get("eager", {})))

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
    model = FunctionModel(script.whole, stream_function=script.stream) if request.get("pieces") else FunctionModel(script)
    agent = Agent(model, capabilities=capabilities, toolsets=[toolset], output_type=outputs, retries=0)
    history, doubtful = None, None
    if request.get("resume"):
        run = (await store.list_runs())[-1].run_id
        doubtful = len(await store.list_unresolved_tool_effects(run_id=run))
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
        ended = time.monotonic()
    return {
        "seconds": seconds,
        "starting": starting.seconds,
        "definitions": script.definitions,
        "exchanges": script.exchanges,
        "error": error or next(iter(script.returns), None),
        "ledger": doubtful,
        "asked": ledger.asked if ledger else 0,
        "waits": waits,
        **({"written": script.times(), "ended": ended} if request.get("pieces") else {}),
    }


async def post(url, path):
    import httpx

    async with httpx.AsyncClient() as client:
        return (await client.post(url.replace("/mcp", path), json={})).json()


async def warmed_up(request):
    """Runs an agent that calls no tool before the one that is measured, so that no time counts the import of modules."""
    if not request.get("timed"):
        return await carry_out(request)
    rounds = [[{"tool": "run_code", "arguments": {"code": "1"}}]] if request["mode"] == "monty" else []
    await carry_out({key: request[key] for key in ("mode", "url", "server")} | {"rounds": rounds})
    return await carry_out(request)


def main():
    for line in sys.stdin:
        pid = os.fork()
        if pid == 0:
            print(os.getpid(), flush=True)
            print(json.dumps(asyncio.run(warmed_up(json.loads(line)))), flush=True)
            os._exit(0)
        os.waitpid(pid, 0)
        # What was killed has printed no result.
        print(flush=True)


if __name__ == "__main__":
    main()
