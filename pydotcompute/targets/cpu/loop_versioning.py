"""Loop versioning for arrays with strides: the offset of a view's row is loop-invariant and computed once, and loops
exist a second time for the strides that vectorise, an element's size and (where NumPy broadcasts) zero.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Set
from contextlib import AbstractContextManager, contextmanager
from dataclasses import replace

from ...ir.tree import Access, Expr, Parallel, Var, walk
from ..llvm.writer import Writer
from .arrays import Array, itemsize
from .bodies import assigned, body_size
from .elements import Elements
from .index_set_splitting import index_conditions

_SMALL = 150  # nodes of a body that may be written more than twice

Iterations = Callable[[str, str], None]  # writes a loop's iterations from start to stop


class LoopVersioning:
    """spread: the arrays of which it is known that their innermost stride is another one."""

    def __init__(self, writer: Writer, elements: Elements):
        self.writer, self.names, self.elements = writer, writer.names, elements
        self.spread: Set[str] = frozenset()

    def write(self, loop: Parallel, start: str, stop: str, iterations: Iterations) -> None:
        """The innermost loop of a nest, whose outer indices are set by now, in as many versions as it takes."""
        with self.rows_of(loop.names[:-1], loop):
            index = Var(loop.names[-1], "int64")
            flat = [] if loop.names[-1] in assigned(loop.body) else [
                a for a in self._accessed(loop, lambda indices: indices == (index,)) if a.view and not a.strides
            ]  # fmt: skip
            if flat:
                self._along_rows(loop, flat, start, stop, iterations)
            else:
                self._by_strides(loop, start, stop, iterations)

    @contextmanager
    def rows_of(self, names: tuple[str, ...], loop: Parallel) -> Iterator[None]:
        """Hold the offsets of the rows that these indices, which are set by now, choose in views."""
        changed = assigned(loop.body)
        with self.elements.own_rows() as rows:
            for name in names:
                index = Var(name, "int64")

                def of_row(indices: tuple[Expr, ...], index: Var = index) -> bool:
                    return indices[:1] == (index,)

                for array in self._accessed(loop, of_row):
                    if array.view and name not in changed and (array.name, name) not in rows:
                        offset = array.view_offset(self.names.of(name))
                        rows[array.name, name] = self.writer.held(f"{array.name}_row", offset)
            yield

    def _accessed(self, loop: Parallel, wanted: Callable[[tuple[Expr, ...]], bool]) -> list[Array]:
        """Arrays that the loop's body itself reads or writes at such indices, each once."""
        found, arrays = {}, self.elements.arrays
        for s in loop.body:
            for node in walk(s):
                touches = isinstance(node, Access) and node.array in arrays
                if touches and wanted(node.indices):
                    found[node.array] = arrays[node.array]
        return list(found.values())

    def _along_rows(self, loop: Parallel, flat: list[Array], start: str, stop: str, iterations: Iterations) -> None:
        """`for i in grid(size)` with elements x[i] of views: their rows one after the other. All views of a call have
        one shape."""
        writer = self.writer
        at, end, first, inner, row = (self.names.fresh(n) for n in ("_at", "_end", "_first", "_inner", "_row"))
        name = loop.names[-1]
        writer.assign(inner, f"view_inner({flat[0].view[0]})")
        writer.assign(at, start)
        with writer.while_(f"lt({at}, {stop})"):
            writer.assign(row, f"floordiv_integer({at}, {inner})")
            writer.assign(first, f"at({row}, {inner}, int64(0))")
            writer.assign(end, f"minimum({stop}, add({first}, {inner}))")
            steps = {}
            for array in flat:
                base, step = self.names.fresh(f"{array.name}_row"), self.names.fresh(f"{array.name}_step")
                writer.assign(base, f"view_row({array.view[0]}, {row})")
                writer.assign(step, f"view_step({array.view[0]})")
                steps[array.name] = base, step
            with self.elements.own_rows() as rows:
                for block, constant in self._step_choices(flat, steps, loop):
                    for array in flat:
                        base, step = steps[array.name]
                        offset = f"at(sub({self.names.of(name)}, {first}), {constant.get(array.name, step)}, {base})"
                        rows[array.name, name] = offset
                    dense = {a.name for a in flat if constant.get(a.name) == f"int64({itemsize(a.dtype)})"}
                    self.elements.dense = {(array, name) for array in dense}
                    with block:
                        self._by_strides(loop, at, end, iterations)
                    self.elements.dense = set()
            writer.assign(at, end)

    def _step_choices(
        self, flat: list[Array], steps: dict[str, tuple[str, str]], loop: Parallel
    ) -> Iterator[tuple[AbstractContextManager[None], dict[str, str]]]:
        """(a branch, the constant steps that hold in it), the likely ones first."""
        sizes = {a.name: itemsize(a.dtype) for a in flat}
        choices = [sizes]
        if body_size(loop) <= _SMALL and not index_conditions(loop):  # which writes it three times already
            choices += [{**sizes, a.name: 0} for a in flat]
        branch = self.writer.if_
        for choice in choices:
            condition = _all([f"eq({steps[name][1]}, int64({size}))" for name, size in choice.items()])
            yield branch(condition), {name: f"int64({size})" for name, size in choice.items()}
            branch = self.writer.elif_
        yield self.writer.else_(), {}

    def _by_strides(self, loop: Parallel, start: str, stop: str, iterations: Iterations) -> None:
        """The loop for innermost strides of one element, and for all others."""
        self.by_strides(loop, lambda: iterations(start, stop), lambda: iterations(start, stop))

    def by_strides(self, loop: Parallel, write: Callable[[], None], other: Callable[[], None]) -> None:
        """What `write` writes of a loop, for innermost strides of one element, and `other` for all others."""
        arrays, tests, dense = self.elements.arrays, [], {}
        for a in self._accessed(loop, bool):
            if a.strides and a.strides[-1] != (size := f"int64({itemsize(a.dtype)})"):
                tests.append(f"eq({a.strides[-1]}, {size})")
                dense[a.name] = replace(a, strides=(*a.strides[:-1], size))
        if not dense or dense.keys() <= self.spread:
            write()
            return
        with self.writer.if_(_all(tests)), arrays.bound({**arrays.by_name, **dense}):
            write()
        with self.writer.else_():
            before, self.spread = self.spread, dense.keys() if len(dense) == 1 else self.spread
            other()
            self.spread = before


def _all(conditions: list[str]) -> str:
    result, *others = conditions
    for other in others:
        result = f"band({result}, {other})"
    return result
