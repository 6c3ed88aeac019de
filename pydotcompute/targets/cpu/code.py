"""Expressions and statements for a CPU: PythonSource with loads, stores, atomics, helpers and kernel arrays.

With `bounds` every index is looked at: an access out of range is recorded once in the fault words and skipped.
"""

from __future__ import annotations

from .arrays import Array
from ..llvm.python_source import Names, PythonSource
from ...ir.tree import ArrayName, Atomic, CallHelper, Expr, Helper, KernelTree, Load, NewArray, Parallel, Scatter, Store, Var

UPDATES = {"add": "add", "min": "minimum", "max": "maximum"}


class CpuCode(PythonSource):
    def __init__(self, tree: KernelTree, names: Names, arrays: dict[str, Array], bounds: bool):
        super().__init__(names, "contract" in tree.fastmath or "fast" in tree.fastmath)
        self.tree, self.arrays, self.bounds = tree, arrays, bounds
        self.helpers = {h.name: h for h in tree.helpers}
        self.wanted: dict[tuple, str] = {}  # (helper, arrays) -> the name of the function made for them
        self.pending: list[tuple[str, Helper, tuple[Array, ...]]] = []  # functions still to be written
        self.results: dict[str, tuple[str, ...]] = {}  # that name -> the types of its results
        self.bases: dict[tuple[str, str], str] = {}  # (array, index) -> a local with the offset of that row of its view
        self.files: list[str] = []  # what the checks of indices stand in
        self.atomics = "plain"  # or "shared": other threads run at the same time

    # ------------------------------------------------------------------------------------------- memory

    def place(self, array: Array, indices: tuple[Expr, ...]) -> tuple[str, str]:
        """The offset of an element, and the condition that it is in range ("" where nobody looks)."""
        written = [self.expression(i) for i in indices]
        base = self.bases.get((array.name, indices[0].name)) if indices and isinstance(indices[0], Var) else None
        if not self.bounds or not indices:
            return array.offset(written, base), ""
        held = []
        for axis, (text, extent) in enumerate(zip(written, array.extents)):
            at = indices[axis].at or self.at
            place = (self.file(at.path) << 32 | at.line, at.column, array.number, axis)
            held.append(f"in_range(_faults, {', '.join(f'int64({n})' for n in place)}, {extent}, {text})")
        condition = held[0]
        for check in held[1:]:
            condition = f"band({condition}, {check})"
        return array.offset(written, base), condition

    def file(self, path: str) -> int:
        """The number of a file in `files`: a kernel's lines may come from several templates."""
        if path not in self.files:
            self.files.append(path)
        return self.files.index(path)

    def _load(self, e: Load) -> str:
        array = self.arrays[e.array]
        offset, condition = self.place(array, e.indices)
        text = f"load{array.access}({array.pointer}, {offset})"
        return f"({text} if {condition} else {self.constant(0, array.dtype)})" if condition else text

    def guarded(self, condition: str, text: str) -> None:
        if condition:
            with self.block(f"if {condition}:"):
                self.line(text)
        else:
            self.line(text)

    def store_text(self, name: str, indices: tuple[Expr, ...], value: str) -> str:
        """A store that nobody checks, of a value that is written already."""
        array = self.arrays[name]
        return f"store{array.access}({array.pointer}, {self.place(array, indices)[0]}, {value})"

    def write_store(self, s: Store) -> None:
        array = self.arrays[s.array]
        offset, condition = self.place(array, s.indices)
        self.guarded(condition, f"store{array.access}({array.pointer}, {offset}, {self.expression(s.value)})")

    def write_scatter(self, s: Scatter) -> None:
        array = self.arrays[s.array]
        offset, condition = self.place(array, s.indices)
        access = array.access.replace("_local", "")
        self.guarded(condition, f"scatter{access}({array.pointer}, {offset}, {self.expression(s.value)})")

    def write_atomic(self, s: Atomic) -> None:
        array = self.arrays[s.array]
        offset, condition = self.place(array, s.indices)
        value = self.expression(s.value)
        if self.atomics == "shared" and array.number >= 0:
            self.guarded(
                condition, f"atomic_{s.op}{array.access.replace('_local', '')}({array.pointer}, {offset}, {value})"
            )
            return
        place = self.names.fresh("_place")
        old = f"load{array.access}({array.pointer}, {place})"
        if condition:
            with self.block(f"if {condition}:"):
                self.line(f"{place} = {offset}")
                self.line(f"store{array.access}({array.pointer}, {place}, {UPDATES[s.op]}({old}, {value}))")
        else:
            self.line(f"{place} = {offset}")
            self.line(f"store{array.access}({array.pointer}, {place}, {UPDATES[s.op]}({old}, {value}))")

    def write_newarray(self, s: NewArray) -> None:
        pass  # on the stack, from the function's beginning

    def allocate(self) -> None:
        """The kernel's own arrays, on the stack of the function that is being written."""
        for a in self.tree.arrays.values():
            count = 1
            for n in a.shape:
                count *= n
            self.line(f"{self.arrays[a.name].pointer} = stack_{a.dtype}({count})")

    # ------------------------------------------------------------------------------------------- helpers

    def _callhelper(self, e: CallHelper) -> str:
        arrays = tuple(self.arrays[a.name] for a in e.arguments if isinstance(a, ArrayName))
        key = (e.helper, *((a.name, a.number) for a in arrays))
        if key not in self.wanted:
            self.wanted[key] = self.names.fresh(self.names.of(e.helper))
            self.results[self.wanted[key]] = self.helpers[e.helper].types
            self.pending.append((self.wanted[key], self.helpers[e.helper], arrays))
        arguments = []
        for a in e.arguments:
            if isinstance(a, ArrayName):
                arguments += [expression for _, expression in self.arrays[a.name].components]
            else:
                arguments.append(self.expression(a))
        return f"{self.wanted[key]}({', '.join(arguments + (['_faults'] if self.bounds else []))})"

    def write_helper(self, name: str, helper: Helper, arrays: tuple[Array, ...]) -> None:
        """One function for each choice of arrays that a helper is called with."""
        kernel_arrays, left, parameters = self.arrays, list(arrays), []
        self.arrays, outer, self.at = {}, self.at, helper.at
        for p in helper.parameters:
            if p.rank is None:
                parameters.append(self.names.of(p.name))
                continue
            array = left.pop(0)
            own = [self.names.fresh(self.names.of(p.name) + label) for label, _ in array.components]
            parameters += own
            self.arrays[p.name] = array.rebound(own)
        with self.block(f"def {name}({', '.join(parameters + (['_faults'] if self.bounds else []))}):"):
            self.statements(helper.body)
        self.arrays, self.at = kernel_arrays, outer

    def write_parallel(self, s: Parallel) -> None:
        raise NotImplementedError
