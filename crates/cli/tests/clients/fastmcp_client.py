"""FastMCP's client."""

import asyncio

from fastmcp import Client
from fastmcp.client.transports import StdioTransport

from steps import ANSWER, Session, plain


async def main():
    session = Session()

    async def elicit(message, response_type, params, context):
        session.questions.append(message)
        return ANSWER

    server = session.gateway.get("url")
    if server is None:
        program, *arguments = session.gateway["command"]
        server = StdioTransport(command=program, args=arguments, env=session.gateway["env"], keep_alive=False)
    async with Client(server, elicitation_handler=elicit, progress_handler=session.on_progress) as client:

        async def list_tools():
            return [plain(tool) for tool in await client.list_tools()]

        async def call(tool, arguments):
            return plain(await client.call_tool_mcp(tool, arguments))

        await session.take(list_tools, call)
    session.print()


asyncio.run(main())
