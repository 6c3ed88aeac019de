"""Elements of arrays in code for a CPU: where they are, how they are loaded, and whether an index is in range.

An index that is not proved to be inside is looked at, see targets/llvm/faults.py, and computed once: what was looked at
is what is used, whoever else writes the array that it comes from. An access out of range is skipped; a load gives 0.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from ...ir.tree import Access, Const, Expr, Load, Var
from ..llvm.array_scope import ArrayScope
from ..llvm.checked_loads import CheckedLoads
from ..llvm.expressions import Write
from ..llvm.faults import Faults, in_range
from ..llvm.writer import Writer
from .arrays import Array, itemsize


class Elements:
    def __init__(self, writer: Writer, arrays: ArrayScope[Array], faults: Faults):
        self.writer, self.arrays, self.faults = writer, arrays, faults
        self.rows: dict[tuple[str, str], str] = {}  # (array, index) -> the offset of that row of its view
        self.dense: set[tuple[str, str]] = set()  # those of them whose elements lie side by side
        self.counts: dict[str, str] = {}  # of the grid around, by its indices
        self.checked = CheckedLoads[Array](
            writer, faults, lambda array, indices, row: array.offset(indices, *row), lambda array: array.access,
            in_range,
        )  # fmt: skip

    def place(self, array: Array, node: Access, write: Write) -> tuple[str, str]:
        """The offset of an element, and the condition that it is in range ("" where nobody looks)."""
        written = [write(i) for i in node.indices]
        row = self._row(array, node.indices)
        if not self.faults.checks(node):
            return array.offset(written, *row), ""
        held = [
            text if isinstance(index, (Var, Const)) else self.writer.held("_index", text)
            for index, text in zip(node.indices, written)
        ]
        looked = self.faults.sites.looked_at(node)
        site, caller = f"int64({self.faults.site(node, array.name)})", self.faults.caller(node)
        return array.offset(held, *row), in_range(array.extents[looked], site, caller, held[looked])

    def load(self, e: Load, write: Write) -> str:
        array = self.arrays[e.array]
        written, row = [write(i) for i in e.indices], self._row(array, e.indices)
        if self.faults.checks(e):
            return self.checked.text(e, array, written, row)
        return f"load{array.access}({array.pointer}, {array.offset(written, *row)})"

    def is_certain(self, e: Load) -> bool:
        """Whether there is such an element for every iteration of the grid: of an array with its shape."""
        if self.faults.checks(e) or not e.indices:
            return False
        extents = self.arrays[e.array].extents
        found = [self.counts.get(i.name) if isinstance(i, Var) else None for i in e.indices]
        return None not in found and tuple(found) == tuple(extents)

    def is_dense(self, e: Access) -> bool:
        """Whether elements with the next last index lie behind it, and none of its indices is looked at."""
        array = self.arrays[e.array]
        if self.faults.checks(e):
            return False
        if array.view and not array.strides:
            return isinstance(e.indices[0], Var) and (array.name, e.indices[0].name) in self.dense
        return not array.strides or array.strides[-1] == f"int64({itemsize(array.dtype)})"

    def address(self, e: Access, write: Write) -> str:
        """A pointer to an element behind which those with the next last index lie; "" where they do not, or the index
        is looked at."""
        array = self.arrays[e.array]
        if array.access == "_bytes" or array.view or self.faults.checks(e):
            return ""
        size = f"int64({itemsize(array.dtype)})"
        return f"advance({array.pointer}, mul({array.offset([write(i) for i in e.indices])}, {size}))"

    def _row(self, array: Array, indices: tuple[Expr, ...]) -> tuple[str, ...]:
        found = self.rows.get((array.name, indices[0].name)) if indices and isinstance(indices[0], Var) else None
        return (found,) if found else ()

    @contextmanager
    def own_rows(self) -> Iterator[dict[tuple[str, str], str]]:
        """The rows; those that are added inside are forgotten after it."""
        known, self.rows = self.rows, dict(self.rows)
        yield self.rows
        self.rows = known
