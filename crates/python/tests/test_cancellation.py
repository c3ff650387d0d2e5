"""Cancellation: of the task that waits, of the run, of the program."""

from __future__ import annotations

import asyncio
import threading
from typing import Any

import pytest

from planwright_mcp import Planwright, Run, tool

PLAN = {"steps": [{"id": "a", "tool": "sleep"}, {"id": "b", "value": "${a}"}]}


class Sleeper:
    """A tool that sleeps until it is cancelled, and says so."""

    def __init__(self) -> None:
        self.started = asyncio.Event()
        self.ended = ""

    @tool
    async def sleep(self) -> None:
        self.started.set()
        try:
            await asyncio.sleep(1000)
        except asyncio.CancelledError:
            # A tool may clean up.
            await asyncio.sleep(0)
            self.ended = "cancelled"
            raise


async def test_a_cancelled_run_cancels_the_coroutine() -> None:
    sleeper = Sleeper()
    async with Planwright(tools=[sleeper.sleep]) as pw:
        run = pw.start(PLAN)
        await sleeper.started.wait()
        run.cancel()
        report = await run
    assert (report.status, report.step("a").status) == ("cancelled", "cancelled")
    assert sleeper.ended == "cancelled"


async def test_a_cancelled_task_cancels_its_run() -> None:
    sleeper = Sleeper()
    async with Planwright(tools=[sleeper.sleep]) as pw:
        run = pw.start(PLAN)

        async def wait() -> None:
            await run

        waiting = asyncio.create_task(wait())
        await sleeper.started.wait()
        waiting.cancel()
        with pytest.raises(asyncio.CancelledError):
            await waiting
        assert (await run).status == "cancelled"
    assert sleeper.ended == "cancelled"


async def test_a_timeout_around_a_run() -> None:
    sleeper = Sleeper()
    async with Planwright(tools=[sleeper.sleep]) as pw:
        with pytest.raises(asyncio.TimeoutError):
            await asyncio.wait_for(_awaited(pw.start(PLAN)), 0.05)
    assert sleeper.ended == "cancelled"


async def test_a_cancelled_reader_of_events_cancels_its_run() -> None:
    sleeper = Sleeper()
    async with Planwright(tools=[sleeper.sleep]) as pw:
        run = pw.start(PLAN)

        async def read() -> None:
            async for _ in run:
                pass

        reading = asyncio.create_task(read())
        await sleeper.started.wait()
        await asyncio.sleep(0)
        reading.cancel()
        with pytest.raises(asyncio.CancelledError):
            await reading
        kinds = [event.kind async for event in run]
        assert kinds[-1] == "run_ended"
        assert (await run).status == "cancelled"


async def test_leaving_the_context_cancels_runs() -> None:
    sleeper = Sleeper()
    async with Planwright(tools=[sleeper.sleep]) as pw:
        pw.start(PLAN)
        await sleeper.started.wait()
    assert sleeper.ended == "cancelled"


async def test_a_run_is_known_after_its_context_was_left() -> None:
    sleeper = Sleeper()
    async with Planwright(tools=[sleeper.sleep]) as pw:
        run = pw.start(PLAN)
        await sleeper.started.wait()
    kinds = [event.kind async for event in run]
    assert (kinds[0], kinds[-1]) == ("run_started", "run_ended")
    assert (await run).status == "cancelled"
    with pytest.raises(RuntimeError, match="not open"):
        pw.start(PLAN)


async def test_a_task_that_is_cancelled_before_it_begins_answers() -> None:
    @tool
    async def work() -> None: ...

    async with Planwright(tools=[work]) as pw:
        loop = asyncio.get_running_loop()

        def create(loop: asyncio.AbstractEventLoop, coroutine: Any, **options: Any) -> Any:
            task = asyncio.Task(coroutine, loop=loop, **options)
            if "Tool._run" in repr(coroutine):
                task.cancel()
            return task

        loop.set_task_factory(create)
        report = await pw.start({"steps": [{"id": "a", "tool": "work"}]})
        loop.set_task_factory(None)
    error = report.step("a").error
    assert error and error.message == "the function ended without an answer"


async def test_a_step_timeout_cancels_the_coroutine() -> None:
    sleeper = Sleeper()
    async with Planwright(tools=[sleeper.sleep]) as pw:
        report = await pw.start(PLAN, attempt_timeout=0.05)
        error = report.step("a").error
        assert error and error.kind == "timeout"
    assert sleeper.ended == "cancelled"


async def test_a_plain_function_is_detached() -> None:
    release, started = threading.Event(), threading.Event()

    @tool
    def block() -> None:
        started.set()
        assert release.wait(30)

    async with Planwright(tools=[block]) as pw:
        run = pw.start({"steps": [{"id": "a", "tool": "block"}]})
        await asyncio.get_running_loop().run_in_executor(None, started.wait)
        run.cancel()
        report = await run
        assert report.status == "cancelled"
        release.set()


async def test_a_tool_that_cancels_itself_fails() -> None:
    @tool
    async def give_up() -> None:
        raise asyncio.CancelledError

    async with Planwright(tools=[give_up]) as pw:
        report = await pw.start({"steps": [{"id": "a", "tool": "give_up"}]})
    error = report.step("a").error
    assert error and error.message == "the tool was cancelled"


async def test_a_drained_run_ends_with_what_is_in_flight() -> None:
    going, go = asyncio.Event(), asyncio.Event()

    @tool
    async def work() -> str:
        going.set()
        await go.wait()
        return "done"

    plan = {"steps": [{"id": "a", "tool": "work"}, {"id": "b", "tool": "work", "after": ["a"]}]}
    async with Planwright(tools=[work]) as pw:
        run = pw.start(plan)
        await going.wait()
        run.drain(30)
        go.set()
        report = await run
    assert (report.step("a").status, report.step("b").status) == ("succeeded", "not_run")


async def _awaited(run: Run) -> None:
    await run
