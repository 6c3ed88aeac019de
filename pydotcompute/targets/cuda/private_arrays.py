"""Private arrays on CUDA: their elements are dealt to the threads of a block, each of which holds its own alone."""

from __future__ import annotations

from collections.abc import Mapping
from math import prod

from ...ir.tree import Load, NewArray, Parallel, Store, walk
from ..llvm.writer import Writer


class PrivateArrays:
    def __init__(self, arrays: Mapping[str, NewArray], block: int):
        self.block = block
        self.names = {a.name for a in arrays.values() if a.kind == "private"}
        self.extents: dict[int, tuple[int, ...]] = {}  # rank → the largest extents of those arrays
        for a in arrays.values():
            if a.kind == "private":
                known = self.extents.get(len(a.fixed), a.fixed)
                self.extents[len(a.fixed)] = tuple(map(max, known, a.fixed))

    def slots(self, rank: int) -> int:
        """How many elements of an array of this rank a thread has."""
        return -(-prod(self.extents[rank]) // self.block)

    def are_in(self, loop: Parallel) -> bool:
        return any(isinstance(n, (Load, Store)) and n.array in self.names for n in walk(loop))

    def widths(self, counts: tuple[str, ...], writer: Writer) -> tuple[str, ...]:
        """The extents by which a `threads` loop with these counts numbers its iterations: rows are as wide as the
        arrays' where those are wider, so that their elements stay with a thread."""
        extents = self.extents.get(len(counts))
        if extents is None or len(counts) == 1:
            return counts
        result = [counts[0]]
        for count, extent in zip(counts[1:], extents[1:], strict=True):
            if count == f"int64({extent})":
                result.append(count)
            else:
                result.append(writer.held("_width", f"maximum({count}, int64({extent}))"))
        return tuple(result)
