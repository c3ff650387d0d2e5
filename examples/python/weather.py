"""Runs a plan over two functions: a loop over cities side by side, and a condition."""

import asyncio

from planwright_mcp import Planwright, tool


@tool(read_only=True)
async def weather(city: str) -> dict[str, float]:
    """How warm it is somewhere."""
    await asyncio.sleep(0.1)
    return {"temp": {"Tokyo": 38.0, "London": 18.0}.get(city, 21.0)}


@tool
def notify(text: str) -> None:
    """Sends a message to the terminal."""
    print(text)


PLAN = {
    "inputs": {"cities": {"type": "array", "items": {"type": "string"}}},
    "steps": [
        {"id": "weather", "for_each": "${inputs.cities}", "tool": "weather", "args": {"city": "${item}"}},
        {"id": "warmest", "value": "${math.greatest(weather.map(w, w.temp))}"},
        {"id": "warn", "when": "${warmest > 35}", "tool": "notify", "args": {"text": "Heat of ${warmest} degrees"}},
    ],
    "output": {"warmest": "${warmest}"},
}


async def main() -> None:
    async with Planwright(tools=[weather, notify]) as pw:
        report = await pw.start(PLAN, inputs={"cities": ["Tokyo", "London", "Oslo"]})
        print(report.status, report.output)


asyncio.run(main())
# → Heat of 38.0 degrees
# → succeeded {'warmest': 38.0}
