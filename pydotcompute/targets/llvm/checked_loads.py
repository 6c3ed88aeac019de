"""Loads whose indices are looked at, in lowered Python: a function for each kind of array, so that an index is computed
once: what was looked at is what is used, whoever else writes the array that it comes from. Out of range it gives 0.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Generic

from ...ir.tree import Load
from .array_scope import A
from .expressions import constant
from .faults import CALL, FAULTS, Faults
from .writer import Writer

Place = Callable[[A, Sequence[str], Sequence[str]], str]  # (array, indices, what else says where) → the offset
InRange = Callable[[Sequence[str], str, str, Sequence[str]], str]  # see `in_range` in faults.py


class CheckedLoads(Generic[A]):
    """place: where an element is. suffix: of the name of an array's loads. in_range: that indices are inside."""

    def __init__(
        self, writer: Writer, faults: Faults, place: Place, suffix: Callable[[A], str], in_range: InRange
    ):
        self.writer, self.faults = writer, faults
        self.place, self.suffix, self.in_range = place, suffix, in_range
        self.functions: dict[tuple, tuple[str, A]] = {}  # by what a function depends on: its name, one of its arrays

    def text(self, e: Load, array: A, indices: Sequence[str], also: Sequence[str] = ()) -> str:
        """also: what else says where the element is."""
        own = self.suffix(array), len(array.extents), len(array.strides or ()), len(array.view), len(also)
        looked = self.faults.sites.looked_at(e)
        key = (array.dtype, *own, looked.start, looked.stop)
        if key not in self.functions:
            self.functions[key] = self.writer.names.fresh("_load"), array
        arguments = [FAULTS, f"int64({self.faults.site(e, array.name)})", self.faults.caller(e)]
        arguments += [expression for _, expression in array.components]
        return f"{self.functions[key][0]}({', '.join([*arguments, *also, *indices])})"

    def define(self) -> None:
        """Write the functions."""
        writer = self.writer
        for (*_, others, first, end), (name, array) in self.functions.items():
            components = [f"_array{label}" for label, _ in array.components]
            indices = [f"_i{axis}" for axis in range(len(array.extents))]
            also, own = [f"_also_{k}" for k in range(others)], array.rebound(components[0], components[1:])
            writer.line("")
            with writer.define(name, [FAULTS, "_site", CALL, *components, *also, *indices]):
                with writer.if_(self.in_range(own.extents[first:end], "_site", CALL, indices[first:end])):
                    writer.return_(f"load{self.suffix(own)}({own.pointer}, {self.place(own, indices, also)})")
                writer.return_(constant(0, own.dtype))
