"""Loops over arrays with strides: the offset of a view's row is computed once, not once an element, and loops exist
a second time for the strides that vectorise, an element's size and (where NumPy broadcasts) zero.
"""

from __future__ import annotations

from contextlib import contextmanager
from dataclasses import replace
from typing import Iterator

from .arrays import Array, itemsize
from .index_set_splitting import CpuGuards, guards
from .loops import Lane, assigned, body_size
from ...ir.tree import Atomic, Load, Parallel, Scatter, Store, Var, walk

_SMALL = 150  # nodes of a body that may be written more than twice


class CpuViews(CpuGuards):
    def write_block_body(self, main: Parallel) -> None:
        self.closing.append(lambda: None)
        with self.rows_of(main.names, main):
            self.statements(main.body)
        self.closing.pop()

    @contextmanager
    def rows_of(self, names: tuple[str, ...], loop: Parallel) -> Iterator[None]:
        """Hold the offsets of the rows that these indices, which are set by now, choose in views."""
        known, changed = dict(self.bases), assigned(loop.body)
        for name in names:
            index = Var(name, "int64")
            for array in self.accessed(loop, lambda indices, index=index: indices[:1] == (index,)):
                if array.view and name not in changed and (array.name, name) not in self.bases:
                    base = self.names.fresh(f"{array.name}_row")
                    self.line(f"{base} = view_offset({array.view}, {self.names.of(name)})")
                    self.bases[array.name, name] = base
        yield
        self.bases = known

    def accessed(self, loop: Parallel, wanted) -> list[Array]:
        """Arrays that the loop's body itself reads or writes at such indices, each once."""
        found = {}
        for s in loop.body:
            for node in walk(s):
                touches = isinstance(node, (Load, Store, Atomic, Scatter)) and node.array in self.arrays
                if touches and wanted(node.indices):
                    found[node.array] = self.arrays[node.array]
        return list(found.values())

    def iterations(self, loop: Parallel, lanes: list[Lane], start: str, stop: str, passes: str, width: str) -> None:
        outer = loop.names[:-1]
        with self.rows_of(outer, loop):
            index = Var(loop.names[-1], "int64")
            flat = [] if loop.names[-1] in assigned(loop.body) else [
                a for a in self.accessed(loop, lambda indices: indices == (index,)) if a.view and not a.strides
            ]  # fmt: skip
            if flat:
                self.along_rows(loop, lanes, flat, start, stop, passes, width)
            else:
                self.versions(loop, lanes, start, stop, passes, width)

    def along_rows(
        self, loop: Parallel, lanes: list[Lane], flat: list[Array], start: str, stop: str, passes: str, width: str
    ) -> None:
        """`for i in grid(size)` with elements x[i] of views: their rows one after the other. All views of a call have
        one shape."""
        at, end, first, inner, row = (self.names.fresh(n) for n in ("_at", "_end", "_first", "_inner", "_row"))
        name = loop.names[-1]
        self.line(f"{inner} = view_inner({flat[0].view})")
        self.line(f"{at} = {start}")
        with self.block(f"while lt({at}, {stop}):"):
            self.line(f"{row} = floordiv_integer({at}, {inner})")
            self.line(f"{first} = at({row}, {inner}, int64(0))")
            self.line(f"{end} = minimum({stop}, add({first}, {inner}))")
            known, steps = dict(self.bases), {}
            for array in flat:
                base, step = self.names.fresh(f"{array.name}_row"), self.names.fresh(f"{array.name}_step")
                self.line(f"{base} = view_row({array.view}, {row})")
                self.line(f"{step} = view_step({array.view})")
                steps[array.name] = base, step
            for condition, chosen in self.step_choices(flat, steps, loop):
                for array in flat:
                    base, step = steps[array.name]
                    offset = f"at(sub({self.names.of(name)}, {first}), {chosen.get(array.name, step)}, {base})"
                    self.bases[array.name, name] = offset
                with self.block(condition):
                    self.versions(loop, lanes, at, end, passes, width)
            self.bases = known
            self.line(f"{at} = {end}")

    def step_choices(self, flat: list[Array], steps: dict, loop: Parallel):
        """(an `if`, the constant steps that hold under it), the likely ones first."""
        sizes = {a.name: itemsize(a.dtype) for a in flat}
        choices = [sizes]
        if body_size(loop) <= _SMALL and not guards(loop):  # which writes it three times already
            choices += [{**sizes, a.name: 0} for a in flat]
        word = "if"
        for choice in choices:
            tests = [f"eq({steps[name][1]}, int64({size}))" for name, size in choice.items()]
            condition = tests[0]
            for test in tests[1:]:
                condition = f"band({condition}, {test})"
            yield f"{word} {condition}:", {name: f"int64({size})" for name, size in choice.items()}
            word = "elif"
        yield "else:", {}

    def versions(self, loop: Parallel, lanes: list[Lane], start: str, stop: str, passes: str, width: str) -> None:
        """The loop for innermost strides of one element, and for all others."""
        strided = [a for a in self.accessed(loop, bool) if a.strides]
        if not strided:
            super().iterations(loop, lanes, start, stop, passes, width)
            return
        condition = ""
        for a in strided:
            test = f"eq({a.strides[-1]}, int64({itemsize(a.dtype)}))"
            condition = f"band({condition}, {test})" if condition else test
        kernel_arrays = self.arrays
        with self.block(f"if {condition}:"):
            for a in strided:
                constant = (*a.strides[:-1], f"int64({itemsize(a.dtype)})")
                self.arrays = {**self.arrays, a.name: replace(a, strides=constant)}
            super().iterations(loop, lanes, start, stop, passes, width)
            self.arrays = kernel_arrays
        with self.block("else:"):
            super().iterations(loop, lanes, start, stop, passes, width)
