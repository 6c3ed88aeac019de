"""How lowered Python reaches the elements of an array."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass

from .. import arrays


@dataclass(frozen=True)
class Array(arrays.Array, ABC):
    """An array as lowered Python sees it. Its strides are in bytes."""

    at = "at"  # what makes an index of two, and of the extent of the second one

    @property
    @abstractmethod
    def components(self) -> tuple[tuple[str, str], ...]:
        """(label, expression) of everything that a helper needs to reach the elements: the pointer first."""

    @abstractmethod
    def view_offset(self, index: str) -> str:
        """The offset in bytes that an index into the leading dims of a view stands for."""

    def offset(self, indices: Sequence[str], base: str | None = None) -> str:
        """The offset of an element: in elements for a contiguous array, else in bytes. `base`: that of the first
        index of a view, where it is already known."""
        if self.strides is None:
            result = indices[0] if indices else "int64(0)"
            for extent, index in zip(self.extents[1:], indices[1:], strict=False):
                result = f"{self.at}({result}, {extent}, {index})"
            return result
        result = "int64(0)"
        if self.view:
            result, indices = base or self.view_offset(indices[0]), indices[1:]
        for index, stride in zip(indices, self.strides, strict=True):
            result = f"at({index}, {stride}, {result})"
        return result
