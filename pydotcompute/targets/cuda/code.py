"""Expressions and statements for CUDA: PythonSource with loads, stores, atomics and helpers.

Where a statement of a block stands, every thread executes it, but for stores and atomics, which the first does alone.
"""

from __future__ import annotations

from .arrays import Array
from ..llvm.python_source import Names, PythonSource
from ...ir.tree import ArrayName, Atomic, Call, CallHelper, Expr, Helper, KernelTree, Load, NewArray, Scatter, Store, Var


class CudaCode(PythonSource):
    def __init__(self, tree: KernelTree, names: Names, arrays: dict[str, Array], block: int):
        super().__init__(names, "contract" in tree.fastmath or "fast" in tree.fastmath)
        self.tree, self.arrays, self.block_size = tree, arrays, block
        self.helpers = {h.name: h for h in tree.helpers}
        self.made: dict[tuple, str] = {}  # (helper, arrays) → the name of the function made for them
        self.pending: list[tuple[str, Helper, tuple[Array, ...]]] = []  # functions still to be written
        self.by_one = False  # at block level: the first thread stores
        self.early: dict[str, str] = {}  # what stands for names that early_loads.py gives
        self.slot = ""  # which of its elements of a private array a thread is at

    # -------------------------------------------------------------------------------------------- expressions

    def constant(self, value, dtype: str) -> str:
        if dtype == "float16":
            return f"to_float16({super().constant(value, 'float64')})"
        return super().constant(value, dtype)

    def _call(self, e: Call) -> str:
        dtype = e.arguments[-1].type
        if dtype == "float16" and e.function in ("conj", "real", "imag"):
            return self.expression(e.arguments[0]) if e.function != "imag" else self.constant(0, dtype)
        return super()._call(e)

    def _var(self, e: Var) -> str:
        return self.early.get(e.name) or super()._var(e)

    def _unary(self, e) -> str:
        if e.op == "not" and e.operand.type != "bool":
            return f"invert(to_bool({self.expression(e.operand)}))"
        return super()._unary(e)

    # ------------------------------------------------------------------------------------------------- memory

    def place(self, array: Array, indices: tuple[Expr, ...]) -> str:
        return self.slot if array.kind == "private" else array.offset([self.expression(i) for i in indices])

    def _load(self, e: Load) -> str:
        array = self.arrays[e.array]
        return f"load{array.suffix}({array.pointer}, {self.place(array, e.indices)})"

    def write_store(self, s: Store) -> None:
        array = self.arrays[s.array]
        self.alone(f"store{array.suffix}({array.pointer}, {self.place(array, s.indices)}, {self.expression(s.value)})")

    def write_scatter(self, s: Scatter) -> None:
        array = self.arrays[s.array]
        place, value = self.place(array, s.indices), self.expression(s.value)
        self.alone(f"scatter{array.suffix}({array.pointer}, {place}, {value})")

    def write_atomic(self, s: Atomic) -> None:
        array = self.arrays[s.array]
        place, value = self.place(array, s.indices), self.expression(s.value)
        self.alone(f"atomic_{s.op}{array.suffix}({array.pointer}, {place}, {value})")

    def alone(self, text: str) -> None:
        """A line that one thread executes."""
        if self.by_one:
            with self.block("if eq(_thread, int64(0)):"):
                self.line(text)
        else:
            self.line(text)

    def write_newarray(self, s: NewArray) -> None:
        pass  # made at the beginning

    # ------------------------------------------------------------------------------------------------ helpers

    def _callhelper(self, e: CallHelper) -> str:
        arrays = tuple(self.arrays[a.name] for a in e.arguments if isinstance(a, ArrayName))
        key = (e.helper, *(a.name for a in arrays))
        if key not in self.made:
            self.made[key] = self.names.fresh(self.names.of(e.helper))
            self.pending.append((self.made[key], self.helpers[e.helper], arrays))
        arguments: list[str] = []
        for a in e.arguments:
            if isinstance(a, ArrayName):
                arguments += self.arrays[a.name].components
            else:
                arguments.append(self.expression(a))
        return f"{self.made[key]}({', '.join(arguments)})"

    def write_helpers(self) -> tuple[str, ...]:
        """One function for each choice of arrays that a helper is called with; their names."""
        while self.pending:
            name, helper, arrays = self.pending.pop(0)
            self.line("")
            self._write_helper(name, helper, list(arrays))
        return tuple(self.made.values())

    def _write_helper(self, name: str, helper: Helper, arrays: list[Array]) -> None:
        outer, parameters = self.arrays, []
        self.arrays, self.at = {}, helper.at
        for p in helper.parameters:
            if p.rank is None:
                parameters.append(self.names.of(p.name))
                continue
            array = arrays.pop(0)
            own = [self.names.fresh(f"{self.names.of(p.name)}_{k}") for k in range(len(array.components))]
            parameters += own
            self.arrays[p.name] = array.rebound(own)
        with self.block(f"def {name}({', '.join(parameters)}):"):
            self.statements(helper.body)
        self.arrays, self.at = outer, None
