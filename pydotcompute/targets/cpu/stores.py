"""Statements that write memory on a CPU: stores, scattered stores and atomic updates."""

from __future__ import annotations

from contextlib import AbstractContextManager, nullcontext

from ...ir.dtypes import COMPLEX
from ...ir.tree import Atomic, Load, Scatter, Store
from ..llvm.expressions import Expressions, constant
from ..llvm.writer import Writer
from .arrays import Array
from .elements import Elements

_UPDATES = {"add": "add", "min": "minimum", "max": "maximum"}


class Stores:
    def __init__(self, writer: Writer, expressions: Expressions, elements: Elements):
        self.writer, self.expressions, self.elements = writer, expressions, elements
        self.shared = False  # other threads run at the same time: updates are atomic instructions
        self.may_be_long = False  # the loop being written, so that a call of memcpy is no loss

    def store(self, s: Store) -> None:
        array = self.elements.arrays[s.array]
        offset, condition = self.elements.place(array, s, self.expressions.text)
        value = self.expressions.text(s.value)
        if not self.may_be_long and isinstance(s.value, Load) and s.value.type not in ("bool", *COMPLEX):
            value = f"itself({value})"
        text = f"store{array.access}({array.pointer}, {offset}, {value})"
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
        writer, value = self.writer, self.expressions.text(s.value)
        before = writer.names.of(s.result) if s.result else ""
        if before and condition:
            writer.assign(before, constant(0, s.value.type))
        with self._where(condition):
            self.update(s, array, offset, value, before)

    def update(self, s: Atomic, array: Array, offset: str, value: str, before: str = "") -> None:
        """The element there; `before` becomes what it held."""
        writer = self.writer
        if self.shared and array.number >= 0:
            op = f"{s.op}_{s.stored}" if s.stored else s.op
            arguments = f"{op}{array.shared_access}({array.pointer}, {offset}, {value})"
            writer.line(f"{before} = fetch_{arguments}" if before else f"atomic_{arguments}")
            return
        place, old = writer.held("_place", offset), before or writer.names.fresh("_old")
        found = f"load{array.access}({array.pointer}, {place})"
        writer.assign(old, f"of_{s.stored}_bits_int32(to_int32({found}))" if s.stored else found)
        new = f"{_UPDATES[s.op]}({old}, {value})"
        new = f"to_uint16({s.stored}_bits_float32({new}))" if s.stored else new
        writer.line(f"store{array.access}({array.pointer}, {place}, {new})")

    def _where(self, condition: str) -> AbstractContextManager[None]:
        return self.writer.if_(condition) if condition else nullcontext()
