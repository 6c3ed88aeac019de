"""What a call needs to know of CuPy's arrays: the protocol of calls/arrays.py. Importing this imports CuPy.

Arrays of other packages, by DLPack or `__cuda_array_interface__`, are taken for what they are, without a copy, and in
the order of streams (cuda_streams.py).
"""

from __future__ import annotations

import ctypes
from typing import Any, Sequence

import cupy
import numpy as np

from ...calls import arrays as host, foreign
from . import context as cuda_context, copies as cuda_copies, streams as cuda_streams
from .platform import PLATFORM

noun = "a CuPy array"
module = "cp"
VERSIONED, FLAGS_AT, READ_ONLY = b"dltensor_versioned", 24, 1  # of DLManagedTensorVersioned in dlpack.h


class ReadOnly(cupy.ndarray):
    """A CuPy array of memory that its owner has declared read-only."""


def owns(value: Any) -> bool:
    if isinstance(value, cupy.ndarray):
        return True
    if hasattr(type(value), "__dlpack_device__"):
        return foreign.dlpack_device(value) in PLATFORM.dlpack
    return hasattr(type(value), "__cuda_array_interface__") or hasattr(value, "__cuda_array_interface__")


def plain(value: Any) -> cupy.ndarray:
    """The same memory as a CuPy array, on the device that it lies on; what its package has still to do on it comes
    before all that is given to the current stream of that device afterwards.

    Raises TypeError for what is none, or not without what its package knows besides.
    """
    if type(value) is cupy.ndarray or type(value) is ReadOnly:
        return value
    if isinstance(value, cupy.ndarray):
        return value.view(cupy.ndarray)
    if hasattr(type(value), "__dlpack__"):
        return _of_dlpack(value)
    return _of_interface(value)


def adopt(value: Any) -> cupy.ndarray:
    """As `plain`, for arrays of other packages; CuPy's own come back as they are."""
    return value if isinstance(value, cupy.ndarray) else plain(value)


def hand_back(values: Sequence[Any], arrays: Sequence[cupy.ndarray]) -> None:
    """After a call with arrays of other packages: what those do with them next comes after it."""
    for number in {array.device.id for array in arrays}:
        cuda_streams.hand_back(values, arrays, number)


def _of_dlpack(value: Any) -> cupy.ndarray:
    device = int(value.__dlpack_device__()[1])
    stream = cupy.cuda.get_current_stream(device).ptr
    stream = cuda_streams.UNORDERED if cuda_streams.captures(stream) else stream or cuda_streams.LEGACY
    try:
        foreign.require_own_signs(value)
        with cuda_context.on(device):  # some ask for that
            try:
                capsule = value.__dlpack__(stream=stream, max_version=(1, 0))
            except TypeError:  # of a package that is older than DLPack 1.0
                capsule = value.__dlpack__(stream=stream)
    except (BufferError, RuntimeError) as error:
        if type(error) not in (BufferError, RuntimeError):  # what the device says is no fault of the array's
            raise
        raise TypeError(f"is not an array that can be passed on: {error}") from error
    readonly = _is_read_only(capsule)
    try:
        array = cupy.from_dlpack(capsule)
    except (TypeError, NotImplementedError) as error:  # a dtype that it does not know, such as bfloat16 before 14.1
        raise TypeError(f"is not an array that CuPy takes: {error}") from error
    return array.view(ReadOnly) if readonly else array


def _is_read_only(capsule: Any) -> bool:
    """CuPy does not look."""
    valid, pointer = ctypes.pythonapi.PyCapsule_IsValid, ctypes.pythonapi.PyCapsule_GetPointer
    valid.argtypes = pointer.argtypes = (ctypes.py_object, ctypes.c_char_p)
    pointer.restype = ctypes.c_void_p
    if not valid(capsule, VERSIONED):
        return False
    return bool(ctypes.c_uint64.from_address(pointer(capsule, VERSIONED) + FLAGS_AT).value & READ_ONLY)


def _of_interface(value: Any) -> cupy.ndarray:
    interface = value.__cuda_array_interface__
    if interface.get("mask") is not None:
        raise TypeError("is a masked array; kernels know no masks")
    (address, readonly), device = interface["data"], _device_of(interface["data"][0])
    dtype, shape, strides = np.dtype(interface["typestr"]), tuple(interface["shape"]), interface.get("strides")
    # Before version 3 nobody said which stream the memory is produced on; since then None means that all is done.
    if interface["version"] < 3 or interface.get("stream") is not None:
        cuda_streams.wait_for(interface.get("stream"), device)
    steps = strides or _steps(shape, dtype.itemsize)
    low = sum(min(step * (n - 1), 0) for step, n in zip(steps, shape))
    size = sum(abs(step) * (n - 1) for step, n in zip(steps, shape)) + dtype.itemsize if 0 not in shape else 0
    memory = cupy.cuda.UnownedMemory(address + low, size, value, device)
    array = cupy.ndarray(shape, dtype, cupy.cuda.MemoryPointer(memory, -low), strides)
    array = array.view(ReadOnly) if readonly else array
    array.produced_on = interface.get("stream")
    return array


def _steps(shape: tuple[int, ...], item: int) -> list[int]:
    steps = [item] * len(shape)
    for axis in range(len(shape) - 2, -1, -1):
        steps[axis] = steps[axis + 1] * shape[axis + 1]
    return steps


def device(value: Any) -> int:
    """The number of the device that an array lies on, of which nothing else is known yet."""
    if isinstance(value, cupy.ndarray):
        return value.device.id
    if hasattr(type(value), "__dlpack_device__"):
        return int(value.__dlpack_device__()[1])
    return _device_of(value.__cuda_array_interface__["data"][0])


def _device_of(pointer: int) -> int:
    """Where an address lies; the current device for that of an empty array."""
    if not pointer:
        return cupy.cuda.runtime.getDevice()
    return cupy.cuda.runtime.pointerGetAttributes(pointer).device


def place(array: cupy.ndarray) -> str:
    return f"{PLATFORM.title} device {array.device.id}"


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


fill = cuda_copies.fill


def contiguous(array: cupy.ndarray) -> cupy.ndarray:
    """The array, or a copy that is C-contiguous, on its device."""
    with cuda_context.on(array.device.id):
        return cuda_copies.contiguous(array)


def result(array: cupy.ndarray) -> cupy.ndarray:
    """An array without dimensions: its value is still being computed."""
    return array


def number(array: cupy.ndarray) -> int:
    """Waits for the current stream."""
    return int(array.get().item())
