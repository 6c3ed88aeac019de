"""What a call needs to know of CuPy's arrays: the protocol of runtime/arrays.py. Importing this imports CuPy.

Anything with `__cuda_array_interface__` or DLPack is taken for what it is, without a copy.
"""

from __future__ import annotations

from typing import Any

import cupy
import numpy as np

from ..runtime import arrays as host

noun = "a CuPy array"
module = "cp"


class ReadOnly(cupy.ndarray):
    """A CuPy array of memory that its owner has declared read-only."""


def owns(value: Any) -> bool:
    if isinstance(value, cupy.ndarray) or hasattr(value, "__cuda_array_interface__"):
        return True
    return hasattr(value, "__dlpack_device__") and int(value.__dlpack_device__()[0]) == 2


def plain(value: Any) -> cupy.ndarray:
    """The same memory as a CuPy array, on the device that it lies on."""
    if type(value) is cupy.ndarray or type(value) is ReadOnly:
        return value
    interface = getattr(value, "__cuda_array_interface__", None)
    if interface is None:
        return cupy.from_dlpack(value)
    if interface.get("mask") is not None:
        raise TypeError("is a masked array; kernels know no masks")
    pointer, readonly = interface["data"]
    with cupy.cuda.Device(_device_of(pointer)):
        array = cupy.asarray(value)
    return array.view(ReadOnly) if readonly else array


def device(value: Any) -> int:
    """The number of the device that an array lies on, of which nothing else is known yet."""
    if isinstance(value, cupy.ndarray):
        return value.device.id
    interface = getattr(value, "__cuda_array_interface__", None)
    return int(value.__dlpack_device__()[1]) if interface is None else _device_of(interface["data"][0])


def _device_of(pointer: int) -> int:
    """Where an address lies; the current device for that of an empty array."""
    if not pointer:
        return cupy.cuda.runtime.getDevice()
    return cupy.cuda.runtime.pointerGetAttributes(pointer).device


def place(array: cupy.ndarray) -> str:
    return f"CUDA device {array.device.id}"


def address(array: cupy.ndarray) -> int:
    return int(array.data.ptr)


def is_contiguous(array: cupy.ndarray) -> bool:
    return array.flags.c_contiguous


def is_aligned(array: cupy.ndarray) -> bool:
    unit = array.dtype.alignment
    return address(array) % unit == 0 and all(s % unit == 0 for s, n in zip(array.strides, array.shape) if n > 1)


def is_writable(array: cupy.ndarray) -> bool:
    return type(array) is not ReadOnly


def overlap(one: cupy.ndarray, other: cupy.ndarray) -> bool:
    """As for host arrays: only addresses are looked at, never memory."""
    if not one.size or not other.size:
        return False
    return host.overlap(np.asarray(_Address(one)), np.asarray(_Address(other)))


class _Address:
    """A device array's place in memory, in the words of NumPy's array interface."""

    def __init__(self, array: cupy.ndarray):
        self.owner = array
        self.__array_interface__ = {
            "version": 3, "data": (address(array), True), "shape": tuple(array.shape), "strides": tuple(array.strides),
            "typestr": array.dtype.str,
        }  # fmt: skip


def empty(shape: tuple[int, ...], dtype: str) -> cupy.ndarray:
    """On the current device: what runs a call has entered that of its arrays."""
    return cupy.empty(shape, dtype)


def fill(array: cupy.ndarray, value: Any) -> None:
    if array.dtype.kind == "f" and value == 0 and np.signbit(value):  # CuPy clears the bytes for every zero
        bits = f"u{array.itemsize}"
        array, value = array.view(bits), np.asarray(value, array.dtype).view(bits)[()]
    array.fill(value)


def result(array: cupy.ndarray) -> cupy.ndarray:
    """An array without dimensions: its value is still being computed."""
    return array
