"""Elements of arrays in code for CUDA: where they are, how they are loaded, and whether an index is in range.

An index that is not proved to be inside is looked at, see targets/llvm/faults.py, and computed once. An access out of
range is skipped; a load gives 0.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from functools import reduce

from ...ir.tree import Access, Const, Load, Var
from ..llvm.array_scope import ArrayScope
from ..llvm.checked_loads import CheckedLoads
from ..llvm.expressions import Write
from ..llvm.faults import FAULTS, Faults
from ..llvm.writer import Writer
from .arrays import Array
from .faults import AXES


class Elements:
    def __init__(self, writer: Writer, arrays: ArrayScope[Array], faults: Faults):
        self.writer, self.arrays, self.faults = writer, arrays, faults
        self.slot = ""  # which of its elements of a private array a thread is at
        self.checked = CheckedLoads[Array](writer, faults, _place, lambda array: array.suffix, in_range)

    def place(self, array: Array, node: Access, write: Write) -> tuple[str, str]:
        """The offset of an element, and the condition that it is in range ("" where nobody looks)."""
        indices, also = [write(i) for i in node.indices], self._also(array)
        if not self.faults.checks(node):
            return _place(array, indices, also), ""
        held = [
            text if isinstance(index, (Var, Const)) else self.writer.held("_index", text)
            for index, text in zip(node.indices, indices, strict=True)
        ]
        looked = self.faults.sites.looked_at(node)
        site, caller = f"int64({self.faults.site(node, array.name)})", self.faults.caller(node)
        return _place(array, held, also), in_range(array.extents[looked], site, caller, held[looked])

    def load(self, e: Load, write: Write) -> str:
        array = self.arrays[e.array]
        indices, also = [write(i) for i in e.indices], self._also(array)
        if self.faults.checks(e):
            return self.checked.text(e, array, indices, also)
        return f"load{array.suffix}({array.pointer}, {_place(array, indices, also)})"

    def _also(self, array: Array) -> tuple[str, ...]:
        return (self.slot,) if array.kind == "private" else ()

    @contextmanager
    def at_slot(self, slot: str) -> Iterator[None]:
        outer, self.slot = self.slot, slot
        yield
        self.slot = outer


def _place(array: Array, indices: Sequence[str], slot: Sequence[str]) -> str:
    return slot[0] if slot else array.offset(indices)


def in_range(extents: Sequence[str], site: str, call: str, indices: Sequence[str]) -> str:
    """That the indices are inside; what is not is told. site: of the first of them. One branch for many axes."""
    parts = []
    for first in range(0, len(indices), AXES):
        pairs = [*zip(extents, indices, strict=True)][first : first + AXES]
        at = f"add({site}, int64({first}))" if first else site
        parts.append(f"in_range_{len(pairs)}({', '.join([FAULTS, at, call, *(text for p in pairs for text in p)])})")
    return reduce(lambda one, other: f"band({one}, {other})", parts)
