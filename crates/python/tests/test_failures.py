"""Failures of tools, with their tracebacks, and other errors."""

from __future__ import annotations

import pathlib
from typing import Any

import pytest

from planwright_mcp import Planwright, PlanwrightError, RunFailed, ToolError, tool


class OutOfPaper(Exception):
    pass


def feed() -> None:
    raise OutOfPaper("the tray is empty")


@tool
async def print_async() -> None:
    feed()


@tool
def print_sync() -> None:
    try:
        feed()
    except OutOfPaper as error:
        raise RuntimeError("the printer failed") from error


@pytest.mark.parametrize("name", ["print_async", "print_sync"])
async def test_an_exception_fails_the_step_with_its_traceback(name: str) -> None:
    plan = {"steps": [{"id": "a", "tool": name}, {"id": "b", "value": "${a}"}]}
    async with Planwright(tools=[print_async, print_sync]) as pw:
        report = await pw.start(plan)
    assert report.status == "failed"
    [step] = report.failures
    assert step.error and step.error.kind == "tool"
    traceback = step.error.traceback or ""
    assert "in feed" in traceback and "OutOfPaper: the tray is empty" in traceback
    assert "_tools.py" not in traceback
    assert report.step("b").status == "skipped"
    if name == "print_sync":
        assert step.error.message == "the printer failed"
        assert step.error.data["type"] == "RuntimeError" and "direct cause" in traceback
    with pytest.raises(RunFailed, match="`a`: "):
        report.raise_for_status()


async def test_a_tool_error_has_data_and_a_retry() -> None:
    attempts: list[int] = []

    @tool
    async def fetch() -> str:
        attempts.append(1)
        if len(attempts) < 3:
            raise ToolError("the service is busy", {"code": 503}, retry=0.01, kind="unavailable")
        return "done"

    plan: dict[str, Any] = {"steps": [{"id": "a", "tool": "fetch", "retry": {"attempts": 2}}]}
    async with Planwright(tools=[fetch]) as pw:
        failed = await pw.start(plan)
        error = failed.step("a").error
        assert error and (error.kind, error.message, error.data["code"]) == ("unavailable", "the service is busy", 503)
        assert len(attempts) == 2
        assert (await pw.start(plan)).output == {"a": "done"}


async def test_results_that_are_no_json_fail() -> None:
    @tool
    async def strange() -> Any:
        return {"a": [object()]}

    @tool
    async def endless() -> Any:
        items: list[Any] = []
        items.append(items)
        return items

    @tool
    async def infinite() -> float:
        return float("inf")

    @tool
    async def huge() -> int:
        return 2**70

    async with Planwright(tools=[strange, endless, infinite, huge]) as pw:
        steps = [{"id": name, "tool": name} for name in ("strange", "endless", "infinite", "huge")]
        report = await pw.start({"steps": steps})
    messages = [step.error and step.error.message for step in report.steps]
    assert messages == [
        "an object of type `object` cannot be written as JSON",
        "the value is nested more than 128 levels deep",
        "`inf` is not a number of JSON",
        "`1180591620717411303424` has more digits than a number of a plan can have",
    ]


async def test_a_result_of_the_wrong_type_is_reported() -> None:
    @tool
    async def count() -> int:
        return "three"  # type: ignore[return-value]

    async with Planwright(tools=[count]) as pw:
        report = await pw.start({"steps": [{"id": "a", "tool": "count"}]})
    assert [diagnostic.code for diagnostic in report.diagnostics] == ["PW0508"]


async def test_numbers_keep_their_values() -> None:
    @tool
    async def echo(value: Any) -> Any:
        return value

    values: list[Any] = [0, -1, 2**63 - 1, 2**64 - 1, 0.1, 1e300, True, None, "ü\n", [], {}, {"a": [1, {"b": None}]}]
    async with Planwright(tools=[echo]) as pw:
        report = await pw.start({"steps": [{"id": "a", "tool": "echo", "args": {"value": values}}]})
    assert report.output == {"a": values}
    assert [type(value) for value in report.output["a"]] == [type(value) for value in values]


async def test_errors_before_a_run(tmp_path: pathlib.Path) -> None:
    async def twice() -> None: ...

    with pytest.raises(PlanwrightError, match="two tools are called `functions.twice`"):
        async with Planwright(tools=[twice, twice]):
            pass
    with pytest.raises(PlanwrightError, match="cannot read"):
        async with Planwright(config=tmp_path / "missing.toml"):
            pass
    config = tmp_path / "planwright.toml"
    config.write_text("[tools]\nalow = []\n")
    with pytest.raises(PlanwrightError, match="planwright.toml:2: unknown field `alow`") as error:
        async with Planwright(config=config):
            pass
    assert error.value.help
    with pytest.raises(RuntimeError, match="not open"):
        Planwright().check("{}")
    async with Planwright() as pw:
        with pytest.raises(PlanwrightError, match="no store") as error:
            await pw.runs()
        with pytest.raises(PlanwrightError, match="cannot be the id|id"):
            pw.start({"steps": [{"id": "a", "value": 1}]}, id="not an id!")
    with pytest.raises(TypeError, match="has no name that a plan could use"):
        tool(lambda *args: None)
    with pytest.raises(TypeError, match="the parameter `a` of `f`"):

        @tool
        async def f(a: threading_lock) -> None: ...


class threading_lock:
    """A type without a schema."""


async def test_the_configuration_applies(tmp_path: pathlib.Path) -> None:
    config = tmp_path / "planwright.toml"
    config.write_text('[tools]\ndeny = ["functions.twice"]\n\n[budgets]\ncalls = 2\n')

    async def once() -> int:
        return 1

    async def twice() -> int:
        return 2

    async with Planwright(tools=[once, twice], config=config) as pw:
        with pytest.raises(PlanwrightError, match="PW0602"):
            pw.check({"steps": [{"id": "a", "tool": "twice"}]})
        report = await pw.start({"steps": [{"id": f"s{n}", "tool": "once"} for n in range(3)]})
        assert [step.status for step in report.steps].count("failed") == 1
        assert report.failures[0].error and report.failures[0].error.kind == "budget"
        assert "once(" in pw.as_tool().description and "twice(" not in pw.as_tool().description


async def test_secrets_are_redacted(tmp_path: pathlib.Path) -> None:
    config = tmp_path / "planwright.toml"
    config.write_text('[secrets.KEY]\nenv = "UNUSED"\ntools = ["functions.login"]\n')
    seen: list[str] = []

    @tool
    async def login(key: str) -> str:
        seen.append(key)
        raise ValueError(f"the key {key} is wrong")

    plan = {"steps": [{"id": "a", "tool": "login", "args": {"key": "${secrets.KEY}"}}]}
    async with Planwright(tools=[login], config=config, secrets={"KEY": "s3cret-value"}) as pw:
        report = await pw.start(plan)
    assert seen == ["s3cret-value"]
    assert "s3cret-value" not in str(report.document)
    assert "[redacted]" in report.failures[0].error.message  # type: ignore[union-attr]
