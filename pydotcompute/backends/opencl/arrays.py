"""What a call needs to know of pyopencl's arrays: the protocol of calls/arrays.py, for one context and its queue."""

from __future__ import annotations

from typing import Any

import numpy as np
import pyopencl as cl
import pyopencl.array as cl_array

from ..buffers import BufferArrays, span

SHARED_WORD = 4  # bytes: atomic updates of smaller elements swap the word around them


class OpenCLArrays(BufferArrays):
    """The arrays of one context; new ones belong to `queue`."""

    noun = "a pyopencl array"

    def __init__(self, queue: Any):
        self.queue = queue

    def owns(self, value: Any) -> bool:
        return isinstance(value, cl_array.Array)

    def plain(self, value: Any) -> Any:
        if value.base_data is not None and not isinstance(value.base_data, cl.MemoryObjectHolder):
            raise TypeError("lies in shared virtual memory; kernels take buffers")
        return value

    def place(self, array: Any) -> str:
        context = array.context or self.queue.context
        device = array.queue.device if array.queue else context.devices[0]
        own = "" if context == self.queue.context else " in another context"
        return f"OpenCL device {device.name}{own}"

    def address(self, array: Any) -> tuple[int, int]:
        """The buffer, and the byte in it at which the array begins."""
        return (array.base_data.int_ptr if array.base_data is not None else 0), array.offset

    def is_writable(self, array: Any) -> bool:
        return array.base_data is None or not array.base_data.flags & cl.mem_flags.READ_ONLY

    def empty(self, shape: tuple[int, ...], dtype: Any) -> Any:
        """Undefined contents."""
        kind = np.dtype(dtype)
        size = kind.itemsize
        for n in shape:
            size *= n
        if not size:
            return cl_array.Array(self.queue, shape, kind)
        whole = -(-size // SHARED_WORD) * SHARED_WORD
        limit = self.queue.device.max_mem_alloc_size
        if whole > limit:
            raise cl.MemoryError(f"one array may have at most {limit} bytes there")
        buffer = cl.Buffer(self.queue.context, cl.mem_flags.READ_WRITE, whole)
        return cl_array.Array(self.queue, shape, kind, data=buffer)

    def fill(self, array: Any, value: Any) -> None:
        if not array.size:
            return
        pattern = np.asarray(value, array.dtype)
        if self.is_contiguous(array):
            size = array.size * array.dtype.itemsize
            queue = array.queue or self.queue
            event = cl.enqueue_fill_buffer(queue, array.base_data, pattern, array.offset, size, wait_for=array.events)
            array.add_event(event)
            return
        values = read(array, self.queue)
        values[...] = pattern
        write(array, values, self.queue)

    def number(self, array: Any) -> int:
        """Waits for it."""
        return int(read(array, self.queue).item())


def read(array: Any, queue: Any) -> np.ndarray:
    """A C-contiguous copy on the host, once the work on it is done."""
    if not array.size:
        return np.empty(array.shape, array.dtype)
    first, last = span(array)
    raw = np.empty(last - first, np.uint8)
    queue = array.queue or queue
    cl.enqueue_copy(queue, raw, array.base_data, src_offset=first, wait_for=array.events, is_blocking=True)
    seen = np.ndarray(array.shape, array.dtype, raw, array.offset - first, array.strides)
    return seen if seen.flags.c_contiguous else np.ascontiguousarray(seen)


def write(array: Any, values: np.ndarray, queue: Any) -> None:
    """Values of the same shape and dtype into an array; what lies between its elements stays."""
    if not array.size:
        return
    queue = array.queue or queue
    first, last = span(array)
    raw = np.empty(last - first, np.uint8)
    if last - first != array.size * array.dtype.itemsize:
        cl.enqueue_copy(queue, raw, array.base_data, src_offset=first, wait_for=array.events, is_blocking=True)
    np.ndarray(array.shape, array.dtype, raw, array.offset - first, array.strides)[...] = values
    cl.enqueue_copy(queue, array.base_data, raw, dst_offset=first, wait_for=array.events, is_blocking=True)
