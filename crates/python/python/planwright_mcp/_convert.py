"""Types of Python as JSON Schemas, their values as JSON, and back."""

from __future__ import annotations

import collections.abc
import dataclasses
import datetime
import decimal
import enum
import pathlib
import sys
import types
import typing
import uuid
from collections.abc import Callable
from typing import Any, Literal

Schema = dict[str, Any]
Reader = Callable[[Any], Any]
"""Makes a value of Python of a value of JSON."""

_T = typing.TypeVar("_T")
_NONE = type(None)
_PLAIN: dict[Any, Schema] = {
    str: {"type": "string"},
    int: {"type": "integer"},
    float: {"type": "number"},
    bool: {"type": "boolean"},
    _NONE: {"type": "null"},
    Any: {},
    object: {},
}
_TEXTS: dict[Any, tuple[Schema, Reader]] = {
    datetime.datetime: (
        {"type": "string", "format": "date-time"},
        lambda text: datetime.datetime.fromisoformat(text.replace("Z", "+00:00")),
    ),
    datetime.date: ({"type": "string", "format": "date"}, datetime.date.fromisoformat),
    datetime.time: ({"type": "string"}, datetime.time.fromisoformat),
    uuid.UUID: ({"type": "string", "format": "uuid"}, uuid.UUID),
    decimal.Decimal: ({"type": "string"}, decimal.Decimal),
    pathlib.Path: ({"type": "string"}, pathlib.Path),
}
_LISTS: dict[Any, Reader] = {
    list: list,
    set: set,
    frozenset: frozenset,
    collections.abc.Sequence: list,
    collections.abc.Iterable: list,
    collections.abc.Set: set,
}
_OBJECTS = (dict, collections.abc.Mapping, collections.abc.MutableMapping)


class Types:
    """Reads types of Python. Types with fields become definitions, so that a type may contain itself."""

    def __init__(self, mode: Literal["validation", "serialization"] = "validation") -> None:
        """Create a reader of the types of arguments (``validation``) or of results (``serialization``)."""
        self._mode: Literal["validation", "serialization"] = mode
        self.definitions: dict[str, Schema] = {}
        self._names: dict[Any, str] = {}
        self._readers: dict[Any, Reader | None] = {}

    def whole(self, annotation: Any) -> Schema:
        """Return the schema of a type, with all definitions that it uses."""
        schema = self.schema(annotation)
        return {**schema, "$defs": self.definitions} if self.definitions else schema

    def schema(self, annotation: Any) -> Schema:
        """Return the schema of a type."""
        if isinstance(annotation, typing.TypeVar) or annotation is typing.NoReturn:
            return {}
        if (scalar := _look_up(_PLAIN, annotation)) is not None:
            return dict(scalar)
        if text := _look_up(_TEXTS, annotation):
            return dict(text[0])
        origin, parts = typing.get_origin(annotation), typing.get_args(annotation)
        if origin is typing.Annotated:
            return self._annotated(annotation)
        if origin is typing.Literal:
            return {"enum": [plain_scalar(value) for value in parts]}
        if origin in (typing.Union, types.UnionType):
            return self._union(parts)
        if origin in (typing.Required, typing.NotRequired) if sys.version_info >= (3, 11) else False:
            return self.schema(parts[0])
        collection = origin or annotation
        if collection in _LISTS:
            schema: Schema = {"type": "array"}
            if parts:
                schema["items"] = self.schema(parts[0])
            return schema
        if collection is tuple:
            return self._tuple(parts)
        if collection in _OBJECTS:
            schema = {"type": "object"}
            if len(parts) == 2 and (values := self.schema(parts[1])):
                schema["additionalProperties"] = values
            return schema
        if isinstance(annotation, type) and issubclass(annotation, enum.Enum):
            return {"enum": [plain_scalar(member.value) for member in annotation]}
        if _is_model(annotation):
            return self._foreign(annotation.model_json_schema(mode=self._mode, ref_template=_REFERENCE))
        if fields := _fields(annotation):
            return self._define(annotation, fields)
        if adapter := _adapter(annotation):
            return self._foreign(adapter.json_schema(mode=self._mode, ref_template=_REFERENCE))
        raise TypeError(f"the type {annotation!r} has no JSON Schema")

    def reader(self, annotation: Any) -> Reader | None:
        """Return the function that makes a value of a type, or ``None`` if a value of JSON is one already."""
        if _look_up(_PLAIN, annotation) is not None:
            return None
        if text := _look_up(_TEXTS, annotation):
            return text[1]
        origin, parts = typing.get_origin(annotation), typing.get_args(annotation)
        if origin is typing.Annotated:
            if _constraints(annotation) and (adapter := _adapter(annotation)):
                return _validator(adapter)
            return self.reader(parts[0])
        if origin is typing.Literal:
            return None
        if origin in (typing.Union, types.UnionType):
            return self._union_reader(annotation, parts)
        collection = origin or annotation
        if collection in _LISTS:
            make = _LISTS[collection]
            item = self.reader(parts[0]) if parts else None
            if item is None:
                return None if make is list else make
            return lambda values: make(item(value) for value in values)
        if collection is tuple:
            return self._tuple_reader(parts)
        if collection in _OBJECTS:
            field = self.reader(parts[1]) if len(parts) == 2 else None
            return field and (lambda values: {name: field(value) for name, value in values.items()})
        if isinstance(annotation, type) and issubclass(annotation, enum.Enum):
            return lambda value: annotation(value)
        if _is_model(annotation):
            validate: Reader = annotation.model_validate
            return validate
        if fields := _fields(annotation):
            return self._fields_reader(annotation, fields)
        adapter = _adapter(annotation)
        return adapter and _validator(adapter)

    def _annotated(self, annotation: Any) -> Schema:
        inner, *metadata = typing.get_args(annotation)
        if _constraints(annotation) and (adapter := _adapter(annotation)):
            schema = self._foreign(adapter.json_schema(mode=self._mode, ref_template=_REFERENCE))
        else:
            schema = self.schema(inner)
        for part in metadata:
            if isinstance(part, str):
                schema["description"] = part
            elif isinstance(part, dict):
                schema.update(part)
        return schema

    def _union(self, parts: tuple[Any, ...]) -> Schema:
        branches = [self.schema(part) for part in parts]
        if any(branch == {} for branch in branches):
            return {}
        if all(branch.keys() == {"type"} for branch in branches):
            return {"type": [branch["type"] for branch in branches]}
        return {"anyOf": branches}

    def _union_reader(self, annotation: Any, parts: tuple[Any, ...]) -> Reader | None:
        branches = [(part, self.reader(part)) for part in parts if part is not _NONE]
        if all(read is None for _, read in branches):
            return None
        if len(branches) == 1 and (only := branches[0][1]):
            return lambda value: None if value is None else only(value)
        if adapter := _adapter(annotation):
            return _validator(adapter)

        def read_first(value: Any) -> Any:
            if value is None:
                return None
            for part, read in branches:
                if read is None:
                    if isinstance(value, typing.get_origin(part) or part):
                        return value
                    continue
                try:
                    return read(value)
                except (TypeError, ValueError, KeyError, AttributeError):
                    continue
            raise ValueError(f"no type of {annotation} fits")

        return read_first

    def _tuple(self, parts: tuple[Any, ...]) -> Schema:
        if not parts:
            return {"type": "array"}
        if parts[-1] is Ellipsis:
            return {"type": "array", "items": self.schema(parts[0])}
        items = [self.schema(part) for part in parts]
        return {"type": "array", "prefixItems": items, "items": False, "minItems": len(items)}

    def _tuple_reader(self, parts: tuple[Any, ...]) -> Reader:
        if not parts:
            return tuple
        if parts[-1] is Ellipsis:
            item = self.reader(parts[0])
            return tuple if item is None else lambda values: tuple(item(value) for value in values)
        readers = [self.reader(part) for part in parts]
        return lambda values: tuple(
            value if read is None else read(value) for read, value in zip(readers, values, strict=True)
        )

    def _define(self, annotation: Any, fields: dict[str, Field]) -> Schema:
        name = self._names.get(annotation)
        if name is None:
            name = _free(annotation.__name__, self.definitions)
            self._names[annotation] = name
            # A type that contains itself finds the name, and refers to the definition.
            self.definitions[name] = {}
            self.definitions[name] = object_schema(
                {field: (self.schema(entry.annotation), entry) for field, entry in fields.items()},
                description=_own_doc(annotation),
            )
        return {"$ref": f"#/$defs/{name}"}

    def _fields_reader(self, annotation: Any, fields: dict[str, Field]) -> Reader | None:
        if annotation in self._readers:
            return lambda value: self._readers[annotation](value)  # type: ignore[misc]
        readers: dict[str, Reader] = {}

        def read(value: Any) -> Any:
            values = {name: readers[name](part) if name in readers else part for name, part in value.items()}
            return annotation(**values)

        self._readers[annotation] = read
        for name, entry in fields.items():
            if found := self.reader(entry.annotation):
                readers[name] = found
        return read

    def _foreign(self, schema: Schema) -> Schema:
        """Adopt a schema of pydantic, whose definitions refer to each other by name."""
        schema = dict(schema)
        for name, definition in schema.pop("$defs", {}).items():
            self.definitions.setdefault(name, definition)
        schema.pop("title", None)
        return schema


_REFERENCE = "#/$defs/{model}"


@dataclasses.dataclass(frozen=True)
class Field:
    """A field of a type, or a parameter of a function."""

    annotation: Any
    is_required: bool = True
    default: Any = None
    """The default, if JSON has it and it is not required."""
    description: str | None = None


def object_schema(fields: dict[str, tuple[Schema, Field]], *, description: str | None = None) -> Schema:
    """Return the schema of an object with these fields and no others."""
    properties: dict[str, Schema] = {}
    for name, (schema, field) in fields.items():
        extra: Schema = {}
        if field.description:
            extra["description"] = field.description
        if not field.is_required and isinstance(field.default, (str, int, float, bool)):
            extra["default"] = plain_scalar(field.default)
        properties[name] = {**extra, **schema}
    result: Schema = {"type": "object", "properties": properties, "additionalProperties": False}
    if description:
        result["description"] = description
    if required := [name for name, (_, field) in fields.items() if field.is_required]:
        result["required"] = required
    return result


def plain(value: Any) -> Any:
    """Make JSON of an object: one level, whose parts are converted in turn.

    Raises:
        TypeError: the object has no counterpart in JSON.
    """
    if isinstance(value, enum.Enum):
        return value.value
    if _is_model(type(value)):
        return value.model_dump(mode="json")
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        return {field.name: getattr(value, field.name) for field in dataclasses.fields(value)}
    if isinstance(value, (datetime.datetime, datetime.date, datetime.time)):
        return value.isoformat()
    if isinstance(value, (uuid.UUID, decimal.Decimal, pathlib.PurePath)):
        return str(value)
    if isinstance(value, collections.abc.Mapping):
        return dict(value)
    if isinstance(value, (collections.abc.Set, collections.abc.Sequence)) and not isinstance(value, (bytes, bytearray)):
        return list(value)
    raise TypeError(f"an object of type `{type(value).__name__}` cannot be written as JSON")


def plain_scalar(value: Any) -> Any:
    """Return the value of an enum's member, and other values as they are."""
    return value.value if isinstance(value, enum.Enum) else value


def _fields(annotation: Any) -> dict[str, Field] | None:
    """Return the fields of a dataclass or a typed dictionary."""
    if not isinstance(annotation, type):
        return None
    if dataclasses.is_dataclass(annotation):
        hints = typing.get_type_hints(annotation, include_extras=True)
        missing = dataclasses.MISSING
        return {
            field.name: Field(
                hints[field.name],
                field.default is missing and field.default_factory is missing,
                None if field.default is missing else field.default,
                field.metadata.get("description"),
            )
            for field in dataclasses.fields(annotation)
            if field.init
        }
    if typing.is_typeddict(annotation):
        hints = typing.get_type_hints(annotation, include_extras=True)
        required = getattr(annotation, "__required_keys__", hints.keys())
        return {name: Field(hint, name in required) for name, hint in hints.items()}
    return None


def _look_up(table: dict[Any, _T], annotation: Any) -> _T | None:
    """Return the entry of a type. An annotation with a dictionary in it has no hash, and no entry."""
    try:
        return table.get(annotation)
    except TypeError:
        return None


def _is_model(annotation: Any) -> bool:
    """Return true for a class of pydantic."""
    return isinstance(annotation, type) and hasattr(annotation, "model_json_schema")


def _constraints(annotation: Any) -> bool:
    """Return true if an annotation has parts that only pydantic understands."""
    return any(not isinstance(part, (str, dict)) for part in typing.get_args(annotation)[1:])


def _adapter(annotation: Any) -> Any:
    """Return pydantic's reader of a type, if pydantic is there and knows the type."""
    try:
        from pydantic import TypeAdapter
        from pydantic.errors import PydanticSchemaGenerationError, PydanticUserError
    except ImportError:
        return None
    try:
        return TypeAdapter(annotation)
    except (PydanticSchemaGenerationError, PydanticUserError):
        return None


def _validator(adapter: Any) -> Reader:
    validate: Reader = adapter.validate_python
    return validate


def _own_doc(annotation: Any) -> str | None:
    """Return the docstring that a person wrote: that of a dataclass is its signature otherwise."""
    doc: str | None = annotation.__dict__.get("__doc__")
    if not doc or doc.startswith(f"{annotation.__name__}("):
        return None
    return " ".join(doc.split())


def _free(name: str, taken: collections.abc.Container[str]) -> str:
    """Return a name that is not taken."""
    number, free = 1, name
    while free in taken:
        number += 1
        free = f"{name}{number}"
    return free
