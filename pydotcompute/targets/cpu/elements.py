"""Elements of arrays in code for a CPU: where they are, how they are loaded, and whether an index is in range.

An index that is not proved to be inside is looked at, see `faults`, and computed once: what was looked at is what is
used, whoever else writes the array that it comes from. An access out of range is skipped; a load gives 0.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from ...ir.tree import Access, Const, Expr, Load, Var
from ..llvm.array_scope import ArrayScope
from ..llvm.expressions import Write, constant
from ..llvm.writer import Writer
from .arrays import Array
from .faults import CALL, FAULTS, Faults


class Elements:
    def __init__(self, writer: Writer, arrays: ArrayScope[Array], faults: Faults):
        self.writer, self.arrays, self.faults = writer, arrays, faults
        self.rows: dict[tuple[str, str], str] = {}  # (array, index) -> the offset of that row of its view
        self.getters: dict[tuple, tuple[str, Array]] = {}  # functions that load where the indices are in range

    def place(self, array: Array, node: Access, write: Write) -> tuple[str, str]:
        """The offset of an element, and the condition that it is in range ("" where nobody looks)."""
        written = [write(i) for i in node.indices]
        row = self._row(array, node.indices)
        if not self.faults.checks(node):
            return array.offset(written, row), ""
        held = [
            text if isinstance(index, (Var, Const)) else self.writer.held("_index", text)
            for index, text in zip(node.indices, written)
        ]
        site = f"int64({self.faults.site(node, array)})"
        return array.offset(held, row), in_range(array, site, self.faults.caller(node), held)

    def load(self, e: Load, write: Write) -> str:
        array = self.arrays[e.array]
        written, row = [write(i) for i in e.indices], self._row(array, e.indices)
        if not self.faults.checks(e):
            return f"load{array.access}({array.pointer}, {array.offset(written, row)})"
        key = (array.dtype, array.access, len(array.extents), len(array.strides or ()), bool(array.view), bool(row))
        if key not in self.getters:
            self.getters[key] = self.writer.names.fresh("_load"), array
        arguments = [FAULTS, f"int64({self.faults.site(e, array)})", self.faults.caller(e)]
        arguments += [expression for _, expression in array.components]
        return f"{self.getters[key][0]}({', '.join([*arguments, *filter(None, [row]), *written])})"

    def define(self) -> None:
        """Write the functions that loads with checks call."""
        writer = self.writer
        for key, (name, array) in self.getters.items():
            components = [f"_array{label}" for label, _ in array.components]
            indices = [f"_i{axis}" for axis in range(len(array.extents))]
            row, own = ["_row"] * key[-1], array.rebound(components[0], components[1:])
            writer.line("")
            with writer.define(name, [FAULTS, "_site", CALL, *components, *row, *indices]):
                with writer.if_(in_range(own, "_site", CALL, indices)):
                    writer.return_(f"load{own.access}({own.pointer}, {own.offset(indices, *row)})")
                writer.return_(constant(0, own.dtype))

    def _row(self, array: Array, indices: tuple[Expr, ...]) -> str | None:
        return self.rows.get((array.name, indices[0].name)) if indices and isinstance(indices[0], Var) else None

    @contextmanager
    def own_rows(self) -> Iterator[dict[tuple[str, str], str]]:
        """The rows; those that are added inside are forgotten after it."""
        known = dict(self.rows)
        yield self.rows
        self.rows = known


def in_range(array: Array, site: str, call: str, indices: list[str]) -> str:
    """That the indices are inside; what is not is recorded. site: of the first of them."""
    result = ""
    for axis, (index, extent) in enumerate(zip(indices, array.extents, strict=True)):
        at = f"add({site}, int64({axis}))" if axis else site
        check = f"in_range({FAULTS}, {at}, {call}, {extent}, {index})"
        result = f"band({result}, {check})" if result else check
    return result
