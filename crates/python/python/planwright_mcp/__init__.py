"""Plans of tool calls: checked before the first call, run in parallel, resumed after a crash.

A plan says which tools are called and which results go where. Planwright finds its errors before anything is called, and makes each call as soon
as its data is there::

    import asyncio
    from planwright_mcp import Planwright, tool

    @tool(read_only=True)
    async def weather(city: str) -> dict[str, float]:
        '''How warm it is somewhere.'''
        return {"temp": 24.0 if city == "Tokyo" else 18.0}

    PLAN = {
        "inputs": {"cities": {"type": "array"}},
        "steps": [
            {"id": "weather", "for_each": "${inputs.cities}", "tool": "weather", "args": {"city": "${item}"}},
            {"id": "warmest", "value": "${math.greatest(weather.map(w, w.temp))}"},
        ],
        "output": "${warmest}",
    }

    async def main() -> None:
        async with Planwright(tools=[weather]) as pw:
            report = await pw.start(PLAN, inputs={"cities": ["Tokyo", "London"]})
            print(report.output)

    asyncio.run(main())

Times are in seconds. A plan with errors raises :class:`PlanRejected`, with all of them; a tool that fails does not raise: the report has its
message and its traceback.
"""

from ._client import (
    ApprovalRequest,
    Approve,
    Approver,
    CheckedPlan,
    Decision,
    ExecutePlan,
    Later,
    Plan,
    Planwright,
    Reject,
    Revert,
    Run,
    Servers,
)
from ._errors import Diagnostic, PlanRejected, PlanwrightError, RunFailed, ToolError
from ._report import (
    DoubtfulCall,
    Event,
    Report,
    RunInfo,
    RunState,
    Step,
    StepError,
    ToolInfo,
    Undo,
    UnrevertedCall,
    WaitingCall,
)
from ._tools import Tool, ToolContext, tool

__all__ = [
    "ApprovalRequest",
    "Approve",
    "Approver",
    "CheckedPlan",
    "Decision",
    "Diagnostic",
    "DoubtfulCall",
    "Event",
    "ExecutePlan",
    "Later",
    "Plan",
    "PlanRejected",
    "Planwright",
    "PlanwrightError",
    "Reject",
    "Report",
    "Revert",
    "Run",
    "RunFailed",
    "RunInfo",
    "RunState",
    "Servers",
    "Step",
    "StepError",
    "Tool",
    "ToolContext",
    "ToolError",
    "ToolInfo",
    "Undo",
    "UnrevertedCall",
    "WaitingCall",
    "tool",
]
