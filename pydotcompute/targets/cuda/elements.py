"""Elements of arrays in code for CUDA: where they are, and how they are loaded."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from ...ir.tree import Expr, Load
from ..llvm.array_scope import ArrayScope
from ..llvm.expressions import Write
from .arrays import Array


class Elements:
    def __init__(self, arrays: ArrayScope[Array]):
        self.arrays = arrays
        self.slot = ""  # which of its elements of a private array a thread is at

    def place(self, array: Array, indices: tuple[Expr, ...], write: Write) -> str:
        """The offset of an element."""
        return self.slot if array.kind == "private" else array.offset([write(i) for i in indices])

    def load(self, e: Load, write: Write) -> str:
        array = self.arrays[e.array]
        return f"load{array.suffix}({array.pointer}, {self.place(array, e.indices, write)})"

    @contextmanager
    def at_slot(self, slot: str) -> Iterator[None]:
        outer, self.slot = self.slot, slot
        yield
        self.slot = outer
