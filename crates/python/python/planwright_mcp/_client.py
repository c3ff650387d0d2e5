"""The service: tools that are open, and the runs of plans over them."""

from __future__ import annotations

import asyncio
import contextvars
import inspect
import json
import os
import pathlib
from collections import deque
from collections.abc import AsyncIterator, Awaitable, Callable, Generator, Iterable, Mapping
from dataclasses import dataclass, field
from types import TracebackType
from typing import Any, TypeAlias

from . import _native, _report
from ._convert import plain
from ._errors import Diagnostic, PlanRejected, PlanwrightError, diagnostics
from ._report import DoubtfulCall, Event, Report, RunInfo, RunState, ToolInfo, Undo, UnrevertedCall, WaitingCall
from ._tools import Tool

Plan: TypeAlias = "str | Mapping[str, Any] | os.PathLike[str] | CheckedPlan"
"""A plan: its text in any dialect, its JSON as a dictionary, the path of its file, or what :meth:`Planwright.check` returned."""

Servers: TypeAlias = "str | os.PathLike[str] | Mapping[str, Any]"
"""MCP servers: the path of an ``mcp.json``, or its content; or only the servers by their names."""


@dataclass(frozen=True)
class Approve:
    """Allows a call, with other arguments if ``args`` has any."""

    args: Mapping[str, Any] | None = None


@dataclass(frozen=True)
class Reject:
    """Refuses a call, for a reason in words."""

    because: str | None = None


@dataclass(frozen=True)
class Later:
    """Leaves a decision open: the run does what it can without the call, and ends as ``waiting``."""


Decision: TypeAlias = "bool | Approve | Reject | Later"
"""A decision about a call. ``True`` stands for :class:`Approve`, ``False`` for :class:`Reject`."""


@dataclass(frozen=True)
class ApprovalRequest:
    """A call that needs consent."""

    run: str
    """The id of the run."""
    step: str
    """The id of the step."""
    address: str
    """The step, item or round, such as ``pay[2]``."""
    tool: str
    """The tool, as ``server.tool``."""
    args: Any
    """The exact arguments. Secrets are ``[redacted]``."""
    reason: str | None
    """The reason for asking."""
    changes: list[str]
    """The differences from the call that was decided at this place before."""


Approver: TypeAlias = Callable[[ApprovalRequest], "Decision | Awaitable[Decision]"]
"""Decides about a call: a function or a coroutine function, which runs on the event loop."""


class CheckedPlan:
    """A plan that was checked: nothing in it is unknown, and its data fits. :meth:`Planwright.check` creates it."""

    def __init__(self, native: _native.CheckedPlan) -> None:
        self._native = native

    @property
    def name(self) -> str | None:
        """The name of the plan."""
        return self._native.name

    @property
    def dialect(self) -> str | None:
        """The dialect that the plan is written in."""
        return self._native.dialect

    @property
    def digest(self) -> str:
        """The digest of the meaning of the plan."""
        return self._native.digest

    @property
    def steps(self) -> list[str]:
        """The ids of the steps, in the order of the plan."""
        return self._native.steps

    @property
    def warnings(self) -> list[Diagnostic]:
        """Problems that do not keep the plan from running."""
        return diagnostics(self._native.warnings())

    def __repr__(self) -> str:
        return f"<CheckedPlan {self.name or self.digest[:8]}: {len(self.steps)} steps>"


class Run:
    """A run in progress. Await it for its :class:`Report`, or iterate over it for its events::

        run = pw.start(plan)
        async for event in run:
            print(event.kind, event.step)
        report = await run

    It goes on whether or not anything waits for it, until its :class:`Planwright` closes. If a task is cancelled while it waits for a run, the
    run is cancelled, and with it the calls in flight.
    """

    def __init__(self, native: _native.Run) -> None:
        self._native = native
        self._unread: deque[Event] = deque()
        self._is_iterated = False
        self._report: Report | None = None

    @property
    def id(self) -> str:
        """The id of the run."""
        return self._native.id

    def cancel(self) -> None:
        """Cancel the run: calls in flight are cancelled, nothing new starts. The report has the results so far."""
        self._native.cancel()

    def drain(self, limit: float) -> None:
        """Start nothing new, and let the calls in flight end.

        Args:
            limit: The time after which they are cancelled, in seconds.
        """
        self._native.drain(limit)

    def __await__(self) -> Generator[Any, None, Report]:
        """Wait for the end."""
        return self._wait().__await__()

    async def _wait(self) -> Report:
        if self._report is None:
            if not self._is_iterated:
                self._native.discard_events()
            self._report = _report.report(json.loads(await self._cancelling(self._native.ended())))
        return self._report

    def __aiter__(self) -> AsyncIterator[Event]:
        """Iterate over the events, from the start of the run to its end. Each event is given once."""
        self._is_iterated = True
        return self

    async def __anext__(self) -> Event:
        while not self._unread:
            events = await self._cancelling(self._native.events())
            if events is None:
                raise StopAsyncIteration
            self._unread.extend(_report.event(entry) for entry in json.loads(events))
        return self._unread.popleft()

    async def _cancelling(self, awaited: Awaitable[Any]) -> Any:
        """Wait for the run. If the task that waits is cancelled, cancel the run and wait for its calls."""
        try:
            return await awaited
        except asyncio.CancelledError:
            self.cancel()
            await self._native.ended()
            raise

    def __repr__(self) -> str:
        return f"<Run {self.id}>"


class Revert:
    """What a run did and how it is undone, see :meth:`Planwright.revert`. Nothing is called before :meth:`start`.

    As long as it exists, no other process can resume or revert the run.
    """

    def __init__(self, service: _native.Service, native: _native.Revert, options: _RunOptions) -> None:
        self._service = service
        self._native = native
        self._options = options
        self.document: dict[str, Any] = json.loads(native.document)
        """The whole proposal, in the form ``planwright.revert/1``."""

    @property
    def run(self) -> str:
        """The id of the run that it undoes."""
        return str(self.document["run"])

    @property
    def undos(self) -> list[Undo]:
        """The calls that it makes, in their order."""
        return [Undo(**entry) for entry in self.document["undos"]]

    @property
    def unreverted(self) -> list[UnrevertedCall]:
        """The calls that happened and that nothing undoes."""
        return [UnrevertedCall(**entry) for entry in self.document["unreverted"]]

    @property
    def in_doubt(self) -> list[DoubtfulCall]:
        """The calls in doubt, which are left alone."""
        return [DoubtfulCall(**entry) for entry in self.document["in_doubt"]]

    @property
    def undone_before(self) -> int:
        """The number of calls that earlier reverts have undone."""
        return int(self.document["undone_before"])

    @property
    def is_complete(self) -> bool:
        """True if nothing happened that is not undone or going to be."""
        return not self.document["unreverted"] and not self.document["in_doubt"]

    def start(self, *, partial: bool = False) -> Run:
        """Start the run that makes the calls, one after the other. It starts once.

        Args:
            partial: Undo what can be undone, although something stays.

        Raises:
            PlanwrightError: something stays, or there is nothing to undo. Nothing was called.
        """
        if not partial and not self.is_complete:
            raise PlanwrightError("not everything can be undone, so nothing was called", "`partial=True` undoes the rest")
        return Run(self._service.start_revert(self._native, self._options))

    def __repr__(self) -> str:
        return f"<Revert of {self.run}: {len(self.undos)} calls>"


@dataclass
class _Settings:
    """Arguments of the native part, to open the tools."""

    servers_file: str | None
    servers_json: str | None
    functions: list[Tool[..., Any]]
    config: tuple[str, str] | None
    store: str | None
    secrets: list[tuple[str, str]]


@dataclass
class _RunOptions:
    """Arguments of the native part, to start a run."""

    id: str | None = None
    max_parallel: int | None = None
    attempt_timeout: float | None = None
    step_timeout: float | None = None
    max_time: float | None = None
    max_calls: int | None = None
    fail_fast: bool = False
    waits: bool = False
    approve: Callable[[_native.Question], asyncio.Task[None]] | None = None
    context: contextvars.Context = field(default_factory=contextvars.copy_context)


@dataclass
class _ResumeOptions:
    """Arguments of the native part, to resume a run."""

    retry: list[str]
    skip: list[str]
    set: list[tuple[str, Any]]
    inputs: Mapping[str, Any]


class Planwright:
    """Tools that are open, and the runs of plans over them. Use it as an asynchronous context manager::

        async with Planwright(tools=[weather], servers="mcp.json") as pw:
            report = await pw.start(plan)

    It belongs to the event loop that enters it. Several instances share nothing. When it is left, its runs are cancelled and its servers are
    shut down.

    Args:
        servers: MCP servers: the path of an ``mcp.json``, or its content as a dictionary. They are started when the context is entered.
        tools: Functions, decorated with :func:`tool` or not.
        config: The path of a ``planwright.toml``: which tools plans may call, budgets, rates, rules of data flow.
        store: The path of a file that stores runs, so that they can be resumed; without it nothing is stored.
        approve: Decides about calls that need consent, for runs that have no ``approve`` of their own.
        secrets: The values of ``${secrets.NAME}``, for the tools to which the configuration releases them. No report and no event shows them.
    """

    def __init__(
        self,
        *,
        servers: Servers | None = None,
        tools: Iterable[Callable[..., Any]] = (),
        config: str | os.PathLike[str] | None = None,
        store: str | os.PathLike[str] | None = None,
        approve: Approver | None = None,
        secrets: Mapping[str, str] | None = None,
    ) -> None:
        self._servers = servers
        self._functions = [function if isinstance(function, Tool) else Tool(function) for function in tools]
        self._config = config
        self._store = store
        self._approve = approve
        self._secrets = dict(secrets or {})
        self._warnings: list[str] = []
        self._open: _Open | None = None

    async def __aenter__(self) -> Planwright:
        """Open the tools, and start the servers.

        Raises:
            PlanwrightError: a server does not start, two tools have one name, or a file cannot be read.
        """
        if self._open is not None:
            raise RuntimeError("this `Planwright` is open already")
        settings = self._settings()
        opened = _Open.create(asyncio.get_running_loop())
        try:
            self._warnings = await opened.service.open(settings)
        except BaseException:
            await opened.close()
            raise
        self._open = opened
        return self

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        """Cancel the runs, wait for their ends, and shut the servers down."""
        opened, self._open = self._open, None
        if opened is not None:
            await opened.close()

    @property
    def tools(self) -> list[ToolInfo]:
        """The tools that plans may call: functions, and tools of servers."""
        return [_report.tool_info(entry) for entry in json.loads(self._service.tools())]

    @property
    def warnings(self) -> list[str]:
        """Warnings about servers and their configuration."""
        return list(self._warnings)

    def check(self, plan: Plan, inputs: Mapping[str, Any] | None = None, *, dialect: str | None = None) -> CheckedPlan:
        """Check a plan. Nothing is called.

        Args:
            plan: The plan.
            inputs: The values of the plan's inputs.
            dialect: The dialect of a text; recognised by its form if not given.

        Raises:
            PlanRejected: the plan has errors; the exception has all of them.
        """
        if isinstance(plan, CheckedPlan):
            if inputs is not None:
                raise TypeError("a plan is checked with its inputs: pass them to `check`")
            return plan
        text, name = _plan_text(plan)
        return CheckedPlan(self._service.check(text, name, dialect, dict(inputs or {})))

    def start(
        self,
        plan: Plan,
        inputs: Mapping[str, Any] | None = None,
        *,
        approve: Approver | None = None,
        id: str | None = None,
        dialect: str | None = None,
        max_parallel: int | None = None,
        attempt_timeout: float | None = None,
        step_timeout: float | None = None,
        max_time: float | None = None,
        max_calls: int | None = None,
        fail_fast: bool = False,
        wait_for_decisions: bool = False,
    ) -> Run:
        """Check a plan and start it. Await the run for its report.

        Args:
            plan: The plan.
            inputs: The values of the plan's inputs.
            approve: Decides about calls that need consent. Without it such calls are not made, and the run ends as ``waiting``. An approver
                that raises an exception rejects the call.
            id: The id of the run; a random one by default.
            dialect: The dialect of a text; recognised by its form if not given.
            max_parallel: The maximum number of calls in flight; 16 by default.
            attempt_timeout: The time that an attempt at a call may take without progress, in seconds; 60 by default.
            step_timeout: The time that a step may take, in seconds; not limited by default.
            max_time: The time that the run may take, in seconds; that of the configuration by default.
            max_calls: The number of calls that the run may make; that of the configuration by default.
            fail_fast: Start nothing new after the first failure.
            wait_for_decisions: Wait for decisions that other processes store, see :meth:`decide`. Needs a store.

        Raises:
            PlanRejected: the plan has errors. Nothing was called.
            PlanwrightError: the run cannot start, for example because its id is in use. Nothing was called.
        """
        checked = self.check(plan, inputs, dialect=dialect)
        options = _RunOptions(
            id=id,
            max_parallel=max_parallel,
            attempt_timeout=attempt_timeout,
            step_timeout=step_timeout,
            max_time=max_time,
            max_calls=max_calls,
            fail_fast=fail_fast,
            waits=wait_for_decisions,
            approve=self._decider(approve),
        )
        return Run(self._service.start(checked._native, options))

    def resume(
        self,
        run: str,
        *,
        plan: Plan | None = None,
        inputs: Mapping[str, Any] | None = None,
        approve: Approver | None = None,
        retry: Iterable[str] = (),
        skip: Iterable[str] = (),
        set: Mapping[str, Any] | None = None,
        wait_for_decisions: bool = False,
    ) -> Run:
        """Resume a stored run that failed, waits, was cancelled, or whose process died. Steps that succeeded are not run again.

        A call that was sent and not answered may have happened. It is made again if its tool is ``read_only`` or ``idempotent``; otherwise
        its step is ``unknown`` and the run ends as ``waiting``, until ``retry``, ``skip`` or ``set`` has it.

        Args:
            run: The id of the run, or its beginning.
            plan: A plan in place of the stored one: changed steps run again, the others keep their results.
            inputs: Values of inputs of the stored plan, in place of the stored ones. Secret inputs are not stored.
            approve: As in :meth:`start`.
            retry: The steps whose tool is called again.
            skip: The steps that are skipped.
            set: The results of steps, in place of calls.
            wait_for_decisions: As in :meth:`start`.

        Raises:
            PlanRejected: the plan does not fit the tools here. Nothing was called.
            PlanwrightError: there is no such run, or another process has it. Nothing was called.
        """
        checked = None if plan is None else self.check(plan, None if isinstance(plan, CheckedPlan) else inputs)
        changes = _ResumeOptions(list(retry), list(skip), list((set or {}).items()), dict(inputs or {}))
        options = _RunOptions(waits=wait_for_decisions, approve=self._decider(approve))
        return Run(self._service.resume(run, None if checked is None else checked._native, changes, options))

    async def revert(
        self,
        run: str,
        *,
        from_step: str | None = None,
        approve: Approver | None = None,
        wait_for_decisions: bool = False,
    ) -> Revert:
        """Prepare to undo what a stored run did, in reverse order, with the undos of its steps or of the configuration. Nothing is called::

            revert = await pw.revert("order-1")
            report = await revert.start()

        Args:
            run: The id of the run, or its beginning.
            from_step: The step, item or round whose calls are the first to undo, in the order in which they ended; all calls without it.
            approve: As in :meth:`start`.
            wait_for_decisions: As in :meth:`start`.

        Raises:
            PlanRejected: the plan of the undos as a whole does not fit the tools or rules here. An undo that does not fit by itself is in
                :attr:`Revert.unreverted`.
            PlanwrightError: there is no store or no such run or step, a process has the run or a revert of it, or a revert of it waits for a
                decision.
        """
        options = _RunOptions(waits=wait_for_decisions, approve=self._decider(approve))
        return Revert(self._service, await self._service.revert(run, from_step), options)

    async def runs(self, *, limit: int | None = None, plan: str | None = None) -> list[RunInfo]:
        """List the stored runs, the newest first.

        Args:
            limit: The maximum number of runs.
            plan: Only the runs of plans of this name.

        Raises:
            PlanwrightError: there is no store, or it cannot be read.
        """
        document = json.loads(await self._service.runs(limit, plan))
        return [_report.run_info(entry) for entry in document["runs"]]

    async def waiting(self, run: str) -> list[WaitingCall]:
        """List the calls of a stored run that wait for a decision.

        Raises:
            PlanwrightError: there is no store, or no such run.
        """
        document = json.loads(await self._service.waiting(run))
        return [_report.waiting_call(entry) for entry in document["calls"]]

    async def decide(
        self,
        run: str,
        decision: Decision,
        *,
        step: str | None = None,
        by: str | None = None,
        passphrase: str | None = None,
    ) -> int:
        """Store a decision about calls of a run that wait, for the process that runs or resumes it.

        Args:
            run: The id of the run, or its beginning.
            decision: The decision.
            step: The id or the address of the step; all calls that wait without it.
            by: The name of the person, as it is stored.
            passphrase: The passphrase of the store, if it has one.

        Returns:
            The number of calls that the decision is about.

        Raises:
            PlanwrightError: no such call waits, it has a decision already, or the passphrase is wrong.
        """
        decision = _decision(decision)
        if isinstance(decision, Later):
            raise TypeError("`Later` is no decision that could be stored")
        return int(
            await self._service.decide(
                run,
                step,
                approve=isinstance(decision, Approve),
                args=decision.args if isinstance(decision, Approve) else None,
                because=decision.because if isinstance(decision, Reject) else None,
                by=by,
                passphrase=passphrase,
            )
        )

    async def watch(self, run: str) -> AsyncIterator[RunState]:
        """Follow a stored run of any process, until it has ended.

        Args:
            run: The id of the run, or its beginning.

        Raises:
            PlanwrightError: there is no store, or no such run.
        """
        followed = self._service.watch(run)
        while True:
            state = _report.run_state(json.loads(await followed.next()))
            yield state
            if state.status is not None:
                return

    def as_tool(self, *, approve: Approver | None = None, signature_tokens: int = 4000) -> ExecutePlan:
        """Return a tool for a framework in the same process: a model hands it a plan, and gets back what the plan's ``output`` selects.

        Args:
            approve: As in :meth:`start`.
            signature_tokens: The length of the list of tools in its description, in tokens.
        """
        return ExecutePlan(self, approve, self._service.signatures(signature_tokens))

    @property
    def _service(self) -> _native.Service:
        if self._open is None:
            raise RuntimeError("this `Planwright` is not open: use it with `async with`")
        if asyncio.get_running_loop() is not self._open.loop:
            raise RuntimeError("this `Planwright` belongs to another event loop: open one in each loop")
        return self._open.service

    def _settings(self) -> _Settings:
        servers = self._servers
        path = servers if isinstance(servers, (str, os.PathLike)) else None
        content = None if path is not None or servers is None else dict(servers)  # type: ignore[arg-type]
        if content is not None and not content.keys() & {"mcpServers", "servers"}:
            content = {"mcpServers": content}
        config = None
        if self._config is not None:
            config = (os.fspath(self._config), _read(self._config))
        return _Settings(
            servers_file=None if path is None else os.fspath(path),
            servers_json=None if content is None else json.dumps(content),
            functions=self._functions,
            config=config,
            store=None if self._store is None else os.fspath(self._store),
            secrets=list(self._secrets.items()),
        )

    def _decider(self, approve: Approver | None) -> Callable[[_native.Question], asyncio.Task[None]] | None:
        chosen = approve or self._approve
        if chosen is None:
            return None

        context = contextvars.copy_context()

        def start(question: _native.Question) -> asyncio.Task[None]:
            return context.run(asyncio.get_running_loop().create_task, _answer(question, chosen))

        return start


class ExecutePlan:
    """A tool ``execute_plan`` for a framework in the same process. :meth:`Planwright.as_tool` creates it.

    Frameworks that make tools of functions take :attr:`function`; others take :attr:`name`, :attr:`description` and :attr:`parameters`, and await
    :meth:`__call__` with the arguments of the model.
    """

    name = "execute_plan"

    def __init__(self, planwright: Planwright, approve: Approver | None, signatures: str) -> None:
        self._planwright = planwright
        self._approve = approve
        self.description = f"{_EXECUTE_PLAN}\n\nTools:\n{signatures}"
        """The description for a model: how plans are written, and the signatures of the tools."""
        self.parameters: dict[str, Any] = {
            "type": "object",
            "properties": {
                "plan": {"type": "object", "description": "the plan: `steps`, `output`, `inputs`"},
                "inputs": {"type": "object", "description": "the values of the plan's inputs"},
            },
            "required": ["plan"],
        }
        """The JSON Schema of the arguments."""

        async def execute_plan(plan: dict[str, Any], inputs: dict[str, Any] | None = None) -> dict[str, Any]:
            return await self(plan, inputs)

        execute_plan.__doc__ = self.description
        self.function: Callable[..., Awaitable[dict[str, Any]]] = execute_plan
        """The tool as a function with a name, a docstring and annotations."""

    async def __call__(self, plan: Plan, inputs: Mapping[str, Any] | None = None) -> dict[str, Any]:
        """Run a plan of a model.

        Returns:
            ``status``, and ``output`` of a plan that ran, ``diagnostics`` of a plan that was rejected, ``errors`` of steps that failed,
            ``waiting`` steps that need a decision. It is made for a model: it has no tracebacks.
        """
        try:
            run = self._planwright.start(plan, inputs, approve=self._approve)
        except PlanRejected as rejected:
            return {"status": "rejected", "diagnostics": [str(diagnostic) for diagnostic in rejected.diagnostics]}
        report = await run
        answer: dict[str, Any] = {"status": report.status, "output": report.output}
        if errors := [
            {"step": step.id, "kind": step.error.kind, "message": step.error.message}
            for step in report.failures
            if step.error
        ]:
            answer["errors"] = errors
        if waiting := [step.id for step in report.steps if step.status in ("waiting", "unknown")]:
            answer["waiting"] = waiting
            answer["run"] = report.run
        return answer


_EXECUTE_PLAN = """\
Run a plan: a graph of tool calls in one request. Steps run in parallel as soon as their own data is there. Prefer one plan to many calls.

{"plan": {"steps": [
  {"id": "found", "tool": "list_cities", "args": {"country": "JP"}},
  {"id": "weather", "for_each": "${found.cities}", "tool": "get_weather", "args": {"city": "${item.name}"}},
  {"id": "warmest", "value": "${weather.filter(w, w.temp > 30)}"},
  {"id": "warn", "when": "${size(warmest) > 0}", "tool": "notify", "args": {"text": "Hot: ${warmest[*].city}"}}],
 "output": ["warmest"]}}

Tools are named as listed. `${step.path}` refers to an earlier result: the object that `->` shows, or else the text or JSON that the tool \
returns; `[*]` is a part of all items, `a ?? b` the first that exists. Between `${}` may stand any CEL expression: `c ? a : b`, \
`size(x) / 2.0` (`/` of whole numbers is whole), `x.map(i, …)`, \
`x.join(", ")`. Steps may also have "on_error": "continue", "retry": {"attempts": 3}, "timeout": "30s".
Only `output` comes back: ids of steps, or any value with references. Without it, all results come."""


@dataclass(frozen=True)
class _Open:
    """The native parts of an instance that is open."""

    loop: asyncio.AbstractEventLoop
    event_loop: _native.EventLoop
    service: _native.Service

    @staticmethod
    def create(loop: asyncio.AbstractEventLoop) -> _Open:
        event_loop = _native.EventLoop(loop)
        event_loop.attach()
        return _Open(loop, event_loop, _native.Service(event_loop, plain))

    async def close(self) -> None:
        try:
            # A second cancellation must not leave servers behind.
            await asyncio.shield(self.service.close())
            # Tools that were cancelled may have to clean up.
            if tasks := self.event_loop.tasks - {asyncio.current_task()}:
                await asyncio.wait(tasks)
        finally:
            self.event_loop.detach()
            self.service.shut_down()


async def _answer(question: _native.Question, approve: Approver) -> None:
    """Let a person decide about a question."""
    request = ApprovalRequest(
        run=question.run,
        step=question.step,
        address=question.address,
        tool=question.tool,
        args=question.args,
        reason=question.reason,
        changes=question.changes,
    )
    try:
        answer = approve(request)
        decision = _decision(await answer if inspect.isawaitable(answer) else answer)
        if isinstance(decision, Approve):
            question.approve(decision.args)
        elif isinstance(decision, Reject):
            question.reject(decision.because)
        else:
            question.later()
    except Exception as error:
        question.reject(f"the approver failed: {type(error).__name__}: {error}")
        # The report is for the reader of the run; the program gets the traceback.
        context = {"message": f"the approver of `{request.tool}` failed", "exception": error}
        asyncio.get_running_loop().call_exception_handler(context)


def _decision(decision: Decision) -> Approve | Reject | Later:
    if isinstance(decision, bool):
        return Approve() if decision else Reject()
    if isinstance(decision, (Approve, Reject, Later)):
        return decision
    raise TypeError(f"a decision is `True`, `False`, `Approve`, `Reject` or `Later`, not {decision!r}")


def _plan_text(plan: str | Mapping[str, Any] | os.PathLike[str]) -> tuple[str, str]:
    """Return the text of a plan, and its name in messages."""
    if isinstance(plan, str):
        return plan, "plan"
    if isinstance(plan, os.PathLike):
        return _read(plan), os.fspath(plan)
    return json.dumps(plan, default=plain), "plan"


def _read(path: str | os.PathLike[str]) -> str:
    try:
        return pathlib.Path(path).read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise PlanwrightError(f"cannot read `{os.fspath(path)}`: {error}") from error
