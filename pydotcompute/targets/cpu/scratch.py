"""Arrays of a kernel's own whose size is known at the call alone, or too large for a stack: memory of each slice of
work, which its blocks or iterations use one after the other. So there is one for each thread, however many they are."""

from __future__ import annotations

from collections.abc import Sequence
from functools import reduce

from ...artifact.signature import DTYPE_BYTES
from ...ir.tree import Const, KernelTree, NewArray, Select
from ..llvm.faults import FAULTS
from ..scratch import beyond_int64, extents
from .code import Code

MOST = Const(2**63 - 1, "int64")


class Scratch:
    """The arrays of one function."""

    def __init__(self, code: Code, tree: KernelTree, made: Sequence[NewArray]):
        self.writer, self.faults, self.made = code.writer, code.faults, made
        self.arrays, self.write, self.tree = code.arrays, code.expressions.text, tree

    def measure(self) -> None:
        """The names of the extents. One that int64 cannot hold, or a part of which it cannot, is the largest number: of
        so much there is no memory."""
        for a in self.made:
            names = self.arrays[a.name].extents
            for name, n, extent in zip(names, a.shape, extents(self.tree, a), strict=True):
                if isinstance(n, int):
                    continue
                beyond = beyond_int64(extent)
                self.writer.assign(name, self.write(Select(beyond, MOST, extent, "int64") if beyond else extent))

    def allocate(self) -> None:
        """At the beginning of the function. Where there is no memory it ends, and the call is told."""
        writer, sizes = self.writer, {}
        self.measure()
        for a in self.made:
            array = self.arrays[a.name]
            item = f"int64({DTYPE_BYTES[a.dtype]})"
            sizes[a.name] = writer.held("_bytes", reduce(lambda n, m: f"times({n}, {m})", (*array.extents, item)))
            writer.assign(array.pointer, f"heap_{a.dtype}(maximum({sizes[a.name]}, int64(1)))")
        for a in self.made:
            with writer.if_(f"invert(exists({self.arrays[a.name].pointer}))"):
                site = f"int64({self.faults.no_memory(a)})"
                writer.line(f"out_of_range({FAULTS}, {site}, int64(0), int64(0), {sizes[a.name]})")
                self.release()
                writer.return_("int64(0)")

    def release(self) -> None:
        """At the end of the function."""
        for a in self.made:
            self.writer.line(f"release({self.arrays[a.name].pointer})")
