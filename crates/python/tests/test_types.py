"""Types of Python as schemas, with pydantic and without."""

from __future__ import annotations

import dataclasses
import datetime
import decimal
import enum
import sys
import uuid
from collections.abc import Sequence
from typing import Annotated, Any, Literal, Optional, TypedDict, Union

import pytest
from pydantic import BaseModel

from planwright_mcp import Tool, tool
from planwright_mcp._convert import Types, plain


class Color(enum.Enum):
    RED = "red"
    BLUE = "blue"


@dataclasses.dataclass
class Point:
    x: float
    y: float = 0


@dataclasses.dataclass
class Tree:
    """A tree of names."""

    name: str
    children: list[Tree] = dataclasses.field(default_factory=list)


class Options(TypedDict, total=False):
    color: Color


class Model(BaseModel):
    day: datetime.date


POINT = {
    "type": "object",
    "properties": {"x": {"type": "number"}, "y": {"default": 0, "type": "number"}},
    "required": ["x"],
    "additionalProperties": False,
}
ID = "6f0ee2ba-9d0e-4d8c-8f6d-5a1f3d1c2b3a"

CASES: list[tuple[Any, dict[str, Any], Any, Any]] = [
    (str, {"type": "string"}, "a", "a"),
    (Any, {}, {"a": 1}, {"a": 1}),
    (Optional[int], {"type": ["integer", "null"]}, None, None),
    (int | str, {"type": ["integer", "string"]}, 1, 1),
    (list[str], {"type": "array", "items": {"type": "string"}}, ["a"], ["a"]),
    (Sequence[int], {"type": "array", "items": {"type": "integer"}}, [1], [1]),
    (set[int], {"type": "array", "items": {"type": "integer"}}, [1, 1], {1}),
    (tuple[int, ...], {"type": "array", "items": {"type": "integer"}}, [1], (1,)),
    (
        tuple[int, str],
        {"type": "array", "prefixItems": [{"type": "integer"}, {"type": "string"}], "items": False, "minItems": 2},
        [1, "a"],
        (1, "a"),
    ),
    (dict[str, float], {"type": "object", "additionalProperties": {"type": "number"}}, {"a": 1.5}, {"a": 1.5}),
    (Literal["a", 1], {"enum": ["a", 1]}, "a", "a"),
    (Color, {"enum": ["red", "blue"]}, "red", Color.RED),
    (datetime.date, {"type": "string", "format": "date"}, "2026-01-31", datetime.date(2026, 1, 31)),
    (
        datetime.datetime,
        {"type": "string", "format": "date-time"},
        "2026-01-31T10:00:00Z",
        datetime.datetime(2026, 1, 31, 10, tzinfo=datetime.timezone.utc),
    ),
    (uuid.UUID, {"type": "string", "format": "uuid"}, ID, uuid.UUID(ID)),
    (decimal.Decimal, {"type": "string"}, "1.10", decimal.Decimal("1.10")),
    (Annotated[str, "a name"], {"type": "string", "description": "a name"}, "a", "a"),
    (Annotated[str, {"x-sharable": True}], {"type": "string", "x-sharable": True}, "a", "a"),
    (Point, {"$ref": "#/$defs/Point", "$defs": {"Point": POINT}}, {"x": 1}, Point(1)),
    (
        Optional[Point],
        {"anyOf": [{"$ref": "#/$defs/Point"}, {"type": "null"}], "$defs": {"Point": POINT}},
        {"x": 1, "y": 2},
        Point(1, 2),
    ),
    (list[Point], {"type": "array", "items": {"$ref": "#/$defs/Point"}, "$defs": {"Point": POINT}}, [{"x": 1}], [Point(1)]),
    (dict[str, list[Color]], {}, {"a": ["blue"]}, {"a": [Color.BLUE]}),
    (Union[Color, Point], {}, {"x": 1}, Point(1)),
    (Options, {}, {"color": "red"}, {"color": Color.RED}),
    (Tree, {}, {"name": "a", "children": [{"name": "b"}]}, Tree("a", [Tree("b")])),
]


@pytest.mark.parametrize("has_pydantic", [True, False])
@pytest.mark.parametrize(("annotation", "schema", "json", "value"), CASES, ids=[str(case[0]) for case in CASES])
def test_types(
    annotation: Any, schema: dict[str, Any], json: Any, value: Any, has_pydantic: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    if not has_pydantic:
        monkeypatch.setitem(sys.modules, "pydantic", None)
    types = Types()
    found = types.whole(annotation)
    assert found == schema or not schema
    read = types.reader(annotation)
    assert (read(json) if read else json) == value


def test_a_type_may_contain_itself() -> None:
    schema = Types().whole(Tree)
    assert schema["$defs"]["Tree"]["properties"]["children"]["items"] == {"$ref": "#/$defs/Tree"}
    assert schema["$defs"]["Tree"]["description"] == "A tree of names."


def test_models_of_pydantic_have_their_own_schema() -> None:
    schema = Types().whole(list[Model])
    assert schema["items"]["properties"]["day"] == {"format": "date", "title": "Day", "type": "string"}


def test_other_types_are_no_json() -> None:
    with pytest.raises(TypeError, match="has no JSON Schema"):
        Types().whole(Tool)
    with pytest.raises(TypeError, match="an object of type `bytes` cannot be written"):
        plain(b"a")


def test_docstrings_describe_tools_and_parameters() -> None:
    @tool(title="Greet", idempotent=True)
    def greet(name: str, times: int = 1, *, loud: bool = False) -> str:
        """Greets a person,
        as often as wanted.

        Args:
            name: The name,
                as it is spoken.
            times (int): How often.

        Returns:
            The greeting.
        """
        return f"hello {name}" * times

    assert greet("Ada") == "hello Ada"
    assert (greet.name, greet.title, greet.idempotent, greet.read_only) == ("greet", "Greet", True, False)
    assert greet.description == "Greets a person,\nas often as wanted."
    properties = greet.input_schema["properties"]
    assert properties["name"] == {"description": "The name, as it is spoken.", "type": "string"}
    assert properties["times"] == {"description": "How often.", "default": 1, "type": "integer"}
    assert (greet.input_schema["required"], greet.output_schema) == (["name"], {"type": "string"})


def test_sphinx_fields_describe_parameters() -> None:
    @tool
    def greet(name: str) -> None:
        """Greets.

        :param name: The name.
        :returns: Nothing.
        """

    assert greet.description == "Greets."
    assert greet.input_schema["properties"]["name"]["description"] == "The name."
