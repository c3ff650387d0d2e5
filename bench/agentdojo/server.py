"""An MCP server over stdio with the tools of one AgentDojo suite.

`server.py SUITE [--injections FILE] [--from STATE] [--state OUT]`. Input and output schemas come from the package's
functions, as MCPServer derives them. `--injections` is a JSON object of texts by injection vector, `--from` continues
from a state that an earlier server saved. `--state` saves the environment after each call, so a client that kills the
server loses nothing.
"""

import argparse
import functools
import inspect
import json
import os
import pickle
import typing

from agentdojo.functions_runtime import FunctionCall
from agentdojo.task_suite.load_suites import get_suite
from mcp.server import MCPServer
from mcp.server.mcpserver.exceptions import ToolError
from mcp.types import ToolAnnotations
from pydantic import Field

VERSION = "v1.2.2"

# Prefixes of the tools that change nothing; `get_unread_emails` marks what it returns as read.
READS = ("get_", "search_", "list_", "read_", "check_")
READ_ONLY_EXCEPTIONS = ("get_unread_emails",)
DESTROYS = ("delete_", "remove_", "cancel_", "update_", "reschedule_")


class State:
    """An environment before and after the calls, and the calls."""

    def __init__(self, environment):
        self.before = environment.model_copy(deep=True)
        self.environment = environment
        self.calls = []

    def save(self, path):
        with open(path + ".new", "wb") as file:
            pickle.dump(self, file)
        os.replace(path + ".new", path)

    @staticmethod
    def load(path):
        with open(path, "rb") as file:
            return pickle.load(file)


def is_read_only(name):
    return name.startswith(READS) and name not in READ_ONLY_EXCEPTIONS


def annotations(name):
    reads = is_read_only(name)
    return ToolAnnotations(read_only_hint=reads, destructive_hint=None if reads else name.startswith(DESTROYS))


class Session:
    """The state that the tools of a server work on, and the file that it is saved to."""

    def __init__(self):
        self.state = None
        self.path = None

    def save(self):
        if self.path:
            self.state.save(self.path)


def as_tool(function, session):
    """A function of the suite without the parameters that the environment provides."""
    hints = typing.get_type_hints(function.run)
    descriptions = {name: field.description for name, field in function.parameters.model_fields.items()}
    parameters = [
        parameter.replace(annotation=typing.Annotated[hints[name], Field(description=descriptions[name])])
        for name, parameter in inspect.signature(function.run).parameters.items()
        if name not in function.dependencies
    ]
    returns = hints.get("return", inspect.Signature.empty)

    # Functions that are not async would run in threads, beside each other.
    @functools.wraps(function.run)
    async def call(**arguments):
        provided = {
            name: dependency.extract_dep_from_env(session.state.environment)
            for name, dependency in function.dependencies.items()
        }
        session.state.calls.append(FunctionCall(function=function.name, args=arguments))
        # The same list in the arguments and in the environment would let one change the other.
        try:
            return function.run(**provided, **json.loads(json.dumps(arguments)))
        except Exception as error:
            raise ToolError(f"{type(error).__name__}: {error}") from error
        finally:
            session.save()

    call.__signature__ = inspect.Signature(parameters, return_annotation=returns)
    call.__annotations__ = {parameter.name: parameter.annotation for parameter in parameters}
    if returns is not inspect.Signature.empty:
        call.__annotations__["return"] = returns
    del call.__wrapped__
    return call


def build(suite):
    """A server of the suite's tools, and the session that they work on."""
    session = Session()
    server = MCPServer(suite.name, log_level="ERROR")
    for function in suite.tools:
        server.add_tool(
            as_tool(function, session),
            name=function.name,
            description=function.description,
            annotations=annotations(function.name),
        )
    return server, session


def serve(server, session, state, path):
    """Serves on standard input and output until the input ends."""
    session.state, session.path = state, path
    session.save()
    server.run("stdio")
    session.save()


def initial_state(suite, injections):
    return State(suite.load_and_inject_default_environment(injections))


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("suite")
    parser.add_argument("--injections")
    parser.add_argument("--from", dest="start")
    parser.add_argument("--state")
    arguments = parser.parse_args()
    suite = get_suite(VERSION, arguments.suite)
    if arguments.start:
        state = State.load(arguments.start)
    else:
        injections = {}
        if arguments.injections:
            with open(arguments.injections) as file:
                injections = json.load(file)
        state = initial_state(suite, injections)
    serve(*build(suite), state, arguments.state)


if __name__ == "__main__":
    main()
