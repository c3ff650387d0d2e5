"""Exceptions, and the diagnostics of plans."""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True)
class Diagnostic:
    """A problem of a plan.

    ``str()`` writes it in one line, as a model can read it.
    """

    code: str
    """The kind of problem, such as ``PW0201``; each has a page in the book."""
    severity: str
    """``error``, ``warning`` or ``note``. A plan with an error does not run."""
    message: str
    """The fact: one clause, with names of the plan in backticks."""
    place: str
    """The place in the plan: a JSON pointer, such as ``/steps/0/tool``."""
    help: str | None = None
    """Advice for the fix."""
    span: tuple[int, int] | None = None
    """The place in the text of the plan: its first byte, and the byte after its last."""

    def __str__(self) -> str:
        place = f" at {self.place}" if self.place else ""
        advice = f" ({self.help})" if self.help else ""
        return f"{self.code}{place}: {self.message}{advice}"


class PlanwrightError(Exception):
    """An error of Planwright: nothing was called.

    A failed tool is no such error: the :class:`Report` of the run has it.
    """

    help: str | None
    """Advice, if there is any."""

    def __init__(self, message: str, help: str | None = None) -> None:
        super().__init__(message)
        self.help = help


class PlanRejected(PlanwrightError):
    """The plan has errors. Nothing was called."""

    diagnostics: list[Diagnostic]
    """All problems, warnings included."""

    def __init__(self, message: str, diagnostics: list[Diagnostic]) -> None:
        super().__init__(message)
        self.diagnostics = diagnostics


class RunFailed(PlanwrightError):
    """A run did not succeed, and :meth:`Report.raise_for_status` was asked."""


class ToolError(Exception):
    """An error that a tool raises to say more than a message.

    Any other exception fails the step as well: with its message, its type and its traceback, see :attr:`StepError.traceback`.

    Args:
        message: What happened, for the readers of the report; a model may be among them.
        data: Further data, anything that JSON has, such as ``{"code": 404}``.
        retry: ``True`` if the call did not happen and another attempt may help, or the pause before it in seconds.
        kind: The kind of failure: ``tool``, or ``unavailable`` if what the tool needs cannot be reached.
    """

    def __init__(self, message: str, data: Any = None, *, retry: float | bool = False, kind: str = "tool") -> None:
        super().__init__(message)
        self.message = message
        self.data = data
        self.retry = retry
        self.kind = kind


def diagnostics(text: str) -> list[Diagnostic]:
    """Read a list of diagnostics from JSON."""
    return [diagnostic(entry) for entry in json.loads(text)]


def diagnostic(entry: dict[str, Any]) -> Diagnostic:
    """Read a diagnostic of a document."""
    span = entry.get("span")
    return Diagnostic(
        code=entry["code"],
        severity=entry["severity"],
        message=entry["message"],
        place=entry["pointer"],
        help=entry.get("help"),
        span=(span["start"], span["end"]) if span else None,
    )


def rejected(message: str, text: str) -> PlanRejected:
    """Create the exception for a plan with these diagnostics."""
    return PlanRejected(message, diagnostics(text))
