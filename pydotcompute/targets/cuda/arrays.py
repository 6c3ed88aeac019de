"""How lowered Python for CUDA reaches the elements of an array, and which arguments a kernel gets for it.

The arguments of a kernel, in order: for each parameter

    scalar, not an output    its value; a complex one: its two parts
    array, layout C          address
    array, strided           address, then with an ellipsis a view, then a stride in bytes for each trailing dim
    array, broadcast         address, view
    output scalar            address of its one element

then every dimension symbol (int64), then an address for each scratch array. A view describes the leading dims of an
array that is not contiguous, merged where they can be: how many levels there are inside the outermost one (at most
VIEW_LEVELS), the stride in bytes of the outermost, then (size, stride in bytes) of each level, innermost first; what
is not used is (1, 0). Behind them are the words that divide by sizes: see artifact/launch.py.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from functools import reduce
from math import gcd

from ...artifact.launch import FEW_LEVELS, VIEW_WORDS
from ...artifact.signature import DTYPE_BYTES, Parameter
from ...ir.dtypes import COMPLEX
from ...ir.tree import KernelTree, NewArray
from ..arrays import extents_of, strides_of, view_of
from ..llvm import arrays
from ..llvm.dimension_code import dimension
from ..names import Names

VECTOR = 16  # bytes that a thread loads or stores by one instruction
FEW_WORDS = 1 + 3 * FEW_LEVELS  # that the offsets of a view of few levels follow from


@dataclass(frozen=True, kw_only=True)
class Array(arrays.Array):
    """An array as generated code for CUDA sees it."""

    kind: str  # "argument" "shared" "private" "local"
    row: tuple[str, str] | None = None  # an index into the leading dims, and the name of its offset
    at: str = "at"  # or "near", where 32 bits do
    together: int = 0  # elements of a thread that lie side by side, the first of them aligned to all or to VECTOR bytes
    aligned: int = 0  # bytes that its elements' addresses are multiples of, where that is more than their size
    counted: bool = False  # what is added to it becomes its dtype first: see block_counters.py

    @property
    def components(self) -> tuple[tuple[str, str], ...]:
        return tuple((f"_{k}", part) for k, part in enumerate((self.pointer, *self.integers)))

    def view_offset(self, index: str) -> str:
        if self.row and self.row[0] == index:
            return self.row[1]
        function = "few_levels_offset" if len(self.view) == FEW_WORDS else "view_offset"
        return f"{function}({', '.join((index, *self.view))})"

    def rebound(self, pointer: str, integers: Sequence[str]) -> Array:
        return replace(super().rebound(pointer, integers), row=None, at="at", together=0, aligned=0)

    @property
    def contiguous(self) -> Array:
        """The same array where `is_contiguous`."""
        return replace(self, strides=None, view=()) if self.view else self

    @property
    def is_contiguous(self) -> str:
        conditions, size = [self.is_flat], f"int64({DTYPE_BYTES[self.dtype]})"
        for stride, extent in zip((self.view[1], *(self.strides or ()))[::-1], self.extents[::-1], strict=True):
            conditions.append(f"eq({stride}, {size})")
            size = f"mul({size}, {extent})"
        return all_of(conditions)

    @property
    def is_flat(self) -> str:
        return f"eq({self.view[0]}, int64(0))"

    @property
    def has_few(self) -> str:
        return f"ne({self.view[-1]}, int64(0))"

    @property
    def flat(self) -> Array:
        """The same array where its view has no levels but the outermost: its elements lie one stride apart."""
        return replace(self, strides=(self.view[1], *(self.strides or ())), view=()) if self.view else self

    @property
    def few(self) -> Array:
        """The same array where its view has what divides by the sizes of its levels."""
        if not self.view:
            return self
        levels = zip(self.view[2::2], self.view[3::2], self.view[VIEW_WORDS:], strict=False)
        return replace(self, view=(self.view[1], *(word for level in levels for word in level)))

    def element(self, k: int) -> Array:
        """The same array where the k-th of a thread's elements is meant."""
        size = DTYPE_BYTES[self.dtype]
        least = gcd(VECTOR, self.together * size, k * size)
        return replace(self, aligned=least if self.together and least > size else 0)

    @property
    def suffix(self) -> str:
        return "_bytes" if self.strides is not None else f"_at_{self.aligned}" if self.aligned else ""


def all_of(conditions: Iterable[str]) -> str:
    """The condition that all of some hold."""
    return reduce(lambda one, other: f"band({one}, {other})", conditions)


def arrays_of(tree: KernelTree, names: Names) -> dict[str, Array]:
    """Every array of the kernel by its name."""
    found = {p.name: _of_parameter(p, names) for p in tree.parameters if p.in_memory}
    return found | {a.name: _of_kernel_array(a, names) for a in tree.arrays.values()}


def _of_parameter(p: Parameter, names: Names) -> Array:
    extents = extents_of(p, names, lambda axis: dimension((p.dims or ())[axis], names.of))
    view = view_of(p, names)
    view += tuple(names.part(p.name, f"v{len(view) + k}") for k in range(FEW_LEVELS if view else 0))
    return Array(p.name, p.dtype, names.of(p.name), extents, strides_of(p, names), view, kind="argument")


def _of_kernel_array(a: NewArray, names: Names) -> Array:
    extents = tuple(f"int64({n})" if isinstance(n, int) else names.part(a.name, f"n{k}") for k, n in enumerate(a.shape))
    return Array(a.name, a.dtype, names.of(a.name), extents, kind=a.kind)


def arguments_of(tree: KernelTree, names: Names) -> list[tuple[tuple[str | int, ...], str, str]]:
    """(what it is, its name in the code, its type) of each argument: ("scalar", name), of a complex one ("scalar",
    name, "real") and ("scalar", name, "imag"); ("data", name), ("view", name, word), ("stride", name, axis),
    ("symbol", name)."""
    result: list[tuple[tuple[str | int, ...], str, str]] = []
    for p in tree.parameters:
        if not p.in_memory:
            # One that is a dimension too is known by that, as int64.
            own = names.part(p.name, "given") if p.name in tree.symbols else names.of(p.name)
            if p.dtype in COMPLEX:
                for x in ("real", "imag"):
                    result.append((("scalar", p.name, x), names.part(p.name, x), COMPLEX[p.dtype]))
            else:
                result.append((("scalar", p.name), own, p.dtype))
            continue
        array = _of_parameter(p, names)
        result.append((("data", p.name), array.pointer, f"{p.dtype}*"))
        result += [(("view", p.name, k), text, "int64") for k, text in enumerate(array.view)]
        result += [(("stride", p.name, axis), text, "int64") for axis, text in enumerate(array.strides or ())]
    return result + [(("symbol", s), names.of(s), "int64") for s in tree.symbols]


def complex_scalars(tree: KernelTree, names: Names) -> list[tuple[str, str, str]]:
    """(name, name of its real part, of its imaginary part) of every complex scalar."""
    found = [p.name for p in tree.parameters if not p.in_memory and p.dtype in COMPLEX]
    return [(names.of(n), names.part(n, "real"), names.part(n, "imag")) for n in found]
