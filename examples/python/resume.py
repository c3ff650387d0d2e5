"""Stores a run, which fails, and resumes it: what succeeded is not done again."""

import asyncio
import pathlib
import tempfile

from planwright_mcp import Planwright, tool

attempts = 0


@tool
async def order(article: str) -> int:
    """Orders an article, and returns the number of the order."""
    print(f"ordering {article}")
    return 4711


@tool
async def ship(order: int) -> str:
    """Ships an order."""
    global attempts
    attempts += 1
    if attempts == 1:
        raise ConnectionError("the carrier does not answer")
    return f"order {order} is on its way"


PLAN = """
order = order(article="pen")
ship = ship(order=${order})
"""


async def main(folder: pathlib.Path) -> None:
    async with Planwright(tools=[order, ship], store=folder / "runs.db") as pw:
        report = await pw.start(PLAN, id="first")
        [step] = report.failures
        print(report.status, step.id, step.error and step.error.message)
        report = await pw.resume("first")
        print(report.status, report.output["ship"])
        print([(run.id, run.status) for run in await pw.runs()])


with tempfile.TemporaryDirectory() as folder:
    asyncio.run(main(pathlib.Path(folder)))
# → ordering pen
# → failed ship the carrier does not answer
# → succeeded order 4711 is on its way
# → [('first', 'succeeded')]
