"""Statements that write memory on CUDA: stores, scattered stores and atomic updates."""

from __future__ import annotations

from contextlib import nullcontext

from ...ir.tree import Atomic, Scatter, Store
from ..llvm.expressions import Expressions, constant
from ..llvm.statements import Handler
from ..llvm.writer import Writer
from .elements import Elements
from .teams import Team


class Stores:
    def __init__(self, writer: Writer, expressions: Expressions, elements: Elements, team: Team):
        self.writer, self.expressions, self.elements, self.team = writer, expressions, elements, team

    def handlers(self) -> dict[type, Handler]:
        """Where every thread does its own."""
        return {
            Store: lambda s: self._write("store", s),
            Scatter: lambda s: self._write("scatter", s),
            Atomic: lambda s: self._write(
                f"{'fetch' if s.result else 'atomic'}_{s.op}{'_' * bool(s.stored)}{s.stored}", s
            ),
        }

    def handlers_of_one(self) -> dict[type, Handler]:
        """Where all threads of a team execute the same statements: the first one stores."""
        return {kind: self._by_first(handler) for kind, handler in self.handlers().items()}

    def _by_first(self, handler: Handler) -> Handler:
        def handle(s: Store | Scatter | Atomic) -> None:
            with self.writer.if_(self.team.first_thread):
                handler(s)

        return handle

    def _write(self, operation: str, s: Store | Scatter | Atomic) -> None:
        array, write = self.elements.arrays[s.array], self.expressions.text
        place, condition = self.elements.place(array, s, write)
        result = self.writer.names.of(s.result) if isinstance(s, Atomic) and s.result else ""
        if result and condition:
            self.writer.assign(result, constant(0, s.value.type))
        with self.writer.if_(condition) if condition else nullcontext():
            value = f"to_{array.dtype}({write(s.value)})" if array.counted else write(s.value)
            text = f"{operation}{array.suffix}({array.pointer}, {place}, {value})"
            if result:
                self.writer.assign(result, text)
            else:
                self.writer.line(text)
