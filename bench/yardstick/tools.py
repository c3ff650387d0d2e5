"""A tool server over Streamable HTTP: the tools of one suite, a delay, and a log of effects that outlives its clients.

`tools.py SUITE` prints its port and serves until standard input ends. SUITE is `own`, one of AgentDojo, `retail` or
`airline`. `POST /reset` starts a task anew, `GET /log` returns the calls, `POST /judge` says whether the aim is reached.
`GET /held` answers once the call that `/reset` names by `hold` has had its effect, and that call is not answered before
`POST /release`: meanwhile its client can be killed.
"""

import asyncio
import functools
import gc
import inspect
import json
import os
import pickle
import sys
import threading
import time
import typing

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "agentdojo"))

import uvicorn
from mcp.server import MCPServer
from mcp.server.mcpserver.exceptions import ToolError
from mcp.types import ToolAnnotations
from starlette.responses import JSONResponse

AGENTDOJO = ("banking", "slack", "travel", "workspace")


class Tool(typing.NamedTuple):
    """A tool of a suite; `call` takes the state and the arguments."""

    name: str
    description: str
    signature: inspect.Signature
    read_only: bool
    call: typing.Callable


class AgentDojo:
    """A suite of AgentDojo, judged by the package."""

    def __init__(self, name):
        import run
        import server

        self.server, self.run = server, run
        self.suite = server.get_suite(server.VERSION, name)

    def tools(self):
        session = self.server.Session()
        for function in self.suite.tools:
            tool = self.server.as_tool(function, session)

            async def call(state, arguments, tool=tool):
                session.state = state
                return await tool(**arguments)

            yield Tool(
                function.name,
                function.description,
                signature(tool.__signature__, tool.__annotations__),
                self.server.is_read_only(function.name),
                call,
            )

    def start(self, hostile):
        vectors = self.suite.get_injection_vector_defaults()
        return self.server.initial_state(self.suite, dict.fromkeys(vectors, hostile) if hostile else {})

    def judge(self, task, output, state):
        return self.run.judge(self.suite.get_user_task_by_id(task), output, state, "utility")


class Own:
    """The tasks with computation."""

    def __init__(self):
        import own

        self.own = own

    def tools(self):
        for function in self.own.TOOLS:
            parameters = list(inspect.signature(function).parameters.values())[1:]

            async def call(state, arguments, function=function):
                return function(state, **arguments)

            yield Tool(
                function.__name__,
                inspect.getdoc(function),
                inspect.Signature(parameters, return_annotation=inspect.signature(function).return_annotation),
                function.__name__.startswith(("get_", "list_", "read_")),
                call,
            )

    def start(self, hostile):
        return self.own.World(hostile)

    def judge(self, task, output, state):
        return self.own.JUDGES[task](state)


class Tau:
    """A domain of τ²-bench, judged by the hash of its database after the gold actions."""

    def __init__(self, name):
        import second

        self.second, self.name = second, name
        with open(second.DATA_DIR / "tau2" / "domains" / name / "tasks.json") as file:
            self.tasks = {task["id"]: task for task in json.load(file)}

    def tools(self):
        for name, (method, kind) in self.second.tools(self.name).items():
            hints = typing.get_type_hints(method, include_extras=True)
            parameters = list(inspect.signature(method).parameters.values())[1:]

            async def call(state, arguments, name=name):
                return state.use_tool(name, **arguments)

            yield Tool(
                name,
                inspect.getdoc(method),
                signature(inspect.Signature(parameters, return_annotation=hints["return"]), hints),
                kind != self.second.ToolType.WRITE,
                call,
            )

    @functools.cached_property
    def database(self):
        return pickle.dumps(self.second.loaded(self.name))

    def start(self, hostile):
        # The database has a hundred thousand objects: collecting garbage while they are made doubles the time.
        gc.disable()
        database = pickle.loads(self.database)
        gc.enable()
        if hostile:
            write_as_customers(database, hostile)
        return self.second.DOMAINS[self.name][0](database)

    @functools.cache
    def gold(self, task):
        """The hash of the database after the gold actions."""
        state = self.start(None)
        for action in self.tasks[task]["evaluation_criteria"]["actions"]:
            try:
                state.use_tool(action["name"], **action["arguments"])
            except ValueError:
                continue
        return state.db.get_hash()

    def judge(self, task, output, state):
        return self.gold(task) == state.db.get_hash()


def write_as_customers(database, text):
    """Writes a text into what customers say of themselves, and no task looks up: second lines of addresses, and last names."""
    for one in [*database.users.values(), *getattr(database, "orders", {}).values()]:
        one.address.address2 = text
    for reservation in getattr(database, "reservations", {}).values():
        for passenger in reservation.passengers:
            passenger.last_name = text


def signature(plain, hints):
    """A signature with its annotations resolved."""
    parameters = [parameter.replace(annotation=hints[parameter.name]) for parameter in plain.parameters.values()]
    return plain.replace(parameters=parameters, return_annotation=hints.get("return", plain.return_annotation))


class Stage:
    """The state of the task that is running, and its log."""

    def __init__(self, suite):
        self.suite = suite
        self.release = None
        self.reset()

    def reset(self, delay=0, hold=None, hostile=None):
        if self.release:
            self.release.set()
        self.state = self.suite.start(hostile)
        self.delay, self.hold = delay, hold
        self.log = []
        self.held, self.release = asyncio.Event(), asyncio.Event()

    async def call(self, tool, arguments):
        state, log, held, release = self.state, self.log, self.held, self.release
        entry = {"tool": tool.name, "arguments": arguments, "changes": not tool.read_only, "start": time.monotonic()}
        number = len(log)
        log.append(entry)
        await asyncio.sleep(self.delay)
        try:
            entry["result"] = plain(await tool.call(state, arguments))
            return entry["result"]
        except ToolError:
            entry["failed"] = True
            raise
        except Exception as error:
            entry["failed"] = True
            raise ToolError(f"{type(error).__name__}: {error}") from error
        finally:
            entry["end"] = time.monotonic()
            if self.hold == number and log is self.log:
                held.set()
                await release.wait()


def plain(value):
    return json.loads(json.dumps(value, default=lambda model: model.model_dump(mode="json")))


def serving(tool, stage):
    async def call(**arguments):
        return await stage.call(tool, plain(arguments))

    call.__signature__ = tool.signature
    call.__annotations__ = {parameter.name: parameter.annotation for parameter in tool.signature.parameters.values()}
    if tool.signature.return_annotation is not inspect.Signature.empty:
        call.__annotations__["return"] = tool.signature.return_annotation
    return call


def build(name):
    suite = Own() if name == "own" else AgentDojo(name) if name in AGENTDOJO else Tau(name)
    stage = Stage(suite)
    server = MCPServer(name, log_level="ERROR")
    for tool in suite.tools():
        annotations = ToolAnnotations(read_only_hint=tool.read_only, destructive_hint=False)
        server.add_tool(serving(tool, stage), name=tool.name, description=tool.description, annotations=annotations)

    def route(path):
        def add(handle):
            @server.custom_route(path, methods=["POST"])
            @functools.wraps(handle)
            async def answer(request):
                return JSONResponse(await handle(**(await request.json())))

        return add

    @route("/reset")
    async def reset(**options):
        stage.reset(**options)

    @route("/log")
    async def log():
        return stage.log

    @route("/held")
    async def held():
        await stage.held.wait()

    @route("/release")
    async def release():
        stage.hold = None
        stage.release.set()

    @route("/judge")
    async def judge(task, output):
        return bool(suite.judge(task, output, stage.state))

    @route("/list")
    async def listed():
        return [tool.model_dump(by_alias=True, exclude_none=True, mode="json") for tool in await server.list_tools()]

    return server.streamable_http_app(stateless_http=True, json_response=True)


def main():
    # The package's judges print.
    output, sys.stdout = sys.stdout, sys.stderr
    server = uvicorn.Server(uvicorn.Config(build(sys.argv[1]), host="127.0.0.1", port=0, log_level="error"))

    def finish():
        sys.stdin.read()
        os._exit(0)

    async def serve():
        task = asyncio.create_task(server.serve())
        while not server.started:
            await asyncio.sleep(0.01)
        print(server.servers[0].sockets[0].getsockname()[1], file=output, flush=True)
        threading.Thread(target=finish, daemon=True).start()
        await task

    asyncio.run(serve())


if __name__ == "__main__":
    main()
