"""How lowered Python for a CPU reaches the elements of an array: which pointer, which offset, which check."""

from __future__ import annotations

from dataclasses import dataclass, replace

from ...artifact.signature import DTYPE_BYTES, Parameter
from ...ir.tree import KernelTree, NewArray
from ..arrays import extents_of, strides_of
from ..llvm import arrays
from ..llvm.dimension_code import dimension
from ..names import Names

LINE = 64  # bytes of a cache's


@dataclass(frozen=True, kw_only=True)
class Array(arrays.Array):
    """An array as generated code for a CPU sees it. Its view is one word: see abi.py. number: for the fault words."""

    number: int
    suffix: str = ""  # of load and store: "_local" for memory that iterations share

    @property
    def components(self) -> tuple[tuple[str, str], ...]:
        labels = [f"_n{k}" for k in range(len(self.extents))] + [f"_s{k}" for k in range(len(self.strides or ()))]
        return tuple(zip(("", *labels, *("_v" for _ in self.view)), (self.pointer, *self.integers), strict=True))

    def view_offset(self, index: str) -> str:
        return f"view_offset({', '.join((*self.view, index))})"

    @property
    def access(self) -> str:
        return ("_bytes" if self.strides is not None else "") + self.suffix

    @property
    def shared_access(self) -> str:
        """Of what iterations or threads may do at once to one element."""
        return self.access.replace("_local", "")


def of_parameter(p: Parameter, number: int, names: Names, local: bool) -> Array:
    """The array of a parameter or output scalar. local: it is updated by atomics, which iterations share."""
    extents = extents_of(p, names, lambda axis: dimension((p.dims or ())[axis], names.of))
    view = (names.part(p.name, "view"),) if p.layout != "C" and p.ellipsis else ()
    suffix = "_local" if local else ""
    name = names.of(p.name)
    return Array(p.name, p.dtype, name, extents, strides_of(p, names), view, number=number, suffix=suffix)


def of_kernel_array(a: NewArray, number: int, names: Names) -> Array:
    extents = tuple(f"int64({n})" if isinstance(n, int) else names.part(a.name, f"n{k}") for k, n in enumerate(a.shape))
    name = names.of(a.name)
    return Array(a.name, a.dtype, name, extents, number=number, suffix="_local" if a.kind == "local" else "")


def arrays_of(tree: KernelTree, names: Names, atomic: set[str]) -> dict[str, Array]:
    """Every array of the kernel by its name; parameters are numbered from 0, kernel arrays -1, -2, …."""
    found = {}
    for number, p in enumerate(tree.parameters):
        if p.in_memory:
            found[p.name] = of_parameter(p, number, names, p.name in atomic)
    for number, a in enumerate(tree.arrays.values()):
        local = a.name in atomic
        array = of_kernel_array(a, -1 - number, names)
        found[a.name] = replace(array, suffix="_local") if local else array
    return found


def itemsize(dtype: str) -> int:
    return DTYPE_BYTES[dtype]


def before_line(place: str, dtype: str) -> str:
    """How many elements lie before the next cache line, from an address on."""
    return f"shr(band(neg({place}), int64({LINE - 1})), int64({itemsize(dtype).bit_length() - 1}))"
