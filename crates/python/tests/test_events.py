"""Events of runs."""

from __future__ import annotations

import asyncio

from planwright_mcp import Planwright, ToolContext, tool


@tool
async def count(context: ToolContext) -> int:
    context.report(1, 2, "half")
    await asyncio.sleep(0.1)
    context.report(2, 2)
    return 2


PLAN = {"steps": [{"id": "a", "tool": "count"}, {"id": "b", "value": "${a + 1}"}]}


async def test_events_are_streamed_from_the_start_to_the_end() -> None:
    async with Planwright(tools=[count]) as pw:
        run = pw.start(PLAN)
        events = [event async for event in run]
        report = await run
        assert [event async for event in run] == []
        assert await run is report
    kinds = [event.kind for event in events]
    assert kinds[0] == "run_started" and kinds[-1] == "run_ended"
    ended = [(event.step, event.status, event.output) for event in events if event.kind == "step_ended"]
    assert ended == [("a", "succeeded", 2), ("b", "succeeded", 3)]
    progress = next(event for event in events if event.kind == "call_progress")
    assert (progress.progress, progress.total, progress.message) == (1, 2, "half")
    assert [event.at for event in events] == sorted(event.at for event in events)
    assert events[-1].at < 30


async def test_events_arrive_while_the_run_goes_on() -> None:
    go = asyncio.Event()

    @tool
    async def wait() -> None:
        await go.wait()

    async with Planwright(tools=[wait]) as pw:
        run = pw.start({"steps": [{"id": "a", "tool": "wait"}]})
        async for event in run:
            if event.kind == "attempt_started":
                go.set()
        assert (await run).is_success


async def test_a_reader_may_stop_and_go_on() -> None:
    async with Planwright(tools=[count]) as pw:
        run = pw.start(PLAN)
        first = await anext(run)
        rest = [event.kind async for event in run]
    assert first.kind == "run_started" and "run_started" not in rest and rest[-1] == "run_ended"


async def test_a_reader_and_a_waiter_at_once() -> None:
    async with Planwright(tools=[count]) as pw:
        run = pw.start(PLAN)

        async def read() -> list[str]:
            return [event.kind async for event in run]

        reading = asyncio.create_task(read())
        await asyncio.sleep(0)
        report = await run
        assert report.is_success and (await reading)[-1] == "run_ended"
