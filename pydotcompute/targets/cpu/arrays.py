"""How lowered Python for a CPU reaches the elements of an array: which pointer, which offset, which check."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Sequence

from ...artifact.signature import DTYPE_BYTES, Parameter
from ...ir.tree import KernelTree, NewArray
from ..llvm.dimension_code import dimension


@dataclass(frozen=True)
class Array:
    """An array as generated code sees it. `pointer`, `extents`, `strides` and `view` are expressions in Python: names,
    or int64 constants.

    strides: in bytes, of the trailing dims (of all, without a view); None where the array is C-contiguous.
    view: of the leading dims, which the kernel sees as its first; see abi.py. number: for the fault words.
    """

    name: str
    dtype: str
    pointer: str
    extents: tuple[str, ...]
    number: int
    strides: tuple[str, ...] | None = None
    view: str | None = None
    suffix: str = ""  # of load and store: "_local" for memory that iterations share

    @property
    def components(self) -> tuple[tuple[str, str], ...]:
        """(label, expression) of everything that a helper needs to reach the elements."""
        parts = [("", self.pointer)]
        parts += [(f"_n{k}", extent) for k, extent in enumerate(self.extents)]
        parts += [(f"_s{k}", stride) for k, stride in enumerate(self.strides or ())]
        return tuple(parts) + ((("_v", self.view),) if self.view else ())

    def rebound(self, names: Sequence[str]) -> Array:
        """The same array under the names of a helper's parameters, in the order of `components`."""
        names, rank = list(names), len(self.extents)
        strides = tuple(names[1 + rank : 1 + rank + len(self.strides)]) if self.strides is not None else None
        view = names[-1] if self.view else None
        return replace(self, pointer=names[0], extents=tuple(names[1 : 1 + rank]), strides=strides, view=view)

    def offset(self, indices: Sequence[str], base: str | None = None) -> str:
        """The offset of an element: in elements for a contiguous array, else in bytes. `base`: that of the first
        index of a view, where it is already known."""
        if self.strides is None:
            result = indices[0] if indices else "int64(0)"
            for extent, index in zip(self.extents[1:], indices[1:]):
                result = f"at({result}, {extent}, {index})"
            return result
        if self.view:
            result, indices = base or f"view_offset({self.view}, {indices[0]})", indices[1:]
        else:
            result = "int64(0)"
        for index, stride in zip(indices, self.strides):
            result = f"at({index}, {stride}, {result})"
        return result

    @property
    def access(self) -> str:
        return "_bytes" if self.strides is not None else self.suffix

    @property
    def shared_access(self) -> str:
        """Of what iterations or threads may do at once to one element."""
        return self.access.replace("_local", "")


def of_parameter(p: Parameter, number: int, names, local: bool) -> Array:
    """The array of a parameter or output scalar. local: it is updated by atomics, which iterations share."""
    extents = tuple(dimension(d, names.of) for d in p.dims or ())
    if p.ellipsis:
        extents = (names.of("rows" if p.dims else "size"), *extents)
    strides = view = None
    if p.layout != "C":
        strides = tuple(names.part(p.name, f"s{axis}") for axis in range(len(p.dims or ())))
        view = names.part(p.name, "view") if p.ellipsis else None
    suffix = "_local" if local else ""
    return Array(p.name, p.dtype, names.of(p.name), extents, number, strides, view, suffix)


def of_kernel_array(a: NewArray, number: int, names) -> Array:
    extents = tuple(f"int64({n})" for n in a.shape)
    return Array(a.name, a.dtype, names.of(a.name), extents, number, suffix="_local" if a.kind == "local" else "")


def arrays_of(tree: KernelTree, names, atomic: set[str]) -> dict[str, Array]:
    """Every array of the kernel by its name; parameters are numbered from 0, kernel arrays -1, -2, …."""
    found = {}
    for number, p in enumerate(tree.parameters):
        if p.is_array or p.role == "out":
            found[p.name] = of_parameter(p, number, names, p.name in atomic)
    for number, a in enumerate(tree.arrays.values()):
        local = a.name in atomic
        array = of_kernel_array(a, -1 - number, names)
        found[a.name] = replace(array, suffix="_local") if local else array
    return found


def itemsize(dtype: str) -> int:
    return DTYPE_BYTES[dtype]
