"""MCP servers beside functions."""

from __future__ import annotations

import json
import pathlib
import sys
from typing import Any

import pytest

from planwright_mcp import Planwright, PlanwrightError, tool

SERVER = {"command": sys.executable, "args": [str(pathlib.Path(__file__).with_name("server.py"))]}

PLAN = {
    "steps": [
        {"id": "sum", "tool": "sums.add", "args": {"a": 1, "b": 2}},
        {"id": "text", "tool": "describe", "args": {"number": "${sum.total}"}},
    ],
    "output": "${text}",
}


@tool
async def describe(number: int) -> str:
    return f"it is {number}"


@pytest.mark.parametrize("form", ["names", "document", "path", "text"])
async def test_servers_are_given_in_each_form(form: str, tmp_path: pathlib.Path) -> None:
    servers: Any = {"sums": SERVER}
    if form != "names":
        servers = {"mcpServers": servers}
    if form in ("path", "text"):
        path = tmp_path / "mcp.json"
        path.write_text(json.dumps(servers))
        servers = path if form == "path" else str(path)
    async with Planwright(servers=servers, tools=[describe]) as pw:
        assert [entry.name for entry in pw.tools] == ["functions.describe", "sums.add"]
        report = await pw.start(PLAN)
    assert (report.status, report.output) == ("succeeded", "it is 3")


async def test_a_server_that_does_not_start() -> None:
    with pytest.raises(PlanwrightError, match="`sums`") as error:
        async with Planwright(servers={"sums": {"command": sys.executable, "args": ["-c", "1/0"]}}):
            pass
    assert "division by zero" in str(error.value) or error.value.help


async def test_a_file_without_servers(tmp_path: pathlib.Path) -> None:
    with pytest.raises(PlanwrightError, match="cannot read"):
        async with Planwright(servers=tmp_path / "missing.json"):
            pass
