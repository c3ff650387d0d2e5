"""Decisions about calls."""

from __future__ import annotations

import asyncio
import pathlib
from typing import Any

import pytest

from planwright_mcp import ApprovalRequest, Approve, Later, Planwright, PlanwrightError, Reject, tool

PLAN = {"steps": [{"id": "paid", "tool": "pay", "args": {"amount": 5}}]}


@tool(approval=True)
async def pay(amount: int) -> int:
    return amount


async def test_without_an_approver_a_call_waits() -> None:
    async with Planwright(tools=[pay]) as pw:
        report = await pw.start(PLAN)
    assert (report.status, report.step("paid").status, report.step("paid").attempts) == ("waiting", "waiting", 0)


async def test_an_approver_sees_the_exact_call() -> None:
    asked: list[ApprovalRequest] = []

    async def approve(request: ApprovalRequest) -> bool:
        asked.append(request)
        return True

    async with Planwright(tools=[pay]) as pw:
        report = await pw.start(PLAN, approve=approve, id="order-1")
    assert report.output == {"paid": 5}
    [request] = asked
    assert (request.run, request.step, request.address) == ("order-1", "paid", "paid")
    assert (request.tool, request.args) == ("functions.pay", {"amount": 5})
    assert request.reason == "the program asks before each call"


@pytest.mark.parametrize(
    ("decision", "status", "output", "message"),
    [
        (True, "succeeded", {"paid": 5}, None),
        (Approve({"amount": 3}), "succeeded", {"paid": 3}, None),
        (False, "failed", {}, "rejected"),
        (Reject("too much"), "failed", {}, "too much"),
        (Later(), "waiting", {}, None),
    ],
)
async def test_decisions(decision: Any, status: str, output: Any, message: str | None) -> None:
    # The approver of the instance is a plain function.
    async with Planwright(tools=[pay], approve=lambda request: decision) as pw:
        report = await pw.start(PLAN)
    assert (report.status, report.output) == (status, output)
    error = report.step("paid").error
    assert (error is None) == (message is None)
    if error and message:
        assert error.kind == "approval" and message in error.message


async def test_a_decision_of_another_process_is_stored(tmp_path: pathlib.Path) -> None:
    store = tmp_path / "runs.db"
    async with Planwright(tools=[pay], store=store) as pw:
        assert (await pw.start(PLAN, id="order-1")).status == "waiting"

    async with Planwright(store=store) as other:
        [call] = await other.waiting("order-1")
        assert (call.tool, call.args, call.address) == ("functions.pay", {"amount": 5}, "paid")
        with pytest.raises(PlanwrightError, match="no call that waits `sent`"):
            await other.decide("order-1", True, step="sent")
        assert await other.decide("order-1", True, by="ada") == 1

    async with Planwright(tools=[pay], store=store) as pw:
        report = await pw.resume("order-1")
    assert (report.status, report.output) == ("succeeded", {"paid": 5})


async def test_a_run_waits_for_a_stored_decision(tmp_path: pathlib.Path) -> None:
    async with Planwright(tools=[pay], store=tmp_path / "runs.db") as pw:
        run = pw.start(PLAN, id="order-1", wait_for_decisions=True)
        async for state in pw.watch("order-1"):
            if state.waiting:
                assert state.waiting == ["paid"] and state.status is None
                await pw.decide("order-1", Reject("not today"))
        report = await run
    assert state.status == "failed"
    assert "not today" in str(report.step("paid").error)


async def test_an_approver_that_fails_rejects() -> None:
    def approve(request: ApprovalRequest) -> bool:
        return bool(request.args["missing"])

    failed: list[Any] = []
    asyncio.get_running_loop().set_exception_handler(lambda _, context: failed.append(context["exception"]))
    async with Planwright(tools=[pay]) as pw:
        report = await pw.start(PLAN, approve=approve)
    assert report.status == "failed"
    assert "the approver failed: KeyError: 'missing'" in str(report.step("paid").error)
    assert [type(error) for error in failed] == [KeyError]
