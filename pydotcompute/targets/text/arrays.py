"""How generated text reaches the elements of an array, and which arguments a kernel gets for it.

The arguments of a kernel, in order: for each parameter

    scalar, not an output    its value; a complex one: its two parts; a bool as uint8
    array                    its memory, how many elements into it the array begins, then
        broadcast            a view
        strided              with an ellipsis a view, then a stride for each trailing dim
        any                  the extent of each trailing dim that is an expression
    output scalar            as an array of one element

then every dimension symbol (int64), then memory for each scratch array. Beginnings, strides and views count elements
of memory, of which a complex number takes two. A view describes the leading dims of an array that is not contiguous,
merged where they can be: how many levels there are inside the outermost one (at most VIEW_LEVELS), the stride of the
outermost, then (size, stride) of each level, innermost first; what is not used is (1, 0).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

from ...artifact.signature import Parameter
from ...ir.tree import KernelTree, NewArray
from .. import arrays
from ..arrays import extents_of, strides_of, view_of
from ..names import Names
from .scalars import PARTS, Scalars


@dataclass(frozen=True, kw_only=True)
class Array(arrays.Array):
    """An array as generated text sees it. Its strides are in elements of memory."""

    space: str  # "global" "shared" "private"
    slots: bool = False  # `private`: each thread has the elements of its own iterations alone
    constant: bool = False

    def offset(self, scalars: Scalars, indices: Sequence[str]) -> str:
        """Where an element lies, in elements of memory. Indices are in range, so that nothing here wraps."""
        parts = 2 if self.dtype in PARTS else 1
        zero = scalars.constant(0, "int64")
        if self.strides is None:
            result = indices[0] if indices else zero
            for extent, index in zip(self.extents[1:], indices[1:], strict=True):
                result = f"({result} * {extent} + {index})"
            return f"({result} * {scalars.constant(2, 'int64')})" if parts == 2 and indices else result
        terms = []
        if self.view:
            terms.append(scalars.call("view_offset", "int64", indices[0], *self.view))
            indices = indices[1:]
        terms += [f"{index} * {stride}" for index, stride in zip(indices, self.strides, strict=True)]
        return f"({' + '.join(terms)})" if terms else zero


class Argument(NamedTuple):
    what: tuple  # ("scalar", name), ("data", name), ("offset", name), …: as the run half reads it
    name: str
    dtype: str  # of a scalar or of the elements
    is_memory: bool = False


def arrays_of(tree: KernelTree, names: Names, scalars: Scalars) -> dict[str, Array]:
    """Every array of the kernel by its name."""
    found = {p.name: _of_parameter(p, names, scalars, tree) for p in tree.parameters if p.in_memory}
    return found | {a.name: _of_kernel_array(a, names, scalars) for a in tree.arrays.values()}


def _of_parameter(p: Parameter, names: Names, scalars: Scalars, tree: KernelTree) -> Array:
    extents = extents_of(p, names, lambda axis: _extent(p, axis, names, scalars, tree))
    strides, view = strides_of(p, names), view_of(p, names)
    return Array(
        p.name, p.dtype, names.of(p.name), extents, strides, view, space="global", constant=not p.writable
    )  # fmt: skip


def _extent(p: Parameter, axis: int, names: Names, scalars: Scalars, tree: KernelTree) -> str:
    dim = (p.dims or ())[axis]
    if isinstance(dim, int):
        return scalars.constant(dim, "int64")
    return names.of(dim) if isinstance(dim, str) and dim in tree.symbols else names.part(p.name, f"n{axis}")


def _of_kernel_array(a: NewArray, names: Names, scalars: Scalars) -> Array:
    extents = tuple(
        scalars.constant(n, "int64") if isinstance(n, int) else names.part(a.name, f"n{k}")
        for k, n in enumerate(a.shape)
    )
    space = "global" if a.scratch else "shared" if a.kind == "shared" else "private"
    return Array(a.name, a.dtype, names.of(a.name), extents, space=space, slots=a.kind == "private")


def arguments_of(tree: KernelTree, names: Names, scalars: Scalars) -> list[Argument]:
    """What a kernel is given, but for scratch."""
    result: list[Argument] = []
    for p in tree.parameters:
        if not p.in_memory:
            # One that is a dimension too is known by that, as int64.
            own = names.part(p.name, "given")
            for part in ("real", "imag") if p.dtype in PARTS else ("",):
                what = ("scalar", p.name, part) if part else ("scalar", p.name)
                result.append(Argument(what, f"{own}_{part}" if part else own, PARTS.get(p.dtype, p.dtype)))
            continue
        array = _of_parameter(p, names, scalars, tree)
        result.append(Argument(("data", p.name), names.part(p.name, "data"), p.dtype, True))
        integers: list[tuple[tuple, str]] = [(("offset", p.name), names.part(p.name, "start"))]
        integers += [(("view", p.name, k), text) for k, text in enumerate(array.view)]
        integers += [(("stride", p.name, axis), text) for axis, text in enumerate(array.strides or ())]
        integers += [
            (("extent", p.name, axis), names.part(p.name, f"n{axis}"))
            for axis, dim in enumerate(p.dims or ()) if not isinstance(dim, int) and dim not in tree.symbols
        ]  # fmt: skip
        result += [Argument(what, name, "int64") for what, name in integers]
    return result + [Argument(("symbol", s), names.of(s), "int64") for s in tree.symbols]
