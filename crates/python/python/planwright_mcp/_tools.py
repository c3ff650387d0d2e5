"""Functions of Python as tools of plans."""

from __future__ import annotations

import asyncio
import contextvars
import functools
import inspect
import json
import re
import traceback
import typing
from collections.abc import Callable
from typing import Any, Generic, ParamSpec, TypeVar, overload

from . import _native
from ._convert import Field, Reader, Types, object_schema
from ._errors import ToolError

P = ParamSpec("P")
R = TypeVar("R")


class ToolContext:
    """The context of a call: a tool gets it through a parameter that is annotated with this type. Plans do not see the parameter."""

    def __init__(self, call: _native.Call) -> None:
        self._call = call

    @property
    def run(self) -> str:
        """The id of the run."""
        return self._call.run

    @property
    def step(self) -> str:
        """The id of the step that calls."""
        return self._call.step

    @property
    def attempt(self) -> int:
        """The number of the attempt, from 1."""
        return self._call.attempt

    @property
    def idempotency_key(self) -> str:
        """A key that all attempts at this call share, those after a crash too, and no other call has."""
        return self._call.idempotency_key

    def report(self, done: float, total: float | None = None, message: str | None = None) -> None:
        """Report progress, which restarts the time limit of the attempt.

        Args:
            done: The work that is done, in a unit of the tool's own.
            total: All of the work, in the same unit, if it is known.
            message: A message for people.
        """
        self._call.report(done, total, message)


class Tool(Generic[P, R]):
    """A function that plans call by its name. It stays a function: calling it calls the function.

    :func:`tool` makes one.
    """

    def __init__(
        self,
        function: Callable[P, R],
        *,
        name: str | None = None,
        title: str | None = None,
        description: str | None = None,
        read_only: bool = False,
        idempotent: bool = False,
        destructive: bool = True,
        approval: bool = False,
    ) -> None:
        functools.update_wrapper(self, function)
        self.function = function
        # A plan passes arguments by name, which the types of the function do not show.
        self._any_function: Callable[..., Any] = function
        self.is_async = inspect.iscoroutinefunction(inspect.unwrap(function)) or inspect.iscoroutinefunction(
            getattr(function, "__call__", None)
        )
        self.name: str = name or function.__name__
        self.title = title
        self.read_only = read_only
        self.idempotent = idempotent
        self.destructive = destructive
        self.approval = approval
        documented, described = _read_doc(inspect.getdoc(function) or "")
        self.description: str | None = description or documented or None
        self._readers: dict[str, Reader] = {}
        self._context_parameters: list[str] = []
        self.input_schema = self._input_schema(described)
        self.output_schema = self._output_schema()

    def __call__(self, *args: P.args, **kwargs: P.kwargs) -> R:
        """Call the function itself, without any plan."""
        return self.function(*args, **kwargs)

    def __get__(self, instance: Any, owner: type | None = None) -> Any:
        """Return the function of a class as a tool of one instance."""
        if instance is None:
            return self
        return Tool(
            self.function.__get__(instance, owner),
            name=self.name,
            title=self.title,
            description=self.description,
            read_only=self.read_only,
            idempotent=self.idempotent,
            destructive=self.destructive,
            approval=self.approval,
        )

    def __repr__(self) -> str:
        return f"<Tool {self.name}>"

    @property
    def input(self) -> str:
        """The schema of the arguments, as JSON."""
        return json.dumps(self.input_schema)

    @property
    def output(self) -> str:
        """The schema of the result, as JSON."""
        return json.dumps(self.output_schema)

    def _input_schema(self, described: dict[str, str]) -> dict[str, Any]:
        types = Types()
        hints = typing.get_type_hints(inspect.unwrap(self.function), include_extras=True)
        fields: dict[str, tuple[dict[str, Any], Field]] = {}
        is_open = False
        for parameter in inspect.signature(self.function).parameters.values():
            annotation = hints.get(parameter.name, Any)
            if annotation is ToolContext:
                self._context_parameters.append(parameter.name)
                continue
            if parameter.kind is parameter.VAR_KEYWORD:
                is_open = True
                continue
            if parameter.kind in (parameter.VAR_POSITIONAL, parameter.POSITIONAL_ONLY):
                raise TypeError(
                    f"the parameter `{parameter.name}` of `{self.name}` has no name that a plan could use: "
                    "plans pass arguments by name"
                )
            field = Field(
                annotation,
                parameter.default is parameter.empty,
                None if parameter.default is parameter.empty else parameter.default,
                described.get(parameter.name),
            )
            try:
                fields[parameter.name] = (types.schema(annotation), field)
            except TypeError as error:
                raise TypeError(f"the parameter `{parameter.name}` of `{self.name}`: {error}") from None
            if reader := types.reader(annotation):
                self._readers[parameter.name] = reader
        schema = object_schema(fields)
        if is_open:
            del schema["additionalProperties"]
        if types.definitions:
            schema["$defs"] = types.definitions
        return schema

    def _output_schema(self) -> dict[str, Any]:
        hints = typing.get_type_hints(inspect.unwrap(self.function), include_extras=True)
        try:
            return Types("serialization").whole(hints.get("return", Any))
        except TypeError:
            # A result that only its `plain` form knows: the check assumes nothing about it.
            return {}

    def _arguments(self, call: _native.Call, args: dict[str, Any]) -> dict[str, Any]:
        """Return the arguments of the function for those of a plan."""
        for name, reader in self._readers.items():
            if name in args:
                args[name] = reader(args[name])
        for name in self._context_parameters:
            args[name] = ToolContext(call)
        return args

    @property
    def call(self) -> Callable[[_native.Call, dict[str, Any], contextvars.Context | None], Any]:
        """The function that the native part calls: on the event loop, or on a thread."""
        return self._start if self.is_async else self._make

    def _start(
        self, call: _native.Call, args: dict[str, Any], context: contextvars.Context | None
    ) -> asyncio.Task[None]:
        coroutine = self._run(call, args)
        if context is None:
            return asyncio.get_running_loop().create_task(coroutine)
        return context.run(asyncio.get_running_loop().create_task, coroutine)

    async def _run(self, call: _native.Call, args: dict[str, Any]) -> None:
        try:
            arguments = self._arguments(call, args)
        except Exception as error:
            _refuse(call, error)
            return
        try:
            call.succeed(await self._any_function(**arguments))
        except asyncio.CancelledError:
            # If the run cancelled the call, it does not wait for this answer.
            call.fail("tool", "the tool was cancelled", None, None)
            raise
        except BaseException as error:
            _fail(call, error)
            if not isinstance(error, Exception):
                raise

    def _make(self, call: _native.Call, args: dict[str, Any], context: contextvars.Context | None) -> None:
        try:
            arguments = self._arguments(call, args)
        except Exception as error:
            _refuse(call, error)
            return
        try:
            if context is None:
                result = self._any_function(**arguments)
            else:
                result = context.copy().run(self._any_function, **arguments)
            call.succeed(result)
        except BaseException as error:
            _fail(call, error)


@overload
def tool(function: Callable[P, R], /) -> Tool[P, R]: ...


@overload
def tool(
    *,
    name: str | None = None,
    title: str | None = None,
    description: str | None = None,
    read_only: bool = False,
    idempotent: bool = False,
    destructive: bool = True,
    approval: bool = False,
) -> Callable[[Callable[P, R]], Tool[P, R]]: ...


def tool(function: Callable[..., Any] | None = None, /, **options: Any) -> Any:
    """Make a tool of a function, with or without options: ``@tool`` or ``@tool(read_only=True)``.

    A coroutine function runs on the event loop, side by side with others. A plain function runs on a thread of its own, so that it may
    block; it cannot be interrupted, so its run waits for it for a second when it is cancelled.

    The annotations become JSON Schemas, against which plans are checked before anything is called: texts, numbers, lists, dictionaries,
    unions, literals, enums, dates, dataclasses, typed dictionaries and models of pydantic, which the function gets as such. ``Annotated[str,
    "the name of a city"]`` describes a parameter, as does the section ``Args:`` of the docstring, whose beginning describes the tool.

    An exception fails the step, not the program: the report has its message, its type and its traceback. :class:`ToolError` says more.

    Args:
        function: The function.
        name: The name in plans; the function's own by default. Plans write it as it is, or as ``functions.name``.
        title: A title for people.
        description: The description for authors of plans, in place of the docstring.
        read_only: The tool changes nothing, so it may be called again after a crash.
        idempotent: A second call with the same arguments does no further harm, so it may be called again after a crash.
        destructive: ``False`` if the tool adds data but destroys none.
        approval: A person must approve each call, see ``approve`` of :meth:`Planwright.start`.

    Raises:
        TypeError: an annotation has no JSON Schema, or a parameter has no name.
    """
    if function is None:
        return lambda decorated: Tool(decorated, **options)
    return Tool(function, **options)


def _refuse(call: _native.Call, error: Exception) -> None:
    """Answer that the arguments do not fit the types of the function, which was not called."""
    call.fail("arguments", f"{type(error).__name__}: {error}", {"type": type(error).__name__}, None)


def _fail(call: _native.Call, error: BaseException) -> None:
    """Answer with an exception of a function."""
    # The first frame is that of this file.
    frames = error.__traceback__.tb_next if error.__traceback__ else None
    data: dict[str, Any] = {
        "type": type(error).__name__,
        "traceback": "".join(traceback.format_exception(type(error), error, frames)),
    }
    if not isinstance(error, ToolError):
        message = str(error) or type(error).__name__
        call.fail("tool", message, data, None)
        return
    if isinstance(error.data, dict):
        data = {**data, **error.data}
    elif error.data is not None:
        data["data"] = error.data
    retry = 0.0 if error.retry is True else None if error.retry is False else float(error.retry)
    try:
        call.fail(error.kind, error.message, data, retry)
    except (TypeError, ValueError) as unwritable:
        call.fail(error.kind, error.message, {"type": type(error).__name__, "data": str(unwritable)}, retry)


_SECTION = re.compile(r"^(Args|Arguments|Parameters|Returns|Raises|Yields|Examples?|Notes?):\s*$")
_PARAMETER = re.compile(r"^\*{0,2}(\w+)\s*(?:\([^)]*\))?:\s+(.*)$")
_OTHER_FIELD = re.compile(r"^:(?:returns?|rtype|raises?|type|yields?)\b[^:]*:")
_FIELD = re.compile(r"^:param\s+(?:[^:]*\s)?(\w+):\s*(.*)$")


def _read_doc(doc: str) -> tuple[str, dict[str, str]]:
    """Return the description of a docstring, and that of each parameter."""
    description: list[str] = []
    parameters: dict[str, list[str]] = {}
    section, current, indent = "", "", 0
    for line in doc.splitlines():
        depth = len(line) - len(line.lstrip())
        text = line.strip()
        if depth == 0 and (found := _SECTION.match(text)):
            section, current = found[1], ""
        elif field := _FIELD.match(text):
            section, current, indent = "fields", field[1], depth
            parameters[current] = [field[2]]
        elif _OTHER_FIELD.match(text):
            section, current = "fields", ""
        elif not section:
            description.append(line)
        elif section in ("Args", "Arguments", "Parameters") and text:
            if (found := _PARAMETER.match(text)) and (not current or depth <= indent):
                current, indent = found[1], depth
                parameters[current] = [found[2]]
            elif current:
                parameters[current].append(text)
        elif section == "fields" and current and depth > indent and text:
            parameters[current].append(text)
    described = {name: " ".join(texts).strip() for name, texts in parameters.items()}
    return "\n".join(description).strip(), described
