"""Ten programs, as a user writes them who has read the docstrings alone."""

from __future__ import annotations

import asyncio
import contextvars
import dataclasses
import datetime
import enum
import pathlib
import threading
import time
from typing import Annotated, Any, Literal

import pytest
from pydantic import BaseModel, Field

from planwright_mcp import Planwright, PlanRejected, ToolContext, tool


@tool(read_only=True)
async def weather(city: str) -> dict[str, float]:
    """How warm it is somewhere."""
    return {"temp": {"Tokyo": 24.0, "London": 18.0}[city]}


WARMEST = {
    "inputs": {"cities": {"type": "array"}},
    "steps": [
        {"id": "weather", "for_each": "${inputs.cities}", "tool": "weather", "args": {"city": "${item}"}},
        {"id": "warmest", "value": "${math.greatest(weather.map(w, w.temp))}"},
    ],
    "output": "${warmest}",
}


async def test_a_loop_over_inputs() -> None:
    async with Planwright(tools=[weather]) as pw:
        report = await pw.start(WARMEST, inputs={"cities": ["Tokyo", "London"]})
    assert (report.status, report.output) == ("succeeded", 24.0)
    assert [part.output for part in report.step("weather").parts] == [{"temp": 24.0}, {"temp": 18.0}]


async def test_plain_functions_run_on_threads_of_their_own() -> None:
    barrier = threading.Barrier(2, timeout=10)

    @tool
    def meet(name: str) -> str:
        barrier.wait()
        return f"{name} on {threading.current_thread() is threading.main_thread()}"

    steps = [{"id": name, "tool": "meet", "args": {"name": name}} for name in ("ada", "bob")]
    async with Planwright(tools=[meet]) as pw:
        report = await pw.start({"steps": steps})
    assert report.output == {"ada": "ada on False", "bob": "bob on False"}


@dataclasses.dataclass
class Address:
    street: str
    zip: str | None = None


@dataclasses.dataclass
class Letter:
    """A letter."""

    to: Address
    pages: int = 1


async def test_dataclasses() -> None:
    @tool
    async def send(letter: Letter, copies: list[Letter]) -> Letter:
        assert isinstance(letter, Letter) and isinstance(letter.to, Address)
        assert all(isinstance(copy, Letter) for copy in copies)
        return dataclasses.replace(letter, pages=letter.pages + len(copies))

    letter = {"to": {"street": "Main Street 1"}, "pages": 2}
    plan = {
        "steps": [{"id": "sent", "tool": "send", "args": {"letter": letter, "copies": [letter]}}],
        "output": "${sent.pages}",
    }
    async with Planwright(tools=[send]) as pw:
        assert (await pw.start(plan)).output == 3
        plan["output"] = "${sent.page}"
        with pytest.raises(PlanRejected) as rejected:
            pw.check(plan)
    assert [diagnostic.code for diagnostic in rejected.value.diagnostics] == ["PW0402"]


class Order(BaseModel):
    article: str
    count: Annotated[int, Field(gt=0)] = 1
    due: datetime.date


class Receipt(BaseModel):
    total: float
    order: Order


async def test_models_of_pydantic() -> None:
    @tool
    async def buy(order: Order, discount: Annotated[float, Field(ge=0, le=1)] = 0) -> Receipt:
        assert isinstance(order.due, datetime.date)
        return Receipt(total=order.count * 10 * (1 - discount), order=order)

    plan: dict[str, Any] = {
        "steps": [
            {
                "id": "bought",
                "tool": "buy",
                "args": {"order": {"article": "pen", "count": 3, "due": "2026-01-31"}, "discount": 0.5},
            }
        ],
        "output": {"total": "${bought.total}", "due": "${bought.order.due}"},
    }
    async with Planwright(tools=[buy]) as pw:
        report = await pw.start(plan)
        assert report.output == {"total": 15.0, "due": "2026-01-31"}
        plan["steps"][0]["args"]["discount"] = 2
        with pytest.raises(PlanRejected, match="discount|maximum|1"):
            pw.check(plan)


class Unit(enum.Enum):
    CELSIUS = "celsius"
    KELVIN = "kelvin"


async def test_enums_literals_and_defaults() -> None:
    @tool
    async def show(temp: float, unit: Unit = Unit.CELSIUS, style: Literal["short", "long"] = "short") -> str:
        assert isinstance(unit, Unit)
        return f"{temp:.0f} {unit.value if style == 'long' else unit.value[0].upper()}"

    steps = [
        {"id": "a", "tool": "show", "args": {"temp": 20}},
        {"id": "b", "tool": "show", "args": {"temp": 293, "unit": "kelvin", "style": "long"}},
    ]
    async with Planwright(tools=[show]) as pw:
        assert (await pw.start({"steps": steps})).output == {"a": "20 C", "b": "293 kelvin"}
        steps[0]["args"]["unit"] = "fahrenheit"  # type: ignore[index]
        with pytest.raises(PlanRejected):
            pw.check({"steps": steps})


async def test_a_rejected_plan_says_what_to_do() -> None:
    async with Planwright(tools=[weather]) as pw:
        with pytest.raises(PlanRejected) as rejected:
            pw.start({"steps": [{"id": "a", "tool": "wether", "args": {}}, {"id": "b", "value": "${c.x}"}]})
    # The arguments are checked like those of the tool that is meant.
    first, second, third = sorted(rejected.value.diagnostics, key=lambda found: found.code)
    assert (first.code, first.severity, first.place) == ("PW0201", "error", "/steps/0/tool")
    assert "weather" in (first.help or "") and "wether" in first.message
    assert second.code == "PW0204"
    assert "city" in third.message and (third.place or "").startswith("/steps/0")
    assert str(first).startswith("PW0201 at /steps/0/tool: ")


async def test_plans_of_other_dialects_and_of_files(tmp_path: pathlib.Path) -> None:
    lines = 'a = weather(city="Tokyo")\nb = weather(city="London")'
    path = tmp_path / "plan.txt"
    path.write_text(lines)
    async with Planwright(tools=[weather]) as pw:
        checked = pw.check(lines)
        assert (checked.dialect, checked.steps, checked.warnings) == ("lines", ["a", "b"], [])
        assert (await pw.start(checked)).output == (await pw.start(path)).output
        with pytest.raises(PlanRejected, match="PW"):
            pw.check(lines, dialect="native")


request_id: contextvars.ContextVar[str] = contextvars.ContextVar("request_id")


async def test_the_context_of_a_call() -> None:
    @tool
    async def note(context: ToolContext) -> dict[str, Any]:
        return {"request": request_id.get(), "step": context.step, "attempt": context.attempt, "run": context.run}

    @tool
    def note_on_thread(context: ToolContext) -> str:
        assert len(context.idempotency_key) > 10
        return request_id.get()

    async with Planwright(tools=[note, note_on_thread]) as pw:
        request_id.set("r-1")
        run = pw.start({"steps": [{"id": "a", "tool": "note"}, {"id": "b", "tool": "note_on_thread"}]}, id="my-run")
        request_id.set("r-2")
        report = await run
        assert [entry.input["properties"] for entry in pw.tools] == [{}, {}]
    assert report.output == {"a": {"request": "r-1", "step": "a", "attempt": 1, "run": "my-run"}, "b": "r-1"}


async def test_methods_and_undecorated_functions_are_tools() -> None:
    class Shop:
        def __init__(self) -> None:
            self.stock = {"pen": 3}

        @tool
        async def take(self, article: str) -> int:
            self.stock[article] -= 1
            return self.stock[article]

    async def double(number: int) -> int:
        return 2 * number

    shop = Shop()
    plan = {
        "steps": [
            {"id": "left", "tool": "take", "args": {"article": "pen"}},
            {"id": "twice", "tool": "double", "args": {"number": "${left}"}},
        ]
    }
    async with Planwright(tools=[shop.take, double]) as pw:
        assert (await pw.start(plan)).output == {"left": 2, "twice": 4}
    assert shop.stock == {"pen": 2}
    assert await shop.take("pen") == 1


async def test_a_tool_for_a_model() -> None:
    async with Planwright(tools=[weather]) as pw:
        execute_plan = pw.as_tool()
        assert execute_plan.name == execute_plan.function.__name__ == "execute_plan"
        assert "weather(city: string)" in execute_plan.description
        answer = await execute_plan.function(plan={"steps": [{"id": "a", "tool": "weather", "args": {"city": "Tokyo"}}]})
        assert answer == {"status": "succeeded", "output": {"a": {"temp": 24.0}}}
        answer = await execute_plan({"steps": [{"id": "a", "tool": "weather", "args": {"city": "Oslo"}}]})
        assert answer["errors"] == [{"step": "a", "kind": "tool", "message": "'Oslo'"}]
        assert "Traceback" not in str(answer)
        answer = await execute_plan({"steps": [{"id": "a", "tool": "weather", "args": {"town": "Oslo"}}]})
        assert answer["status"] == "rejected" and "PW0502" in str(answer["diagnostics"])


async def test_the_event_loop_is_free_while_calls_wait() -> None:
    @tool
    async def pause() -> None:
        await asyncio.sleep(0.2)

    steps = [{"id": f"s{number}", "tool": "pause"} for number in range(10)]
    async with Planwright(tools=[pause]) as pw:
        start = time.monotonic()
        report = await pw.start({"steps": steps})
        assert report.is_success
    # One after the other they would take two seconds.
    assert time.monotonic() - start < 1.5
