"""A value of kernels.yaml that knows where it stands."""

from __future__ import annotations

from typing import Any


class Node:
    """A value of the file. `value` is a str, int, float, bool, None, a list of nodes, or a dict from key to node;
    `keys` are the nodes of a dict's keys; `text` is a scalar as YAML reads it, before it became a number."""

    __slots__ = ("value", "keys", "text", "style", "line", "column", "places")

    def __init__(self, value: Any, mark: Any, text: str = "", style: str | None = None):
        self.value, self.text, self.style = value, text, style
        self.keys: dict[str, Node] = {}
        self.line, self.column = mark.line + 1, mark.column + 1
        self.places: list[tuple[int, int]] | None = None  # of its characters, once somebody asked

    def get(self, key: str) -> Node | None:
        return self.value.get(key)
