"""The official Python SDK of the first major version, on which most servers and clients stand."""

import asyncio
from contextlib import asynccontextmanager

from mcp import ClientSession, StdioServerParameters, types
from mcp.client.stdio import stdio_client
from mcp.client.streamable_http import streamable_http_client

from steps import ANSWER, Session, plain


@asynccontextmanager
async def streams(gateway):
    if "url" in gateway:
        async with streamable_http_client(gateway["url"]) as (read, write, _):
            yield read, write
    else:
        program, *arguments = gateway["command"]
        server = StdioServerParameters(command=program, args=arguments, env=gateway["env"])
        async with stdio_client(server) as (read, write):
            yield read, write


async def main():
    session = Session()

    async def elicit(context, params):
        session.questions.append(params.message)
        return types.ElicitResult(action="accept", content=ANSWER)

    async with streams(session.gateway) as (read, write):
        async with ClientSession(read, write, elicitation_callback=elicit) as client:
            greeting = await client.initialize()
            session.seen["revision"] = greeting.protocolVersion

            async def list_tools():
                return [plain(tool) for tool in (await client.list_tools()).tools]

            async def call(tool, arguments):
                number = client._request_id
                try:
                    return plain(await client.call_tool(tool, arguments, progress_callback=session.on_progress))
                except asyncio.CancelledError:
                    # This version sends no notice of a cancellation by itself.
                    params = types.CancelledNotificationParams(requestId=number)
                    note = types.CancelledNotification(params=params)
                    await client.send_notification(types.ClientNotification(note))
                    raise

            await session.take(list_tools, call)
    session.print()


asyncio.run(main())
