"""Asks before each payment, and pays small amounts only."""

import asyncio

from planwright_mcp import ApprovalRequest, Decision, Planwright, Reject, tool


@tool(approval=True)
async def pay(to: str, amount: float) -> str:
    """Pays an amount."""
    return f"{amount:.2f} to {to}"


PLAN = {
    "steps": [
        {"id": "rent", "tool": "pay", "args": {"to": "Ada", "amount": 900}, "on_error": "continue"},
        {"id": "tea", "tool": "pay", "args": {"to": "Bob", "amount": 3.5}},
    ]
}


async def decide(request: ApprovalRequest) -> Decision:
    """Decides as a person would, who sees the exact arguments."""
    if request.args["amount"] < 100:
        return True
    return Reject("that is too much")


async def main() -> None:
    async with Planwright(tools=[pay], approve=decide) as pw:
        report = await pw.start(PLAN)
        for step in report.steps:
            print(step.id, step.status, step.output or (step.error and step.error.message))


asyncio.run(main())
# → rent failed the call was rejected: that is too much
# → tea succeeded 3.50 to Bob
