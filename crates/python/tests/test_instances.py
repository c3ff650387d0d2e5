"""Several instances and several event loops: nothing is shared."""

from __future__ import annotations

import asyncio
import threading
from typing import Any

import pytest

from planwright_mcp import Planwright, tool


def plan(count: int) -> dict[str, Any]:
    return {"steps": [{"id": f"s{number}", "tool": "where"} for number in range(count)], "output": "${s0}"}


def instance(name: str) -> Planwright:
    @tool
    async def where() -> str:
        await asyncio.sleep(0.001)
        return f"{name} {threading.get_ident()}"

    return Planwright(tools=[where])


async def test_two_instances_in_one_loop() -> None:
    async with instance("a") as a, instance("b") as b:
        reports = await asyncio.gather(*[_wait(pw) for pw in (a, b) for _ in range(5)])
    here = threading.get_ident()
    assert [report for report in reports] == [f"a {here}"] * 5 + [f"b {here}"] * 5


async def _wait(pw: Planwright) -> Any:
    return (await pw.start(plan(20))).raise_for_status().output


def test_two_loops_in_two_threads() -> None:
    outputs: dict[str, Any] = {}

    async def work(name: str) -> None:
        async with instance(name) as pw:
            outputs[name] = [await _wait(pw) for _ in range(20)], threading.get_ident()

    threads = [threading.Thread(target=lambda name=name: asyncio.run(work(name))) for name in ("a", "b")]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    for name, (results, thread_id) in outputs.items():
        assert results == [f"{name} {thread_id}"] * 20
    assert set(outputs) == {"a", "b"}


def test_one_loop_after_the_other() -> None:
    pw = instance("again")

    async def once() -> str:
        async with pw:
            return str(await _wait(pw))

    assert asyncio.run(once()) == asyncio.run(once())


async def test_an_instance_is_entered_once() -> None:
    async with instance("a") as pw:
        with pytest.raises(RuntimeError, match="open already"):
            async with pw:
                pass
        assert await _wait(pw)


def test_a_loop_that_cannot_watch_sockets_is_woken_by_its_method() -> None:
    class Loop(asyncio.SelectorEventLoop):
        def add_reader(self, fd: Any, callback: Any, *args: Any) -> None:  # type: ignore[override]
            raise NotImplementedError

    async def work() -> str:
        async with instance("woken") as pw:
            return str(await _wait(pw))

    loop = Loop()
    try:
        assert loop.run_until_complete(work()).startswith("woken")
    finally:
        loop.close()


async def test_another_loop_is_refused() -> None:
    async with instance("here") as pw:

        def elsewhere() -> None:
            asyncio.run(_wait(pw))

        with pytest.raises(RuntimeError, match="belongs to another event loop"):
            await asyncio.get_running_loop().run_in_executor(None, elsewhere)


async def test_many_runs_at_once() -> None:
    async with instance("many") as pw:
        runs = [pw.start(plan(5)) for _ in range(50)]
        reports = [await run for run in runs]
        assert {report.status for report in reports} == {"succeeded"}
        assert len({report.run for report in reports}) == 50


async def test_an_instance_that_is_never_left() -> None:
    pw = instance("left")
    await pw.__aenter__()
    run = pw.start(plan(1))
    assert (await run).is_success
    del run, pw
