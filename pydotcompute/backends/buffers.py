"""What a call needs to know of arrays that lie in a buffer of a device, from the byte `offset` on: what is the same for
them all in the protocol of calls/arrays.py. Their shape, strides, dtype and size are as NumPy's."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import Any

import numpy as np

from ..calls import arrays as host

BASE = 4096  # where NumPy is told that a buffer begins


class BufferArrays(ABC):
    module = ""

    @abstractmethod
    def address(self, array: Any) -> tuple[int, int]:
        """The buffer, and the byte in it at which the array begins."""

    def is_contiguous(self, array: Any) -> bool:
        expected = host.contiguous_strides(array.shape, array.dtype.itemsize)
        return not array.size or all(n == 1 or s == e for n, s, e in zip(array.shape, array.strides, expected))

    def is_aligned(self, array: Any) -> bool:
        unit = array.dtype.alignment
        steps = [stride for stride, size in zip(array.strides, array.shape, strict=True) if size > 1]
        return all(step % unit == 0 for step in (array.offset, *steps))

    def overlap(self, one: Any, other: Any) -> bool:
        if not one.size or not other.size or self.address(one)[0] != self.address(other)[0]:
            return False
        return host.overlap(addresses(one), addresses(other))

    def result(self, array: Any) -> Any:
        """An array without dimensions: its value is still being computed."""
        return array


class _Place:
    """An array's place in its buffer, in the words of NumPy's array interface."""

    def __init__(self, array: Any):
        self.__array_interface__ = {
            "version": 3, "data": (BASE + array.offset, True), "shape": tuple(array.shape),
            "strides": tuple(array.strides), "typestr": f"|V{array.dtype.itemsize}",
        }  # fmt: skip


def addresses(array: Any) -> np.ndarray:
    """An array of NumPy's whose elements lie as this one's do: to be asked where they are, never what they hold."""
    return np.asarray(_Place(array))


def span(array: Any) -> tuple[int, int]:
    """The first byte in its buffer that an array with elements reaches, and the one behind the last."""
    steps = [stride * (size - 1) for stride, size in zip(array.strides, array.shape, strict=True)]
    first = array.offset + sum(min(s, 0) for s in steps)
    return first, array.offset + sum(max(s, 0) for s in steps) + array.dtype.itemsize
