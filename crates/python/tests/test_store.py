"""Stored runs: lists, resumption after a failure and after the death of a process."""

from __future__ import annotations

import asyncio
import contextvars
import pathlib
import signal
import subprocess
import sys

import pytest

from planwright_mcp import Planwright, PlanwrightError, Undo, UnrevertedCall, tool

PLAN = {
    "name": "invoice",
    "steps": [
        {"id": "priced", "tool": "price"},
        {"id": "paid", "tool": "pay", "args": {"amount": "${priced}"}},
    ],
    "output": "${paid}",
}


class Shop:
    """Tools that note their calls in a file, so that other processes see them."""

    def __init__(self, folder: pathlib.Path, *, hangs: bool = False) -> None:
        self.calls = folder / "calls"
        self.hangs = hangs

    @tool(read_only=True)
    async def price(self) -> int:
        self._note("price")
        return 3

    @tool
    async def pay(self, amount: int) -> str:
        self._note(f"pay {amount}")
        if self.hangs:
            await asyncio.sleep(1000)
        return "ok"

    def _note(self, text: str) -> None:
        with self.calls.open("a") as file:
            file.write(f"{text}\n")


def shop(folder: pathlib.Path, *, hangs: bool = False) -> Planwright:
    tools = Shop(folder, hangs=hangs)
    return Planwright(tools=[tools.price, tools.pay], store=folder / "runs.db")


async def test_runs_are_listed(tmp_path: pathlib.Path) -> None:
    async with shop(tmp_path) as pw:
        report = await pw.start(PLAN)
        await pw.start({"steps": [{"id": "a", "value": 1}]}, id="second")
        runs = await pw.runs()
        assert [run.id for run in runs] == ["second", report.run]
        [run] = await pw.runs(plan="invoice", limit=1)
        assert (run.status, run.plan, run.steps, run.done, run.calls) == ("succeeded", "invoice", 2, 2, 2)
        with pytest.raises(PlanwrightError, match="second"):
            pw.start({"steps": [{"id": "a", "value": 1}]}, id="second")
        states = [state async for state in pw.watch("second")]
        assert (states[-1].status, states[-1].ended) == ("succeeded", 1)


async def test_a_killed_process_is_resumed(tmp_path: pathlib.Path) -> None:
    program = "import asyncio, pathlib, sys; from test_store import die; asyncio.run(die(pathlib.Path(sys.argv[1])))"
    folder = pathlib.Path(__file__).parent
    child = subprocess.Popen([sys.executable, "-c", program, str(tmp_path)], cwd=folder, stdout=subprocess.PIPE)
    assert child.stdout and child.stdout.readline() == b"paying\n"
    child.send_signal(signal.SIGKILL)
    child.communicate()
    calls = tmp_path / "calls"
    assert calls.read_text() == "price\npay 3\n"

    async with shop(tmp_path) as pw:
        [run] = await pw.runs()
        assert run.status == "interrupted"
        # The payment may have happened, so that it is not made again without a decision.
        report = await pw.resume(run.id)
        assert (report.status, report.step("paid").status) == ("waiting", "unknown")
        assert calls.read_text() == "price\npay 3\n"
        report = await pw.resume(run.id[:6], retry=["paid"])
    assert report.output == "ok"
    assert calls.read_text() == "price\npay 3\npay 3\n"


async def die(folder: pathlib.Path) -> None:
    """Run a plan in a process that is killed while it pays."""
    async with shop(folder, hangs=True) as pw:
        run = pw.start(PLAN)
        async for event in run:
            if event.kind == "attempt_started" and event.step == "paid":
                while "pay" not in (folder / "calls").read_text():
                    await asyncio.sleep(0.01)
                print("paying", flush=True)


async def test_a_failed_run_is_resumed_with_choices(tmp_path: pathlib.Path) -> None:
    broken = True

    @tool
    async def price() -> int:
        return 3

    @tool
    async def pay(amount: int) -> str:
        if broken:
            raise ValueError("no money")
        return f"paid {amount}"

    async with Planwright(tools=[price, pay], store=tmp_path / "runs.db") as pw:
        failed = await pw.start(PLAN, id="first")
        assert failed.status == "failed"
        broken = False
        resumed = await pw.resume("first")
        assert (resumed.run, resumed.output) == ("first", "paid 3")
        assert resumed.step("priced").attempts == 1

        broken = True
        await pw.start(PLAN, id="other")
        assert (await pw.resume("other", set={"paid": "by hand"})).output == "by hand"
        with pytest.raises(PlanwrightError, match="there is no run `nothing`"):
            pw.resume("nothing")


tenant: contextvars.ContextVar[str] = contextvars.ContextVar("tenant")


async def test_a_resumed_run_has_the_context_of_the_caller(tmp_path: pathlib.Path) -> None:
    @tool
    async def whose() -> str:
        if tenant.get() == "bob":
            raise PermissionError
        return tenant.get()

    async with Planwright(tools=[whose], store=tmp_path / "runs.db") as pw:
        tenant.set("bob")
        run = await pw.start({"steps": [{"id": "a", "tool": "whose"}]})
        assert run.status == "failed"
        tenant.set("ada")
        assert (await pw.resume(run.run)).output == {"a": "ada"}


async def test_what_a_run_did_is_undone(tmp_path: pathlib.Path) -> None:
    rooms: list[str] = []
    sent: list[str] = []

    @tool
    async def reserve(room: str) -> str:
        rooms.append(room)
        return room

    @tool
    async def release(room: str) -> None:
        rooms.remove(room)

    @tool
    async def invite(room: str) -> None:
        sent.append(room)

    undo = {"tool": "release", "arguments": {"room": "${arguments.room}"}}
    steps = [
        {"id": "oak", "tool": "reserve", "args": {"room": "Oak"}, "undo": undo},
        {"id": "elm", "tool": "reserve", "args": {"room": "Elm"}, "undo": undo, "after": ["oak"]},
    ]
    invited = {"id": "invited", "tool": "invite", "args": {"room": "Oak"}, "after": ["elm"]}
    async with Planwright(tools=[reserve, release, invite], store=tmp_path / "runs.db") as pw:
        await pw.start({"steps": steps}, id="first")
        part = await pw.revert("first", from_step="elm")
        assert part.undos == [Undo("undo_elm", "elm", "functions.reserve", "release", {"room": "Elm"})]
        # The run belongs to the revert until that starts or is dropped.
        with pytest.raises(PlanwrightError, match="first"):
            await pw.revert("first")
        assert rooms == ["Oak", "Elm"]
        assert (await part.start()).is_success
        assert rooms == ["Oak"]
        with pytest.raises(RuntimeError, match="started already"):
            part.start()
        rest = await pw.revert("first")
        assert ([undo.call for undo in rest.undos], rest.undone_before, rest.is_complete) == (["oak"], 1, True)
        await rest.start()
        with pytest.raises(PlanwrightError, match="nothing to undo"):
            (await pw.revert("first")).start()

        await pw.start({"steps": [*steps, invited]}, id="second")
        revert = await pw.revert("second")
        assert revert.unreverted == [UnrevertedCall("invited", "functions.invite", None)]
        with pytest.raises(PlanwrightError, match="not everything can be undone") as refused:
            revert.start()
        assert refused.value.help == "`partial=True` undoes the rest"
        assert rooms == ["Oak", "Elm"]
        await revert.start(partial=True)
        assert (rooms, sent) == ([], ["Oak"])
        with pytest.raises(PlanwrightError, match="made no call of `birch`"):
            await pw.revert("second", from_step="birch")
