"""Versions of a loop by the views of its arrays, so that few take divisions: one branch, the same for all threads."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from dataclasses import replace

from ...ir.tree import Access, ArrayName, CallHelper, Parallel, Var, walk
from ..llvm.array_scope import ArrayScope
from ..llvm.writer import Writer
from .arrays import Array, all_of

MOST_NODES = 128  # of the tree of a loop that is written several times


class Views:
    def __init__(self, writer: Writer, arrays: ArrayScope[Array]):
        self.writer, self.arrays = writer, arrays

    def versions(
        self, s: Parallel, contiguous: Callable[[], None], quick: Callable[[], None], other: Callable[[], None]
    ) -> None:
        """The loop where all arrays with views are contiguous, where no view has more levels than the outermost, where
        none takes divisions, and for any: contiguous(), quick() and other() write it."""
        views, nodes = self._views(s), list(walk(s))
        if not views:
            return contiguous()
        helped = any(isinstance(a, ArrayName) for n in nodes if isinstance(n, CallHelper) for a in n.arguments)
        if helped or len(nodes) > MOST_NODES:  # a helper's code is for one kind of array
            return other()
        with self.writer.if_(all_of(a.is_contiguous for a in views)), self._changed(lambda a: a.contiguous):
            contiguous()
        with self.writer.elif_(all_of(a.is_flat for a in views)), self._changed(lambda a: a.flat):
            quick()
        with self.writer.elif_(all_of(a.has_few for a in views)), self._changed(lambda a: a.few):
            quick()
        with self.writer.else_():
            other()

    @contextmanager
    def rows(self, s: Parallel) -> Iterator[None]:
        """What is inside finds the offset of an iteration's row held."""
        held = {}
        for array in self._views(s):
            names = [n.indices[0].name for n in self._accesses(s, array) if isinstance(n.indices[0], Var)]
            if rows := [self.writer.names.of(name) for name in s.names if name in names]:
                offset = self.writer.held("_row", array.view_offset(rows[0]))
                held[array.name] = replace(array, row=(rows[0], offset))
        with self._changed(lambda a: held.get(a.name, a)):
            yield

    def _changed(self, change: Callable[[Array], Array]) -> AbstractContextManager[None]:
        return self.arrays.bound({a.name: change(a) for a in self.arrays.all()})

    def _accesses(self, s: Parallel, array: Array) -> list[Access]:
        return [n for n in walk(s) if isinstance(n, Access) and n.array == array.name]

    def _views(self, s: Parallel) -> list[Array]:
        return [a for a in self.arrays.all() if a.view and self._accesses(s, a)]
