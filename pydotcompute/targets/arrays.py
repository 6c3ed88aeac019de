"""How generated code reaches the elements of an array, as far as it is the same for every target."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import TypeVar

from ..artifact.launch import VIEW_WORDS
from ..artifact.signature import Parameter
from .names import Names

A = TypeVar("A", bound="Array")


@dataclass(frozen=True)
class Array:
    """An array as generated code sees it; all texts are of type int64, but for the pointer.

    strides: of the trailing dims (of all, without a view); None where the array is C-contiguous. view: of the leading
    dims, which the kernel sees as its first.
    """

    name: str
    dtype: str
    pointer: str
    extents: tuple[str, ...]
    strides: tuple[str, ...] | None = None
    view: tuple[str, ...] = ()

    @property
    def integers(self) -> tuple[str, ...]:
        """What a helper needs to reach the elements, besides the pointer."""
        return (*self.extents, *(self.strides or ()), *self.view)

    def rebound(self: A, pointer: str, integers: Sequence[str]) -> A:
        """The same array under a helper's names for its pointer and `integers`."""
        first = len(self.extents)
        second = first + len(self.strides or ())
        strides = None if self.strides is None else tuple(integers[first:second])
        extents, view = tuple(integers[:first]), tuple(integers[second:])
        return replace(self, pointer=pointer, extents=extents, strides=strides, view=view)


def extents_of(p: Parameter, names: Names, extent: Callable[[int], str]) -> tuple[str, ...]:
    """The extents of a parameter as kernels see it: all leading dims as one. `extent` writes that of a trailing dim."""
    leading = (names.of("rows" if p.dims else "size"),) if p.ellipsis else ()
    return leading + tuple(map(extent, range(len(p.dims or ()))))


def strides_of(p: Parameter, names: Names) -> tuple[str, ...] | None:
    """The names of the strides of the trailing dims; None where the array is C-contiguous."""
    return None if p.layout == "C" else tuple(names.part(p.name, f"s{axis}") for axis in range(len(p.dims or ())))


def view_of(p: Parameter, names: Names) -> tuple[str, ...]:
    """The names of the words of the view of the leading dims; none where they need none."""
    return tuple(names.part(p.name, f"v{k}") for k in range(VIEW_WORDS)) if p.layout != "C" and p.ellipsis else ()
