"""Statements that write memory on a CPU: stores, scattered stores and atomic updates."""

from __future__ import annotations

from contextlib import AbstractContextManager, nullcontext

from ...ir.tree import Atomic, Scatter, Store
from ..llvm.expressions import Expressions
from ..llvm.writer import Writer
from .elements import Elements

_UPDATES = {"add": "add", "min": "minimum", "max": "maximum"}


class Stores:
    def __init__(self, writer: Writer, expressions: Expressions, elements: Elements):
        self.writer, self.expressions, self.elements = writer, expressions, elements
        self.shared = False  # other threads run at the same time: updates are atomic instructions

    def store(self, s: Store) -> None:
        array = self.elements.arrays[s.array]
        offset, condition = self.elements.place(array, s, self.expressions.text)
        text = f"store{array.access}({array.pointer}, {offset}, {self.expressions.text(s.value)})"
        with self._where(condition):
            self.writer.line(text)

    def scatter(self, s: Scatter) -> None:
        array = self.elements.arrays[s.array]
        offset, condition = self.elements.place(array, s, self.expressions.text)
        text = f"scatter{array.shared_access}({array.pointer}, {offset}, {self.expressions.text(s.value)})"
        with self._where(condition):
            self.writer.line(text)

    def atomic(self, s: Atomic) -> None:
        array = self.elements.arrays[s.array]
        offset, condition = self.elements.place(array, s, self.expressions.text)
        value = self.expressions.text(s.value)
        if self.shared and array.number >= 0:
            with self._where(condition):
                self.writer.line(f"atomic_{s.op}{array.shared_access}({array.pointer}, {offset}, {value})")
            return
        place = self.writer.names.fresh("_place")
        with self._where(condition):
            self.writer.assign(place, offset)
            updated = f"{_UPDATES[s.op]}(load{array.access}({array.pointer}, {place}), {value})"
            self.writer.line(f"store{array.access}({array.pointer}, {place}, {updated})")

    def _where(self, condition: str) -> AbstractContextManager[None]:
        return self.writer.if_(condition) if condition else nullcontext()
