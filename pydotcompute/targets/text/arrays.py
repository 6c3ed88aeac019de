"""How generated text reaches the elements of an array, and which arguments a kernel gets for it.

The arguments of a kernel, in order: for each parameter

    scalar, not an output    its value; a complex one: its two parts; a bool as uint8, float16 as float32
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
from typing import Any, NamedTuple

from ...artifact.launch import VIEW_WORDS
from ...artifact.signature import Parameter
from ...ir.tree import KernelTree, NewArray
from ..names import Names
from .scalars import PARTS, Scalars


@dataclass(frozen=True)
class Array:
    """An array as generated text sees it; all texts are names or constants of type int64.

    strides: of the trailing dims (of all, without a view); None where the array is C-contiguous.
    """

    name: str
    dtype: str
    space: str  # "global" "shared" "private"
    pointer: str
    extents: tuple[str, ...]
    strides: tuple[str, ...] | None = None
    view: tuple[str, ...] = ()
    slots: bool = False  # `private`: each thread has the elements of its own iterations alone
    constant: bool = False

    @property
    def components(self) -> tuple[str, ...]:
        """The integers that a helper needs to reach the elements."""
        return (*self.extents, *(self.strides or ()), *self.view)

    def rebound(self, pointer: str, names: Sequence[str]) -> Array:
        """The same array under a helper's names."""
        left = list(names)

        def take(count: int) -> tuple[str, ...]:
            return tuple(left.pop(0) for _ in range(count))

        extents = take(len(self.extents))
        strides = take(len(self.strides)) if self.strides is not None else None
        return replace(self, pointer=pointer, extents=extents, strides=strides, view=take(len(self.view)))

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
    found = {p.name: _of_parameter(p, names, scalars, tree) for p in tree.parameters if p.is_array or p.role == "out"}
    return found | {a.name: _of_kernel_array(a, names, scalars) for a in tree.arrays.values()}


def _of_parameter(p: Parameter, names: Names, scalars: Scalars, tree: KernelTree) -> Array:
    extents = tuple(_extent(p, axis, dim, names, scalars, tree) for axis, dim in enumerate(p.dims or ()))
    if p.ellipsis:
        extents = (names.of("rows" if p.dims else "size"), *extents)
    strides: tuple[str, ...] | None = None
    view: tuple[str, ...] = ()
    if p.layout != "C":
        strides = tuple(names.part(p.name, f"s{axis}") for axis in range(len(p.dims or ())))
        if p.ellipsis:
            view = tuple(names.part(p.name, f"v{k}") for k in range(VIEW_WORDS))
    return Array(p.name, p.dtype, "global", names.of(p.name), extents, strides, view, constant=not p.writable)


def _extent(p: Parameter, axis: int, dim: Any, names: Names, scalars: Scalars, tree: KernelTree) -> str:
    if isinstance(dim, int):
        return scalars.constant(dim, "int64")
    return names.of(dim) if isinstance(dim, str) and dim in tree.symbols else names.part(p.name, f"n{axis}")


def _of_kernel_array(a: NewArray, names: Names, scalars: Scalars) -> Array:
    extents = tuple(scalars.constant(n, "int64") for n in a.shape)
    space = "shared" if a.kind == "shared" else "private"
    return Array(a.name, a.dtype, space, names.of(a.name), extents, slots=a.kind == "private")


def arguments_of(tree: KernelTree, names: Names, scalars: Scalars) -> list[Argument]:
    """What a kernel is given, but for scratch."""
    result: list[Argument] = []
    for p in tree.parameters:
        if not p.is_array and p.role != "out":
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
