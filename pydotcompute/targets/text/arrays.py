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
from dataclasses import dataclass, replace
from typing import NamedTuple

from ...artifact.signature import Parameter
from ...ir.dtypes import COMPLEX
from ...ir.storage import BITS
from ...ir.tree import Atomic, KernelTree, NewArray, walk
from .. import arrays
from ..arrays import extents_of, strides_of, view_of
from ..names import Names
from .scalars import Scalars


@dataclass(frozen=True, kw_only=True)
class Array(arrays.Array):
    """An array as generated text sees it. Its strides are in elements of memory."""

    space: str  # "global" "shared" "private"
    slots: bool = False  # `private`: each thread has the elements of its own iterations alone
    constant: bool = False
    updated: bool = False  # by atomics
    start: str = ""  # at which element of memory it begins, where the pointer does not say it

    @property
    def integers(self) -> tuple[str, ...]:
        """What a helper needs to reach the elements, besides the pointer."""
        return (*super().integers, *filter(None, [self.start]))

    def rebound(self, pointer: str, integers: Sequence[str]) -> Array:
        """The same array under a helper's names for its pointer and `integers`."""
        found = super().rebound(pointer, integers[:-1] if self.start else integers)
        return replace(found, start=integers[-1]) if self.start else found

    @property
    def memory(self) -> str:
        """How its elements are reached: its space, "constant" of what nobody writes, "updated_global" and
        "updated_shared" of what atomics write."""
        plain = "constant" if self.constant else self.space
        return f"updated_{self.space}" if self.updated and self.space != "private" else plain

    def offset(self, scalars: Scalars, indices: Sequence[str]) -> str:
        """Where an element lies, in elements of memory. Indices are in range, so that nothing here wraps."""
        parts = 2 if self.dtype in COMPLEX else 1
        zero = scalars.constant(0, scalars.index)
        if self.strides is None:
            result = indices[0] if indices else zero
            for extent, index in zip(self.extents[1:], indices[1:], strict=True):
                result = f"({result} * {extent} + {index})"
            result = f"({result} * {scalars.constant(2, scalars.index)})" if parts == 2 and indices else result
            return f"({self.start} + {result})" if self.start else result
        terms = [self.start] if self.start else []
        if self.view:
            terms.append(scalars.call("view_offset", scalars.index, indices[0], *self.view))
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
    return found | {a.name: _of_kernel_array(a, names, scalars, tree) for a in tree.arrays.values()}


def _of_parameter(p: Parameter, names: Names, scalars: Scalars, tree: KernelTree) -> Array:
    extents = extents_of(p, names, lambda axis: _extent(p, axis, names, scalars, tree))
    if p.ellipsis:
        extents = (dimension("rows" if p.dims else "size", names, scalars), *extents[1:])
    strides, view = strides_of(p, names), view_of(p, names)
    whole = scalars.dialect.has_pointers
    pointer, start = (names.of(p.name), "") if whole else (names.part(p.name, "data"), names.part(p.name, "start"))
    return Array(
        p.name, p.dtype, pointer, extents, strides, view, space="global", constant=not p.writable,
        updated=p.writable and p.dtype in scalars.updated | updated(tree), start=start,
    )  # fmt: skip


def updated(tree: KernelTree) -> set[str]:
    """The dtypes of the elements that the kernel's atomics update."""
    roots = (*tree.body, *(s for helper in tree.helpers for s in helper.body))
    return {BITS if n.stored else n.value.type for root in roots for n in walk(root) if isinstance(n, Atomic)}


def dimension(symbol: str, names: Names, scalars: Scalars) -> str:
    """The name of a dimension as an extent; as a user's integer it has its own."""
    return names.of(symbol) if scalars.index == "int64" else names.part(symbol, "extent")


def _extent(p: Parameter, axis: int, names: Names, scalars: Scalars, tree: KernelTree) -> str:
    dim = (p.dims or ())[axis]
    if isinstance(dim, int):
        return scalars.constant(dim, scalars.index)
    if isinstance(dim, str) and dim in tree.symbols:
        return dimension(dim, names, scalars)
    return names.part(p.name, f"n{axis}")


def _of_kernel_array(a: NewArray, names: Names, scalars: Scalars, tree: KernelTree) -> Array:
    extents = tuple(
        scalars.constant(n, scalars.index) if isinstance(n, int) else names.part(a.name, f"n{k}")
        for k, n in enumerate(a.shape)
    )
    space = "global" if a.scratch else "shared" if a.kind == "shared" else "private"
    start = names.part(a.name, "start") if a.scratch and not scalars.dialect.has_pointers else ""
    return Array(
        a.name, a.dtype, names.of(a.name), extents, space=space, slots=a.kind == "private",
        updated=a.dtype in scalars.updated | updated(tree), start=start,
    )  # fmt: skip


def arguments_of(tree: KernelTree, names: Names, scalars: Scalars) -> list[Argument]:
    """What a kernel is given, but for scratch."""
    result: list[Argument] = []
    for p in tree.parameters:
        if not p.in_memory:
            # One that is a dimension too is known by that, as int64.
            own = names.part(p.name, "given")
            for part in ("real", "imag") if p.dtype in COMPLEX else ("",):
                what = ("scalar", p.name, part) if part else ("scalar", p.name)
                result.append(Argument(what, f"{own}_{part}" if part else own, COMPLEX.get(p.dtype, p.dtype)))
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
        result += [Argument(what, name, scalars.index) for what, name in integers]
    return result + [Argument(("symbol", s), names.of(s), "int64") for s in tree.symbols]
