"""The tools of all tests: no plugin, each test runs its own event loop."""

from __future__ import annotations

import asyncio
import inspect
from typing import Any

import pytest

LIMIT = 60.0
"""The time after which a test counts as hanging, in seconds."""


@pytest.hookimpl(tryfirst=True)
def pytest_pyfunc_call(pyfuncitem: pytest.Function) -> bool | None:
    """Run a coroutine function on a loop of its own, whose unhandled errors fail the test."""
    function = pyfuncitem.obj
    if not inspect.iscoroutinefunction(function):
        return None
    names = inspect.signature(function).parameters
    arguments = {name: pyfuncitem.funcargs[name] for name in names}
    unhandled: list[dict[str, Any]] = []

    async def limited() -> None:
        loop = asyncio.get_running_loop()
        loop.set_exception_handler(lambda _, context: unhandled.append(context))
        await asyncio.wait_for(function(**arguments), LIMIT)

    asyncio.run(limited())
    assert not unhandled
    return True
