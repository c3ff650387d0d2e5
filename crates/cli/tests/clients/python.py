"""The official Python SDK of the second major version."""

import asyncio

import mcp_types as types
from mcp import Client
from mcp.client.stdio import StdioServerParameters

from steps import ANSWER, Session, plain


async def main():
    session = Session()

    async def elicit(context, params):
        session.questions.append(params.message)
        return types.ElicitResult(action="accept", content=ANSWER)

    server = session.gateway.get("url")
    if server is None:
        program, *arguments = session.gateway["command"]
        server = StdioServerParameters(command=program, args=arguments, env=session.gateway["env"])
    async with Client(server, elicitation_callback=elicit) as client:
        session.seen["revision"] = client.protocol_version

        async def list_tools():
            return [plain(tool) for tool in (await client.list_tools()).tools]

        async def call(tool, arguments):
            return plain(await client.call_tool(tool, arguments, progress_callback=session.on_progress))

        await session.take(list_tools, call)
    session.print()


asyncio.run(main())
