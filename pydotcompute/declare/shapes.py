"""What a value of kernels.yaml may look like: each shape checks a node, and says the same as a JSON Schema."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any, Callable, NamedTuple

from .names import near

if TYPE_CHECKING:
    from .document import Document
    from .node import Node

Problem = Callable[[str], "tuple[str, str] | None"]


def shown(node: Node) -> str:
    """A value in an error: short, as the user wrote it."""
    if isinstance(node.value, dict):
        return "a mapping"
    if isinstance(node.value, list):
        return "a list"
    if node.value is None:
        return "nothing" if node.text == "" else node.text
    text = repr(node.text) if isinstance(node.value, str) else node.text
    return text if len(text) <= 60 else text[:56] + "…" + text[-1]


def is_number(value: Any) -> bool:
    return isinstance(value, (int, float)) and not isinstance(value, bool)


def is_integer(value: Any) -> bool:
    """As JSON Schema counts: 1e6 is an integer."""
    return is_number(value) and (isinstance(value, int) or value.is_integer())


class Text(NamedTuple):
    """A string. `problem` says what is wrong with one (message, hint); `pattern` and `choices` are its schema."""

    what: str
    problem: Problem | None = None
    pattern: str | None = None
    choices: tuple[str, ...] = ()

    def accepts(self, node: Node) -> bool:
        return isinstance(node.value, str)

    def check(self, document: Document, node: Node) -> None:
        if not self.accepts(node):
            hint = "put it in quotes" if is_number(node.value) or isinstance(node.value, bool) else ""
            raise document.error(node, f"expected {self.what}, found {shown(node)}", hint)
        if self.problem and (found := self.problem(node.value)):
            raise document.error(node, *found)
        if self.choices and node.value not in self.choices:
            hint = near(node.value, self.choices)
            raise document.error(node, f"expected {self.what}, found {shown(node)}", hint)

    def schema(self) -> dict[str, Any]:
        result: dict[str, Any] = {"type": "string"}
        if self.choices:
            result["enum"] = list(self.choices)
        if self.pattern:
            result["pattern"] = self.pattern
        return result


class Number(NamedTuple):
    what: str
    minimum: int | None = None
    maximum: int | None = None
    integer: bool = False
    boolean: bool = False  # true and false too
    infinite: bool = False

    def accepts(self, node: Node) -> bool:
        return is_number(node.value) or (self.boolean and isinstance(node.value, bool))

    def check(self, document: Document, node: Node) -> None:
        value = node.value
        if self.boolean and isinstance(value, bool):
            return
        wrong = not is_number(value) or (self.integer and not is_integer(value)) or value != value
        wrong = wrong or (abs(value) == math.inf and not self.infinite)
        if wrong or (self.minimum is not None and value < self.minimum):
            raise document.error(node, f"expected {self.what}, found {shown(node)}")
        if self.maximum is not None and value > self.maximum:
            raise document.error(node, f"expected {self.what}, found {shown(node)}", f"at most {self.maximum}")

    def schema(self) -> dict[str, Any]:
        kind: Any = "integer" if self.integer else "number"
        result: dict[str, Any] = {"type": [kind, "boolean"] if self.boolean else kind}
        if self.minimum is not None:
            result["minimum"] = self.minimum
        if self.maximum is not None:
            result["maximum"] = self.maximum
        return result


class ListOf(NamedTuple):
    item: Any
    what: str
    minimum: int = 0
    maximum: int | None = None
    unique: bool = False

    def accepts(self, node: Node) -> bool:
        return isinstance(node.value, list)

    def check(self, document: Document, node: Node) -> None:
        if not self.accepts(node):
            hint = f"write [{node.text}]" if isinstance(node.value, str) and len(node.text) < 40 else ""
            raise document.error(node, f"expected {self.what}, found {shown(node)}", hint)
        if len(node.value) < self.minimum:
            raise document.error(node, f"expected {self.what}, found an empty list")
        if self.maximum is not None and len(node.value) > self.maximum:
            raise document.error(node, f"expected {self.what}, found {len(node.value)} of them")
        seen: dict[Any, Node] = {}
        for item in node.value:
            self.item.check(document, item)
            if self.unique:
                value = (isinstance(item.value, bool), item.value)
                if value in seen:
                    raise document.error(item, f"{shown(item)} stands here twice", "delete one")
                seen[value] = item

    def schema(self) -> dict[str, Any]:
        result: dict[str, Any] = {"type": "array", "items": self.item.schema()}
        if self.minimum:
            result["minItems"] = self.minimum
        if self.maximum is not None:
            result["maxItems"] = self.maximum
        if self.unique:
            result["uniqueItems"] = True
        return result


class MapOf(NamedTuple):
    """A mapping from names of the user's choice."""

    key: Text
    item: Any
    what: str
    minimum: int = 0

    def accepts(self, node: Node) -> bool:
        return isinstance(node.value, dict)

    def check(self, document: Document, node: Node) -> None:
        if not self.accepts(node):
            raise document.error(node, f"expected {self.what}, found {shown(node)}")
        if len(node.value) < self.minimum:
            raise document.error(node, f"expected {self.what}, found an empty mapping")
        for key, item in node.value.items():
            self.key.check(document, node.keys[key])
            self.item.check(document, item)

    def schema(self) -> dict[str, Any]:
        result = {"type": "object", "additionalProperties": self.item.schema()}
        if self.key.problem or self.key.choices:
            result["propertyNames"] = self.key.schema()
        if self.minimum:
            result["minProperties"] = self.minimum
        return result


class Key(NamedTuple):
    shape: Any
    meaning: str
    required: bool = False


class Record(NamedTuple):
    """A mapping with the keys that there are. `either`: exactly one of these is given."""

    what: str
    keys: dict[str, Key]
    either: tuple[str, ...] = ()

    def accepts(self, node: Node) -> bool:
        return isinstance(node.value, dict)

    def check(self, document: Document, node: Node) -> None:
        if not self.accepts(node):
            raise document.error(node, f"expected {self.what}, found {shown(node)}")
        for name, key_node in node.keys.items():
            if name not in self.keys:
                raise document.error(key_node, f"unknown key '{name}' in {self.what}", near(name, self.keys, "one of"))
        for name, key in self.keys.items():
            if name in node.value:
                key.shape.check(document, node.value[name])
            elif key.required:
                raise document.error(node, f"'{name}' is missing in {self.what}", key.meaning)
        given = [name for name in self.either if name in node.value]
        if self.either and not given:
            raise document.error(node, f"{self.what} needs {' or '.join(map(repr, self.either))}")
        if len(given) > 1:
            both = " and ".join(map(repr, given))
            raise document.error(node.keys[given[1]], f"{self.what} has {both}", "keep one of them")

    def schema(self) -> dict[str, Any]:
        result: dict[str, Any] = {
            "type": "object",
            "properties": {n: {"description": k.meaning, **k.shape.schema()} for n, k in self.keys.items()},
            "additionalProperties": False,
        }
        if required := [name for name, key in self.keys.items() if key.required]:
            result["required"] = required
        if self.either:
            result["oneOf"] = [{"required": [name]} for name in self.either]
        return result


class Either(NamedTuple):
    """The first of these that accepts the kind of value there is."""

    what: str
    shapes: tuple[Any, ...]

    def accepts(self, node: Node) -> bool:
        return any(shape.accepts(node) for shape in self.shapes)

    def check(self, document: Document, node: Node) -> None:
        for shape in self.shapes:
            if shape.accepts(node):
                return shape.check(document, node)
        raise document.error(node, f"expected {self.what}, found {shown(node)}")

    def schema(self) -> dict[str, Any]:
        return {"anyOf": [shape.schema() for shape in self.shapes]}


class Truth(NamedTuple):
    """true or false."""

    what: str = "true or false"

    def accepts(self, node: Node) -> bool:
        return isinstance(node.value, bool)

    def check(self, document: Document, node: Node) -> None:
        if not self.accepts(node):
            hint = f"write {node.text.lower()}, without quotes" if node.text.lower() in ("true", "false") else ""
            raise document.error(node, f"expected {self.what}, found {shown(node)}", hint)

    def schema(self) -> dict[str, Any]:
        return {"type": "boolean"}


class Constant(NamedTuple):
    value: Any
    what: str

    def accepts(self, node: Node) -> bool:
        return not isinstance(node.value, bool) and node.value == self.value

    def check(self, document: Document, node: Node) -> None:
        if not self.accepts(node):
            raise document.error(node, f"expected {self.what}, found {shown(node)}")

    def schema(self) -> dict[str, Any]:
        return {"const": self.value}


class Anything(NamedTuple):
    """What is checked elsewhere."""

    what: str = "anything"

    def accepts(self, node: Node) -> bool:
        return True

    def check(self, document: Document, node: Node) -> None:
        return None

    def schema(self) -> dict[str, Any]:
        return {}
