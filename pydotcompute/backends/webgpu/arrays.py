"""Arrays in buffers of wgpu, and what a call needs to know of them: the protocol of calls/arrays.py, for one device."""

from __future__ import annotations

from typing import Any

import numpy as np
import wgpu

from ...artifact.dtypes import numpy_dtype
from ...calls.arrays import address, contiguous_strides
from ..buffers import BASE, BufferArrays, addresses, span
from .devices import name, usable

WORD = 4  # bytes: buffers are copied in whole ones
USAGE = wgpu.BufferUsage.STORAGE | wgpu.BufferUsage.COPY_SRC | wgpu.BufferUsage.COPY_DST


class WebGPUArray:
    """An array of numbers in a buffer of a device.

    buffer: a wgpu.GPUBuffer with the usages STORAGE, COPY_SRC and COPY_DST; None of an array without elements. offset:
    the byte in it at which the array begins; strides: bytes, C-contiguous unless given. Basic indexing and `T` give
    views.
    """

    def __init__(
        self, device: Any, shape: tuple[int, ...], dtype: Any, buffer: Any = None, offset: int = 0,
        strides: tuple[int, ...] | None = None,
    ):  # fmt: skip
        self.device, self.buffer, self.offset = device, buffer, int(offset)
        self.shape, self.dtype = tuple(map(int, shape)), np.dtype(dtype)
        self.size = int(np.prod(self.shape, dtype=object)) if self.shape else 1
        self.strides = tuple(strides) if strides is not None else contiguous_strides(self.shape, self.dtype.itemsize)

    @property
    def ndim(self) -> int:
        return len(self.shape)

    @property
    def nbytes(self) -> int:
        return self.size * self.dtype.itemsize

    @property
    def T(self) -> WebGPUArray:  # noqa: N802  # as NumPy calls it
        return WebGPUArray(
            self.device, self.shape[::-1], self.dtype, self.buffer, self.offset, self.strides[::-1]
        )  # fmt: skip

    def __getitem__(self, key: Any) -> WebGPUArray:
        """A view. Raises IndexError, TypeError for what is no basic index."""
        keys = key if isinstance(key, tuple) else (key,)
        if not all(one is None or one is Ellipsis or isinstance(one, (int, np.integer, slice)) for one in keys):
            raise TypeError(f"arrays on a WebGPU device take integers, slices, None and ..., got {key!r}")
        seen = addresses(self)[keys if Ellipsis in keys else (*keys, ...)]
        moved = address(seen) - BASE
        return WebGPUArray(self.device, seen.shape, self.dtype, self.buffer, moved, seen.strides)

    def reshape(self, *shape: Any) -> WebGPUArray:
        """A view of another shape, of which one size may be -1. Raises ValueError where the sizes do not fit, or the
        array is not C-contiguous."""
        if self.size and self.strides != contiguous_strides(self.shape, self.dtype.itemsize):
            raise ValueError("an array on a WebGPU device that is not C-contiguous has no view of another shape")
        seen = np.broadcast_to(np.empty((), bool), self.shape) if not self.size else addresses(self)
        wanted = shape[0] if len(shape) == 1 and isinstance(shape[0], (tuple, list)) else shape
        return WebGPUArray(self.device, seen.reshape(wanted).shape, self.dtype, self.buffer, self.offset)

    def __len__(self) -> int:
        if not self.shape:
            raise TypeError("an array without dimensions has no length")
        return self.shape[0]

    def __repr__(self) -> str:
        return f"<WebGPU array of {self.dtype} {self.shape} on {name(self.device.adapter)}>"


class WebGPUArrays(BufferArrays):
    """The arrays of one device."""

    noun = "a WebGPU array"

    def __init__(self, device: Any):
        self.device = device

    def owns(self, value: Any) -> bool:
        return isinstance(value, WebGPUArray)

    def plain(self, value: WebGPUArray) -> WebGPUArray:
        return value

    def place(self, array: WebGPUArray) -> str:
        own = "" if array.device is self.device else ", of another request"
        return f"WebGPU device {name(array.device.adapter)}{own}"

    def address(self, array: WebGPUArray) -> tuple[int, int]:
        """The buffer, and the byte in it at which the array begins."""
        return (id(array.buffer) if array.buffer is not None else 0), array.offset

    def is_writable(self, array: WebGPUArray) -> bool:
        return True

    def empty(self, shape: tuple[int, ...], dtype: Any) -> WebGPUArray:
        """Zeros, as every buffer begins. Raises MemoryError with the limit of the device."""
        kind = numpy_dtype(dtype) if isinstance(dtype, str) else np.dtype(dtype)
        size = kind.itemsize * int(np.prod(shape, dtype=object))
        if not size:
            return WebGPUArray(self.device, shape, kind)
        return WebGPUArray(self.device, shape, kind, new_buffer(self.device, size))

    def fill(self, array: WebGPUArray, value: Any) -> None:
        write(array, np.full(array.shape, value, array.dtype))

    def number(self, array: WebGPUArray) -> int:
        """Waits for it."""
        return int(read(array).item())


def most_bytes(device: Any) -> int:
    """What one buffer may have."""
    return min(device.limits["max-buffer-size"], device.limits["max-storage-buffer-binding-size"])


def new_buffer(device: Any, size: int) -> Any:
    """A buffer of at least so many bytes, of zeros. Raises MemoryError with the limit of the device."""
    usable()
    whole = -(-max(size, 1) // WORD) * WORD
    if whole > most_bytes(device):
        raise MemoryError(f"one array may have at most {most_bytes(device)} bytes there")
    try:
        return device.create_buffer(size=whole, usage=USAGE)
    except wgpu.GPUError as error:
        raise MemoryError(" ".join(str(error).split())) from error


def words(array: WebGPUArray) -> tuple[int, int]:
    """What `span` says, in whole words."""
    first, last = span(array)
    return first // WORD * WORD, -(-last // WORD) * WORD


def read(array: WebGPUArray) -> np.ndarray:
    """A C-contiguous copy on the host, once the work on it is done."""
    usable()
    if not array.size:
        return np.empty(array.shape, array.dtype)
    first, last = words(array)
    raw = np.frombuffer(array.device.queue.read_buffer(array.buffer, first, last - first), np.uint8).copy()
    seen = np.ndarray(array.shape, array.dtype, raw, array.offset - first, array.strides)
    return seen if seen.flags.c_contiguous else np.ascontiguousarray(seen).reshape(array.shape)


def write(array: WebGPUArray, values: np.ndarray) -> None:
    """Values of the same shape and dtype into an array; what lies between its elements stays."""
    usable()
    if not array.size:
        return
    first, last = words(array)
    if last - first == array.nbytes and array.offset == first:
        raw = np.empty(last - first, np.uint8)
    else:
        raw = np.frombuffer(array.device.queue.read_buffer(array.buffer, first, last - first), np.uint8).copy()
    np.ndarray(array.shape, array.dtype, raw, array.offset - first, array.strides)[...] = values
    array.device.queue.write_buffer(array.buffer, first, raw)
