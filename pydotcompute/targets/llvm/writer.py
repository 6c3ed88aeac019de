"""Python text while it is being written: lines, each with the place in the user's file that it comes from."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager

from ...errors import Position
from ..names import Names


class Writer:
    """`at` is where the user wrote what is being written; None for what nobody wrote."""

    def __init__(self, names: Names):
        self.names = names
        self.lines: list[str] = []
        self.positions: list[Position | None] = []
        self.depth = 0
        self.at: Position | None = None

    def line(self, text: str) -> None:
        self.lines.append("    " * self.depth + text)
        self.positions.append(self.at)

    @contextmanager
    def block(self, head: str) -> Iterator[None]:
        self.line(head)
        self.depth += 1
        start = len(self.lines)
        yield
        if len(self.lines) == start:
            self.line("pass")
        self.depth -= 1

    @contextmanager
    def from_position(self, at: Position | None) -> Iterator[None]:
        """What is written inside comes from there."""
        outer, self.at = self.at, at
        yield
        self.at = outer

    @contextmanager
    def inserted(self, where: int) -> Iterator[None]:
        """What is written inside stands before line `where`: known only when what follows it is written."""
        end = len(self.lines)
        yield
        self._move(self.lines, end, where)
        self._move(self.positions, end, where)

    @staticmethod
    def _move(items: list, end: int, where: int) -> None:
        added = items[end:]
        del items[end:]
        items[where:where] = added

    # ------------------------------------------------------------------------------------------- statements

    def assign(self, target: str, value: str) -> None:
        self.line(f"{target} = {value}")

    def held(self, base: str, value: str) -> str:
        """A fresh name that holds the value."""
        name = self.names.fresh(base)
        self.assign(name, value)
        return name

    def return_(self, *values: str) -> None:
        self.line(f"return {', '.join(values)}" if values else "return")

    def define(self, name: str, parameters: list[str]) -> AbstractContextManager[None]:
        return self.block(f"def {name}({', '.join(parameters)}):")

    def if_(self, condition: str) -> AbstractContextManager[None]:
        return self.block(f"if {condition}:")

    def elif_(self, condition: str) -> AbstractContextManager[None]:
        return self.block(f"elif {condition}:")

    def else_(self) -> AbstractContextManager[None]:
        return self.block("else:")

    def while_(self, condition: str) -> AbstractContextManager[None]:
        return self.block(f"while {condition}:")

    def for_(self, name: str, *bounds: str) -> AbstractContextManager[None]:
        """bounds: as those of `range`."""
        return self.block(f"for {name} in range({', '.join(bounds)}):")
