"""Reports, events and states of runs."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from ._errors import Diagnostic, RunFailed, diagnostic


@dataclass(frozen=True)
class StepError:
    """The reason why a step failed."""

    kind: str
    """``tool``, ``timeout``, ``unavailable``, ``arguments``, ``reference``, ``approval``, ``policy``, ``budget`` or ``internal``."""
    message: str
    """The message of the tool, or one clause of Planwright."""
    data: Any
    """Further data, or ``None``."""

    @property
    def traceback(self) -> str | None:
        """The traceback of the exception, if a function of Python raised it. It is for developers: do not show it to a model."""
        return self.data.get("traceback") if isinstance(self.data, dict) else None


@dataclass(frozen=True)
class Step:
    """A step of a run, an item of its loop, or a round of its repetition."""

    id: str
    """The id in the plan."""
    status: str
    """``succeeded``, ``failed``, ``skipped``, ``not_run``, ``cancelled``, ``waiting`` or ``unknown``."""
    tool: str | None
    """The tool, as the plan names it."""
    args: Any
    """The arguments of the call."""
    output: Any
    """The result."""
    error: StepError | None
    """The reason of the failure."""
    is_handled: bool
    """True if the plan handles the failure, so that it does not fail the run."""
    attempts: int
    """The number of calls of the tool."""
    started: float | None
    """The time of the start, in seconds from the start of the run."""
    ended: float | None
    """The time of the end, in seconds from the start of the run."""
    item: int | None
    """The position in the list of a ``for_each``."""
    round: int | None
    """The number of the round of a ``repeat``."""
    instance: str | None
    """The instance, if the plan runs for several."""
    parts: list[Step]
    """Items, rounds, or the steps of an inner plan."""


@dataclass(frozen=True)
class Report:
    """The report of a run that has ended."""

    run: str
    """The id of the run."""
    status: str
    """``succeeded``, ``failed``, ``waiting`` (for a decision) or ``cancelled``."""
    output: Any
    """The value that the plan's ``output`` selects; without ``output``, the results of all steps by their ids."""
    duration: float
    """The duration, in seconds."""
    steps: list[Step]
    """The steps, in the order of the plan."""
    diagnostics: list[Diagnostic]
    """Warnings of the check and of the run."""
    document: dict[str, Any]
    """The whole report, in the form ``planwright.report/1``."""

    @property
    def is_success(self) -> bool:
        """True if every step that had to run succeeded."""
        return self.status == "succeeded"

    @property
    def failures(self) -> list[Step]:
        """The steps that failed, including those of inner plans and loops, except for failures that the plan handles."""
        return list(_failures(self.steps))

    def step(self, id: str) -> Step:
        """Return the step with an id.

        Raises:
            KeyError: there is no such step.
        """
        for step in self.steps:
            if step.id == id:
                return step
        raise KeyError(id)

    def raise_for_status(self) -> Report:
        """Return this report if the run succeeded.

        Raises:
            RunFailed: the run failed, was cancelled, or waits for a decision.
        """
        if self.is_success:
            return self
        reasons = [f"`{step.id}`: {step.error.message}" for step in self.failures if step.error]
        raise RunFailed(": ".join([f"the run `{self.run}` is {self.status}", *reasons[:1]]))


def _failures(steps: list[Step]) -> list[Step]:
    found: list[Step] = []
    for step in steps:
        inner = _failures(step.parts)
        found += inner
        if step.status == "failed" and not step.is_handled and not inner:
            found.append(step)
    return found


@dataclass(frozen=True)
class Event:
    """An event of a run."""

    kind: str
    """``run_started``, ``step_started``, ``attempt_started``, ``call_progress``, ``attempt_ended``, ``retry_scheduled``, ``approval_asked``,
    ``approval_decided``, ``outcome_unknown``, ``step_ended``, ``plan_extended``, ``run_draining`` or ``run_ended``."""
    at: float
    """The time, in seconds from the start of the run."""
    step: str | None
    """The id of the step."""
    address: str | None
    """The step, item or round, such as ``weather[2]``."""
    tool: str | None
    """The tool."""
    status: str | None
    """The status of a step or run that has ended."""
    args: Any
    """The arguments of a call."""
    output: Any
    """The result of a step that has ended."""
    error: StepError | None
    """The reason of a failure."""
    attempt: int | None
    """The number of the attempt, from 1; at the end of a step, the number of attempts."""
    progress: float | None
    """The work that a call has done, in a unit that its tool defines."""
    total: float | None
    """The total work of the call, in the same unit."""
    message: str | None
    """The message that a tool reports with its progress."""
    document: dict[str, Any]
    """The whole event, in the form ``planwright.event/1``."""


@dataclass(frozen=True)
class RunInfo:
    """A stored run."""

    id: str
    """The id."""
    status: str
    """As in a report, or ``running`` if a process runs it, ``interrupted`` if its process died."""
    plan: str | None
    """The name of the plan."""
    created: str
    """The time of its start, in UTC."""
    duration: float
    """The duration, in seconds, without the time between two processes."""
    steps: int
    """The number of steps."""
    done: int
    """The number of steps that have succeeded, failed or been skipped."""
    calls: int
    """The number of calls."""


@dataclass(frozen=True)
class WaitingCall:
    """A call of a stored run that waits for a decision."""

    run: str
    """The id of the run."""
    address: str
    """The step, item or round."""
    tool: str
    """The tool, as ``server.tool``."""
    args: Any
    """The arguments. Secrets are ``[redacted]``."""
    reason: str | None
    """The reason why a person is asked."""
    changes: list[str]
    """The differences from the call of the previous decision."""


@dataclass(frozen=True)
class Undo:
    """A call that undoes another one."""

    step: str
    """The id of the step that makes it."""
    call: str
    """The step, item or round whose call it undoes."""
    called: str
    """The tool of that call, as ``server.tool``."""
    tool: str
    """The tool that undoes it, as the plan or the configuration names it."""
    args: Any
    """The arguments."""


@dataclass(frozen=True)
class UnrevertedCall:
    """A call that happened, and that nothing undoes."""

    call: str
    """The step, item or round."""
    tool: str
    """The tool, as ``server.tool``."""
    reason: str | None
    """The reason why its undo cannot be called, or ``None`` if it has no undo."""


@dataclass(frozen=True)
class DoubtfulCall:
    """A call that may or may not have happened, or be undone."""

    call: str
    """The step, item or round."""
    tool: str
    """The tool, as ``server.tool``."""
    undone_by: str | None
    """The id of the run that called its undo, if it is that call whose outcome is unknown."""


@dataclass(frozen=True)
class RunState:
    """The state of a stored run of any process."""

    run: str
    """The id of the run."""
    status: str | None
    """The status, once the run has ended."""
    steps: int
    """The number of steps."""
    ended: int
    """The number of steps that have ended."""
    calls: int
    """The number of calls in flight."""
    active: list[str]
    """The addresses of the steps in progress."""
    waiting: list[str]
    """The addresses of the calls that wait for a decision."""


@dataclass(frozen=True)
class ToolInfo:
    """A tool that plans may call."""

    name: str
    """The name, as ``server.tool``."""
    title: str | None
    """A title for people."""
    description: str | None
    """The description for authors of plans."""
    input: dict[str, Any]
    """The JSON Schema of the arguments."""
    output: dict[str, Any]
    """The JSON Schema of the result; ``{}`` or ``True`` if it is not known."""
    read_only: bool
    """True if the tool changes nothing."""
    idempotent: bool
    """True if a second call with the same arguments does no further harm."""
    approval: bool
    """True if a person must approve each call."""


def _error(entry: dict[str, Any] | None) -> StepError | None:
    return StepError(entry["kind"], entry["message"], entry["data"]) if entry else None


def _seconds(milliseconds: float | None) -> float | None:
    return None if milliseconds is None else milliseconds / 1000


def _step(entry: dict[str, Any]) -> Step:
    return Step(
        id=entry["id"],
        status=entry["status"],
        tool=entry["tool"],
        args=entry["args"],
        output=entry["output"],
        error=_error(entry["error"]),
        is_handled=entry.get("handled", False),
        attempts=entry["attempts"],
        started=_seconds(entry["started_ms"]),
        ended=_seconds(entry["ended_ms"]),
        item=entry.get("item"),
        round=entry.get("round"),
        instance=entry.get("instance"),
        parts=[_step(part) for part in entry.get("parts", ())],
    )


def report(document: dict[str, Any]) -> Report:
    """Read a document ``planwright.report/1``."""
    return Report(
        run=document["run"],
        status=document["status"],
        output=document["output"],
        duration=document["duration_ms"] / 1000,
        steps=[_step(entry) for entry in document["steps"]],
        diagnostics=[diagnostic(entry) for entry in document["diagnostics"]],
        document=document,
    )


def event(document: dict[str, Any]) -> Event:
    """Read a document ``planwright.event/1``."""
    return Event(
        kind=document["event"],
        at=document["at_ms"] / 1000,
        step=document.get("step"),
        address=document.get("address"),
        tool=document.get("tool"),
        status=document.get("status"),
        args=document.get("args"),
        output=document.get("output"),
        error=_error(document.get("error")),
        attempt=document.get("attempt"),
        progress=document.get("progress"),
        total=document.get("total"),
        message=document.get("message"),
        document=document,
    )


def run_info(entry: dict[str, Any]) -> RunInfo:
    """Read an entry of a document ``planwright.runs/1``."""
    return RunInfo(
        id=entry["id"],
        status=entry["status"],
        plan=entry["plan"],
        created=entry["created"],
        duration=entry["duration_ms"] / 1000,
        steps=entry["steps"],
        done=entry["done"],
        calls=entry["calls"],
    )


def waiting_call(entry: dict[str, Any]) -> WaitingCall:
    """Read a document ``planwright.open-call/1``."""
    return WaitingCall(
        run=entry["run"],
        address=entry["address"],
        tool=f"{entry['server']}.{entry['tool']}",
        args=entry["args"],
        reason=entry.get("reason"),
        changes=entry["changes"],
    )


def run_state(entry: dict[str, Any]) -> RunState:
    """Read the state of a run that is followed."""
    return RunState(
        run=entry["run"],
        status=entry["status"],
        steps=entry["steps"],
        ended=entry["ended"],
        calls=entry["calls"],
        active=entry["active"],
        waiting=entry["waiting"],
    )


def tool_info(entry: dict[str, Any]) -> ToolInfo:
    """Read an entry of the list of tools."""
    return ToolInfo(**entry)
