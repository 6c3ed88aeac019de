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
is not used is (1, 0).
"""

from __future__ import annotations

from dataclasses import dataclass, replace

from ...artifact.signature import Parameter
from ...ir.dtypes import COMPLEX
from ...ir.tree import KernelTree, NewArray
from ..arrays import extents_of, strides_of, view_of
from ..llvm import arrays
from ..llvm.dimension_code import dimension
from ..names import Names


@dataclass(frozen=True, kw_only=True)
class Array(arrays.Array):
    """An array as generated code for CUDA sees it."""

    kind: str  # "argument" "shared" "private" "local"

    @property
    def components(self) -> tuple[tuple[str, str], ...]:
        return tuple((f"_{k}", part) for k, part in enumerate((self.pointer, *self.integers)))

    def view_offset(self, index: str) -> str:
        return f"view_offset({', '.join((index, *self.view))})"

    @property
    def flat(self) -> Array:
        """The same array where its view has no levels but the outermost: its elements lie one stride apart."""
        return replace(self, strides=(self.view[1], *(self.strides or ())), view=()) if self.view else self

    @property
    def suffix(self) -> str:
        return "_bytes" if self.strides is not None else ""


def arrays_of(tree: KernelTree, names: Names) -> dict[str, Array]:
    """Every array of the kernel by its name."""
    found = {p.name: _of_parameter(p, names) for p in tree.parameters if p.in_memory}
    return found | {a.name: _of_kernel_array(a, names) for a in tree.arrays.values()}


def _of_parameter(p: Parameter, names: Names) -> Array:
    extents = extents_of(p, names, lambda axis: dimension((p.dims or ())[axis], names.of))
    return Array(p.name, p.dtype, names.of(p.name), extents, strides_of(p, names), view_of(p, names), kind="argument")


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
