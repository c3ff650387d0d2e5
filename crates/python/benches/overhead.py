"""Measures the time that a call of a tool takes beyond the tool itself, which does nothing: a loop of calls, and a chain."""

from __future__ import annotations

import asyncio
import statistics
import time
from typing import Any

from planwright_mcp import Planwright, tool

CALLS = 1000
ROUNDS = 15


@tool(read_only=True)
async def coroutine(number: int) -> int:
    return number


@tool(read_only=True)
def function(number: int) -> int:
    return number


def loop(name: str) -> dict[str, Any]:
    """Return a plan whose calls depend on nothing; 16 are in flight."""
    items = list(range(CALLS))
    return {"steps": [{"id": "all", "for_each": items, "tool": name, "args": {"number": "${item}"}}], "output": "${size(all)}"}


def chain(name: str) -> dict[str, Any]:
    """Return a plan whose calls each need the result before."""
    steps = [{"id": "s0", "tool": name, "args": {"number": 1}}]
    steps += [{"id": f"s{at}", "tool": name, "args": {"number": f"${{s{at - 1}}}"}} for at in range(1, CALLS)]
    return {"steps": steps, "output": f"${{s{CALLS - 1}}}"}


async def main() -> None:
    async with Planwright(tools=[coroutine, function]) as pw:
        for name in ("coroutine", "function"):
            for shape in (loop, chain):
                plan = pw.check(shape(name))
                times: list[float] = []
                for _ in range(ROUNDS):
                    start = time.perf_counter()
                    (await pw.start(plan)).raise_for_status()
                    times.append((time.perf_counter() - start) / CALLS * 1e6)
                print(f"{name:10}{shape.__name__:6} median {statistics.median(times):6.1f} µs a call, least {min(times):6.1f}")


asyncio.run(main())
