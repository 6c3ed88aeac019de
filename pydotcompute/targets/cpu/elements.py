"""Elements of arrays in code for a CPU: where they are, how they are loaded, and whether an index is in range.

With `bounds` every index is looked at: an access out of range is recorded once in the fault words and skipped.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from ...ir.tree import Expr, Load, Var
from ..llvm.array_scope import ArrayScope
from ..llvm.expressions import Write, constant
from ..llvm.writer import Writer
from .arrays import Array


class Elements:
    def __init__(self, writer: Writer, arrays: ArrayScope[Array], bounds: bool):
        self.writer, self.arrays, self.bounds = writer, arrays, bounds
        self.rows: dict[tuple[str, str], str] = {}  # (array, index) -> the offset of that row of its view
        self.files: list[str] = []  # what the checks of indices stand in

    def place(self, array: Array, indices: tuple[Expr, ...], write: Write) -> tuple[str, str]:
        """The offset of an element, and the condition that it is in range ("" where nobody looks)."""
        written = [write(i) for i in indices]
        row = self.rows.get((array.name, indices[0].name)) if indices and isinstance(indices[0], Var) else None
        if not self.bounds or not indices:
            return array.offset(written, row), ""
        held = []
        for axis, (text, extent) in enumerate(zip(written, array.extents, strict=True)):
            at = indices[axis].at or self.writer.at
            assert at is not None  # a user wrote the index, or the statement
            place = (self._file(at.path) << 32 | at.line, at.column, array.number, axis)
            held.append(f"in_range(_faults, {', '.join(f'int64({n})' for n in place)}, {extent}, {text})")
        condition = held[0]
        for check in held[1:]:
            condition = f"band({condition}, {check})"
        return array.offset(written, row), condition

    def _file(self, path: str) -> int:
        """The number of a file in `files`: a kernel's lines may come from several templates."""
        if path not in self.files:
            self.files.append(path)
        return self.files.index(path)

    def load(self, e: Load, write: Write) -> str:
        array = self.arrays[e.array]
        offset, condition = self.place(array, e.indices, write)
        text = f"load{array.access}({array.pointer}, {offset})"
        return f"({text} if {condition} else {constant(0, array.dtype)})" if condition else text

    @contextmanager
    def own_rows(self) -> Iterator[dict[tuple[str, str], str]]:
        """The rows; those that are added inside are forgotten after it."""
        known = dict(self.rows)
        yield self.rows
        self.rows = known
