"""Versions of a loop over a grid whose arrays are contiguous: by what their addresses and sizes allow. One branch, the
same for all threads."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import AbstractContextManager
from dataclasses import dataclass, replace
from functools import reduce

from ...ir.tree import Access, Assign, Call, Load, Parallel, Select, Store, Var, walk
from ..llvm.array_scope import ArrayScope
from ..llvm.expressions import INTRINSIC_FUNCTIONS
from ..llvm.faults import Faults
from ..llvm.writer import Writer
from .arrays import VECTOR, Array
from .early_loads import Early
from .near import few, of_rows, sizes_of


@dataclass(frozen=True)
class Version:
    """How threads go through a grid. early: several iterations at once; near: counting in 32 bits; wide: a thread's
    iterations lie side by side, so that one access is for several."""

    early: Early | None = None
    near: bool = False
    wide: bool = False


class Contiguous:
    def __init__(self, writer: Writer, arrays: ArrayScope[Array], faults: Faults):
        self.writer, self.arrays, self.faults = writer, arrays, faults

    def versions(
        self, s: Parallel, counts: tuple[str, ...], early: Early | None, write: Callable[[Version], None]
    ) -> None:
        """The loop where more is known of its arrays, and where nothing is."""
        if early and (arrays := self._side_by_side(s, early)):
            places = reduce(lambda one, other: f"bor({one}, {other})", (f"address({a.pointer})" for a in arrays))
            aligned = f"eq(band({places}, int64({VECTOR - 1})), int64(0))"
            with self.writer.if_(aligned), self._changed([replace(a, together=early.at_once) for a in arrays]):
                write(Version(early, wide=True))
            with self.writer.else_():
                write(Version(early))
        elif early and len(counts) > 1 and (arrays := of_rows(s, self.arrays.by_name)):
            fits = few((*counts, "mul(nctaid_x(), ntid_x())"), sizes_of(arrays))
            with self.writer.if_(fits), self._changed([replace(a, at="near") for a in arrays]):
                write(Version(early, near=True))
            with self.writer.else_():  # which is rare: one iteration after the other takes fewer registers
                write(Version())
        else:
            write(Version(early))

    def is_wide(self, s: Parallel, early: Early | None) -> bool:
        """Whether threads may have elements side by side; such a loop does little besides."""
        return early is not None and bool(self._side_by_side(s, early))

    def _side_by_side(self, s: Parallel, early: Early) -> list[Array]:
        """Those of which each iteration takes its own element alone; none where others, or conditions, would keep a
        warp's accesses apart, where what is stored is loaded again, or what is computed takes much more than both."""
        if len(s.counts) > 1:
            return []
        nodes, plain = list(walk(s)), all(isinstance(one, (Assign, Store)) for one in early.body)
        plain = plain and not any(isinstance(n, Load) for one in early.body for n in walk(one))
        guarded = any(isinstance(value, Select) for value in early.values.values())
        long = any(isinstance(n, Call) and n.function not in INTRINSIC_FUNCTIONS for n in nodes)
        checked = any(isinstance(n, Access) and self.faults.checks(n) for n in nodes)
        if not plain or guarded or long or checked or early.at_once & (early.at_once - 1):
            return []
        changed = {*s.names, *(n.name for n in nodes if isinstance(n, Assign))}
        found: dict[str, Array] = {}
        for access in (n for n in nodes if isinstance(n, Access)):
            array, indices = self.arrays[access.array], access.indices
            if array.strides is None and len(indices) == 1 and getattr(indices[0], "name", "") == s.names[0]:
                found[access.array] = array
            elif any(isinstance(n, Var) and n.name in changed for index in access.indices for n in walk(index)):
                return []
        return [*found.values()] if all(a.kind == "argument" for a in found.values()) else []

    def _changed(self, arrays: list[Array]) -> AbstractContextManager[None]:
        return self.arrays.bound({**self.arrays.by_name, **{a.name: a for a in arrays}})
